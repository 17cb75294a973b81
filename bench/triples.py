"""How many triples the merged graph has for what happened to files: a graph in, three counts out.

An operation is an I/O activity that a file's version points to, or a Copy that made one; a pair is a version and an
operation on it. Counted for them is every triple whose subject or object is an operation, such a version or its file.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import pyoxigraph as ox

from provio.graph import INFLUENCES
from provio.vocab import PROV, RDF, provio

_TOUCHED = frozenset(map(provio, INFLUENCES.values()))


@dataclass(frozen=True)
class Count:
    """The triples that belong to files and their operations, and the pairs of a version and an operation on it."""

    triples: int
    pairs: int

    @property
    def each(self) -> float:
        """Return the triples for each pair."""
        return self.triples / self.pairs


def count(triples: Collection[ox.Triple]) -> Count:
    """Count what one run's graph holds."""
    copies = {
        t.subject.value for t in triples if t.predicate.value == RDF + "type" and t.object.value == provio("Copy")
    }
    files = {t.subject.value for t in triples if t.object.value == provio("FileVersion")}
    touched = {
        (t.subject.value, t.object.value) for t in triples if t.predicate.value in _TOUCHED and t.subject.value in files
    }
    pairs = touched | {(t.subject.value, t.object.value) for t in triples if t.object.value in copies}
    mine = {end for pair in pairs for end in pair}
    mine |= {
        t.object.value for t in triples if t.subject.value in mine and t.predicate.value == PROV + "specializationOf"
    }
    return Count(sum(t.subject.value in mine or t.object.value in mine for t in triples), len(pairs))
