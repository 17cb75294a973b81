"""Conclusions about a run in, the N-Triples of its graph out."""
