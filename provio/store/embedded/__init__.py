"""The embedded store: pyoxigraph on disk, one writer under a lock, snapshots of hard links for readers.

Only one process may have a store of pyoxigraph open for writing, and reading next to a writer is undefined.
"""
