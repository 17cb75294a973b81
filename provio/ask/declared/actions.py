"""The actions of the processes of a run. In: a store and a run's id. Out: the processes and Tasks as a tree, each with
the files that it read and wrote."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from provio.ask import run_uses
from provio.ask.document import exact_arguments
from provio.ask.version_names import Names, whole_file
from provio.base.text import sortable
from provio.base.vocab import RUN_BASE
from provio.store import Reader

OWNER = re.compile(r"(.*/)(?:phase|copy)/(\d+)")
# The kinds of reading, the strongest last: a system file or one that was only opened, a program, an input.
SYSTEM, CODE, INPUT = range(3)
TIES = {"provio:usedAsNoise": SYSTEM, "provio:ranAsNoise": SYSTEM, "provio:ran": CODE, "prov:used": INPUT}

Paths = frozenset[str]


@dataclass
class Actor:
    """A process, or a Task in one.

    `reads` are the names of each file that it read, with the kind; `writes` are those of each file that it wrote.
    `touched` are other paths that it made or changed: folders, links, times.
    """

    iri: str
    words: list[str] = field(default_factory=list)
    cwd: str = ""
    start: str = ""
    parent: str = ""
    children: list[str] = field(default_factory=list)
    reads: dict[Paths, int] = field(default_factory=dict)
    writes: set[Paths] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)


class Actions:
    """The actors of a run by IRI. `removed` are files that the run removed, `streams` those of its redirections."""

    def __init__(self, reader: Reader, run: str) -> None:
        self.reader, self.run, self.iri = reader, run, RUN_BASE + run
        self.names = Names(reader)
        self.actors: dict[str, Actor] = {}
        self._versions: dict[str, set[str]] = {}
        self.every = run_uses.of_run(run)
        self._read_processes()
        self._read_links()
        self._read_files()
        removed = {version for version, _ in self._rows("?v ?a", "?v prov:wasInvalidatedBy ?a")}
        self.names.load(map(whole_file, removed))
        self.removed = {path for version in removed for path in self._paths(version)}
        self.cwd = next((cwd for (cwd,) in reader.table(f"SELECT ?cwd {{ <{self.iri}> provio:cwd ?cwd }}")), "")
        query = f"SELECT ?words {{ <{self.iri}> provio:redirections ?words }}"
        self.streams = {word for (words,) in reader.table(query) for word in exact_arguments(words)}

    def below(self, start: str, without: Iterable[str] = ()) -> Iterator[Actor]:
        """Yield an actor and all that it started, without the actors in `without` and those that they started."""
        left, omitted = [start], {*without}
        while left:
            actor = self.actors[left.pop()]
            yield actor
            left += [child for child in actor.children if child not in omitted]

    def above(self, start: str) -> Iterator[Actor]:
        """Yield the actors that started this one, the nearest first."""
        seen = {start}
        while (start := self.actors[start].parent) in self.actors and start not in seen:
            seen.add(start)
            yield self.actors[start]

    def _rows(self, names: str, pattern: str) -> Iterator[list[str]]:
        yield from self.reader.table(f"SELECT DISTINCT {names} {{ {self.every} {pattern} }}")

    def named(self, programs: Collection[str]) -> list[Actor]:
        """Return the processes of one of these programs, in the order of their starts, without those that only began
        another program."""
        found = [one for one in self.actors.values() if is_program(one.words, programs) and not self.is_fork(one)]
        return sorted(found, key=start_of)

    def is_fork(self, actor: Actor) -> bool:
        """Return whether a process only began another program: it has its parent's command line."""
        parent = self.actors.get(actor.parent)
        return parent is not None and parent.words == actor.words

    def _actor(self, iri: str) -> Actor:
        return self.actors.setdefault(iri, Actor(iri))

    def _of(self, activity: str) -> Actor | None:
        """Return the actor of a phase or copy."""
        match = OWNER.match(activity)
        return self._actor(match[1]) if match and activity.startswith(self.iri + "/") else None

    def _read_processes(self) -> None:
        query = f"""SELECT ?p ?argv ?cwd ?encoded ?start {{ ?p provio:partOf <{self.iri}> ; a provio:Process .
            OPTIONAL {{ ?p provio:argv ?argv }} OPTIONAL {{ ?p provio:cwd ?cwd }}
            OPTIONAL {{ ?p provio:cwdEncoded ?encoded }} OPTIONAL {{ ?p prov:startedAtTime ?start }} }}"""
        for row in self.reader.rows(query):
            actor = self._actor(row["p"])
            actor.words = exact_arguments(row.get("argv", ""))
            actor.cwd = row.get("cwd") or unquote(row.get("encoded", ""), errors="surrogateescape")
            actor.start = row.get("start", "")

    def _read_links(self) -> None:
        """Find who started each actor: the link of its first phase; of a Task, its process."""
        first: dict[str, tuple[int, str]] = {}
        for activity, before in self._rows("?a ?b", "?a provio:carriedFrom|provio:launchedBy ?b"):
            match, earlier = OWNER.match(activity), OWNER.match(before)
            if match and earlier and not earlier[1].startswith(match[1]):
                found = int(match[2]), earlier[1]
                first[match[1]] = min(first.get(match[1], found), found)
        for iri, (_, parent) in sorted(first.items()):
            self._actor(iri).parent = parent
            self._actor(parent).children.append(iri)

    def _read_files(self) -> None:
        used = {tie: [*self._rows("?a ?v", f"?a {tie} ?v")] for tie in TIES}
        opened = [*self._rows("?a ?v", "?io provio:partOf ?a ; a provio:Open . ?v provio:wasOpenedBy ?io")]
        made = [*self._rows("?a ?v", "?v prov:wasGeneratedBy ?a")]
        changes = "?io provio:partOf ?a . ?v provio:wasModifiedBy ?io OPTIONAL { ?io provio:to ?to }"
        changed = [*self._rows("?a ?v ?to", changes)]
        self.names.load({whole_file(row[1]) for rows in (*used.values(), opened, made, changed) for row in rows})
        for tie, kind in (("", SYSTEM), *TIES.items()):
            for activity, version in used.get(tie, opened):
                if (actor := self._of(activity)) and (paths := self._paths(version)):
                    actor.reads[paths] = max(kind, actor.reads.get(paths, SYSTEM))
        for activity, version in made:
            if (actor := self._of(activity)) and (paths := self._paths(version)):
                actor.writes.add(paths)
        for activity, version, to in changed:
            if actor := self._of(activity):
                actor.touched |= {to} if to else self._paths(version)
        for activity, path in self._rows("?a ?path", "?io provio:partOf ?a ; a provio:Create ; provio:path ?path"):
            if actor := self._of(activity):
                actor.touched.add(path)

    def _paths(self, version: str) -> Paths:
        """Return all names that a version of a file had in the run; none of a pipe."""
        file = whole_file(version)
        paths = frozenset(map(os.fsdecode, self.names.names_in(file, self.run)))
        for path in paths:
            self._versions.setdefault(path, set()).add(file)
        return paths

    def has_changed(self, path: str) -> bool:
        """Return whether a file that the run used is not there any more with that content."""
        known = self._versions.get(path, ())
        return bool(known) and not any(self.names.is_there(version, self.names.known) for version in known)


def start_of(actor: Actor) -> tuple[str, str]:
    """Return a key that sorts actors by their starts."""
    return sortable(actor.start), actor.iri


def is_program(words: Sequence[str], programs: Collection[str]) -> bool:
    """Return whether a command line starts one of these programs, itself or by Python."""
    names = [os.path.basename(word) for word in words]
    first = 2 if names[1:2] == ["-m"] else 1
    python = bool(names) and names[0].startswith("python")
    return any(name in programs for name in (names[first : first + 1] if python else names[:1]))
