"""What runs inside a watched Python: standard library alone, Python 3.8 or later; provio is not importable there."""
