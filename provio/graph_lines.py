"""The lines of a graph: subjects, properties and values in, N-Triples out."""

from __future__ import annotations

from functools import cache

from provio import turtle
from provio.vocab import PROV, RDF, RDFS, provio, types

Pair = tuple[str, str | None]  # a word, and an N-Triples term or None for what is not known


@cache
def term(name: str) -> str:
    """Return a word of provio's or, with its prefix, of PROV's as an N-Triples term."""
    prefix, _, local = name.rpartition(":")
    return f"<{PROV + local if prefix == 'prov' else RDFS + local if prefix == 'rdfs' else provio(local)}>"


@cache
def _typing(kind: str) -> tuple[str, ...]:
    return tuple(f"<{RDF}type> <{iri}> .\n" for iri in types(kind))


class Graph:
    """Lines of N-Triples; `node` begins a subject, `say` adds to it. Nothing is checked here: see `provio.vocab`."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def node(self, iri: str, kind: str, *pairs: Pair) -> None:
        """Add a typed subject and its properties; a value of None is left out, and of no kind nothing is said."""
        subject = f"<{iri}> "
        self.lines += [subject + typing for typing in _typing(kind)] if kind else ()
        self.say(iri, *pairs)

    def say(self, iri: str, *pairs: Pair) -> None:
        """Add properties to a subject; values are N-Triples terms."""
        self.lines += [f"<{iri}> {term(name)} {value} .\n" for name, value in pairs if value is not None]

    def version(self, iri: str, begun: int | None) -> None:
        """Note a version for the index of versions (`store.versions`), in a comment: when its writer may have begun (ns
        since 1970), None where it has none."""
        self.lines.append(f"#version <{iri}> {'' if begun is None else begun}\n")


def bundle_iri(run_iri: str) -> str:
    """Return the IRI of a run's graph: a prov:Bundle is an entity, so it is not the run activity's."""
    return run_iri + "/bundle"


def named(iri: str) -> str:
    """Return an IRI as an N-Triples term."""
    return f"<{iri}>"


def informed(name: str, earlier: str | None) -> list[Pair]:
    """Return what says that an earlier activity informed one (`carriedFrom`, `launchedBy`, …); nothing of none."""
    return [(name, named(earlier)), ("prov:wasInformedBy", named(earlier))] if earlier else []


def path_if_known(name: str, value: bytes | None) -> Pair:
    """Return what says a path, under the name of the way in which it is written."""
    return turtle.text_or_encoded(name, value) if value is not None else (name, None)
