"""The plan of a rerun. In: commands and a store. Out: their inputs from outside the plan and their final products, or
the reason why they cannot run again."""

from __future__ import annotations

from dataclasses import dataclass, field

from provio.ask.document import Gap, may_hide_files
from provio.ask.redo import KERNELS
from provio.ask.things import Thing
from provio.ask.verify import removals
from provio.base.errors import NotAllowed, NothingKnown, NotYet
from provio.base.text import plural, shorter_path
from provio.rerun.commands import Command, Found, of_files, of_the_run
from provio.rerun.files import Files, Finder, Use, nested
from provio.store import Store
from provio.trace.redact import REDACTED

STREAMS = (">", ">>", "2>", "2>>")


@dataclass
class Step:
    """A command with its files; `inputs` are the versions that no earlier command of the plan makes."""

    command: Command
    files: Files
    inputs: list[Use] = field(default_factory=list)


@dataclass
class Plan:
    """The steps in order; `products` are the versions left at the end, by path; `replaced` are paths that several
    commands wrote, of which the last one counts."""

    root: str
    steps: list[Step]
    products: dict[str, str]
    replaced: list[str]
    gaps: list[Gap]

    def inside(self, path: str) -> bool:
        """Return whether a path is in the project."""
        return path == self.root or path.startswith(self.root.rstrip("/") + "/")

    def shown(self, path: str) -> str:
        """Return a path for a message: in the project, relative to it."""
        return shorter_path(path, self.root) if self.inside(path) else path

    @property
    def uses(self) -> list[Use]:
        """The inputs of all steps, each once."""
        return sorted({use for step in self.steps for use in step.inputs})

    @property
    def redirected(self) -> set[str]:
        """The files to which the output of commands went."""
        return {path for step in self.steps for sign, path in step.command.streams if sign in STREAMS}

    @property
    def made_folders(self) -> set[str]:
        """The folders that the commands make."""
        return set[str]().union(*(step.files.folders for step in self.steps))


def make(reader: Store, things: list[Thing], root: str, *, stale: bool = False, anyway: bool = False) -> Plan:
    """Return the plan for one run, or for files; raises NothingKnown, or NotAllowed if it cannot be executed."""
    run = next((thing.run for thing in things if thing.run), "")
    files = [thing.file for thing in things if thing.file]
    found = of_the_run(reader, run) if run else of_files(reader, files, stale)
    if not found.commands and not stale:
        raise NothingKnown("no recorded command made this: name a file that a recorded run wrote, or a run")
    plan = _planned(reader, found, root)
    for step in plan.steps:
        _check(reader, step.command)
    if plan.gaps and not anyway:
        raise NotAllowed(
            f"the record has {plural(len(plan.gaps), 'gap')}, so that inputs may be missing "
            f"({plan.gaps[0]['reason']}): use --anyway to run the commands with the recorded inputs"
        )
    return plan


def _planned(reader: Store, found: Found, root: str) -> Plan:
    runs = {run for command in found.commands for run in nested(reader, command.run)}
    moves = {path: own for path, all_ in removals(reader).items() if (own := [one for one in all_ if one.run in runs])}
    finder = Finder(reader, moves)
    steps = [Step(command, finder.of(command)) for command in found.commands]
    made, products, replaced = set[str](), dict[str, str](), list[str]()
    same = finder.names.alternates
    for step in steps:
        _leave_out_streams(step, root)
        made |= step.files.made
        step.inputs = [use for use in step.files.uses if not made & same.get(use.version, {use.version})]
        replaced += [path for path in step.files.products if path in products]
        products |= step.files.products
    pipes = [Gap(iri="", about="", reason=one) for step in steps for one in step.files.pipes]
    gaps = pipes + [gap for gap in found.document["gaps"] if may_hide_files(gap["reason"])]
    return Plan(root, steps, products, sorted(set(replaced)), gaps)


def _check(reader: Store, command: Command) -> None:
    """Raise NotYet or NotAllowed if a command cannot be executed again."""
    if command.run in reader.in_progress:
        raise NotYet(f"run {command.run} is in progress: repeat this when it has ended")
    if not command.words or not command.cwd:
        raise NotAllowed(f"the command line of run {command.run} is not recorded: run it by hand")
    if any(word.endswith(KERNELS) for word in command.words[:3]):
        raise NotAllowed(
            f"run {command.run} is a notebook, and its cells are no commands: use jupyter nbconvert --execute"
        )
    if any(REDACTED in word for word in (*command.words, *(path for _, path in command.streams))):
        raise NotAllowed(
            f"the command line of run {command.run} is not complete, because a secret in it was replaced by "
            f"{REDACTED}: run it by hand with provio run"
        )


def _leave_out_streams(step: Step, root: str) -> None:
    """Leave out the files outside the project to which the output of a command went: it is printed instead."""
    inside = root.rstrip("/") + "/"
    paths = {path for sign, path in step.command.streams if sign in STREAMS and not path.startswith(inside)}
    step.files.uses = [use for use in step.files.uses if use.path not in paths]
    step.files.products = {path: version for path, version in step.files.products.items() if path not in paths}


def outside(plan: Plan) -> list[str]:
    """Return the products outside the project."""
    return sorted(path for path in plan.products if not plan.inside(path))
