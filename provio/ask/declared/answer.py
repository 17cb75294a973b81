"""The answer of `provio declared`. In: a store, a tool and a run. Out: the differences of all steps of its workflow."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from typing import Protocol, cast

from provio.ask import run_summary, runs
from provio.ask.declared.actions import Actions, is_program
from provio.ask.declared.compare import Comparison, Difference, Step
from provio.ask.document import exact_arguments, may_hide_files
from provio.base.errors import NothingKnown, NotYet
from provio.base.text import plural, shorter_path
from provio.settings.home import Home
from provio.store import Store

AGAIN = {"snakemake": "snakemake -j1 --forceall", "make": "make -B", "dvc": "dvc repro --force"}


class Tool(Protocol):
    """A module for a tool: the names of its program, the steps of a run, and the workflow's own files."""

    PROGRAMS: frozenset[str]

    def steps(self, actions: Actions, notes: list[str]) -> list[Step]:
        """Return the steps; add facts that limit the answer to the notes."""

    def workflow(self, actions: Actions) -> set[str]:
        """Return the files that describe the workflow."""


@dataclass
class Answer:
    """The differences of a run; because of the `notes`, there may be others."""

    tool: str
    run: str
    steps: list[str]
    differences: list[Difference]
    notes: list[str]


def of(reader: Store, home: Home, tool: str, name: str | None) -> Answer:
    """Return the answer for the run of this name, or the newest one of the tool; raises NothingKnown if it has no
    steps."""
    module = cast("Tool", importlib.import_module(f"provio.ask.declared.{tool}"))
    run = _chosen(reader, tool, module, name)
    actions, notes = Actions(reader, run), list[str]()
    steps = list(module.steps(actions, notes))
    if not steps:
        raise NothingKnown(
            f"run {run} executed no step of {tool}, so there is nothing to compare: "
            f"execute all of them (provio run -- {AGAIN[tool]}), or name another run"
        )
    root = os.fsdecode(home.projects[0]) if home.projects else str(home.project)
    inside = root.rstrip("/") + "/"
    for path in sorted({path for step in steps for path in step.sources if path.startswith(inside)}):
        if actions.has_changed(path):
            notes.append(f"{shorter_path(path, root)} has changed since: the steps are compared with its present rules")
    reasons = [reason for kind in run_summary.gap_reasons(reader, run) for reason in kind]
    if number := sum(map(may_hide_files, reasons)):
        notes.append(f"the record of this run has {plural(number, 'gap')}: provio show {run}")
    found = Comparison(actions, root, module.workflow(actions)).differences(steps)
    return Answer(tool, run, [step.name for step in steps], found, notes)


def _chosen(reader: Store, tool: str, module: Tool, name: str | None) -> str:
    if name is not None:
        run = runs.find(reader, name)
        if run is None:
            raise NothingKnown(f"no run is {name!r}: provio runs lists them")
    else:
        rows = [(row["run"], exact_arguments(row.get("argv", ""))) for row in reader.rows(runs.LISTING)]
        of_tool = sorted(run for run, words in rows if is_program(words, module.PROGRAMS))
        if not of_tool:
            raise NothingKnown(
                f"no recorded run has the command {tool}: record the workflow (provio run -- {AGAIN[tool]}), "
                "or name the run that started it"
            )
        ended = [run for run in of_tool if run not in reader.in_progress]
        run = (ended or of_tool)[-1]
    if run in reader.in_progress:
        raise NotYet(f"run {run} is in progress: repeat this when it has ended")
    return run
