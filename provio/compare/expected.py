"""Differences that the user expects. In: `provio-diff.toml`, or `[diff] expected` of provio.toml. Out: a test of rows.

A line is the glob of a path (`logs/*`), a variable (`$SLURM_NODELIST`), or a field: a kind, or a kind and a key
(`time`, `environment.kernel`). Times, ids, host names and temporary paths are always expected, but no path in the
folder of the project is temporary.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable
from fnmatch import translate
from pathlib import Path

from provio.base.errors import ConfigError

NAME = "provio-diff.toml"
KINDS = ("environment", "code", "parameters", "inputs", "graph", "results", "files", "schedule", "time")
TEMPORARY = ("/tmp/", "/var/tmp/", "/dev/shm/")  # noqa: S108
SCRATCH = "dask-scratch-space/"
# The number of tasks, processors or nodes of a job is none of its ids, and may change its results.
SIZE = re.compile(r".*(?:_SIZE|_NPROCS|_NNODES|_NUM_NODES|_NTASKS\w*|_TASKS_PER_NODE|_CPUS_PER_TASK)")
CHOSEN = re.compile(r"(?:^|/)tmp\.?\*")  # a name that tempfile or mktemp chose, as `provio.compare.side` masks it
ALWAYS = (
    "time", "schedule.order", "schedule.place", "schedule.threads",
    "environment.hosts", "environment.host", "environment.job*",
    "environment.script", "environment.standard output", "environment.standard error", "environment.submitted",
    "environment.started", "environment.in the queue", "environment.peak memory", "environment.limits",
    "environment.file systems*", "environment.network*",
    "$SLURM_*", "$PBS_*", "$LSB_*", "$LSF_*", "$FLUX_*", "$PALS_*", "$OMPI_COMM_WORLD_*", "$PMI_*", "$PMIX_*",
    "$JOB_ID", "$COBALT_JOBID",
)  # fmt: skip


class Expected:
    """The rules of the user, and those that always apply; `project` is the folder of the project."""

    def __init__(self, rules: Iterable[str] = (), project: str = "") -> None:
        rules = tuple(rules)
        self.project = project
        self._kinds = {*ALWAYS, *rules} & {*KINDS}
        every = [rule for rule in (*ALWAYS, *rules) if rule not in KINDS]
        paths = [rule for rule in rules if rule not in KINDS and not rule.startswith("$")]
        self._variables = _pattern(rule[1:] for rule in every if rule.startswith("$"))
        self._own_variables = _pattern(rule[1:] for rule in rules if rule.startswith("$"))
        self._fields = _pattern(rule for rule in every if not rule.startswith("$"))
        self._paths = _pattern(glob for rule in paths for glob in (rule, f"*/{rule}"))
        self._values = _pattern(rule for rule in paths if "/" in rule)

    def matches(self, kind: str, key: str, variable: bool = False, temporary: bool = True) -> bool:
        """Return whether a difference is expected; `variable`: its key is the name of one; `temporary`: also one of
        temporary files."""
        variables = self._own_variables if SIZE.fullmatch(key) else self._variables
        if kind in self._kinds or self._fields.match(f"{kind}.{key}") or (variable and variables.match(key)):
            return True
        return bool(temporary and self.is_temporary(key)) or bool(self._paths.match(key))

    def is_temporary(self, path: str) -> bool:
        """Return whether a path is in a folder for temporary files, or has the name of one."""
        if CHOSEN.search(path) or f"/{SCRATCH}" in f"/{path}":
            return True
        place = os.path.normpath(path)
        if self.project.startswith(TEMPORARY) and place.startswith(f"{self.project}/"):
            return False
        return place.startswith(TEMPORARY)

    def are_paths(self, first: object, second: object) -> bool:
        """Return whether both values are paths that are expected: one path each, no command line that begins so."""
        paths = [str(value) for value in (first, second)]
        return all("/" in path and len(path.split()) == 1 and ":" not in path
                   and (self.is_temporary(path) or self._values.match(path)) for path in paths)  # fmt: skip


def _pattern(globs: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern of all that one of the globs matches."""
    return re.compile("|".join(map(translate, globs)) or "(?!)")


def read(folder: Path, configured: Iterable[str] = ()) -> Expected:
    """Return the rules of a project; raises ConfigError for a file that is no list of texts."""
    path = folder / NAME
    if path.exists() and not path.is_file():
        raise ConfigError(f"{path}: it is no regular file: remove it")
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: {error}: correct it, or remove it") from error
    rules = found.get("expected", [])
    if found.keys() - {"expected"} or not (isinstance(rules, list) and all(isinstance(one, str) for one in rules)):
        raise ConfigError(f'{path}: write expected = ["logs/*", "$NAME", "environment.kernel"]')
    return Expected([*configured, *rules], str(folder))
