"""The checks of `provio doctor`: one file each, found by their names."""
