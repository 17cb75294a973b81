"""Writes a store on a server: what a merge changes in the embedded one in, the same changes on the server out.

What this record has on a server lies in `.provio/servers/` too, as an embedded store: runs are merged there, by the
same code, and what that changed is then said to the server, in one update with the index. A server that holds another
state than was said to it last is given all anew, beside what it holds until the index names that.
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
from provio.store.embedded import StoreReader, StoreWriter
from provio.store.one_graph import CONTENT
from provio.store.remote import places
from provio.store.remote.lease import Lease
from provio.store.remote.places import Record
from provio.store.remote.reader import connect, noted
from provio.store.remote.updates import Change, Telling

if TYPE_CHECKING:
    from provio.settings.schema import Config


class RemoteWriter(StoreWriter):
    """The one writer: a context manager that holds the lock, and the server's lease while it tells the server. Raises
    Busy where `wait` is false.

    `anew` has all runs of the `.provio` put there again.
    """

    def __init__(self, home: Home, settings: Config, wait: bool, lock: Lock, anew: bool = False) -> None:
        try:
            self.server, self.wait = connect(settings, wait), wait
            with home.closed():
                home.kept.mkdir(parents=True, exist_ok=True)
            self.record = places.named(home)
        except BaseException:
            lock.close()
            raise
        self.said: dict[str, IO[bytes]] = {}  # graph → N-Triples that were put into it, or taken out of it
        self.whole = True
        super().__init__(home, wait, lock, anew)
        try:
            if not self.begun and not anew and (self.home.snapshots / "current").exists():  # else all is told anew
                self._tell(None)
                self.whole = False
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def touched(self, graph: ox.NamedNode | ox.DefaultGraph, data: bytes) -> None:
        """Note N-Triples that are put into a graph."""
        if not self.whole:
            name = graph.value if isinstance(graph, ox.NamedNode) else ""
            if name not in self.said:
                self.said[name] = tempfile.TemporaryFile()  # noqa: SIM115 - till it is told
            self.said[name].write(data)

    def remove(self, quads: Iterable[ox.Quad]) -> None:
        """Remove statements, and note them."""
        gone = list(quads)
        for quad in gone:
            graph = quad.graph_name
            if not isinstance(graph, ox.BlankNode):
                self.touched(graph, f"{quad.triple} .\n".encode())
        super().remove(gone)

    def update(self, sparql: str) -> None:  # noqa: ARG002
        """Refuse: whether an update changes what is provio's is known after it, and a server takes nothing back."""
        raise BadQuery(
            f"provio updates only the store on this disk, where it can undo what would change a run: send it to "
            f"{self.server.url}{self.server.endpoints.update} yourself"
        )

    def publish(self) -> None:
        """Publish what is here, and tell the server what changed."""
        changes = None if self.whole else self._changes()
        super().publish()
        share(self.home, self.home.kept)
        self._tell(changes, self.whole)
        self.whole, self.said = False, {}

    def _changes(self) -> dict[str, Change]:
        """What is new and what is gone since the last publication."""
        before = StoreReader(self.home).store
        changes: dict[str, Change] = {}
        for name, file in self.said.items():
            graph, change = ox.NamedNode(name) if name else ox.DefaultGraph(), Change()
            file.seek(0)
            for said in ox.parse(file, ox.RdfFormat.N_TRIPLES, lenient=True):
                quad = ox.Quad(said.subject, said.predicate, said.object, graph)
                is_there = quad in self.store
                if is_there != (quad in before):
                    change.add(quad.triple, is_there)
            if change.news or change.losses:
                changes[name] = change
        return changes

    def _tell(self, changes: dict[str, Change] | None, whole: bool = False) -> None:
        """Have the server hold what was published here last: by what changed since the state that it holds (None: not
        known), or anew."""
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
                Telling(self.server, lease, reader, before or Record(self.record, "", {}, []), index.earlier).tell(
                    state, changes if known else None
                )
            note.write_text(state, encoding="ascii")
        finally:
            lease.end()


def _state(store: ox.Store) -> str:
    """What tells one state of a record from any other: what its index says."""
    found = store.quads_for_pattern(None, ox.NamedNode(CONTENT), None, ox.DefaultGraph())
    return hashlib.sha256("".join(sorted(str(quad.triple) for quad in found)).encode()).hexdigest()[:32]
