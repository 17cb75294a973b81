"""The checks of `provio doctor`, one module for each subject."""
