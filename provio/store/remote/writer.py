"""Writes a store on a server: repeats there the changes that a merge makes in a local embedded store.

The record's content on a server is also stored in `.provio/servers/` as an embedded store. The same code merges runs
there; the server then receives the changes, in one update with the index. If the server contains another state than
the one last written, it receives the complete record again, next to its present graphs until the index names the new
ones.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING

import pyoxigraph as ox

from provio.base.errors import BadQuery, NothingKnown
from provio.settings.home import Home, share
from provio.settings.lock import Lock
from provio.store.embedded.reader import StoreReader
from provio.store.embedded.writer import StoreWriter
from provio.store.remote import places
from provio.store.remote.lease import Lease
from provio.store.remote.places import Record
from provio.store.remote.reader import connect, noted
from provio.store.remote.updates import Change, Transfer
from provio.store.statements import CONTENT

if TYPE_CHECKING:
    from provio.settings.schema import Config


class RemoteWriter(StoreWriter):
    """The only writer: a context manager that holds the lock, and the server's lease during the transfer.

    `rebuild` writes all runs of the `.provio` again. Raises Busy if `wait` is false and another process holds the lock
    or the lease.
    """

    def __init__(self, home: Home, settings: Config, wait: bool, lock: Lock, rebuild: bool = False) -> None:
        try:
            self.server, self.wait = connect(settings, wait), wait
            with home.closed():
                home.kept.mkdir(parents=True, exist_ok=True)
            self.record = places.named(home)
        except BaseException:
            lock.close()
            raise
        self.changed_lines: dict[str, IO[bytes]] = {}  # graph → N-Triples that were added to it or removed from it
        self.whole = True
        super().__init__(home, wait, lock, rebuild)
        try:
            if not self.is_new and not rebuild and (self.home.snapshots / "current").exists():
                self._send(None)
                self.whole = False  # otherwise everything is sent
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def touched(self, graph: ox.NamedNode | ox.DefaultGraph, data: bytes) -> None:
        """Record the N-Triples that are added to a graph."""
        if not self.whole:
            name = graph.value if isinstance(graph, ox.NamedNode) else ""
            if name not in self.changed_lines:
                self.changed_lines[name] = tempfile.TemporaryFile()  # noqa: SIM115 - open until sent
            self.changed_lines[name].write(data)

    def remove(self, quads: Iterable[ox.Quad]) -> None:
        """Remove statements, and record them."""
        removed = list(quads)
        for quad in removed:
            graph = quad.graph_name
            if not isinstance(graph, ox.BlankNode):
                self.touched(graph, f"{quad.triple} .\n".encode())
        super().remove(removed)

    def update(self, sparql: str) -> None:  # noqa: ARG002
        """Refuse: only after an update is it known whether it changes provio's own data, and a server cannot
        undo it."""
        raise BadQuery(
            f"provio updates only the store on this disk, where it can undo changes of its own data: send the "
            f"update to {self.server.url}{self.server.endpoints.update} yourself"
        )

    def publish(self) -> None:
        """Publish the local store, and send the changes to the server."""
        changes = None if self.whole else self._changes()
        super().publish()
        share(self.home, self.home.kept)
        self._send(changes, self.whole)
        self.whole, self.changed_lines = False, {}

    def _changes(self) -> dict[str, Change]:
        """Return the statements added and removed since the last publication."""
        before = StoreReader(self.home)
        changes: dict[str, Change] = {}
        for name, file in self.changed_lines.items():
            graph, change = ox.NamedNode(name) if name else ox.DefaultGraph(), Change()
            file.seek(0)
            for triple in ox.parse(file, ox.RdfFormat.N_TRIPLES, lenient=True):
                quad = ox.Quad(triple.subject, triple.predicate, triple.object, graph)
                is_there = quad in self.store
                if is_there != (quad in before.store):
                    change.add(quad.triple, is_there)
            if change.news or change.losses:
                changes[name] = change
        return changes

    def _send(self, changes: dict[str, Change] | None, whole: bool = False) -> None:
        """Bring the server to the state last published here: by the changes since the state that the server contains,
        or, where these are unknown (None), by sending everything."""
        try:
            reader = StoreReader(self.home)
        except NothingKnown:
            return
        state, note = _state(reader.store), self.home.kept / "state"
        lease = Lease(self.server, self.wait, f"{self.record}/lease")
        try:
            index = places.read(self.server)
            before = index.records.get(self.record)
            if not (before and before.state == state) or changes or whole:
                known = before is not None and before.state == noted(self.home)
                Transfer(self.server, lease, reader, before or Record(self.record, "", {}, []), index.earlier).send(
                    state, changes if known else None
                )
            note.write_text(state, encoding="ascii")
        finally:
            lease.end()


def _state(store: ox.Store) -> str:
    """Return a digest of a record's index entries, which identifies its state."""
    found = store.quads_for_pattern(None, CONTENT, None, ox.DefaultGraph())
    return hashlib.sha256("".join(sorted(str(quad.triple) for quad in found)).encode()).hexdigest()[:32]
