"""Where a server holds each record: the index in, of each record the graphs that hold it now out.

A record (`.provio`) is one graph on the server, `RECORD/graph`, and `RECORD/derived` … for what follows from several of
its runs; nothing of it is another record's. What is large is written under a next name, `RECORD/graph/1`, before the
index has it; so a record may lie in several graphs for a while, but each statement in one of them.
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

OWN = "https://w3id.org/provio/"  # what graphs of provio's are named
RECORD = OWN + "record/"
PLACE, STATE, RETIRED = (f"{INDEX}#{word}" for word in ("graph", "state", "retired"))
CHANGING = "changing"  # the state of a record that Virtuoso is at work on
PATIENCE, PAUSE = 50, 0.1  # how often the index is read again until it is another, and seconds between
ALL = "graph"  # what the graph of all runs is called


class Record(NamedTuple):
    """What the index says of a record: its state, the graphs that hold it with the number of their statements, and
    those that did until it changed last."""

    iri: str
    state: str
    places: dict[str, int]
    retired: list[str]

    def of(self, name: str) -> list[str]:
        """Return where a graph of the record is, the latest last."""
        return sorted((place for place in self.places if self.name(place) == name), key=number)

    def name(self, place: str) -> str:
        """Return the name of the graph that a place holds; empty of that of all runs."""
        word = re.sub("/[0-9]+$", "", place.removeprefix(self.iri + "/"))
        return "" if word == ALL else OWN + word

    def following(self, name: str) -> str:
        """Return a place for a graph that nothing is in."""
        first = f"{self.iri}/{name.removeprefix(OWN) or ALL}"
        there = [number(place) for place in (*self.places, *self.retired) if self.name(place) == name]
        return f"{first}/{1 + max(there)}" if there else first


class Index(NamedTuple):
    """What a server holds: records, and graphs of single runs as an earlier provio put them there."""

    records: dict[str, Record]
    earlier: list[str]

    @property
    def graphs(self) -> list[str]:
        """All that a question asks; which classes imply which once, for all records say the same."""
        found = [(record.name(place), place) for record in self.records.values() for place in record.places]
        classes = [place for name, place in found if name == CLASSES][:1]
        there = [place for name, place in found if name != CLASSES]
        return [
            *there,
            *(classes if CLASSES not in self.earlier else ()),
            *([INDEX, *self.earlier] if self.earlier else ()),
        ]


def number(place: str) -> int:
    """Return which of the names of a graph one is."""
    found = re.search("/([0-9]+)$", place)
    return int(found[1]) if found else 0


def read(server: Server) -> Index:
    """Return what the index says, as soon as nothing of it is being changed."""
    for _ in range(PATIENCE):
        found = list(terms.rows(server.own(f"SELECT ?s ?p ?o {{ GRAPH <{INDEX}> {{ ?s ?p ?o }} }}", [INDEX])))
        rows = [row for row in found if len(row) == 3]  # Virtuoso may give what is being deleted without its object
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
    """Yield what the index is to say of a record, as N-Triples."""
    yield f'<{record.iri}> <{STATE}> "{record.state}" .\n'
    yield from (f'<{record.iri}> <{PLACE}> "{place} {size}" .\n' for place, size in record.places.items())
    yield from (f'<{record.iri}> <{RETIRED}> "{place}" .\n' for place in record.retired)


def absorbed(sizes: dict[str, int], places: Iterable[str], size: int) -> list[str]:
    """Return which places are to be written together with so many new statements, that their number grows with the
    logarithm of all, and a statement is not written more often than that."""
    found = []
    for place in sorted(places, key=lambda place: sizes[place]):
        if sizes[place] > 2 * size:
            break
        found.append(place)
        size += sizes[place]
    return found


def record_of(home: Home) -> str:
    """Return the IRI of a record that was merged into a server; empty where it never was."""
    try:
        return RECORD + _id(home).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ""


def named(home: Home) -> str:
    """Return the IRI of a record, which is given one where it has none; called by one writer at a time."""
    if not record_of(home):
        import uuid

        new = _id(home).with_suffix(".new")
        new.write_text(f"{uuid.uuid4()}\n", encoding="ascii")
        new.replace(_id(home))
    return record_of(home)


def _id(home: Home) -> Path:
    return home.path / "record"
