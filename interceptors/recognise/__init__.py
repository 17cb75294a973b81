"""Who says what a program does: a file for each library, named as it is imported (see `recognising.py`); and what
several of them ask of the arguments of a call.
"""


def path_of(target):
    """Return the path that something is saved to or loaded from: a path as it is, an open file's; None: it has none."""
    if isinstance(target, (str, bytes)) or hasattr(target, "__fspath__"):
        return target
    name = getattr(target, "name", None)
    return name if isinstance(name, str) and not name.startswith("<") else None


def step_of(value):
    """Return the step at which what is saved was taken, where it is a dictionary that says so."""
    for name in ("iteration", "global_step", "step", "epoch"):
        step = value.get(name) if isinstance(value, dict) else None
        if isinstance(step, int) and not isinstance(step, bool) and step >= 0:
            return step
    return None


def metrics(said, values, step):
    """Say the quantities among some values by name."""
    for name, value in values.items():
        if name != "epoch" and not isinstance(value, (str, bytes, bool)):
            said.metric(str(name), value, step=step)
