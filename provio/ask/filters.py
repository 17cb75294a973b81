"""Limits and reductions of lineage documents.

`Until`: patterns of file names at which a query ends. `contracted`: objects inside files replaced by their files.
`only_roots`: a document reduced to its primary sources.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from glob import escape
from urllib.parse import unquote

from provio.ask.document import Edge, LineageDocument, Node, Via, targets
from provio.ask.nodes import describe, is_member, order
from provio.ask.paths import ends
from provio.ask.walk import batches
from provio.store import Reader


class Until:
    """Files beyond which a query does not continue: patterns in, the versions with matching names out.

    A pattern without a slash is compared with the last part of a path, one with a slash with the whole path; `*` also
    matches slashes. `unmatched` are the patterns without a match so far.
    """

    def __init__(self, reader: Reader, patterns: Iterable[str], folder: str) -> None:
        self.reader = reader
        self.patterns = {
            text: os.path.normpath(os.path.join(escape(folder), text)) if "/" in text else "*/" + text
            for text in patterns
        }
        self.unmatched = dict.fromkeys(self.patterns)

    def ends(self, versions: list[str]) -> set[str]:
        """Return the versions that match."""
        found: set[str] = set()
        inside: dict[str, list[str]] = {}
        for iri in versions:
            inside.setdefault(iri.partition("#")[0], []).append(iri)
        for batch in batches(inside):
            values = " ".join(f"<{iri}>" for iri in batch)
            query = f"""SELECT DISTINCT ?v ?path {{ VALUES ?v {{ {values} }}
                ?v prov:specializationOf? ?file . ?file provio:path ?path }}"""
            for row in self.reader.rows(query):
                for iri in inside[row["v"]]:
                    found |= self._match(iri, row["path"])
        return found

    def _match(self, iri: str, path: str) -> set[str]:
        """Match an object inside a file by the path of its file, or by that path followed by the object's name."""
        mark, name = iri.partition("#")[1:]
        names = {path, path + mark + unquote(name, errors="replace")}
        matched = [text for text, pattern in self.patterns.items() if any(fnmatchcase(one, pattern) for one in names)]
        for text in matched:
            self.unmatched.pop(text, None)
        return {iri} if matched else set()


# Documents of objects inside files, reduced to the files: only a file can be made again.


STRENGTH: tuple[Via, ...] = ("data", "carried", "control", "code")


def contracted(reader: Reader, document: LineageDocument) -> LineageDocument:
    """Replace each object by its file; a file gets the strongest tie of its objects."""
    nodes: dict[str, Node] = {}
    members = [node for node in document["nodes"] if is_member(node["iri"])]
    files = {node["iri"]: node for node in describe(reader, {node["iri"].partition("#")[0] for node in members})}
    for node in document["nodes"]:
        iri = _file(node["iri"])
        known = nodes.setdefault(
            iri, {**files.get(iri, node), "via": node.get("via", "data")} if iri in files else node
        )
        if "depth" in node:
            known["depth"] = min(known.get("depth", node["depth"]), node["depth"])
            known["via"] = min(known.get("via", "data"), node.get("via", "data"), key=STRENGTH.index)
    ends = {(_file(edge["subject"]), edge["predicate"], _file(edge["object"])): None for edge in document["edges"]}
    edges = [Edge(subject=s, predicate=p, object=o) for s, p, o in ends if s != o]
    found: LineageDocument = {**document, "nodes": sorted(nodes.values(), key=order), "edges": edges}
    found["target"] = _file(document["target"])
    if "targets" in document:
        found["targets"] = list(dict.fromkeys(map(_file, targets(document))))
    return found


def _file(iri: str) -> str:
    return iri.partition("#")[0] if is_member(iri) else iri


# Primary sources.


def only_roots(reader: Reader, document: LineageDocument) -> LineageDocument:
    """Keep the targets and the versions that no recorded activity made; a node at which a walk was cut short is no
    root. All gaps stay: because of a gap on the way, a root may be missing."""
    found = ends(document)
    made: set[str] = set()
    for batch in batches(found):
        values = " ".join(f"<{iri}>" for iri in batch)
        query = f"""SELECT DISTINCT ?v {{ VALUES ?v {{ {values} }}
            {{ ?v prov:wasGeneratedBy ?a }} UNION {{ ?v prov:wasDerivedFrom ?w }} }}"""
        made |= {row["v"] for row in reader.rows(query)}
    kept = {*targets(document), *found} - (made - set(targets(document)))
    return {
        **document,
        "nodes": [node for node in document["nodes"] if node["iri"] in kept],
        "edges": [edge for edge in document["edges"] if edge["subject"] in kept and edge["object"] in kept],
        "only": "roots",
    }
