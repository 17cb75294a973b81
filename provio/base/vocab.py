"""The words: `ontology/provio.ttl` goes in, IRIs come out; a word that is not in it raises.

`python -m provio.base.vocab --header` prints `interceptors/posix/vocab.h`, the same words for C.
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
PREFIXES = {"provio": NS, "prov": PROV, "xsd": XSD, "rdf": RDF, "rdfs": RDFS}

ONTOLOGY = Path(__file__).parent.parent / "ontology" / "provio.ttl"


class Vocabulary(NamedTuple):
    """The ontology, as far as the program asks it: every term's IRI by its local name, every class's parents by IRI,
    and the local names of the properties whose values are integers."""

    terms: dict[str, str]
    parents: dict[str, frozenset[str]]
    integers: frozenset[str]


@cache
def vocabulary() -> Vocabulary:
    """Return the ontology's words; read once, in some 3 ms."""
    import pyoxigraph  # slow to import, and who records needs no more than the names

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
    """Make classes of the user's own known, each with the classes above it."""
    if parents:
        vocabulary().parents.update(parents)
        superclasses.cache_clear()


def provio(term: str) -> str:
    """Return the IRI of a word of the ontology; raises `UnknownTerm` for any other."""
    try:
        return vocabulary().terms[term]
    except KeyError:
        raise UnknownTerm(f"no word {term!r} in the ontology (ontology/provio.ttl)") from None


@cache
def superclasses(iri: str) -> frozenset[str]:
    """Return every class above a class, PROV-O's own included, the class itself not."""
    above = vocabulary().parents.get(iri, frozenset())
    return above.union(*map(superclasses, above))


def types(term: str) -> list[str]:
    """Return the types that a node of a class is given: the class alone; those above it are implied by the ontology."""
    return [provio(term)]


def most_specific(classes: Iterable[str]) -> str | None:
    """Return the IRI of the class that is furthest down; a word of provio's before any other; None of none."""
    known = set(classes)
    if len(known) == 1:
        return known.pop()
    own = [c for c in known if not c.startswith(PROV)]
    if len(own) == 1 and own[0].startswith(NS):
        return own[0]  # no need to read the ontology: none of PROV's classes lies below one of ours
    lowest = known.difference(*map(superclasses, known))
    return min(lowest, key=lambda c: (not c.startswith(NS), -len(superclasses(c)), c), default=None)


def local_name(iri: str) -> str:
    """Return what follows the last `#` or `/` of an IRI."""
    return iri[max(iri.rfind("#"), iri.rfind("/")) + 1 :]


def header() -> str:
    """Return the C header: a macro for each word, so that a misspelt one does not compile."""
    lines = [f'#define TERM_{term} ":{term}"' for term in sorted(vocabulary().terms)]
    top = "/* The words of ontology/provio.ttl. Written by `python -m provio.base.vocab --header`; do not edit. */"
    return "\n".join([top, "#ifndef PROVIO_VOCAB_H", "#define PROVIO_VOCAB_H", "", *lines, "", "#endif", ""])


def main() -> None:
    """Print the C header (`--header`), or else the words, one a line."""
    sys.stdout.write(header() if "--header" in sys.argv[1:] else "".join(f"{t}\n" for t in sorted(vocabulary().terms)))


if __name__ == "__main__":
    main()
