"""Recorded commands once more: the plan, the checks before it, its execution in a folder of its own, the comparison."""
