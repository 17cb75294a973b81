"""What is out of date: a lineage document and a store in, the products made from other inputs than are there now out.

A product is stale where a file that it was made from holds another version now, or where it was made from a product
that is stale. Files in between that are gone, and pipes, are looked through; a file that the product itself replaced
(an append, an update in place) is none to compare with.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from provio import present
from provio.describe import PREFIXES, batches
from provio.document import ACTIVITIES, Lineage, LineageDocument, Stale, targets
from provio.graph_lines import bundle_iri
from provio.paths import Ways, made_from, order
from provio.store import Reader


@dataclass
class Names:
    """The names of versions, in all runs and in each, and what those names hold now."""

    reader: Reader
    known: dict[str, dict[str, list[tuple[str, bytes]]]] = field(default_factory=dict)
    now: dict[bytes, str | None] = field(default_factory=dict)
    alternates: dict[str, set[str]] = field(default_factory=dict)

    def load(self, versions: Iterable[str]) -> None:
        """Ask the store for the names of versions: by graph, (File, path), the last name first."""
        asked = sorted(set(versions) - self.known.keys())
        self.known.update({iri: {} for iri in asked})
        for batch in batches(asked):
            values = " ".join(f"<{iri}>" for iri in batch)
            query = f"""{PREFIXES} SELECT DISTINCT ?v ?graph ?file ?path ?raw ?own {{ VALUES ?v {{ {values} }}
                GRAPH ?graph {{ ?v prov:specializationOf ?file . OPTIONAL {{ ?file provio:path ?path }}
                OPTIONAL {{ ?file provio:pathEncoded ?raw }} OPTIONAL {{ ?v provio:path ?own }} }} }}"""
            for row in self.reader.rows(query):
                path = os.fsencode(row["path"]) if "path" in row else unquote_to_bytes(row.get("raw", ""))
                names = self.known[row["v"]].setdefault(row["graph"], [])
                names.insert(0 if row.get("own") == row.get("path") else len(names), (row["file"], path))
        self._load_alternates(asked)

    def _load_alternates(self, versions: list[str]) -> None:
        """Follow alternateOf both ways, step by step: not every server follows a path from several versions."""
        ties: dict[str, set[str]] = {}
        frontier = set(versions)
        while frontier:
            for batch in batches(sorted(frontier)):
                values = " ".join(f"<{iri}>" for iri in batch)
                query = f"""{PREFIXES} SELECT DISTINCT ?v ?same {{ VALUES ?v {{ {values} }}
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

    def holds(self, path: bytes) -> str | None:
        """Return the version that a path holds now."""
        if path not in self.now:
            self.now[path] = present.version(path)
        return self.now[path]

    def same(self, version: str, other: str | None) -> bool:
        """Return whether two keys are of one content."""
        return other is not None and other in self.alternates.get(version, {version})

    def is_there(self, version: str) -> bool:
        """Return whether any name of a version holds it now."""
        paths = {path for names in self.known.get(version, {}).values() for _, path in names}
        return any(self.same(version, self.holds(path)) for path in paths)

    def used_as(self, version: str, run: str | None) -> tuple[str, bytes] | None:
        """Return the name, (File, path), that a version had for a run: its last one there."""
        graphs = self.known.get(version, {})
        names = graphs.get(bundle_iri(run) if run else "") or next(iter(graphs.values()), [])
        return names[0] if names else None


def only_stale(reader: Reader, document: LineageDocument) -> LineageDocument:
    """Keep what is stale, what it was made from, and what leads from there to the targets."""
    lineage = Lineage(document)
    finder = _Finder(reader, lineage)
    stale = finder.find()
    kept = {iri for one in stale for iri in (one["product"], one["input"])}
    kept = finder.between(kept) | set(targets(document))
    programs = {
        edge["object"] for edge in document["edges"] if edge["subject"] in kept and edge["object"] in finder.programs
    }
    kept |= programs
    asked = [*targets(document), *(iri for iri in finder.ways.starts() if iri in kept)]
    if len(set(asked)) > 1:  # earlier versions, from which something stale was made
        document = {**document, "targets": list(dict.fromkeys(asked))}
    return {
        **document,
        "nodes": [node for node in document["nodes"] if node["iri"] in kept],
        "edges": [edge for edge in document["edges"] if edge["subject"] in kept and edge["object"] in kept],
        "gaps": [gap for gap in document["gaps"] if gap["about"] in kept],
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
        """All that is stale, each product after those it was made from."""
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
            if product in targets(self.lineage.document) or self.names.is_there(product):
                found += why[product]
        return found

    def _reasons(self, product: str, source: str, run: str | None, why: dict[str, list[Stale]]) -> list[Stale]:
        """Why a product is stale because of one of its inputs: not at all, directly, or because the input is."""
        name = self.names.used_as(source, run)
        state = self._state(product, source, name) if name else "gone"
        if name and state.startswith("http"):
            path = name[1].decode("utf-8", "replace")
            found = Stale(product=product, input=source, path=path, reason="changed", present=state)
            if "modified" in self.lineage.node[source]:
                found["recorded"] = self.lineage.node[source]["modified"]
            return [found]
        if state == "gone":  # and what it was made from is another: then so is it
            return [{**one, "product": product} for one in why.get(source, [])]
        path = self.lineage.node[source].get("path", "")
        return [Stale(product=product, input=source, path=path, reason="stale")] if why.get(source) else []

    def _state(self, product: str, source: str, name: tuple[str, bytes]) -> str:
        """`here`, `gone`, or the IRI of the version that the input's name has now."""
        file, path = name
        if path in {other for names in self.names.known.get(product, {}).values() for _, other in names}:
            return "gone"
        now = self.names.holds(path)
        if now is None and file.startswith(f"file://{present.domain_of(path)}/"):
            return "gone"
        if now is None or not file.startswith(f"file://{now.split('/')[-2]}/"):  # a file of another machine
            now = self.newest.of(file)
        return "here" if now is None or self.names.same(source, now) else now

    def between(self, kept: set[str]) -> set[str]:
        """The nodes from which a kept one can be reached, and those: what lies on the ways from the targets."""
        reached: set[str] = set()
        for iri in order(self.ways):
            if iri in kept or any(one in reached for step in self.ways.onward(iri) for one in step):
                reached.add(iri)
        extra = {one for iri in reached for step in self.ways.onward(iri) if step[-1] in reached for one in step}
        return reached | extra


class _Newest:
    """The newest recorded version of a File of which nothing is here to look at."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.known: dict[str, str | None] = {}

    def of(self, file: str) -> str | None:
        if file not in self.known:
            query = f"""{PREFIXES} SELECT ?v {{ ?v prov:specializationOf <{file}> ; provio:modified ?m }}
                ORDER BY DESC(?m) ?v LIMIT 1"""
            self.known[file] = next((row["v"] for row in self.reader.rows(query)), None)
        return self.known[file]
