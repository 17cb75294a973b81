"""Find the names of each version from the openings, renames, links and deletions of a run.

A rename or a link gives its new name to the content that the file has at that moment, under each key of the content.
A folder's move also moves the files in it. A version that was observed without a name gets one from its inode.
"""

from __future__ import annotations

import os
from collections import defaultdict

from provio.base.folders import Tree
from provio.lineage.identity import Identity
from provio.lineage.model import Conclusions, Version, inode_of
from provio.system.statx import Facts
from provio.trace.facts import Event
from provio.trace.run_facts import Trace

Inode = tuple[str, int, int]


def name(trace: Trace, identity: Identity, conclusions: Conclusions) -> None:
    """Add the names from the events of `trace` to the versions of `conclusions`."""
    namer = _Namer(identity, conclusions)
    moved = [e for p in trace.processes.values() for e in p.events if e.kind in ("Rename", "Link", "Delete")]
    for event in sorted(moved, key=lambda event: event.at):
        if "target" not in event.record and not conclusions.is_separate(event.facts()):
            namer.happened(event)
    namer.nameless(trace)


class _Namer:
    """Follows a run's changes of names in the order of time, and the inode that each path refers to."""

    def __init__(self, identity: Identity, conclusions: Conclusions) -> None:
        self.identity = identity
        self.versions: dict[Inode, list[Version]] = defaultdict(list)
        for version in conclusions.versions.values():
            self.versions[inode_of(version.facts)].append(version)
        seen = ((first, path, version) for version in conclusions.versions.values()
                for (_, path), (first, _) in version.sightings.items())  # fmt: skip
        self.sightings = sorted(seen, key=lambda known: known[0], reverse=True)
        self.there: dict[bytes, Inode] = {}
        self.tree: Tree | None = None  # current and former paths; from the first move of a folder on

    def happened(self, event: Event) -> None:
        """Apply the effect of one event on names."""
        while self.sightings and self.sightings[-1][0] <= event.at:
            _, path, version = self.sightings.pop()
            self._add_path(path, inode_of(version.facts))
        facts, old, new = event.facts(), _plain(event.text("from")), _plain(event.text("to"))
        if event.kind == "Delete":
            self.there.pop(_plain(event.text("path")) or b"", None)
        elif facts and old and new:
            if event.kind == "Rename":
                self.there.pop(old, None)
            if inode_of(facts) in self.versions:
                self._named(facts, old, new, event.at)
            elif event.kind == "Rename":
                self._moved(old, new, event.at)

    def _add_path(self, path: bytes, inode: Inode) -> None:
        if self.tree and path not in self.there:
            self.tree.add(path)
        self.there[path] = inode

    def _named(self, facts: Facts, old: bytes, path: bytes, moment: int) -> None:
        """Add the new name of the file of `facts` to its content, under each key."""
        self._add_path(path, inode_of(facts))
        versions = self.versions[inode_of(facts)]
        same = {v.iri for v in versions if (v.facts.mtime, v.facts.size) == (facts.mtime, facts.size)}
        for version in versions:
            retimed = {earlier for moment_, earlier in version.retimed if moment_ <= moment}
            if version.iri in same:
                same |= retimed
            elif retimed & same:
                same.add(version.iri)
        for version in versions:
            if version.iri in same or _later(version, old, moment):
                self._call(version, path, moment)

    def _moved(self, old: bytes, new: bytes, moment: int) -> None:
        """Apply the rename of a folder to all paths in it."""
        if self.tree is None:
            self.tree = Tree()
            for path in self.there:
                self.tree.add(path)
        for path in self.tree.take(old):
            inode = self.there.pop(path, None)
            if inode is None:
                continue
            moved = new + path[len(old) :]
            self._add_path(moved, inode)
            known = [version for version in self.versions[inode] if version.seen <= moment]
            latest = max(known, key=lambda version: version.seen, default=None)
            for version in self.versions[inode]:
                if version is latest or _later(version, path, moment):
                    self._call(version, moved, moment)

    def _call(self, version: Version, path: bytes, moment: int) -> None:
        version.name(self.identity.file(path, version.facts.device), path, moment)

    def nameless(self, trace: Trace) -> None:
        """Name the versions that were observed without a name after an opening of their inode that had one, or after
        the name that a link gave to it."""
        bare = [v for versions in self.versions.values() for v in versions if not v.sightings]
        wanted = {inode_of(version.facts) for version in bare}
        named = {inode: path for path, inode in self.there.items()} if wanted else {}
        for opening in trace.openings() if wanted else ():
            if opening.name and not opening.unlinked and inode_of(opening.facts) in wanted:
                named[inode_of(opening.facts)] = opening.name
        for version in bare:
            if inode_of(version.facts) in named:
                self._call(version, named[inode_of(version.facts)], version.seen)


def _later(version: Version, path: bytes, moment: int) -> bool:
    """Return whether a version was only observed after a moment, through an opening of this path from before the
    moment."""
    opened = (first for (_, name), (first, _) in version.sightings.items() if name == path)
    return version.seen > moment and any(first <= moment for first in opened)


def _plain(path: bytes | None) -> bytes | None:
    return os.path.normpath(path) if path else None
