"""The words that are known: provio's ontology and the user's own files in, a row for each class and property out."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from provio import own_words
from provio.config import Config
from provio.reports.words import words as ontology
from provio.vocab import PREFIXES, RDFS, local_name

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


def words(settings: Config) -> list[Known]:
    """Return all words, provio's before the user's own; raises ConfigError for files that are wrong."""
    found = []
    for word in ontology():
        kind = "class" if word.kind == "Class" else "property"
        above = sorted(word.says.get("subClassOf", []) + word.says.get("subPropertyOf", []))
        found.append(Known(word.name, kind, ", ".join(above), " ".join(word.says.get("comment", [])), OURS))
    own_words.of(settings)
    return found + [one for name in settings.ontology for one in _own(name)]


def _own(name: str) -> list[Known]:
    """The classes of one of the user's files."""
    import pyoxigraph as ox

    words = own_words.Words([], {})
    own_words.read(Path(name), words)
    means: dict[str, dict[str, str]] = {}
    for triple in ox.parse("".join(words.lines), format=ox.RdfFormat.N_TRIPLES):
        if triple.predicate.value in (RDFS + "comment", RDFS + "label"):
            means.setdefault(triple.subject.value, {})[local_name(triple.predicate.value)] = triple.object.value
    return [
        Known(iri, "class", ", ".join(sorted(map(_short, above))),
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


def _short(iri: str) -> str:
    return next((f"{name}:{iri[len(base) :]}" for name, base in PREFIXES.items() if iri.startswith(base)), iri)


def _whole(word: str) -> str:
    prefix, _, local = word.partition(":")
    return PREFIXES.get(prefix, prefix + ":") + local
