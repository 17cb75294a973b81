"""A lineage at the level of processes (`--steps process`). In: a document. Out: the same with the tasks of each process
as one activity.

Files and results that one task of a process made and another one used are inside that activity: they are shown only if
they are targets, or if another process used them, and no process uses its own products.
"""

from __future__ import annotations

from collections import defaultdict

from provio.ask.document import Lineage, LineageDocument, Node, targets
from provio.ask.filters import STRENGTH
from provio.ask.folders import merged_edges
from provio.ask.started_as import name
from provio.ask.walk import USED


def merged(document: LineageDocument) -> LineageDocument:
    """Return the document with one activity for all shown tasks of a process."""
    tasks: dict[str, list[Node]] = defaultdict(list)
    for node in document["nodes"]:
        if "task" in node and "process" in node:
            tasks[node["process"]].append(node)
    place = {node["iri"]: process for process, nodes in tasks.items() for node in nodes}
    left = [node for node in document["nodes"] if node["iri"] not in place]
    nodes = left + [_process(process, merged) for process, merged in tasks.items()]
    found: LineageDocument = {**document, "nodes": nodes, "edges": merged_edges(document["edges"], place)}
    lineage, shown = Lineage(found), {*targets(document)}
    ends = [(edge["subject"], edge["object"]) for edge in found["edges"] if edge["predicate"] == USED]
    own = {(user, made) for user, made in ends if user in tasks and lineage.objects(made, "wasGeneratedBy") == [user]}
    inner = {made for user, made in own if lineage.subjects(made, "used") == [user]} - shown
    found["nodes"] = [node for node in nodes if node["iri"] not in inner]
    found["edges"] = [
        edge for edge in found["edges"] if not {edge["subject"], edge["object"]} & inner
        and (edge["predicate"] != USED or (edge["subject"], edge["object"]) not in own)
    ]  # fmt: skip
    return found


def _process(iri: str, tasks: list[Node]) -> Node:
    first = min(tasks, key=lambda node: node.get("start", ""))
    command = first.get("command") or first.get("argv", "")
    found = Node(iri=iri, type="Process", label=name(command, "process"), process=iri)
    for key in ("run", "argv", "command", "host", "pid", "start"):
        if key in first:
            found[key] = first[key]
    found["end"] = max(node.get("end", "") for node in tasks)
    found["via"] = min((node["via"] for node in tasks if "via" in node), key=STRENGTH.index, default="data")
    return found
