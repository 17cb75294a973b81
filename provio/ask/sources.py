"""The files that others were made from. In: a store, and the nodes of lineage. Out: the present state of each source.

A source with a version that is there under its name has not changed. Of any other, the content at the name that it had
when it was used decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from provio.ask.content import CHANGED, MISSING, SAME, Contents
from provio.ask.origins import Now, Origins, reached
from provio.ask.target import current_versions
from provio.ask.version_names import Names
from provio.base.turtle import literal
from provio.lineage.identity import BASE
from provio.store import Reader

FILE = BASE + "version/"
# Folders in which version control, workflow engines, caches and interpreters keep files of their own.
HOUSEKEEPING = re.compile(
    rb"/(\.git|\.hg|\.svn|\.snakemake|\.nextflow|\.dvc|\.cache|\.ipynb_checkpoints|__pycache__)/|\.py[co]$"
)
SCRIPT_COPIES = re.compile(rb"/\.snakemake/scripts/tmp")  # the code of Snakemake's jobs, made from the user's scripts


class Sources:
    """The state of the files that others were made from. `recorded` are the known versions at present paths."""

    def __init__(self, reader: Reader, origins: Origins, contents: Contents, recorded: Mapping[bytes, str]) -> None:
        self.origins, self.contents = origins, contents
        self.known = Names(reader)
        self.names: dict[str, set[bytes]] = {}
        for path, version in recorded.items():
            self.names.setdefault(version, set()).add(path)
        named = f"?v provio:path|provio:pathEncoded ?n FILTER(STRSTARTS(STR(?v), {literal(FILE)}))"
        self._moved = {version for (version,) in reader.table(f"SELECT DISTINCT ?v {{ {named} }}")}
        self._states: dict[tuple[str, str], Now] = {}

    def may_differ(self) -> bool:
        """Return whether any source is not there under its only name."""
        return any(iri.startswith(FILE) and self._is_open(iri) for iri in (*self.origins.data, *self.origins.code))

    def _is_open(self, version: str) -> bool:
        """Return whether the names of a version must be read from the store."""
        return version not in self.names or version in self._moved

    def load(self, nodes: Iterable[str]) -> None:
        """Read the names of the versions among these nodes that are not there under their only name, and their
        contents."""
        wanted = [iri for iri in nodes if iri.startswith(FILE) and self._is_open(iri)]
        self.known.load(wanted)
        paths = {path for iri in wanted for _, path in self.known.known[iri]}
        self.contents.know(current_versions(paths))
        self.contents.load(wanted, paths)
        for iri in wanted:
            self.names.setdefault(iri, set()).update(path for _, path in self.known.known[iri])

    def made_again(self) -> dict[str, str]:
        """Return the versions that were made again with the same content, but not from themselves, each with the one
        that is there."""
        found: dict[str, str] = {}
        for version, names in self.known.known.items():
            for _, path in names:
                now = self.contents.current(path)
                if now != version and now in self.origins.makers and self.contents.file(version, path).state == SAME:
                    found[version] = now
        behind = {*reached(self.origins, sorted(found.values()))}
        return {version: now for version, now in found.items() if version not in behind}

    def now(self, source: str, run: str) -> Now:
        """Return the state of a source that a run used."""
        if any(HOUSEKEEPING.search(name) and not SCRIPT_COPIES.search(name) for name in self.names.get(source, ())):
            return Now("ended")
        if source not in self.known.known:
            return Now("present" if source in self.names else "missing")
        if (source, run) not in self._states:
            self._states[source, run] = self._now(source, run)
        return self._states[source, run]

    def _now(self, source: str, run: str) -> Now:
        name = self.known.used_as(source, run)
        if name is None:
            return Now("missing")
        if self.contents.current(name[1]) == source:
            return Now("present")
        found = self.contents.file(source, name[1])
        if found.state in (SAME, MISSING):
            return Now("present" if found.state == SAME else "missing")
        return Now("changed" if found.state == CHANGED else "unsure", name[1], self.contents.current(name[1]) or "")
