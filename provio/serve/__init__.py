"""`provio serve`: serves an explorer and a SPARQL 1.1 endpoint for a record; it never writes to the record.

server           the server as a whole
connections      deadlines and limits of connections
routes           the paths and their contents (WSGI)
access           permission: the address, the host names, the token
endpoint         /query, passed on to Oxigraph's server
snapshot_holder  holds the served snapshot, and replaces it by a newer one
oxigraph         Oxigraph's server for that snapshot, as a child process
worker           provio's own queries, in child processes that can be killed
explorer         the results of these queries
agents           `provio mcp`: the server of the Model Context Protocol on standard input and output
capped           its answers, of a limited size
"""
