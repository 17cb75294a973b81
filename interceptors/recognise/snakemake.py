"""Snakemake: a job that its main process executes is a Task, with the rule's name."""


def _rule(job_rule, *_, **__):
    return job_rule.name, "rule"


def _watch(executors, follow):
    follow(executors, "run_wrapper", task=_rule)


WATCHED = {"snakemake.executors": _watch, "snakemake.executors.local": _watch}
