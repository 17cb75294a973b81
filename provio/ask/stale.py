"""Stale products. In: a lineage document and a store. Out: the products whose inputs have changed since.

A product is stale if one of its input files has another version now, or if it was made from a stale product. For
pipes and missing intermediate files, their own inputs are compared. A file that the product itself replaced (an
append, an update in place) is not compared.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from provio.ask import run_uses
from provio.ask.document import ACTIVITIES, Lineage, LineageDocument, Stale, targets
from provio.ask.nodes import PHASE
from provio.ask.paths import Ways, made_from, order
from provio.ask.target import current_version, domain_of
from provio.ask.walk import batches
from provio.base.text import sortable
from provio.base.vocab import RUN_BASE
from provio.store import Reader


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
    now: dict[bytes, str | None] = field(default_factory=dict)
    alternates: dict[str, set[str]] = field(default_factory=dict)
    moves: dict[str, list[_Move]] = field(default_factory=dict)

    def load(self, versions: Iterable[str]) -> None:
        """Read the names of versions from the store, the last name first."""
        new = sorted(set(versions) - self.known.keys())
        names = run_uses.names(self.reader, new)
        for version in new:
            last, paths = names.last.get(version, ()), names.paths
            files = sorted(names.files.get(version, ()), key=lambda file: (paths[file] not in last, file))
            self.known[version] = [(file, run_uses.path_of(paths[file])) for file in files]
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
        """Return the current version at a path."""
        if path not in self.now:
            self.now[path] = current_version(path)
        return self.now[path]

    def same(self, version: str, other: str | None) -> bool:
        """Return whether two keys identify the same content."""
        return other is not None and other in self.alternates.get(version, {version})

    def is_there(self, version: str) -> bool:
        """Return whether a version is the current one at any of its names."""
        return any(self.same(version, self.current(path)) for path in {path for _, path in self.known.get(version, ())})

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


def only_stale(reader: Reader, document: LineageDocument) -> LineageDocument:
    """Return the document with only the stale products, their inputs, and the paths from there to the targets, and with
    all gaps: an input that was not observed may have changed."""
    lineage = Lineage(document)
    finder = _Finder(reader, lineage)
    stale = finder.find()
    kept = {iri for one in stale for iri in (one["product"], one["input"])}
    kept = finder.between(kept) | set(targets(document))
    programs = {
        edge["object"] for edge in document["edges"] if edge["subject"] in kept and edge["object"] in finder.programs
    }
    kept |= programs
    starts = [*targets(document), *(iri for iri in finder.ways.starts() if iri in kept)]
    if len(set(starts)) > 1:  # earlier versions that have stale products
        document = {**document, "targets": list(dict.fromkeys(starts))}
    return {
        **document,
        "nodes": [node for node in document["nodes"] if node["iri"] in kept],
        "edges": [edge for edge in document["edges"] if edge["subject"] in kept and edge["object"] in kept],
        "only": "stale",
        "stale": stale,
    }


class _Finder:
    def __init__(self, reader: Reader, lineage: Lineage) -> None:
        self.lineage = lineage
        self.ways = Ways(lineage)
        self.names = Names(reader)
        self.names.load(iri for iri, node in lineage.node.items() if node["type"] == "FileVersion")
        self.programs = {iri for iri, node in lineage.node.items() if node["type"] == "Program"}
        self.newest = _Newest(reader)

    def find(self) -> list[Stale]:
        """Return all stale products, each after the products that it was made from."""
        found: list[Stale] = []
        why: dict[str, list[Stale]] = {}
        sources = order(self.ways) if not self.ways.forward else list(reversed(order(self.ways)))
        for product in sources:
            if self.lineage.node[product]["type"] in ACTIVITIES:
                continue
            reasons = [
                one for source, run in made_from(self.ways, product) for one in self._reasons(product, source, run, why)
            ]
            why[product] = list({one["input"]: one for one in reasons}.values())
            why.update(dict.fromkeys(self.ways.same.get(product, ()), why[product]))
            if product in targets(self.lineage.document) or self.names.is_there(product):
                found += why[product]
        return found

    def _reasons(self, product: str, source: str, run: str | None, why: dict[str, list[Stale]]) -> list[Stale]:
        """Return the reasons why one of its inputs makes a product stale: the input changed, or is stale; or none."""
        name = self.names.used_as(source, run)
        state = self._state(product, source, name) if name else "missing"
        if name and state.startswith("http"):
            path = name[1].decode("utf-8", "replace")
            found = Stale(product=product, input=source, path=path, reason="changed", present=state)
            if "modified" in self.lineage.node[source]:
                found["recorded"] = self.lineage.node[source]["modified"]
            own = self._processes(product) & self._processes(source)
            if not own or own.isdisjoint(self._processes(state)):
                return [found]
            state = "missing"  # a process read and replaced its own output
        if state == "missing":  # its own inputs decide
            return list(self._inherited(product, source, why))
        path = self.lineage.node[source].get("path", "")
        return [Stale(product=product, input=source, path=path, reason="stale")] if why.get(source) else []

    def _processes(self, version: str) -> set[str]:
        """Return the processes whose phases made a version."""
        makers = self.lineage.objects(version, "wasGeneratedBy")
        if version not in self.lineage.node:
            makers = [maker for _, maker in run_uses.pairs(self.names.reader, "?v prov:wasGeneratedBy ?a", [version])]
        return {PHASE.sub("", maker) for maker in makers if PHASE.search(maker)}

    def _inherited(self, product: str, source: str, why: dict[str, list[Stale]]) -> Iterator[Stale]:
        """Yield the reasons of an input for its product, with those of a file instead of the file that the product
        itself replaced."""
        own = {path.decode("utf-8", "replace") for _, path in self.names.known.get(product, ())}
        for one in why.get(source, []):
            if one["reason"] == "changed" and one["path"] in own:
                yield from self._inherited(product, one["input"], why)
            else:
                yield {**one, "product": product}

    def _state(self, product: str, source: str, name: tuple[str, bytes]) -> str:
        """Return `present`, `missing`, or the IRI of the current version at the input's name."""
        file, path = name
        if path in {other for _, other in self.names.known.get(product, ())}:
            return "missing"
        now = self.names.current(path)
        if now is None and file.startswith(f"file://{domain_of(path)}/"):
            return "missing"
        if now is None or not file.startswith(f"file://{now.split('/')[-2]}/"):  # a file of another machine
            now = self.newest.of(file)
        return "present" if now is None or self.names.same(source, now) else now

    def between(self, kept: set[str]) -> set[str]:
        """Return the kept nodes and all nodes on the paths from the targets to them."""
        reached: set[str] = set()
        for iri in order(self.ways):
            if iri in kept or any(one in reached for step in self.ways.onward(iri) for one in step):
                reached.add(iri)
        extra = {one for iri in reached for step in self.ways.onward(iri) if step[-1] in reached for one in step}
        keys = {one for iri in reached & self.ways.same.keys() for one in self.ways.same[iri]}
        return reached | extra | keys


class _Newest:
    """The newest recorded versions of Files that this machine does not have."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.known: dict[str, str | None] = {}

    def of(self, file: str) -> str | None:
        if file not in self.known:
            query = f"""SELECT ?v {{ ?v prov:specializationOf <{file}> ; provio:modified ?m }}
                ORDER BY DESC(?m) ?v LIMIT 1"""
            self.known[file] = next((row["v"] for row in self.reader.rows(query)), None)
        return self.known[file]
