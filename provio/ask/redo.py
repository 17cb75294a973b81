"""The commands to repeat. In: the steps of an impact and a store. Out: the commands that the user ran, in order.

A command is a run (`provio run -- …`), with its folder and the redirections of its standard streams. A run that
another run started counts as a part of that run. In a recorded shell session, each command of the session counts by
itself; of a recorded notebook kernel, the run.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NotRequired, TypedDict, TypeVar

from provio.ask import run_uses
from provio.ask.document import arguments
from provio.ask.started_as import KERNEL
from provio.base.text import shorter_path
from provio.base.vocab import NS, RUN_BASE, local_name
from provio.store import Reader

if TYPE_CHECKING:
    from provio.ask.impact import Step

Key = TypeVar("Key", str, tuple[str, str])
SHELLS = frozenset("sh bash zsh dash ksh mksh fish csh tcsh".split())
SERVERS = frozenset({"jupyter", "jupyter-lab", "jupyter-notebook", "jupyter-server", "jupyterhub"})
KERNELS = (KERNEL, "ipykernel_launcher")  # the end of a word of a kernel's command line
FACTS = [NS + name for name in "commandLine redirections name cwd cwdEncoded partOf".split()]
INFORMED = "(provio:carriedFrom | provio:continuedFrom | provio:launchedBy)+"


class Redo(TypedDict):
    """A command to repeat. `products` are the files that it must make again, `gone` those of them that are absent and
    needed by a later command; `after` are the runs before it. `process` is set if it is one command of a session."""

    run: str
    process: NotRequired[str]
    command: str
    arguments: list[str]
    cwd: NotRequired[str]
    redirections: list[str]
    products: list[str]
    gone: list[str]
    after: list[str]
    failed: NotRequired[str]


@dataclass
class _Unit:
    """The products of a command, and the commands that must come before it."""

    products: dict[str, str] = field(default_factory=dict)
    before: dict[tuple[str, str], None] = field(default_factory=dict)
    step: Step | None = None
    failed: str = ""


def commands(reader: Reader, steps: Sequence[Step]) -> list[Redo]:
    """Return the commands that make the products of these steps, each once and after those whose products it needs."""
    units: dict[tuple[str, str], _Unit] = {}
    maker: dict[str, tuple[str, str]] = {}
    facts = _Facts(reader, {step.get("run", "") for step in steps})
    within = facts.units(steps)
    needed: set[str] = set()
    for step in steps:
        key = within[step["product"]]
        unit = units.setdefault(key, _Unit(step=step))
        for path in step["after"]:
            other = maker.get(path, key)
            if other != key:
                unit.before[other] = None
                needed.add(path)
        unit.products[step["path"]] = step["state"]
        unit.failed = unit.failed or step.get("failed", "")
        maker[step["path"]] = key
    ordered = sort_after({key: [*units[key].before] for key in sorted(units)})
    return [_redo(key, units[key], facts, needed) for key in ordered]


def of_run(reader: Reader, run: str, steps: Sequence[Step]) -> list[Redo]:
    """Return the command of a run (an IRI), with the products of these steps; of a session, the commands that made
    them."""
    facts = _Facts(reader, {run})
    if facts.is_session(run):
        return commands(reader, steps)
    unit = _Unit(products={step["path"]: step["state"] for step in steps})
    unit.failed = next((step["failed"] for step in steps if "failed" in step), "")
    return [_redo((run, ""), unit, facts, set())]


def _redo(key: tuple[str, str], unit: _Unit, facts: _Facts, needed: set[str]) -> Redo:
    run, process = key
    known, step = facts.of.get(run, {}), unit.step
    own = unit.products
    words = arguments(known.get("redirections", "")) if known.get("redirections") and not process else []
    redo = Redo(
        run=run,
        command="",
        arguments=arguments(known["commandLine"]) if known.get("commandLine") else [],
        redirections=words,
        products=sorted(path for path, state in own.items() if state != "gone" or path in needed),
        gone=sorted(path for path, state in own.items() if state == "gone" and path in needed),
        after=list(dict.fromkeys(other for other, _ in unit.before)),
    )
    cwd = known.get("cwd") or known.get("cwdEncoded")
    if process:
        redo["process"] = process
        redo["arguments"], cwd = facts.of_process(process)
    if cwd:
        redo["cwd"] = cwd
    redo["command"] = " ".join(typed(redo["arguments"], words, cwd))
    if any(word.endswith(KERNELS) for word in redo["arguments"][:3]):
        redo["command"] = f"{known.get('name', 'a notebook')}  (a notebook: execute its cells)"
    elif step and (step.get("process") == process or not redo["command"]):
        redo["command"] = step["command"]  # with the commands that fed it through pipes
    if unit.failed:
        redo["failed"] = unit.failed
    return redo


def typed(words: Sequence[str], streams: Sequence[str], cwd: str | None) -> list[str]:
    """Return the words of a command line for a shell, and its redirections relative to the folder that it ran in."""
    found = [shlex.quote(word) for word in words]
    rest = iter(streams if words else ())
    for sign in rest:
        found.append(sign if sign == "2>&1" else f"{sign} {shlex.quote(shorter_path(next(rest, ''), cwd))}")
    return found


def is_cache(path: str) -> bool:
    """Return whether a path is that of a compiled module, or of content that git keeps: no user makes it again."""
    return path.endswith((".pyc", ".pyo")) or "/__pycache__/" in path or "/.git/objects/" in path


def sort_after(needs: dict[Key, list[Key]]) -> list[Key]:
    """Sort each after those that it needs, otherwise in the given order; in a cycle the first one comes first."""
    done: dict[Key, None] = {}
    visited: set[Key] = set()
    for first in needs:
        stack = [] if first in visited else [first]
        while stack:
            visited.add(stack[-1])
            following = next((one for one in needs[stack[-1]] if one not in visited), None)
            if following is None:
                done[stack.pop()] = None
            else:
                stack.append(following)
    return list(done)


def is_session(words: Sequence[str]) -> bool:
    """Return whether a command line starts a session: a shell without a script, a server of notebooks."""
    if not words:
        return False
    name = words[0].rpartition("/")[2].lstrip("-")
    if name in SHELLS:
        return all(word.startswith("-") and word != "-" and "c" not in word.lstrip("-")[:2] for word in words[1:])
    return name in SERVERS and (name != "jupyter" or words[1:2] in (["lab"], ["notebook"], ["server"]))


class _Facts:
    """The facts of runs and of those that they are part of, by IRI, and by the last word of the property."""

    def __init__(self, reader: Reader, runs: set[str]) -> None:
        self.reader = reader
        self.of: dict[str, dict[str, str]] = {"": {}}
        waiting = runs - {""}
        while waiting:
            self.of.update({run: {} for run in waiting})
            for run, word, value in self._read(waiting):
                self.of[run][local_name(word)] = value
            waiting = {facts.get("partOf", "") for facts in self.of.values()} - self.of.keys()

    def _read(self, iris: Iterable[str]) -> Iterable[Sequence[str]]:
        wanted = ", ".join(f"<{word}>" for word in FACTS)
        for values in run_uses.values("x", iris):
            yield from self.reader.table(f"SELECT DISTINCT ?x ?p ?o {{ {values} ?x ?p ?o FILTER(?p IN ({wanted})) }}")

    def units(self, steps: Sequence[Step]) -> dict[str, tuple[str, str]]:
        """Return for each product the run to repeat, and the process if that is one command of a session."""
        runs = {step["product"]: self.outermost(step.get("run", "")) for step in steps}
        sessions = {run for run in runs.values() if self.is_session(run)}
        inside = {step["process"] for step in steps if runs[step["product"]] in sessions and "process" in step}
        top = self._typed(inside)
        return {
            step["product"]: (run, top.get(step.get("process", ""), "") if run in sessions else "")
            for step in steps
            for run in (runs[step["product"]],)
        }

    def is_session(self, run: str) -> bool:
        """Return whether a run is a session that its user typed commands into."""
        facts = self.of[run]
        words = arguments(facts.get("commandLine", ""))
        return is_session(words) and "<" not in arguments(facts.get("redirections", ""))

    def outermost(self, run: str) -> str:
        """Return the run that the user started, which may have started this one; a session does not count."""
        seen = {run}
        while (parent := self.of[run].get("partOf", "")) in self.of and parent not in seen:
            if not parent.startswith(RUN_BASE) or not self.of[parent].get("commandLine") or self.is_session(parent):
                break
            run = parent
            seen.add(run)
        return run

    def _typed(self, processes: set[str]) -> dict[str, str]:
        """Return for each process of a session the one that the user started: the last before the shell itself."""
        found: dict[str, str] = {}
        for process in sorted(processes):
            query = f"""SELECT DISTINCT ?q ?argv ?start {{ ?a provio:partOf+ <{process}> ; {INFORMED} ?b .
                ?b provio:partOf+ ?q . ?q a provio:Process ; provio:argv ?argv ; prov:startedAtTime ?start }}"""
            rows = sorted((row["start"], row["q"], row["argv"]) for row in self.reader.rows(query))
            own = self.of_process(process)[0]
            above = [one for _, one, argv in rows if not is_session(arguments(argv)) and one != process]
            found[process] = above[0] if above else process if not is_session(own) else ""
        return found

    def of_process(self, process: str) -> tuple[list[str], str]:
        """Return the arguments and the folder of a process."""
        query = f"SELECT ?argv ?cwd {{ <{process}> provio:argv ?argv OPTIONAL {{ <{process}> provio:cwd ?cwd }} }}"
        row = next(iter(self.reader.rows(query)), {})
        return arguments(row["argv"]) if "argv" in row else [], row.get("cwd", "")
