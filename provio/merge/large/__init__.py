"""Merge a run in partitions if its trace is larger than the memory that a merge may use."""
