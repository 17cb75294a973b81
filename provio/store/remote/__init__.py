"""Stores on SPARQL servers: reading, writing, and the lease that permits one writer at a time."""
