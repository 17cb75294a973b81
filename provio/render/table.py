"""The lineage document as an aligned table, one row per node."""

from __future__ import annotations

from provio.ask.document import Lineage, LineageDocument, Node, Note, local_name, only_kept, only_launched, stale_reason
from provio.ask.notes import line
from provio.base.table import align
from provio.base.text import moment, plural, printable

COLUMNS = ("type", "label", "via", "depth", "path", "run", "start")


def rows(document: LineageDocument) -> list[tuple[str, ...]]:
    """Return the table's cells by depth (each file after its products), then by type and path."""
    nodes = sorted(Lineage(document).node.values(), key=_place)
    return [tuple(_cell(node, column) for column in COLUMNS) for node in nodes]


def render(document: LineageDocument, *, width: int | None = 80, unicode: bool = True) -> str:
    """Return the aligned table, cut to `width` columns (None: not cut), with the numbers of omitted nodes."""
    notes = [f"gap: {gap['reason']} ({gap['about']})" for gap in document["gaps"]]
    notes += [f"stale: {_path(document, one['product'])} {stale_reason(one)}" for one in document.get("stale", ())]
    notes += [f"note: {_about(document, one)}{line(one)}" for one in document.get("notes", ())]
    if document["hidden"]:
        notes.append(f"{plural(document['hidden'], 'system file')} hidden (--all)")
    if started := only_launched(document):
        notes.append(f"{started} (--via control)")
    if kept := only_kept(document):
        notes.append(kept)
    table = align(COLUMNS, rows(document), width=width, unicode=unicode, right={"depth"})
    return table + "".join(printable(note, unicode) + "\n" for note in notes)


def cells(document: LineageDocument) -> list[list[str | int | None]]:
    """Return the same rows by the columns of the table `lineage`."""
    nodes = sorted(Lineage(document).node.values(), key=_place)
    gaps = {node["iri"]: [gap["reason"] for gap in document["gaps"] if gap["about"] == node["iri"]] for node in nodes}
    out = [(one["product"], stale_reason(one)) for one in document.get("stale", ())]
    return [
        [
            *(node["type"], node["label"], node.get("via"), node.get("depth"), node.get("path")),
            *(local_name(node["run"]) if "run" in node else None, node.get("start"), node["iri"]),
            "; ".join(gaps[node["iri"]]) or None,
            "; ".join(why for product, why in out if product == node["iri"]) or None,
        ]
        for node in nodes
    ]


def _about(document: LineageDocument, note: Note) -> str:
    """Return the name of the node that a note is about; that of a run is its id."""
    name = next((node.get("path") or node["label"] for node in document["nodes"] if node["iri"] == note["about"]), "")
    return f"{name or 'run ' + local_name(note['about'])}: "


def _path(document: LineageDocument, iri: str) -> str:
    return next(node.get("path") or node["label"] for node in document["nodes"] if node["iri"] == iri)


def _place(node: Node) -> tuple[int, str, str, str]:
    return node.get("depth", 1_000_000), node["type"], node.get("path") or node["label"], node["iri"]


def _cell(node: Node, column: str) -> str:
    value = str({**node}.get(column, ""))
    if column == "start" and value:
        return moment(value)
    return local_name(value) if column == "run" else value
