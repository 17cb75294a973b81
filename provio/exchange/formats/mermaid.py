"""Mermaid: a flowchart of a run or a lineage, which many pages of Markdown show as a picture."""

from __future__ import annotations

from typing import BinaryIO

from provio.ask.document import ACTIVITIES, AGENTS, PIPES, Lineage, local_name
from provio.base.text import printable
from provio.exchange import drawing
from provio.exchange.subject import Subject

SUMMARY = "Mermaid: a flowchart of a run or of the lineage of files"
FOLDER = False
OPTIONS = ("level", "steps")
SHAPES = ((ACTIVITIES, "([", "])"), (AGENTS, "{{", "}}"), (PIPES, ">", "]"))
STRAIGHT = ("used", "wasGeneratedBy")
LONGEST = 200  # characters of a label
PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ._-/")


def write(subject: Subject, output: BinaryIO) -> None:
    """Write the flowchart; nodes are `n0`, `n1` … in the order of the document."""
    lineage = Lineage(drawing.document(subject))
    names = {iri: f"n{place}" for place, iri in enumerate(lineage.node)}
    lines = ["flowchart LR"]
    for iri, node in lineage.node.items():
        start, end = next(((a, b) for kinds, a, b in SHAPES if node["type"] in kinds), ("[", "]"))
        lines.append(f"  {names[iri]}{start}{_quoted(node['label'])}{end}")
    for edge in lineage.drawn_edges():
        first, last = lineage.flow(edge)
        predicate = local_name(edge["predicate"])
        arrow = "-->" if predicate in STRAIGHT else f"-. {predicate} .->"
        lines.append(f"  {names[first]} {arrow} {names[last]}")
    output.write(("\n".join(lines) + "\n").encode())


def _quoted(text: str) -> str:
    """Return a label that shows the text literally: its markup and escapes have no effect."""
    shown = printable(text)
    shown = shown if len(shown) <= LONGEST else shown[:LONGEST] + "…"
    return '"' + "".join(char if char in PLAIN else f"#{ord(char)};" for char in shown) + '"'
