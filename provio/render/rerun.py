"""A rerun (`provio.rerun.outcome`) as text or JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from provio.base.text import plural, printable, shorter_path
from provio.render import redo
from provio.render.json import dumped

if TYPE_CHECKING:
    from provio.rerun.outcome import Outcome, Prepared


def plan(ready: Prepared, *, width: int | None, unicode: bool, folder: str | None) -> str:
    """Return the commands of a plan, in the form of `provio impact`."""
    commands = [step.command.redo for step in ready.plan.steps]
    lines = list(redo.lines(commands, width=width, unicode=unicode, folder=folder, fold=False))
    return "".join(line + "\n" for line in lines or ["nothing is to be run again: no recorded product is stale"])


def results(ready: Prepared, outcome: Outcome, *, unicode: bool) -> str:
    """Return a line for each file, and the sum."""
    lines = []
    width = max([12, *(len(one.verdict) for one in outcome.results)])
    for one in outcome.results:
        path = shorter_path(one.path, outcome.folder) if one.verdict == "new" else ready.plan.shown(one.path)
        reason = f"  ({one.reason})" if one.reason else ""
        lines.append(f"{one.verdict:{width}}  {path}{reason}")
    counts = Counter(one.verdict for one in outcome.results)
    total = ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "no files to compare"
    lines.append(f"{plural(len(ready.plan.steps), 'command')}, {total}: {outcome.folder}")
    return "".join(printable(line, unicode) + "\n" for line in lines)


def as_json(ready: Prepared, outcome: Outcome | None) -> str:
    """Return the plan, the checks and, after an execution, the outcome."""
    answer = {
        "commands": [step.command.redo for step in ready.plan.steps],
        "environment": ready.environment,
        "inputs": [
            {"path": use.path, "state": one.state, "kind": use.kind}
            for use, one in ready.inputs.items()
            if use.kind == "input" or one.is_wrong
        ],
        "replaced": ready.plan.replaced,
        "gaps": [gap["reason"] for gap in ready.plan.gaps],
    }
    if outcome:
        answer["folder"] = outcome.folder
        answer["failed"] = [{"command": one.shown, "end": code, "recorded": one.ended} for one, code in outcome.failed]
        files = [one._asdict() for one in outcome.results]
        answer["files"] = [{key: value for key, value in one.items() if value is not None} for one in files]
    return dumped(answer)
