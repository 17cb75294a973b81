"""Copies its standard input to its standard output."""

import sys

sys.stdout.write(sys.stdin.read())
