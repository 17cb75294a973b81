"""The notes of users in the store: the files of notes in, a graph for the notes of each run out.

A note needs no merge of its run, which may have very many files. The graph of the notes is named after the run and is
replaced if other notes exist: notes themselves do not change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from provio.base import turtle
from provio.base.turtle import XSD
from provio.base.vocab import RUN_BASE, provio
from provio.graph.lines import NOTES, Graph, notes_iri
from provio.lineage.identity import BASE
from provio.settings.home import Home
from provio.store import Writer
from provio.store.user_vocabulary import put_graph
from provio.trace import notes


def update(store: Writer, home: Home) -> bool:
    """Replace the graphs of the runs that have other notes than the store; return whether there are any."""
    known = of_notes(store)
    changed = False
    for run, paths in notes.files(home.notes_folders()).items():
        graph = notes_iri(RUN_BASE + run)
        digest = hashlib.sha256(" ".join(sorted(paths)).encode()).hexdigest()
        if known.pop(graph, "") != digest:
            put_graph(store, graph, _lines(RUN_BASE + run, paths.items()), digest)
            changed = True
    for graph in known:
        store.drop(graph)
    return changed or bool(known)


def of_notes(store: Writer) -> dict[str, str]:
    """Return the graphs of notes in the store, with their digests."""
    return {graph: digest for graph, digest in store.indexed(provio("contentHash")).items() if graph.endswith(NOTES)}


def _lines(run: str, files: Iterable[tuple[str, Path]]) -> list[str]:
    """Return the notes as N-Triples. The graphs of runs describe the users; stated twice, these facts would be two rows
    of an answer."""
    graph = Graph()
    for id_, note in _read(files):
        time = f'"{note.time}"^^<{XSD}dateTime>'
        person = f"{BASE}user/{turtle.segment(note.host)}/{turtle.segment(note.user)}" if note.user else ""
        graph.node(
            f"{run}/note/{id_}",
            "Note",
            ("noteOn", f"<{note.about}>"),
            ("text", turtle.literal(note.text)),
            ("prov:startedAtTime", time),
            ("prov:endedAtTime", time),
            ("prov:wasAssociatedWith", f"<{person}>" if person else None),
        )
    return graph.lines


def _read(files: Iterable[tuple[str, Path]]) -> Iterator[tuple[str, notes.Note]]:
    for id_, path in sorted(files):
        if note := notes.read(path):
            yield id_, note
