"""The commands to run again. In: a run, or files, and a store. Out: each command with its exact words, folder and
redirections, in a possible order."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from provio.ask import recipe, whole_run
from provio.ask.document import LineageDocument, exact_arguments
from provio.ask.lineage import Scope, lineage
from provio.ask.redo import Redo, commands, of_run
from provio.ask.run_uses import values
from provio.ask.stale import only_stale
from provio.ask.target import Target
from provio.base.vocab import NS, RUN_BASE, local_name
from provio.store import Reader

FACTS = [NS + name for name in "commandLine argv redirections cwd cwdEncoded exitCode signal".split()]
BOTH = "2>&1"
ENVIRONMENTS = ("VIRTUAL_ENV", "CONDA_PREFIX")  # each names the folder of an activated environment of Python


@dataclass(frozen=True)
class Command:
    """A recorded command. Words and paths are exact (`os.fsdecode`); `streams` are (sign, path), of `2>&1` without a
    path; `ended` is the recorded exit code, negative for a signal; `environments` are the recorded variables that name
    an environment of Python."""

    redo: Redo
    run: str
    process: str
    words: tuple[str, ...]
    cwd: str
    streams: tuple[tuple[str, str], ...] = ()
    ended: int = 0
    environments: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> str:
        """The command line for a message."""
        return self.redo["command"] or shlex.join(self.words)


@dataclass(frozen=True)
class Found:
    """The commands, and the lineage document that they were found in."""

    commands: list[Command]
    document: LineageDocument


def of_the_run(reader: Reader, run: str) -> Found:
    """Return the command of a run (by id); of a session, its commands."""
    document = whole_run.document(reader, run)
    return Found(_exact(reader, of_run(reader, RUN_BASE + run, recipe.steps(document))), document)


def of_files(reader: Reader, targets: Sequence[Target], stale: bool) -> Found:
    """Return the commands that made files and the files that these were made from; with `stale`, only those of stale
    files."""
    document = lineage(reader, targets, Scope(code=True))
    steps = recipe.steps(document)
    if stale:
        old = {one["product"] for one in only_stale(reader, document).get("stale", ())}
        steps = [step for step in steps if step["product"] in old]
    return Found(_exact(reader, [one for one in commands(reader, steps) if one["run"]]), document)


def _exact(reader: Reader, redo: Sequence[Redo]) -> list[Command]:
    iris = {one["run"] for one in redo} | {one["process"] for one in redo if "process" in one}
    facts, activated = _facts(reader, iris), _environments(reader, {one["run"] for one in redo})
    return [_command(one, facts, activated.get(one["run"], [])) for one in redo]


def _facts(reader: Reader, iris: Iterable[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {iri: {} for iri in iris}
    wanted = ", ".join(f"<{word}>" for word in FACTS)
    for which in values("x", found):
        for iri, word, value in reader.table(
            f"SELECT DISTINCT ?x ?p ?o {{ {which} ?x ?p ?o FILTER(?p IN ({wanted})) }}"
        ):
            found[iri][local_name(word)] = value
    return found


def _environments(reader: Reader, runs: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """Return the variables of activated environments of Python by run."""
    found: dict[str, list[tuple[str, str]]] = {}
    names = ", ".join(f"'{name}'" for name in ENVIRONMENTS)
    for which in values("r", runs):
        query = f"""SELECT DISTINCT ?r ?name ?value {{ {which} ?r prov:used ?e . ?e a provio:Environment ;
            provio:name ?name ; provio:value ?value FILTER(?name IN ({names})) }}"""
        for run, name, value in reader.table(query):
            found.setdefault(run, []).append((name, value))
    return found


def _command(redo: Redo, facts: dict[str, dict[str, str]], activated: Iterable[tuple[str, str]]) -> Command:
    process = redo.get("process", "")
    known = facts[process or redo["run"]]
    streams = iter(exact_arguments(known.get("redirections", "")))
    return Command(
        redo,
        redo["run"].removeprefix(RUN_BASE),
        process,
        tuple(exact_arguments(known.get("argv" if process else "commandLine", ""))),
        known.get("cwd") or unquote(known.get("cwdEncoded", ""), errors="surrogateescape"),
        tuple((sign, "" if sign == BOTH else next(streams, "")) for sign in streams),
        -int(known["signal"]) if "signal" in known else int(known.get("exitCode", 0)),
        tuple(sorted(activated)),
    )
