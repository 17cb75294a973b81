"""Write statements (subject, property, value) as lines of N-Triples."""

from __future__ import annotations

import re
from functools import cache

from provio.base import turtle
from provio.base.vocab import PROV, RDF, RDFS, RUN_BASE, XSD, provio, vocabulary

Pair = tuple[str, str | None]  # a property's name, and an N-Triples term; None: not known
# Comments in the N-Triples of a run: the statements that follow belong to the run, or are about shared entities.
OWN, SHARED = "# own\n", "# shared\n"
_ZEROS = re.compile(r"\.?0+Z")
_ZERO_TIME = f'0Z"^^<{XSD}dateTime>'


@cache
def term(name: str) -> str:
    """Return a vocabulary term of provio, or with its prefix of PROV or RDFS, as an N-Triples term; `a` is
    `rdf:type`."""
    if own := vocabulary().terms.get(name):
        return f"<{own}>"
    prefix, _, local = name.rpartition(":")
    if name == "a":
        return f"<{RDF}type>"
    return f"<{PROV + local if prefix == 'prov' else RDFS + local if prefix == 'rdfs' else provio(local)}>"


class Graph:
    """Lines of N-Triples; `node` starts a subject, `add` adds to it. Nothing is checked here: see
    `provio.base.vocab`."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def node(self, iri: str, kind: str, *pairs: Pair) -> None:
        """Add a typed subject and its properties; a value of None is omitted, and with an empty `kind` no type is
        stated. The superclasses of a class are not stated: the ontology implies them."""
        self.add(iri, ("a", term(kind) if kind else None), *pairs)

    def add(self, iri: str, *pairs: Pair) -> None:
        """Add properties to a subject; values are N-Triples terms."""
        self.lines += [f"<{iri}> {term(name)} {value} .\n" for name, value in pairs if value is not None]

    def version(self, iri: str, start: int | None) -> None:
        """Add a comment with a version for the index of versions (`provio.store.versions`).

        `start` is the earliest moment at which its writer may have started (ns since 1970); None where it has no
        writer.
        """
        self.lines.append(_note(iri, start))


def _note(iri: str, start: int | None) -> str:
    return f"#version <{iri}> {'' if start is None else start}\n"


class RunGraph(Graph):
    """The lines of a run's graph: `lines` are statements that belong to the run (by the subject's or the value's
    IRI), `shared` are those about shared entities, with times in the form in which a store returns them."""

    def __init__(self, run_iri: str) -> None:
        super().__init__()
        self.shared: list[str] = []
        self.iri, run = run_iri, re.escape(run_iri.removeprefix(RUN_BASE))
        channel = rf"(?:pipe|socket|memory)/[^> ]*/{run}/[^/> ]+>?$"
        own = rf"<?https://w3id\.org/provio/(?:run/{run}(?:[/>]|$)|{channel}|entity/[^~> ]*~{run}\.)"
        self._own = re.compile(own).match

    def add(self, iri: str, *pairs: Pair) -> None:
        """Add properties to a subject; values are N-Triples terms."""
        if iri.startswith(self.iri) or self._own(iri):
            super().add(iri, *pairs)
            return
        for name, value in pairs:
            if value is None:
                continue
            if value[0] == "<" and self._own(value):
                self.lines.append(f"<{iri}> {term(name)} {value} .\n")
            else:
                time = _ZEROS.sub("Z", value) if value.endswith(_ZERO_TIME) else value
                self.shared.append(f"<{iri}> {term(name)} {time} .\n")

    def version(self, iri: str, start: int | None) -> None:
        """Add a comment with a version to the shared lines; the run's list keeps it."""
        self.shared.append(_note(iri, start))

    def take(self) -> str:
        """Return all lines, those of the run and the shared ones each after their mark, and clear them."""
        text = "".join((OWN, *self.lines, SHARED, *self.shared))
        self.lines.clear()
        self.shared.clear()
        return text


BUNDLE = "/bundle"  # ending of the name of a run's graph


def messages_of(run: str) -> str:
    """Return the IRI of the Channel of all messages between the processes of a framework, from that of their run."""
    return f"{run}/messages"


def bundle_iri(run_iri: str) -> str:
    """Return the IRI of a run's graph: a prov:Bundle is an entity, so it differs from the IRI of the run, an
    activity."""
    return run_iri + BUNDLE


NOTES = "/notes"  # ending of the name of a graph of notes


def notes_iri(run_iri: str) -> str:
    """Return the IRI of the graph of the notes of a run."""
    return run_iri + NOTES


def informed(name: str, earlier: str | None) -> list[Pair]:
    """Return the properties of an activity that an earlier one informed (`carriedFrom`, `launchedBy`, …); none
    without an earlier one."""
    return [(name, f"<{earlier}>"), ("prov:wasInformedBy", f"<{earlier}>")] if earlier else []


def path_if_known(name: str, value: bytes | None) -> Pair:
    """Return the property of a path, with the name that corresponds to its encoding."""
    return turtle.text_or_encoded(name, value) if value is not None else (name, None)
