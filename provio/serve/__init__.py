"""`provio serve`: a record in, an explorer and a SPARQL 1.1 endpoint on a port out; nothing is ever written.

front        one request in, one answer out: what is served where (WSGI)
access       who may ask: the address, the names that browsers call it by, the token
endpoint     /query, handed on to Oxigraph's own server
keeper       the snapshot that is served, held; a newer one takes its place
binary       Oxigraph's server over that snapshot, in a process of its own
worker       provio's own questions, in processes that can be stopped: `answers`, `found`
tether       starts a process that ends with this one, however that ends
"""

from __future__ import annotations

MISSING = 'provio serve needs Oxigraph\'s server and waitress: pip install "provio[serve]"'
