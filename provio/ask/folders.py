"""The lineage of folders: a lineage document in, the same with one node for all files of each folder, out.

raw/  12 files, 70 B

A folder is made by the activities that made any of its files. Plumbing (`provio.ask.housekeeping.between`) stays, so
that forms for people can draw through it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from provio.ask import fold
from provio.ask.document import Edge, Gap, Lineage, LineageDocument, Node, Via, targets
from provio.ask.housekeeping import between
from provio.base.turtle import path_iri
from provio.lineage.identity import VERSION

_ORDER: tuple[Via, ...] = ("data", "carried", "control", "code")


def folded(document: LineageDocument, plain: bool = True) -> LineageDocument:
    """Return the document at the level of folders; without `plain`, also the files of plumbing are in their folders."""
    plumbing = between(Lineage(document)) if plain else set()
    files: dict[str, list[Node]] = {}
    place: dict[str, str] = {}
    for node in document["nodes"]:
        folder = fold.folder_of(node)
        if folder is not None and node["iri"] not in plumbing:
            iri = f"file://{_domain(node['iri'])}{path_iri(folder)}/"
            files.setdefault(iri, []).append(node)
            place[node["iri"]] = iri
    return replaced(document, [_folder(iri, known) for iri, known in files.items()], place)


def replaced(document: LineageDocument, nodes: list[Node], place: Mapping[str, str]) -> LineageDocument:
    """Return the document with `nodes` instead of those that have a `place`, the IRI of the node that replaces them."""
    labels = {node["iri"]: node["label"] for node in document["nodes"]}
    made: LineageDocument = {
        **document,
        "target": place.get(document["target"], document["target"]),
        "nodes": nodes + [node for node in document["nodes"] if node["iri"] not in place],
        "edges": merged_edges(document["edges"], place),
        "gaps": [_gap(gap, place, labels) for gap in document["gaps"]],
    }
    if "targets" in document:
        made["targets"] = list(dict.fromkeys(place.get(iri, iri) for iri in targets(document)))
    if "stale" in document:
        made["stale"] = [
            {
                **one,
                "product": place.get(one["product"], one["product"]),
                "input": place.get(one["input"], one["input"]),
            }
            for one in document["stale"]
        ]
    return made


def _gap(gap: Gap, place: Mapping[str, str], labels: Mapping[str, str]) -> Gap:
    """Return a gap about the folder of a file, with the file's name."""
    about = gap["about"]
    return {**gap, "about": place[about], "reason": f"{labels[about]}: {gap['reason']}"} if about in place else gap


def _domain(version: str) -> str:
    """Return the file system of a version, as the names of its files have it."""
    found = VERSION.match(version)
    return found["domain"].rpartition("/")[2] if found else ""


def merged_edges(edges: Iterable[Edge], place: Mapping[str, str]) -> list[Edge]:
    """Return the edges between folders and other nodes, each once; those within a folder are omitted."""
    found: dict[tuple[str, str, str], None] = {}
    for edge in edges:
        subject, object_ = (place.get(end, end) for end in (edge["subject"], edge["object"]))
        if subject != object_ or edge["subject"] == edge["object"]:
            found[subject, edge["predicate"], object_] = None
    return [{"subject": s, "predicate": p, "object": o} for s, p, o in found]


def _folder(iri: str, versions: list[Node]) -> Node:
    """Return the node of a folder. A file with several versions counts once, with the size of the nearest one."""
    files: dict[str, Node] = {}
    for node in sorted(versions, key=lambda node: node.get("depth", 0)):
        files.setdefault(node["path"], node)
    folder = next(iter(files)).rpartition("/")[0] or "/"
    found = Node(iri=iri, type="Directory", label=folder.rpartition("/")[2] + "/", path=folder, files=len(files))
    sizes = [node["size"] for node in files.values() if "size" in node]
    if sizes:
        found["size"] = sum(sizes)
    found["via"] = min((node["via"] for node in versions if "via" in node), key=_ORDER.index, default="data")
    found["depth"] = min(node.get("depth", 0) for node in versions)
    for note in ("changed", "failed"):
        noted = [f"{node['label']}: {text}" for node in files.values() if (text := str({**node}.get(note) or ""))]
        if noted:
            more = f" (and {len(noted) - 1:,} more)" if len(noted) > 1 else ""
            found[note] = noted[0] + more
    return found
