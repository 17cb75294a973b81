"""The recorder in Python, for a process without the shim (see README.md)."""
