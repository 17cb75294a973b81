"""The names of versions. In: a store. Out: the names that a version had in a run, and the versions there now."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from provio.ask import run_uses
from provio.ask.content import SAME, Contents
from provio.ask.target import is_recorded
from provio.ask.walk import batches
from provio.base.text import sortable
from provio.base.vocab import RUN_BASE
from provio.lineage.identity import earliest
from provio.store import Reader


def whole_file(version: str) -> str:
    """Return the version of the file of which something is a version, an object or a part."""
    return version.partition("#")[0].partition("~")[0]


@dataclass(frozen=True, order=True)
class _Move:
    """A rename or a link of a version: its time, run and paths."""

    time: str
    run: str
    old: str
    new: str


@dataclass
class Names:
    """The names of versions, and the current versions at these names. A name is (File, path)."""

    reader: Reader
    known: dict[str, list[tuple[str, bytes]]] = field(default_factory=dict)
    alternates: dict[str, set[str]] = field(default_factory=dict)
    moves: dict[str, list[_Move]] = field(default_factory=dict)
    at_path: dict[bytes, list[str]] = field(default_factory=dict)  # the loaded versions
    recognised: dict[bytes, str] = field(default_factory=dict)  # the versions at paths, by their contents

    def __post_init__(self) -> None:
        """Compare contents with the same present versions."""
        self.contents = Contents(self.reader)

    def load(self, versions: Iterable[str]) -> None:
        """Read the names of versions from the store, the last name first."""
        new = sorted(set(versions) - self.known.keys())
        names = run_uses.names(self.reader, new)
        for version in new:
            last, paths = names.last.get(version, ()), names.paths
            files = sorted(names.files.get(version, ()), key=lambda file: (paths[file] not in last, file))
            self.known[version] = [(file, run_uses.path_of(paths[file])) for file in files]
            for _, path in self.known[version]:
                self.at_path.setdefault(path, []).append(version)
                self.recognised.pop(path, None)
        self._load_moves([version for version in new if len(self.known[version]) > 1])
        self._load_alternates(new)

    def _load_moves(self, versions: list[str]) -> None:
        """Read the renames and links of versions with several names."""
        for which in run_uses.values("v", versions):
            query = f"""SELECT DISTINCT ?v ?io ?time ?from ?to {{ {which} ?v provio:wasModifiedBy ?io .
                ?io prov:startedAtTime ?time ; provio:from ?from ; provio:to ?to }}"""
            for row in self.reader.rows(query):
                move = _Move(sortable(row["time"]), run_uses.run_of(row["io"]), row["from"], row["to"])
                self.moves.setdefault(row["v"], []).append(move)

    def _load_alternates(self, versions: list[str]) -> None:
        """Follow alternateOf both ways, step by step: not every server follows a path from several versions."""
        ties: dict[str, set[str]] = {}
        frontier = set(versions)
        while frontier:
            for batch in batches(sorted(frontier)):
                values = " ".join(f"<{iri}>" for iri in batch)
                query = f"""SELECT DISTINCT ?v ?same {{ VALUES ?v {{ {values} }}
                    ?v prov:alternateOf | ^prov:alternateOf ?same }}"""
                for row in self.reader.rows(query):
                    ties.setdefault(row["v"], set()).add(row["same"])
            frontier = set().union(*ties.values()) - ties.keys()
        for version in ties.keys() & set(versions):
            found, waiting = {version}, [version]
            while waiting:
                new = ties[waiting.pop()] - found
                found |= new
                waiting += new
            self.alternates[version] = found

    def current(self, path: bytes) -> str | None:
        """Return the current version at a path. A file with a key that is not recorded, as in a copy of a project, is
        the newest version there with its content."""
        now = self.contents.current(path)
        if now is None or now in self.known:
            return now
        if path not in self.recognised and is_recorded(self.reader, now):
            self.recognised[path] = now
        elif path not in self.recognised:
            versions = sorted(self.at_path.get(path, ()), key=lambda one: (earliest(one), one), reverse=True)
            same = (one for one in versions if self.contents.file(one, path).state == SAME)
            self.recognised[path] = next(same, now)
        return self.recognised[path]

    def same(self, version: str, other: str | None) -> bool:
        """Return whether two keys identify the same content."""
        return other is not None and other in self.alternates.get(version, {version})

    def is_there(self, version: str, recorded: Container[str] = ()) -> bool:
        """Return whether a version, or a file with its content that is not `recorded`, is at any of its names."""
        paths = {path for _, path in self.known.get(version, ())}
        return any(self.same(version, self.current(path)) for path in paths) or any(
            self.current(path) not in recorded and self.contents.file(version, path).state == SAME for path in paths
        )

    def used_as(self, version: str, run: str | None) -> tuple[str, bytes] | None:
        """Return the last name of a version in a run, according to the recorded moves."""
        names, moves = self.known.get(version, []), sorted(self.moves.get(version, ()))
        if run and moves:
            name = run.removeprefix(RUN_BASE)
            own = [move.new for move in moves if move.run == name]
            before = [move.new for move in moves if move.run < name]  # ids of runs are in the order of time
            path = os.fsencode((own or before or [moves[0].old])[-1])
            names = [one for one in names if one[1] == path] or names
        return names[0] if names else None

    def names_in(self, version: str, run: str) -> set[bytes]:
        """Return the names of a version in a run, according to the recorded moves."""
        name, own, others = run.removeprefix(RUN_BASE), set[str](), set[str]()
        for move in self.moves.get(version, ()):
            (own if move.run == name else others).update((move.old, move.new))
        used = None if own or not others else self.used_as(version, run)
        return {used[1]} if used else {path for _, path in self.known[version]} - {*map(os.fsencode, others - own)}
