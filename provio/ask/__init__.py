"""Queries on the store: files and runs in, plain documents out, which `provio.render` displays."""
