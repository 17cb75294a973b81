"""Merge runs into the store, and maintain it: rebuild, archive runs, remove runs, back up."""
