"""The lineage or the run of an export as a document for a diagram: without housekeeping and hidden values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from provio.base.errors import ProvioError

if TYPE_CHECKING:
    from provio.ask.document import LineageDocument, Node
    from provio.exchange.hidden import Hidden
    from provio.exchange.subject import Subject


def document(subject: Subject) -> LineageDocument:
    """Return the document to draw; raises ProvioError for several runs at once."""
    from provio.ask.detail import of_processes
    from provio.ask.works import drawn, without_forks

    if not subject.files and len(subject.runs) != 1:
        raise ProvioError("a diagram of several runs would have too many nodes: name a RUN, or files")
    (document,) = subject.documents(subject.level or "file", "io" if subject.steps == "io" else "task")
    found = without_forks(drawn(document))
    found = of_processes(found) if subject.steps == "process" else found
    return {**found, "nodes": [_shown(node, subject.hide) for node in found["nodes"]]}


def _shown(node: Node, hide: Hidden) -> Node:
    from provio.ask.document import ACTIVITIES

    configured = "setting" if "/configuration/" in node["iri"] else "label"
    kind = "task" if node["type"] == "Task" else configured
    shown: Node = {**node, "label": hide.text(kind, node["label"])}
    if kind == "label" and "argv" in hide.kinds and node["type"] in ACTIVITIES:
        shown["label"] = shown["label"].split(" ")[0]
    if "path" in node:
        shown["path"] = hide.text("path", node["path"])
    if node["type"] == "Directory" and "files" in node:
        shown["path"] = hide.text("cwd", node["path"])
        shown["label"] = shown["path"].rpartition("/")[2] + "/"
    return shown
