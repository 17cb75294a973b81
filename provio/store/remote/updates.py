"""Tells a server what a record holds now: what changed in each graph in, the same on the server, in one update, out.

What is new is put into a graph that nobody asks; what is gone, into another. Then one update changes by these what is
asked, or has the index name the new graph. What is no longer named stays until the next such update, for who has read
the index already.
"""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Iterable

import pyoxigraph as ox

from provio.store import INDEX
from provio.store.one_graph import Apart, list_names, value_of
from provio.store.remote import places, terms
from provio.store.remote.lease import Lease
from provio.store.remote.places import Record
from provio.store.remote.reader import lists_of
from provio.store.remote.server import Server

LARGE = 100_000  # statements that another server than Virtuoso is not told in one transaction: it takes some 40 µs each
FEW = 500  # statements that Virtuoso is told to remove from a graph that is asked
PART = 60_000  # characters of a list in one literal


class Change:
    """What is new and what is gone in one graph, as N-Triples."""

    def __init__(self) -> None:
        self.new, self.gone = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - till it is told
        self.news = self.losses = 0

    def add(self, triple: ox.Triple, new: bool) -> None:
        """Take one more."""
        (self.new if new else self.gone).write(f"{triple} .\n".encode())
        self.news, self.losses = self.news + new, self.losses + (not new)


class Telling:
    """One change of a record, whose published store is at hand; `earlier` are the graphs of single runs that an earlier
    provio put there."""

    def __init__(self, server: Server, lease: Lease, store: Apart, record: Record, earlier: list[str]) -> None:
        self.server, self.lease, self.store, self.record, self.earlier = server, lease, store, record, earlier
        self.places = dict(record.places)
        self.gone = list(record.retired)  # graphs to be dropped afterwards
        self.retired: list[str] = []
        self.operations: list[str] = []  # what changes graphs that are asked

    def tell(self, state: str, changes: dict[str, Change] | None) -> None:
        """Say what changed; None: all anew."""
        if changes is None:
            self.retired = list(self.places)
            for name in ("", *map(value_of, self.store.store.named_graphs())):
                self._whole(name)
        else:
            for name, change in changes.items():
                self._change(name, change)
        self._lists(whole=changes is None)
        self.lease.hold()
        places_now = {place: size for place, size in self.places.items() if place not in self.retired}
        now = Record(self.record.iri, state, places_now, self.retired)
        self.server.update([*self._begun(), *self.operations, *self._named(now)])
        dropped = self.gone + self._earlier()
        if dropped:
            self.server.update([f"DROP SILENT GRAPH <{graph}>" for graph in dropped])

    def _whole(self, name: str) -> None:
        graph = ox.NamedNode(name) if name else ox.DefaultGraph()
        with tempfile.TemporaryFile() as file:
            self.store.store.dump(file, ox.RdfFormat.N_TRIPLES, from_graph=graph)
            file.seek(0)
            size = sum(1 for _ in file)
            if size:
                self._put(self.record.following(name), file, size)

    def _put(self, place: str, file: object, size: int) -> None:
        self.lease.hold()
        file.seek(0)  # type: ignore[attr-defined]
        self.server.put(place, file)  # type: ignore[arg-type]
        self.places[place] = size

    def _change(self, name: str, change: Change) -> None:
        there = [place for place in self.record.of(name) if place in self.places]
        if not there or (self.server.is_virtuoso and change.losses > FEW):
            self.retired += there
            self._whole(name)
            return
        place = self.record.following(name)
        asked = list(there)
        if change.news:
            self._put(place, change.new, change.news)
            if self.server.is_virtuoso or change.news >= LARGE:
                taken = places.absorbed(self.places, there, change.news)
                for one in taken:
                    self.lease.hold()
                    self.server.update([f"ADD <{one}> TO <{place}>"])
                    self.places[place] += self.places[one]
                self.retired += taken
                asked = [place, *(one for one in there if one not in taken)]
            else:
                self.places[there[-1]] += self.places.pop(place)
                self.gone.append(place)
                self._copy("INSERT", place, there[-1])
        if change.losses:
            gone = f"{self.record.iri}/gone/{self.record.of(name)[0].rpartition('/')[2]}"
            change.gone.seek(0)
            self.server.put(gone, change.gone)
            self.gone.append(gone)
            for one in asked:
                self._copy("DELETE", gone, one)

    def _copy(self, word: str, source: str, place: str) -> None:
        self.operations.append(
            f"{word} {{ GRAPH <{place}> {{ ?s ?p ?o }} }} WHERE {{ GRAPH <{source}> {{ ?s ?p ?o }} }}"
        )

    def _begun(self) -> list[str]:
        """What tells readers that Virtuoso, which does one thing after the other, is at work on what they ask."""
        if not (self.operations and self.server.is_virtuoso):
            return []
        return [self._said(f'<{self.record.iri}> <{places.STATE}> "{places.CHANGING}" .', f"<{places.STATE}>")]

    def _named(self, now: Record) -> list[str]:
        """What has the index say what there is now, and no graph of an earlier layout of these runs."""
        said = "".join(places.lines(now))
        operations = (
            [self._said(said, "?p")] if self.record.state else [f"INSERT DATA {{ GRAPH <{INDEX}> {{ {said} }} }}"]
        )
        left = " ".join(f"<{graph}>" for graph in self._earlier())
        if left:
            pattern = f"GRAPH <{INDEX}> {{ ?g ?p ?o }}"
            operations.append(f"DELETE {{ {pattern} }} WHERE {{ {pattern} VALUES ?g {{ {left} }} }}")
        return operations

    def _said(self, lines: str, word: str) -> str:
        pattern = f"GRAPH <{INDEX}> {{ <{self.record.iri}> {word} ?o }}"
        return f"DELETE {{ {pattern} }} INSERT {{ GRAPH <{INDEX}> {{ {lines} }} }} WHERE {{ {pattern} }}"

    def _earlier(self) -> list[str]:
        """The graphs that an earlier provio made of these runs; all of them, where no other record has any left."""
        own = list_names(self.store.store)
        runs = [graph for graph in self.earlier if graph.endswith("/bundle")]
        return [graph for graph in self.earlier if graph in own] if set(runs) - own.keys() else self.earlier

    def _lists(self, whole: bool) -> None:
        """Put the lists there that are not, and take those away whose runs are gone."""
        graph, now = lists_of(self.record.iri), set(list_names(self.store.store).values())
        query, known = f"SELECT DISTINCT ?s {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}", set[str]()
        if not whole:
            known = {row["s"].rpartition("#")[2] for row in terms.rows(self.server.own(query, [graph]))}
        with tempfile.TemporaryFile() as file:
            for name in sorted(now - known):
                file.writelines(line.encode() for line in self._list(name))
            if whole or file.tell():
                file.seek(0)
                self.server.put(graph, file, more=not whole)
        for name in sorted(known - now):
            pattern = f"GRAPH <{graph}> {{ <{INDEX}#{name}> ?p ?o }}"
            self.operations.append(f"DELETE {{ {pattern} }} WHERE {{ {pattern} }}")

    def _list(self, name: str) -> Iterable[str]:
        text = base64.b64encode(self.store.lists.path(name).read_bytes()).decode()
        for part in range(0, max(len(text), 1), PART):
            yield f'<{INDEX}#{name}> <{INDEX}#part/{part // PART}> "{text[part : part + PART]}" .\n'
