"""Merges a run in partitions, where its trace is larger than the memory that a merge may take."""
