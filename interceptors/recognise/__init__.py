"""Turn calls of libraries into declarations: a file for each library, named as it is imported (see `recognising.py`).

This file has the functions that several of them need.
"""


def path_of(target):
    """Return the path of a file that is saved or loaded: the path itself, or that of an open file, or None."""
    if isinstance(target, (str, bytes)) or hasattr(target, "__fspath__"):
        return target
    name = getattr(target, "name", None)
    return name if isinstance(name, str) and not name.startswith("<") else None


def step_of(value):
    """Return the step of a saved state, if it is a dictionary with a step; else None."""
    for name in ("iteration", "global_step", "step", "epoch"):
        step = value.get(name) if isinstance(value, dict) else None
        if isinstance(step, int) and not isinstance(step, bool) and step >= 0:
            return step
    return None


def metrics(declare, values, step):
    """Declare the numbers among named values as metrics."""
    for name, value in values.items():
        if name != "epoch" and not isinstance(value, (str, bytes, bool)):
            declare.metric(str(name), value, step=step)
