"""Comparison of two files of numbers: pairs of values, the largest difference of them, readers of formats."""
