"""Writes the content of the named files to its standard output."""

import sys

for name in sys.argv[1:]:
    with open(name) as opened:
        sys.stdout.write(opened.read())
