"""Stores on SPARQL servers: reading, writing, and the lease that makes one writer at a time."""
