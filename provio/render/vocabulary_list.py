"""The ontology in, the page of its words out: `python -m provio.render.vocabulary_list` prints docs/words.md."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import pyoxigraph as ox

from provio.base.vocab import NS, ONTOLOGY, PREFIXES, RDF, RDFS, local_name
from provio.settings.schema import Config
from provio.store import user_vocabulary

INTRODUCTION = f"""# Words

Made from `ontology/provio.ttl` by `python -m provio.render.vocabulary_list`. All are in the namespace `{NS}`, prefix
`provio:`; `prov:` is W3C PROV-O, which they extend. How the graph uses them: [graph.md](graph.md).
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


# The words that are known: provio's ontology and the user's own files in, a row for each class and property out.


OURS = "provio"


class Known(NamedTuple):
    """A word, whether it is a class or a property, what it is below, what it means, and who says so."""

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
    """Return all words, provio's before the user's own; raises ConfigError for files that are wrong."""
    found = []
    for word in words():
        kind = "class" if word.kind == "Class" else "property"
        above = sorted(word.says.get("subClassOf", []) + word.says.get("subPropertyOf", []))
        found.append(Known(word.name, kind, ", ".join(above), " ".join(word.says.get("comment", [])), OURS))
    user_vocabulary.of(settings)
    return found + [one for name in settings.ontology for one in _own(name)]


def _own(name: str) -> list[Known]:
    """The classes of one of the user's files."""
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
    """Return a word (by its name, with or without a prefix, or its IRI) and all words below it; nothing for none."""
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
