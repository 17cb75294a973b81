"""A lineage document of objects inside files in, the same of their files alone out: what one has to make is a file."""

from __future__ import annotations

from provio.describe import describe, is_member, order
from provio.document import Edge, LineageDocument, Node, Via, targets
from provio.store import Reader

STRENGTH: tuple[Via, ...] = ("data", "carried", "control", "code")


def contracted(reader: Reader, document: LineageDocument) -> LineageDocument:
    """Put each object's file in its place; a file is tied as its strongest object is."""
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
