"""Graphviz: the files, processes and tasks of a run or a lineage."""

from __future__ import annotations

from typing import BinaryIO

from provio.exchange import dot_text, drawing
from provio.exchange.subject import Subject

SUMMARY = "Graphviz: a diagram of a run or of the lineage of files"
FOLDER = False
OPTIONS = ("level", "steps")


def write(subject: Subject, output: BinaryIO) -> None:
    """Write the diagram."""
    output.write(dot_text.render(drawing.document(subject)).encode())
