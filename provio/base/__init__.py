"""Modules that all other packages use: errors, vocabulary terms, Turtle, record classes, text, the terminal."""
