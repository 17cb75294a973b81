"""Reads the user vocabulary (the Turtle files of the setting `ontology`) into the vocabulary and the store.

Each user class is a subclass of a class of provio or PROV-O, so that queries for that class find its nodes; the files
may not describe terms of provio or PROV-O.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from provio.base import turtle
from provio.base.errors import ConfigError
from provio.base.vocab import NS, PROV, RDF, RDFS, enlarge, provio, vocabulary
from provio.settings import load
from provio.settings.types import suggestion
from provio.store import Writer
from provio.store.implied import ONTOLOGY

if TYPE_CHECKING:
    from provio.settings.schema import Config
    from provio.store import Writer


# Graphs of the store with vocabulary only: the user's ontology, the implied classes.


def replace_graph(store: Writer, graph: str, lines: Sequence[str]) -> bool:
    """Replace the content of a graph with these lines (N-Triples), or drop the graph if there are none; return
    whether this changed it."""
    digest = hashlib.sha256("".join(sorted(lines)).encode()).hexdigest() if lines else ""
    if store.indexed(provio("contentHash")).get(graph, "") == digest:
        return False
    if lines:
        put_graph(store, graph, lines, digest)
    else:
        store.drop(graph)
    return True


def put_graph(store: Writer, graph: str, lines: Sequence[str], digest: str) -> None:
    """Replace the content of a graph with these lines (N-Triples), which `digest` identifies in the index."""
    store.replace(graph, ["".join(lines)])
    bundle = f"<{graph}> <{RDF}type> <{PROV}Bundle> .\n"
    store.index([bundle, f"<{graph}> <{provio('contentHash')}> {turtle.literal(digest)} .\n"])


OWL = "http://www.w3.org/2002/07/owl#"
SUBCLASS, TYPE = RDFS + "subClassOf", RDF + "type"
PROV_CLASSES = frozenset(
    PROV + name
    for name in "Entity Activity Agent Plan Bundle Collection Person Organization SoftwareAgent Location".split()
)


class Words(NamedTuple):
    """The content of the files as N-Triples lines, and the superclasses of each class in them."""

    lines: list[str]
    parents: dict[str, frozenset[str]]


def of(settings: Config) -> Words:
    """Return the user vocabulary and add it to provio's vocabulary; raises ConfigError for errors in the files."""
    words = Words([], {})
    for name in settings.ontology:
        read(Path(name), words)
    for name, above in words.parents.items():
        _below_ours(name, above, words)
    enlarge(words.parents)
    return words


def read(path: Path, words: Words) -> None:
    """Add the content of a file; raises ConfigError with the line of an error."""
    import pyoxigraph as ox

    try:
        data = load.content(path)
        triples = list(ox.parse(data, format=ox.RdfFormat.TURTLE, base_iri=path.absolute().as_uri()))
    except OSError as error:
        raise ConfigError(f"ontology: {path}: {error.strerror}: name an existing Turtle file") from None
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise ConfigError(f"ontology: {path}{f':{line}' if line else ''}: not Turtle: {_reason(error)}") from None
    for triple in triples:
        subject, value = triple.subject, triple.object
        if not isinstance(subject, ox.NamedNode) or isinstance(value, ox.BlankNode | ox.Triple):
            continue  # a restriction, for example: no query here needs it
        if subject.value.startswith((NS, PROV)):
            where = _line(data, subject.value)
            raise ConfigError(
                f"ontology: {path}{where}: {_short(subject.value)} is not yours: name a class of your own"
            )
        _class(path, data, words, (subject.value, triple.predicate.value, value.value))
        words.lines.append(f"{subject} {triple.predicate} {value} .\n")


def _class(path: Path, data: bytes, words: Words, triple: tuple[str, str, str]) -> None:
    subject, predicate, value = triple
    if predicate == SUBCLASS:
        if value.startswith(NS) and value not in vocabulary().terms.values():
            near = suggestion(value.removeprefix(NS), vocabulary().terms)
            raise ConfigError(f"ontology: {path}{_line(data, value)}: no class {_short(value)!r}{near}")
        words.parents[subject] = words.parents.get(subject, frozenset()) | {value}
    elif predicate == TYPE and value in (OWL + "Class", RDFS + "Class"):
        words.parents.setdefault(subject, frozenset())


def _below_ours(name: str, above: Iterable[str], words: Words) -> None:
    """Raise ConfigError if no superclass of a class is one of provio or PROV."""
    seen: set[str] = set()
    waiting = set(above)
    while waiting:
        seen |= waiting
        waiting = {other for one in waiting for other in words.parents.get(one, ())} - seen
    if not any(one.startswith(NS) or one in PROV_CLASSES for one in seen):
        raise ConfigError(
            f"ontology: <{name}> is a subclass of no class of provio or PROV: add rdfs:subClassOf with one, such as "
            "provio:Configuration"
        )


def _reason(error: Exception) -> str:
    return re.sub(r"^Parser error at line.*?: ", "", str(error))


def _short(iri: str) -> str:
    return iri.replace(NS, "provio:").replace(PROV, "prov:")


def _line(data: bytes, iri: str) -> str:
    """Return the first line that contains a term's local name, as `:LINE`; empty if there is none."""
    local = re.split("[#/]", iri)[-1].encode()
    return next((f":{number}" for number, line in enumerate(data.splitlines(), 1) if local in line), "")


def update(store: Writer, words: Words) -> bool:
    """Replace the user vocabulary in the store if it differs; return whether it did."""
    return replace_graph(store, ONTOLOGY, words.lines)
