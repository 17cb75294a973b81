"""The lineage document as Graphviz text: one `digraph` in ASCII.

Arrows point in the direction of the data, as on the page of `provio view`; `dot -Tsvg` draws it.
"""

from __future__ import annotations

from provio.ask.document import ACTIVITIES, AGENTS, PIPES, Lineage, LineageDocument, Node, local_name, targets
from provio.base.text import printable

_STRAIGHT = {"used", "wasGeneratedBy"}
_LONGEST = 200


def render(document: LineageDocument) -> str:
    """Return the text of one directed graph; nodes are `n0`, `n1` … in the document's order."""
    lineage = Lineage(document)
    names = {iri: f"n{place}" for place, iri in enumerate(lineage.node)}
    lines = ["digraph lineage {", "  rankdir=LR;", '  node [fontname="Helvetica", fontsize=11];']
    for iri, node in lineage.node.items():
        lines.append(f"  {names[iri]} [{_look(node, lineage)}];")
    for edge in lineage.drawn_edges():
        start, end = lineage.flow(edge)
        predicate = local_name(edge["predicate"])
        style = "" if predicate in _STRAIGHT else f" [style=dashed, label={quoted(predicate)}]"
        lines.append(f"  {names[start]} -> {names[end]}{style};")
    if document.get("only") == "roots":
        named = [iri for iri in targets(document) if iri in names]
        lines += [f"  {names[iri]} -> {names[named[0]]} [style=dotted];" for iri in names if iri not in named]
    return "\n".join([*lines, "}"]) + "\n"


def _look(node: Node, lineage: Lineage) -> str:
    shape = "box"
    if node["type"] in ACTIVITIES:
        shape = "ellipse"
    elif node["type"] in AGENTS:
        shape = "hexagon"
    elif node["type"] in PIPES:
        shape = "cds"
    bold = ", penwidth=3" if node["iri"] in targets(lineage.document) else ""
    if any(one["product"] == node["iri"] for one in lineage.document.get("stale", ())):
        bold += ", color=red"
    full = node.get("path") or node["label"]
    return f"shape={shape}, label={quoted(node['label'])}, tooltip={quoted(full)}{bold}"


def quoted(text: str) -> str:
    """Return a Graphviz string that shows `text` literally: its escapes, entities and markup have no effect."""
    shown = printable(text)
    shown = shown if len(shown) <= _LONGEST else shown[:_LONGEST] + "…"
    shown = shown.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isascii() else f"&#{ord(c)};" for c in shown) + '"'
