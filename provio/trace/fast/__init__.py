"""A second reader of Turtle, for large thread files only."""
