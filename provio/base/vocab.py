"""The vocabulary: IRIs of the terms in `ontology/provio.ttl`; an unknown term raises `UnknownTerm`.

`python -m provio.base.vocab --header` prints `interceptors/posix/vocab.h`, the same terms for C.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from provio.base.errors import UnknownTerm

NS = "https://w3id.org/provio/ns#"
PROV = "http://www.w3.org/ns/prov#"
XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
RUN_BASE = "https://w3id.org/provio/run/"
UNRECORDED = ": its reads and writes are not recorded"  # end of the reason for a program that was not watched
PREFIXES = {"provio": NS, "prov": PROV, "xsd": XSD, "rdf": RDF, "rdfs": RDFS}
PROLOGUE = "".join(f"PREFIX {name}: <{iri}> " for name, iri in PREFIXES.items())  # of a SPARQL query

ONTOLOGY = Path(__file__).parent.parent / "ontology" / "provio.ttl"


class Vocabulary(NamedTuple):
    """The parts of the ontology that provio uses: the IRI of each term by its local name, the parents of each class
    by IRI, and the local names of the properties with integer values."""

    terms: dict[str, str]
    parents: dict[str, frozenset[str]]
    integers: frozenset[str]


@cache
def vocabulary() -> Vocabulary:
    """Return the terms of the ontology; parsed once, in about 3 ms."""
    import pyoxigraph  # slow to import, and recording needs only the names

    terms: dict[str, str] = {}
    parents: dict[str, frozenset[str]] = {}
    integers = set()
    for triple in pyoxigraph.parse(path=ONTOLOGY, format=pyoxigraph.RdfFormat.TURTLE):
        subject, predicate, value = triple.subject.value, triple.predicate.value, triple.object.value
        if predicate == RDF + "type" and subject.startswith(NS):
            terms[subject[len(NS) :]] = subject
        elif predicate == RDFS + "subClassOf":
            parents[subject] = parents.get(subject, frozenset()) | {value}
        elif predicate == RDFS + "range" and value == XSD + "integer":
            integers.add(local_name(subject))
    return Vocabulary(terms, parents, frozenset(integers))


def enlarge(parents: Mapping[str, frozenset[str]]) -> None:
    """Add classes of the user vocabulary, each with its superclasses."""
    if parents:
        vocabulary().parents.update(parents)
        superclasses.cache_clear()


def provio(term: str) -> str:
    """Return the IRI of a term of the ontology; raises `UnknownTerm` for any other."""
    try:
        return vocabulary().terms[term]
    except KeyError:
        raise UnknownTerm(f"no word {term!r} in the ontology (ontology/provio.ttl)") from None


@cache
def superclasses(iri: str) -> frozenset[str]:
    """Return all superclasses of a class, including those of PROV-O, without the class itself."""
    above = vocabulary().parents.get(iri, frozenset())
    return above.union(*map(superclasses, above))


def most_specific(classes: Iterable[str]) -> str | None:
    """Return the IRI of the most specific class; a term of provio takes precedence. None for no classes."""
    known = set(classes)
    if len(known) == 1:
        return known.pop()
    own = [c for c in known if not c.startswith(PROV)]
    if len(own) == 1 and own[0].startswith(NS):
        return own[0]  # no need to read the ontology: no class of PROV is a subclass of one of provio
    lowest = known.difference(*map(superclasses, known))
    return min(lowest, key=lambda c: (not c.startswith(NS), -len(superclasses(c)), c), default=None)


def class_name(classes: Iterable[str]) -> str:
    """Return the local name of the most specific class; empty for no classes."""
    found = most_specific(classes)
    return local_name(found) if found else ""


def local_name(iri: str) -> str:
    """Return the part of an IRI after the last `#` or `/`."""
    return iri[max(iri.rfind("#"), iri.rfind("/")) + 1 :]


def is_run(iri: str) -> bool:
    """Return whether an IRI names a run, and not a part of one."""
    return iri.removeprefix(RUN_BASE) == local_name(iri)


def header() -> str:
    """Return the C header: one macro per term, so that a misspelt term does not compile."""
    lines = [f'#define TERM_{term} ":{term}"' for term in sorted(vocabulary().terms)]
    top = "/* The words of ontology/provio.ttl. Written by `python -m provio.base.vocab --header`; do not edit. */"
    return "\n".join([top, "#ifndef PROVIO_VOCAB_H", "#define PROVIO_VOCAB_H", "", *lines, "", "#endif", ""])


def main() -> None:
    """Print the C header (`--header`), or else the terms, one per line."""
    sys.stdout.write(header() if "--header" in sys.argv[1:] else "".join(f"{t}\n" for t in sorted(vocabulary().terms)))


if __name__ == "__main__":
    main()
