"""Snakemake: a job that one of its processes executes is a Task, with the rule's name, its wildcards and files."""

LONGEST = 4096  # characters of all settings of a job


def _rule(
    job_rule, inputs, outputs, _params, wildcards, _threads=None, _resources=None, log=None, benchmark=None,
    *_others, **_named_others,
):  # fmt: skip
    left = [LONGEST]
    settings = {
        "wildcards": _named(wildcards.items(), left),
        "input": _listed(inputs, left),
        "output": _listed(outputs, left),
        "log": _listed(log or (), left),
        "benchmark": _listed([benchmark], left),
    }
    return job_rule.name, "rule", {name: values for name, values in settings.items() if values}


def _named(items, left):
    """Return the texts among named values that are not too long together; of the others, their number."""
    found, omitted = {}, 0
    for name, value in items:
        if isinstance(value, str):
            left[0] -= len(name) + len(value)
            if left[0] < 0:
                omitted += 1
            else:
                found[name] = value
    return {**found, "…": f"{omitted} more"} if omitted else found


def _listed(values, left):
    return _named(((str(number), value) for number, value in enumerate(values)), left)


def _watch(executors, follow):
    follow(executors, "run_wrapper", task=_rule)


WATCHED = {"snakemake.executors": _watch, "snakemake.executors.local": _watch}
