"""Reads the index of a server: the graphs that currently contain each record.

A record (`.provio`) is one graph on the server, `RECORD/graph`, plus `RECORD/derived` … for the conclusions from
several of its runs; records share no graph. Large additions go to a graph with the next name, `RECORD/graph/1`,
before the index names it. A record may therefore span several graphs for a while, but each statement is in only one
of them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from provio.base.vocab import PROV, RDF
from provio.settings.home import Home
from provio.store import INDEX
from provio.store.implied import CLASSES
from provio.store.remote import terms
from provio.store.remote.server import Server

OWN = "https://w3id.org/provio/"  # prefix of the names of provio's graphs
RECORD = OWN + "record/"
PLACE, STATE, RETIRED = (f"{INDEX}#{word}" for word in ("graph", "state", "retired"))
CHANGING = "changing"  # the state of a record that Virtuoso is changing
PATIENCE, PAUSE = 50, 0.1  # attempts to read an index that is being changed, and the seconds between
ALL = "graph"  # the name of the graph of all runs


class Record(NamedTuple):
    """The index entries of a record: its state, the graphs that contain it with their numbers of statements, and the
    graphs that contained it before the last change."""

    iri: str
    state: str
    places: dict[str, int]
    retired: list[str]

    def of(self, name: str) -> list[str]:
        """Return the places of a graph of the record, the latest last."""
        return sorted((place for place in self.places if self.name(place) == name), key=number)

    def name(self, place: str) -> str:
        """Return the name of the graph that is at a place; empty for the graph of all runs."""
        word = re.sub("/[0-9]+$", "", place.removeprefix(self.iri + "/"))
        return "" if word == ALL else OWN + word

    def following(self, name: str) -> str:
        """Return an unused place for a graph."""
        first = f"{self.iri}/{name.removeprefix(OWN) or ALL}"
        there = [number(place) for place in (*self.places, *self.retired) if self.name(place) == name]
        return f"{first}/{1 + max(there)}" if there else first


class Index(NamedTuple):
    """The content of a server: records, and graphs of single runs that an earlier provio wrote."""

    records: dict[str, Record]
    earlier: list[str]

    @property
    def graphs(self) -> list[str]:
        """All graphs of a query, with the graph of implied classes once: it is the same for all records."""
        found = [(record.name(place), place) for record in self.records.values() for place in record.places]
        classes = [place for name, place in found if name == CLASSES][:1]
        there = [place for name, place in found if name != CLASSES]
        return [
            *there,
            *(classes if CLASSES not in self.earlier else ()),
            *([INDEX, *self.earlier] if self.earlier else ()),
        ]


def number(place: str) -> int:
    """Return the number at the end of a graph's name; 0 if there is none."""
    found = re.search("/([0-9]+)$", place)
    return int(found[1]) if found else 0


def read(server: Server) -> Index:
    """Return the index; while a record in it is being changed, wait, for at most PATIENCE attempts."""
    for _ in range(PATIENCE):
        found = list(terms.rows(server.own_query(f"SELECT ?s ?p ?o {{ GRAPH <{INDEX}> {{ ?s ?p ?o }} }}", [INDEX])))
        rows = [row for row in found if len(row) == 3]  # Virtuoso may omit the object of a triple during its deletion
        if len(rows) == len(found) and not any(row["p"] == STATE and row["o"] == CHANGING for row in rows):
            break
        time.sleep(PAUSE)
    records = {row["s"]: Record(row["s"], row["o"], {}, []) for row in rows if row["p"] == STATE}
    for row in rows:
        if row["s"] in records and row["p"] == PLACE:
            place, _, size = row["o"].rpartition(" ")
            records[row["s"]].places[place] = int(size)
        elif row["s"] in records and row["p"] == RETIRED:
            records[row["s"]].retired.append(row["o"])
    earlier = [row["s"] for row in rows if row["p"] == RDF + "type" and row["o"] == PROV + "Bundle"]
    return Index(records, sorted(earlier))


def lines(record: Record) -> Iterator[str]:
    """Yield the index entries of a record as N-Triples."""
    yield f'<{record.iri}> <{STATE}> "{record.state}" .\n'
    yield from (f'<{record.iri}> <{PLACE}> "{place} {size}" .\n' for place, size in record.places.items())
    yield from (f'<{record.iri}> <{RETIRED}> "{place}" .\n' for place in record.retired)


def absorbed(sizes: dict[str, int], places: Iterable[str], size: int) -> list[str]:
    """Return the places to merge with `size` new statements. The number of places then grows with the logarithm of
    all statements, and so does the number of times that a statement is written."""
    found = []
    for place in sorted(places, key=lambda place: sizes[place]):
        if sizes[place] > 2 * size:
            break
        found.append(place)
        size += sizes[place]
    return found


def record_of(home: Home) -> str:
    """Return the IRI of a record that was merged into a server; empty if there was no such merge."""
    try:
        return RECORD + _id(home).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ""


def named(home: Home) -> str:
    """Return the IRI of a record, and create it if necessary; only one writer calls this at a time."""
    if not record_of(home):
        import uuid

        new = _id(home).with_suffix(".new")
        new.write_text(f"{uuid.uuid4()}\n", encoding="ascii")
        new.replace(_id(home))
    return record_of(home)


def _id(home: Home) -> Path:
    return home.path / "record"
