"""A rerun as a whole. In: a record, a run or files, and options. Out: the checks before it, then its outcome."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from provio.ask.content import NOT_COMPARED as UNCOMPARED
from provio.ask.content import Progress
from provio.ask.things import Thing
from provio.base.errors import NotAllowed, ProvioError
from provio.compare.tolerances import Tolerances
from provio.merge import hashing
from provio.merge.runs import merge
from provio.rerun import compare, differences, execute, places
from provio.rerun.commands import Command
from provio.rerun.compare import NONE, Result
from provio.rerun.files import Use
from provio.rerun.group import Interrupted
from provio.rerun.inputs import Input, Inputs
from provio.rerun.plan import Plan, make, outside
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.store import Store

INPUTS, ENVIRONMENT, COMMANDS = "inputs", "environment", "commands"
# The kinds of --fail-on, each with the verdicts that belong to it.
KINDS = {
    INPUTS: (), ENVIRONMENT: (), COMMANDS: (), compare.DIFFERS: (compare.DIFFERS,),
    compare.MISSING: (compare.MISSING,), compare.NEW: (compare.NEW,), "not-compared": (compare.NOT_COMPARED,),
}  # fmt: skip
USUAL = (INPUTS, COMMANDS, compare.DIFFERS, compare.MISSING)


@dataclass
class Prepared:
    """A checked plan: the state of its inputs and code, and the differences of the environment."""

    reader: Store
    home: Home
    plan: Plan
    inputs: dict[Use, Input]
    environment: list[str]

    @property
    def wrong(self) -> list[Input]:
        """The inputs whose recorded content is not available."""
        return [one for use, one in self.inputs.items() if use.kind == "input" and one.is_wrong]

    def lines(self) -> list[str]:
        """Return the facts to report before the start."""
        shown = self.plan.shown
        inputs = [one for use, one in self.inputs.items() if use.kind == "input"]
        found = [one.line(shown) for one in inputs if one.is_wrong or one.state in ("kept", "unknown")]
        if len(found) > MOST and all(UNCOMPARED in line for line in found):
            found = [*found[:MOST], f"{len(found) - MOST} other inputs are not compared by content"]
        again = [f"several commands write {shown(path)}: the last one counts" for path in self.plan.replaced]
        return [*self.environment, *found, *again]

    def stops(self, fail_on: Collection[str]) -> bool:
        """Return whether the commands must not start."""
        return bool((INPUTS in fail_on and self.wrong) or (ENVIRONMENT in fail_on and self.environment))


MOST = 5  # lines about inputs without a SHA-256


class Stopped(ProvioError):
    """A signal ended a rerun."""

    def __init__(self, number: int, where: str, folder: str) -> None:
        name = signal.Signals(number).name
        super().__init__(f"{name} ended {where}: no file was compared: remove {folder}, or name another folder")
        self.exit_code = 128 + number


@dataclass
class Outcome:
    """The folder of a rerun, the commands that did not end as recorded with their ends, the verdicts of files."""

    folder: str
    failed: list[tuple[Command, int]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def code(self, fail_on: Collection[str]) -> int:
        """Return the exit code."""
        verdicts = {verdict for kind in fail_on for verdict in KINDS[kind]}
        return int(bool(COMMANDS in fail_on and self.failed) or any(one.verdict in verdicts for one in self.results))


def complete_hashes(home: Home, settings: Config, progress: Callable[[str], None] = lambda _: None) -> None:
    """Compute the requested hashes of runs that have ended now, and not later in the background."""
    done = hashing.finish(home, settings, progress)
    if done:
        merge(home, [home.runs / run for run in done], settings=settings)


def problem(found: Sequence[Thing], stale: bool) -> str:
    """Return why a rerun cannot be of these things; empty if it can."""
    runs = [one for one in found if one.run]
    if not found or any(one.task for one in found) or (runs and len(found) > 1):
        return "a rerun is of one run, or of files: name one run, or files"
    return "only files can be stale, and not a run: name files" if stale and runs else ""


def prepare(
    reader: Store, home: Home, things: list[Thing], *, stale: bool = False, anyway: bool = False,
    progress: Progress = lambda *_: None,
) -> Prepared:  # fmt: skip
    """Return the plan for a run or files, with its checks. Raises ProvioError if it cannot be executed."""
    root = os.fsdecode(home.projects[0]) if home.projects else str(home.project)
    plan = make(reader, things, root, stale=stale, anyway=anyway)
    states = Inputs(reader, home, progress).of(plan)
    code = {use: one for use, one in states.items() if not plan.inside(use.path)}
    return Prepared(reader, home, plan, states, differences.lines(reader, plan, code, home))


def execute_plan(
    ready: Prepared, folder: str | None, maps: Sequence[str], report: Callable[[str], None],
    tolerances: Tolerances = NONE,
) -> Outcome:  # fmt: skip
    """Execute a plan in a new folder and compare its products, with `tolerances` the numbers in them. Raises
    ProvioError before the first command starts."""
    plan = ready.plan
    folder = os.path.abspath(folder or execute.default_folder(plan.root))
    execute.check_folder(folder, plan.root)
    pairs = [(plan.root, folder), *places.pairs(maps)]
    paths = [use.path for use in plan.uses] + [
        os.path.join(step.command.cwd, word) for step in plan.steps for word in step.command.words[:1]
    ]
    where = places.Places(pairs, places.environments(paths, plan.root))
    if lost := [path for path in outside(plan) if where.moved(path) is None]:
        raise NotAllowed(
            f"{lost[0]} is outside the project, and a rerun does not overwrite it: give --map OLD=NEW for its folder"
        )
    rerun = execute.Rerun(plan, folder, where, ready.inputs, ready.home)
    rerun.start()
    outcome = Outcome(folder)
    for number, step in enumerate(plan.steps, 1):
        try:
            code = rerun.step(step, report)
        except Interrupted as error:
            raise Stopped(error.number, f"command {number} of {len(plan.steps)}", folder) from None
        if code != step.command.ended:
            outcome.failed.append((step.command, code))
            report(f"{step.command.shown}: {ended(code)}, recorded {ended(step.command.ended)}")
            break
    contents = Inputs(ready.reader, ready.home).contents
    outcome.results = list(compare.results(plan, contents, where, folder, rerun.staged, tolerances))
    return outcome


def ended(code: int) -> str:
    """Return the end of a command in words."""
    return f"exit {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
