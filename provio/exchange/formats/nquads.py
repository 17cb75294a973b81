"""N-Quads; each run is a named graph."""

from __future__ import annotations

from typing import BinaryIO

from pyoxigraph import RdfFormat

from provio.exchange import rdf
from provio.exchange.subject import Subject

SUMMARY = "RDF: N-Quads; each run is a named graph"
FOLDER = False
OPTIONS = ("level", "steps")


def write(subject: Subject, output: BinaryIO) -> None:
    """Write the document."""
    rdf.write(subject, output, RdfFormat.N_QUADS)
