"""The ontology in, the page of its words out: `python -m provio.reports.words` prints docs/words.md."""

from __future__ import annotations

import sys
from typing import NamedTuple

import pyoxigraph as ox

from provio.vocab import NS, ONTOLOGY, PREFIXES, RDF, RDFS

INTRODUCTION = f"""# Words

Made from `ontology/provio.ttl` by `python -m provio.reports.words`. All are in the namespace `{NS}`, prefix `provio:`;
`prov:` is W3C PROV-O, which they extend. How the graph uses them: [graph.md](graph.md).
"""
OWL = "http://www.w3.org/2002/07/owl#"
KINDS = {  # what the terms of a kind are called, and the headings of what the ontology says of one
    "Class": ("Classes", (("is a", "subClassOf"),)),
    "ObjectProperty": ("Properties between nodes", (("is a", "subPropertyOf"), ("of", "domain"), ("to", "range"))),
    "DatatypeProperty": ("Properties with values", (("is a", "subPropertyOf"), ("of", "domain"), ("value", "range"))),
    "AnnotationProperty": ("Of traces, and of classes", (("is a", "subPropertyOf"), ("of", "domain"), ("to", "range"))),
}


class Word(NamedTuple):
    """A term of the ontology, and what it says of it: predicate's local name → values."""

    name: str
    kind: str
    says: dict[str, list[str]]


def words() -> list[Word]:
    """Return the terms of the ontology, sorted by name."""
    said: dict[str, dict[str, list[str]]] = {}
    for triple in ox.parse(path=ONTOLOGY, format=ox.RdfFormat.TURTLE):
        subject, predicate, value = triple.subject, triple.predicate.value, triple.object
        if isinstance(subject, ox.NamedNode) and subject.value.startswith(NS) and not isinstance(value, ox.BlankNode):
            local = predicate.removeprefix(RDFS).removeprefix(RDF)
            said.setdefault(subject.value, {}).setdefault(local, []).append(_short(value.value))
    found = [(iri, kind, says) for iri, says in said.items() for kind in KINDS if "owl:" + kind in says.get("type", [])]
    return sorted(Word(_short(iri), kind, says) for iri, kind, says in found)


def page() -> str:
    """Return the page, as Markdown."""
    known = words()
    parts = [INTRODUCTION]
    for kind, (title, columns) in KINDS.items():
        heads = ("word", *(head for head, _ in columns), "means")
        parts += [f"\n## {title}\n\n", _row(heads), _row(["---"] * len(heads))]
        for word in (word for word in known if word.kind == kind):
            cells = [", ".join(f"`{value}`" for value in sorted(word.says.get(name, []))) for _, name in columns]
            parts.append(_row([f"`{word.name}`", *cells, " ".join(word.says.get("comment", []))]))
    return "".join(parts)


def _row(cells: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _short(value: str) -> str:
    for prefix, iri in {**PREFIXES, "owl": OWL}.items():
        if value.startswith(iri):
            return f"{prefix}:{value.removeprefix(iri)}"
    return value


if __name__ == "__main__":
    sys.stdout.write(page())
