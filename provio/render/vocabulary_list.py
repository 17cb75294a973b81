"""Lists of the terms of the ontology and of the user vocabulary.

`python -m provio.render.vocabulary_list` prints docs/words.md.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import pyoxigraph as ox

from provio.base.vocab import NS, ONTOLOGY, PREFIXES, RDF, RDFS, local_name
from provio.settings.schema import Config
from provio.store import user_vocabulary

INTRODUCTION = f"""# Vocabulary

Made from `ontology/provio.ttl` by `python -m provio.render.vocabulary_list`. All terms are in the namespace `{NS}`,
prefix `provio:`; `prov:` is W3C PROV-O, which they extend. [graph.md](graph.md) describes their use in the graph.
"""
OWL = "http://www.w3.org/2002/07/owl#"
KINDS = {  # the title of each kind of term, and the headings of its properties
    "Class": ("Classes", (("is a", "subClassOf"),)),
    "ObjectProperty": ("Properties between nodes", (("is a", "subPropertyOf"), ("of", "domain"), ("to", "range"))),
    "DatatypeProperty": ("Properties with values", (("is a", "subPropertyOf"), ("of", "domain"), ("value", "range"))),
    "AnnotationProperty": ("Of traces, and of classes", (("is a", "subPropertyOf"), ("of", "domain"), ("to", "range"))),
}


class Word(NamedTuple):
    """A term of the ontology, and its properties: predicate's local name → values."""

    name: str
    kind: str
    properties: dict[str, list[str]]


def words() -> list[Word]:
    """Return the terms of the ontology, sorted by name."""
    stated: dict[str, dict[str, list[str]]] = {}
    for triple in ox.parse(path=ONTOLOGY, format=ox.RdfFormat.TURTLE):
        subject, predicate, value = triple.subject, triple.predicate.value, triple.object
        if isinstance(subject, ox.NamedNode) and subject.value.startswith(NS) and not isinstance(value, ox.BlankNode):
            local = predicate.removeprefix(RDFS).removeprefix(RDF)
            stated.setdefault(subject.value, {}).setdefault(local, []).append(_short(value.value))
    found = [(iri, kind, own) for iri, own in stated.items() for kind in KINDS if "owl:" + kind in own.get("type", [])]
    return sorted(Word(_short(iri), kind, own) for iri, kind, own in found)


def page() -> str:
    """Return the page, as Markdown."""
    known = words()
    parts = [INTRODUCTION]
    for kind, (title, columns) in KINDS.items():
        heads = ("word", *(head for head, _ in columns), "means")
        parts += [f"\n## {title}\n\n", _row(heads), _row(["---"] * len(heads))]
        for word in (word for word in known if word.kind == kind):
            cells = [", ".join(f"`{value}`" for value in sorted(word.properties.get(name, []))) for _, name in columns]
            parts.append(_row([f"`{word.name}`", *cells, " ".join(word.properties.get("comment", []))]))
    return "".join(parts)


def _row(cells: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _short(value: str) -> str:
    for prefix, iri in {**PREFIXES, "owl": OWL}.items():
        if value.startswith(iri):
            return f"{prefix}:{value.removeprefix(iri)}"
    return value


# The terms of provio's ontology and of the user vocabulary.


OURS = "provio"


class Known(NamedTuple):
    """A term: its kind (class or property), the terms above it, its meaning, and the file that defines it."""

    word: str
    kind: str
    above: str
    means: str
    source: str

    @property
    def local(self) -> str:
        """Its name without a prefix."""
        return self.word.rpartition(":")[2] if self.source == OURS else local_name(self.word)


def known_words(settings: Config) -> list[Known]:
    """Return all terms, provio's before the user's own; raises ConfigError for invalid files."""
    found = []
    for word in words():
        kind = "class" if word.kind == "Class" else "property"
        above = sorted(word.properties.get("subClassOf", []) + word.properties.get("subPropertyOf", []))
        found.append(Known(word.name, kind, ", ".join(above), " ".join(word.properties.get("comment", [])), OURS))
    user_vocabulary.of(settings)
    return found + [one for name in settings.ontology for one in _own(name)]


def _own(name: str) -> list[Known]:
    """Return the classes of one of the user's files."""
    import pyoxigraph as ox

    words = user_vocabulary.Words([], {})
    user_vocabulary.read(Path(name), words)
    means: dict[str, dict[str, str]] = {}
    for triple in ox.parse("".join(words.lines), format=ox.RdfFormat.N_TRIPLES):
        if triple.predicate.value in (RDFS + "comment", RDFS + "label"):
            means.setdefault(triple.subject.value, {})[local_name(triple.predicate.value)] = triple.object.value
    return [
        Known(iri, "class", ", ".join(sorted(map(_short_name, above))),
              means.get(iri, {}).get("comment") or means.get(iri, {}).get("label", ""), name)
        for iri, above in sorted(words.parents.items())
    ]  # fmt: skip


def below(every: list[Known], word: str) -> set[str]:
    """Return a term (given by name, with or without a prefix, or by IRI) and all terms below it; an empty set if it is
    unknown."""
    found = {one.word for one in every if word in (one.word, one.local) or word == _whole(one.word)}
    grown = True
    while grown:
        more = {one.word for one in every if one.word not in found and found & set(one.above.split(", "))}
        found |= more
        grown = bool(more)
    return found


def _short_name(iri: str) -> str:
    return next((f"{name}:{iri[len(base) :]}" for name, base in PREFIXES.items() if iri.startswith(base)), iri)


def _whole(word: str) -> str:
    prefix, _, local = word.partition(":")
    return PREFIXES.get(prefix, prefix + ":") + local


if __name__ == "__main__":
    sys.stdout.write(page())
