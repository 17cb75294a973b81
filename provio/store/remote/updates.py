"""Transfers the changes of a record's graphs to a server, in one update.

New statements go into a graph that no query reads, removed ones into another. Then one update changes the queried
graphs by these, or makes the index name the new graph. A graph that the index no longer names stays until the next
such update, for readers that have already read the index.
"""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Iterable

import pyoxigraph as ox

from provio.store import INDEX
from provio.store.embedded.reader import OneGraphStore, value_of
from provio.store.remote import places, terms
from provio.store.remote.lease import Lease
from provio.store.remote.places import Record
from provio.store.remote.reader import lists_of
from provio.store.remote.server import Server
from provio.store.statements import list_names

LARGE = 100_000  # limit (statements) of one transaction on servers other than Virtuoso: each takes some 40 µs
FEW = 500  # the most statements that Virtuoso removes from a queried graph
PART = 60_000  # characters of a list in one literal


class Change:
    """The new and the removed statements of one graph, as N-Triples."""

    def __init__(self) -> None:
        self.new, self.removed = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - open until sent
        self.news = self.losses = 0

    def add(self, triple: ox.Triple, new: bool) -> None:
        """Add one statement."""
        (self.new if new else self.removed).write(f"{triple} .\n".encode())
        self.news, self.losses = self.news + new, self.losses + (not new)


class Transfer:
    """One change of a record with a local published store; `earlier` are the graphs of single runs that an earlier
    provio wrote."""

    def __init__(self, server: Server, lease: Lease, store: OneGraphStore, record: Record, earlier: list[str]) -> None:
        self.server, self.lease, self.store, self.record, self.earlier = server, lease, store, record, earlier
        self.places = dict(record.places)
        self.removed = list(record.retired)  # graphs to drop afterwards
        self.retired: list[str] = []
        self.operations: list[str] = []  # operations that change queried graphs

    def send(self, state: str, changes: dict[str, Change] | None) -> None:
        """Send the changes; None means that the complete record is sent again."""
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
        self.server.update([*self._mark_changing(), *self.operations, *self._named(now)])
        dropped = self.removed + self._earlier()
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
        affected = list(there)
        if change.news:
            self._put(place, change.new, change.news)
            if self.server.is_virtuoso or change.news >= LARGE:
                taken = places.absorbed(self.places, there, change.news)
                for one in taken:
                    self.lease.hold()
                    self.server.update([f"ADD <{one}> TO <{place}>"])
                    self.places[place] += self.places[one]
                self.retired += taken
                affected = [place, *(one for one in there if one not in taken)]
            else:
                self.places[there[-1]] += self.places.pop(place)
                self.removed.append(place)
                self._copy("INSERT", place, there[-1])
        if change.losses:
            removed = f"{self.record.iri}/gone/{self.record.of(name)[0].rpartition('/')[2]}"
            change.removed.seek(0)
            self.server.put(removed, change.removed)
            self.removed.append(removed)
            for one in affected:
                self._copy("DELETE", removed, one)

    def _copy(self, word: str, source: str, place: str) -> None:
        self.operations.append(
            f"{word} {{ GRAPH <{place}> {{ ?s ?p ?o }} }} WHERE {{ GRAPH <{source}> {{ ?s ?p ?o }} }}"
        )

    def _mark_changing(self) -> list[str]:
        """Return the operation that marks the record as changing: Virtuoso executes operations one after the other,
        and readers must wait."""
        if not (self.operations and self.server.is_virtuoso):
            return []
        state = f"<{places.STATE}>"
        return [self._replace_entries(f'<{self.record.iri}> {state} "{places.CHANGING}" .', state)]

    def _named(self, now: Record) -> list[str]:
        """Return the operations that put the current graphs into the index, and remove those of an earlier layout of
        these runs."""
        entries = "".join(places.lines(now))
        insertion = f"INSERT DATA {{ GRAPH <{INDEX}> {{ {entries} }} }}"
        operations = [self._replace_entries(entries, "?p") if self.record.state else insertion]
        left = " ".join(f"<{graph}>" for graph in self._earlier())
        if left:
            pattern = f"GRAPH <{INDEX}> {{ ?g ?p ?o }}"
            operations.append(f"DELETE {{ {pattern} }} WHERE {{ {pattern} VALUES ?g {{ {left} }} }}")
        return operations

    def _replace_entries(self, lines: str, word: str) -> str:
        pattern = f"GRAPH <{INDEX}> {{ <{self.record.iri}> {word} ?o }}"
        return f"DELETE {{ {pattern} }} INSERT {{ GRAPH <{INDEX}> {{ {lines} }} }} WHERE {{ {pattern} }}"

    def _earlier(self) -> list[str]:
        """Return the graphs that an earlier provio made of these runs; all of them, if no other record has any
        left."""
        own = list_names(self.store.store)
        runs = [graph for graph in self.earlier if graph.endswith("/bundle")]
        return [graph for graph in self.earlier if graph in own] if set(runs) - own.keys() else self.earlier

    def _lists(self, whole: bool) -> None:
        """Add the missing lists, and remove the lists of removed runs."""
        graph, now = lists_of(self.record.iri), set(list_names(self.store.store).values())
        query, known = f"SELECT DISTINCT ?s {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}", set[str]()
        if not whole:
            known = {row["s"].rpartition("#")[2] for row in terms.rows(self.server.own_query(query, [graph]))}
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
