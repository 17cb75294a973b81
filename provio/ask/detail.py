"""A lineage document with less or more detail: folders or files without the objects inside them; processes without
their phases and tasks; the I/O activities on each file."""

from __future__ import annotations

from provio.ask.document import ACTIVITIES, LineageDocument, Node
from provio.ask.folders import folded, replaced
from provio.ask.merged_tasks import merged
from provio.ask.nodes import is_member
from provio.ask.whole_run import add_operations
from provio.store import Reader


def at(reader: Reader, document: LineageDocument, level: str, steps: str) -> LineageDocument:
    """Return a document at a level of things (`folder`, `file`, `dataset`) and of activities (`process`, `task`, `io`);
    empty: as the document has them."""
    if steps == "io":
        document = {**document, "nodes": [*document["nodes"]], "edges": [*document["edges"]]}
        add_operations(reader, document)
    if level in ("folder", "file"):
        document = _without_objects(document)
    if level == "folder":
        document = folded(document)
    return of_processes(document) if steps == "process" else document


def _without_objects(document: LineageDocument) -> LineageDocument:
    left = {node["iri"] for node in document["nodes"] if is_member(node["iri"])}
    edges = [edge for edge in document["edges"] if edge["subject"] not in left and edge["object"] not in left]
    nodes = [node for node in document["nodes"] if node["iri"] not in left]
    return {**document, "nodes": nodes, "edges": edges}


def of_processes(document: LineageDocument) -> LineageDocument:
    """Return a document in which each process replaces its tasks and phases."""
    document = merged(document)
    parts: dict[str, list[Node]] = {}
    place: dict[str, str] = {}
    for node in document["nodes"]:
        if node["type"] in ACTIVITIES and "process" in node:
            parts.setdefault(node["process"], []).append(node)
            place[node["iri"]] = node["process"]
    return replaced(document, [_process(iri, nodes) for iri, nodes in parts.items()], place)


def _process(iri: str, nodes: list[Node]) -> Node:
    first = min(nodes, key=lambda node: (node.get("start", ""), node["iri"]))
    found: Node = {**first, "iri": iri, "type": "Process"}
    found["start"] = min(node.get("start", "") for node in nodes)
    found["end"] = max(node.get("end", "") for node in nodes)
    return found
