"""Counts the triples of a merged graph that describe operations on files.

An operation is an I/O activity that a file's version refers to, or a Copy that made a version; a pair is a version and
an operation on it. All triples with a file, a version or an operation as subject or object are counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

import pyoxigraph as ox

from provio.base.vocab import RDF, provio
from provio.graph.calls import INFLUENCES

_TOUCHED = frozenset(map(provio, INFLUENCES.values()))
_FILES = frozenset(map(provio, ("File", "FileVersion")))


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
    """Count in the graph of one run."""
    classes: dict[str, set[str]] = defaultdict(set)
    for triple in triples:
        if triple.predicate.value == RDF + "type":
            classes[triple.subject.value].add(triple.object.value)
    copies = {iri for iri, found in classes.items() if provio("Copy") in found}
    mine = copies | {iri for iri, found in classes.items() if found & _FILES}
    touched = {(t.subject.value, t.object.value) for t in triples if t.predicate.value in _TOUCHED}
    pairs = touched | {(t.subject.value, t.object.value) for t in triples if t.object.value in copies}
    mine |= {operation for _, operation in pairs}
    return Count(sum(t.subject.value in mine or t.object.value in mine for t in triples), len(pairs))
