"""The part of provio that runs inside an observed Python: Python 3.8 or later, standard library only.

The package `provio` is not importable there: modules import each other relatively.
"""
