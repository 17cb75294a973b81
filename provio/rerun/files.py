"""The files of commands. In: a command and a store. Out: the versions that it used and made, and the folders that it
made."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from provio.ask import run_uses
from provio.ask.document import arguments
from provio.ask.housekeeping import rule_of
from provio.ask.redo import INFORMED, is_cache
from provio.ask.stale import MODULES
from provio.ask.verify import Removal, followed, last_observed
from provio.ask.version_names import Names, whole_file
from provio.base.vocab import RUN_BASE
from provio.rerun.commands import Command
from provio.store import Reader

Kind = Literal["input", "code", "system"]
TIES: dict[str, Kind] = {  # the strongest last
    "provio:usedAsNoise": "system",
    "provio:loaded/prov:hadMember": "code",
    "provio:ranAsNoise": "code",
    "prov:used": "input",
    "provio:ran": "input",
}
PACKAGES = ("/site-packages/", "/dist-packages/")
NO_FILES = ("/proc/", "/sys/", "/dev/")


@dataclass(frozen=True, order=True)
class Use:
    """A version that a command used, under the path that it used. `code` are programs, modules and libraries outside
    the project, `system` other files of the system."""

    path: str
    version: str
    kind: Kind


@dataclass
class Files:
    """The files of one command; `products` are the versions that it left, by path; `pipes` has a
    sentence for each other command that wrote into its pipes."""

    uses: list[Use] = field(default_factory=list)
    products: dict[str, str] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)
    pipes: list[str] = field(default_factory=list)


class Finder:
    """Finds the files of commands. `removals` are those of the runs of the plan (`provio.ask.verify`)."""

    def __init__(self, reader: Reader, removals: dict[bytes, list[Removal]]) -> None:
        self.reader, self.names, self.removals = reader, Names(reader), removals

    def of(self, command: Command) -> Files:
        """Return the files of a command and of the recorded runs that it started."""
        found, uses = Files(), dict[str, tuple[Kind, str]]()
        runs = [command.run] if command.process else nested(self.reader, command.run)
        for run in runs:
            which = _activities(command, run)
            made = {row[0] for row in self._rows("?v", f"{which} ?v prov:wasGeneratedBy ?a")}
            found.made |= {whole_file(version) for version in made}
            for tie, kind in TIES.items():
                uses |= {whole_file(row[0]): (kind, run) for row in self._rows("?v", f"{which} ?a {tie} ?v")}
            for (old,) in (row for part in run_uses.values("n", made) for row in self._revised(part)):
                uses[whole_file(old)] = "input", run
            found.pipes += self._pipes(command, which, runs)
            created = f"{which} ?io provio:partOf ?a ; a provio:Create ; provio:api ?api ; provio:path ?path"
            found.folders |= {path for path, api in self._rows("?path ?api", created) if api.startswith("mkdir")}
            for now, end in (followed(one, self.removals) for one in last_observed(self.reader, run) if one.made):
                path = os.fsdecode(now.path)
                if now.version in found.made and not (end or is_cache(path) or rule_of(path)):
                    found.products[path] = now.version
        found.uses = sorted(self._uses(uses))
        return found

    def _pipes(self, command: Command, which: str, runs: Sequence[str]) -> Iterator[str]:
        """Yield a sentence for each other command whose output this one read through a pipe."""
        rows = self._rows("?g", f"{which} ?a prov:used ?v . ?v a provio:Pipe ; prov:wasGeneratedBy ?g")
        writers = {row[0] for row in rows}
        own = {row[0] for row in self._rows("?a", which)} if command.process and writers else set()
        below = tuple(f"{RUN_BASE}{run}/" for run in runs)
        others = [one for one in sorted(writers) if not (one in own if command.process else one.startswith(below))]
        for part in run_uses.values("g", others):
            for (argv,) in self._rows(
                "?argv", f"{part} ?g provio:partOf+ ?p . ?p a provio:Process ; provio:argv ?argv"
            ):
                yield f"{command.shown} read a pipe from {shlex.join(arguments(argv))}, and no pipe connects them again"

    def _uses(self, uses: dict[str, tuple[Kind, str]]) -> Iterator[Use]:
        files = {version: how for version, how in uses.items() if "/version/" in version}
        self.names.load(files)
        for version, (kind, run) in files.items():
            for path in map(os.fsdecode, self._paths(version, run)):
                if not is_cache(path) and not path.startswith(NO_FILES):
                    yield Use(path, version, _kind(kind, path))

    def _paths(self, version: str, run: str) -> list[bytes]:
        """Return the name of a version in a run; of a file with hard links all recorded names that are still there."""
        name = self.names.used_as(version, RUN_BASE + run)
        paths = {path for _, path in self.names.known[version]}
        if len(paths) > 1 and not self.names.moves.get(version):
            there = [path for path in sorted(paths) if self.names.contents.current(path) == version]
            if there:
                return there
        return [name[1]] if name else []

    def _revised(self, which: str) -> Iterator[list[str]]:
        yield from self.reader.table(f"SELECT DISTINCT ?old {{ {which} ?n prov:wasRevisionOf ?old }}")

    def _rows(self, names: str, pattern: str) -> Iterator[list[str]]:
        yield from self.reader.table(f"SELECT DISTINCT {names} {{ {pattern} }}")


def nested(reader: Reader, run: str) -> list[str]:
    """Return a run and the recorded runs that it started, oldest first."""
    query = f"SELECT DISTINCT ?r {{ ?r a provio:Run ; provio:partOf+ <{RUN_BASE}{run}> }}"
    return sorted({run, *(row[0].removeprefix(RUN_BASE) for row in reader.table(query))})


def _activities(command: Command, run: str) -> str:
    """Return a pattern that binds `?a` to the activities of a run, or of one command of a session."""
    if not command.process:
        return run_uses.of_run(run)
    ties = INFORMED.removesuffix("+") + "*"
    return f"{{ SELECT DISTINCT ?a {{ ?b provio:partOf+ <{command.process}> . ?a {ties} ?b }} }}"


def _kind(kind: Kind, path: str) -> Kind:
    """Return the kind of a use: installed packages and loaded libraries are code."""
    suffix = os.path.splitext(path.rstrip("0123456789."))[1]
    installed = any(folder in path for folder in PACKAGES)
    return "code" if installed or (kind == "system" and suffix in MODULES) or suffix == ".so" else kind
