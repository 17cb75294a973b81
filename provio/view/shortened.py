"""What of a very large lineage a page carries: a document in, the same with files that stand for many out.

Up to `MOST` nodes a page holds each of them, and folds and opens them by itself. Beyond that, files of one folder that
the same processes made and read stand together as one node of type `Fold`, with the number of them and the command that
shows one of them; processes of one program likewise, where the files alone are not enough.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from typing import Any, Final

from provio.document import ACTIVITIES, Edge, LineageDocument, Node, targets

MOST: Final = 120_000


def carried(document: LineageDocument, most: int = MOST) -> LineageDocument:
    """Return the document itself where it is small enough."""
    if len(document["nodes"]) <= most:
        return document
    groups = _groups(document, most)
    kept = {iri: iri for iri in (node["iri"] for node in document["nodes"])}
    nodes: list[Node] = []
    for key, members in groups.items():
        if len(members) == 1:
            nodes.append(members[0])
            continue
        fold = _fold(f"fold:{len(nodes)}:{'/'.join(key[:2])}", members)
        nodes.append(fold)
        kept.update((member["iri"], fold["iri"]) for member in members)
    ends: dict[tuple[str, str, str], None] = {}
    for edge in document["edges"]:
        subject, object_ = kept.get(edge["subject"]), kept.get(edge["object"])
        if subject and object_ and subject != object_:
            ends[subject, edge["predicate"], object_] = None
    edges = [Edge(subject=s, predicate=p, object=o) for s, p, o in ends]
    return {**document, "nodes": nodes, "edges": edges}


def _groups(document: LineageDocument, most: int) -> dict[tuple[str, ...], list[Node]]:
    """Nodes that stand together; files by folder and neighbours, then by folder, then processes by program, too."""
    near: dict[str, set[str]] = defaultdict(set)
    for edge in document["edges"]:
        near[edge["subject"]].add(edge["object"])
        near[edge["object"]].add(edge["subject"])
    whole = set(targets(document))
    found: dict[tuple[str, ...], list[Node]] = {}
    for coarse in range(3):
        found = defaultdict(list)
        for node in document["nodes"]:
            found[_key(node, near[node["iri"]], coarse) if node["iri"] not in whole else (node["iri"],)].append(node)
        if len(found) <= most:
            break
    return found


def _key(node: Node, near: set[str], coarse: int) -> tuple[str, ...]:
    if node["type"] in ACTIVITIES:
        return (node["type"], node.get("program", node["label"])) if coarse == 2 else (node["iri"],)
    if "path" not in node or node["type"] == "Program":
        return (node["iri"],)
    folder = node["path"].rpartition("/")[0]
    return (node["type"], folder) if coarse else (node["type"], folder, *sorted(near))


def _fold(iri: str, members: list[Node]) -> Node:
    first = members[0]
    folder = first.get("path", "").rpartition("/")[0]
    path = "" if first["type"] in ACTIVITIES else folder + "/"
    fold: dict[str, Any] = {"iri": iri, "type": "Fold", "of": first["type"], "count": len(members), "path": path}
    fold["label"] = f"{path.rstrip('/').rpartition('/')[2]}/" if path else first["label"]
    fold["size"] = sum(member.get("size", 0) for member in members)
    fold["command"] = "provio lineage " + shlex.quote(first["path"]) if "path" in first else "provio runs"
    for key in ("start", "run", "via"):
        if key in first:
            fold[key] = first[key]
    return fold  # type: ignore[return-value]
