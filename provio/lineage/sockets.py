"""The two ends of connections: a run's sockets in, for each the name of what is written at it and at its other end out.

A local socket knows the inode of its other end, unless that was gone when it was asked, or not accepted yet; one of the
two knows it nearly always. Of the Internet's, both ends know both addresses, whichever host they are on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from provio.facts import Opening
from provio.identity import Identity
from provio.run_facts import Trace
from provio.turtle import segment


def unknown(own: str) -> str:
    """Return what an end calls what is written at its other end, where it does not know that one."""
    return own + "~other"


class Ends:
    """Names what is written at each end of a connection; both directions have names of their own."""

    def __init__(self, trace: Trace, identity: Identity) -> None:
        self.identity = identity
        self.others: dict[str, str] = {}
        sockets = sorted((o for o in trace.openings() if o.kind == "Socket"), key=lambda o: o.opened)
        for opening in sockets:
            other = self._stated(opening)
            if other:
                self.others[self.own(opening)] = other
        for own, other in list(self.others.items()):
            self.others.setdefault(other, own)
        self._by_process(sockets)

    def own(self, opening: Opening) -> str:
        """Return the name of what is written at this end."""
        connection = opening.connection
        if connection.local and connection.peer:
            return self.identity.connection(opening.process.host, connection.local, connection.peer)
        return self.identity.pipe(opening)

    def other(self, opening: Opening) -> str:
        """Return the name of what is written at the other end."""
        own = self.own(opening)
        return self.others.get(own) or unknown(own)

    def aliases(self, opening: Opening) -> Iterator[tuple[str, str]]:
        """Yield (name, ours): what another run, at the other end, may call what is written at one of the two."""
        other, own, pid = self._stated(opening), self.own(opening), opening.connection.peer_pid
        if other and opening.connection.peer_inode:
            yield unknown(other), own
        if pid and own not in self.others:
            yield self._between(opening, opening.process.pid, pid), own
            yield self._between(opening, pid, opening.process.pid), unknown(own)

    def _between(self, opening: Opening, writer: int, reader: int) -> str:
        """What all connections by one address between two processes are called, where no more is known of them."""
        place = self.identity.channel("Socket", opening.process.host, "processes", writer)
        return f"{place}.{reader}/{segment(opening.path or b'')}"

    def _stated(self, opening: Opening) -> str | None:
        connection, host = opening.connection, opening.process.host
        if connection.local and connection.peer:
            return self.identity.connection(host, connection.peer, connection.local)
        if connection.peer_inode:
            return self.identity.channel("Socket", host, opening.facts.device, connection.peer_inode)
        return None

    def _by_process(self, sockets: list[Opening]) -> None:
        """Of a client that was gone before its server asked, the server knows the process: connections are accepted in
        the order in which they were made."""
        lost = [o for o in sockets if self.own(o) not in self.others and o.connection.peer_pid]
        waiting: dict[tuple[int, bytes | None], deque[Opening]] = {}
        for one in lost:
            waiting.setdefault((one.process.pid, one.path), deque()).append(one)
        taken: set[str] = set()
        for server in lost:
            clients = waiting.get((server.connection.peer_pid, server.path), deque())
            while clients and self.own(clients[0]) in taken:
                clients.popleft()
            free = (other for other in clients if other is not server and self.own(other) not in taken)
            client = None if self.own(server) in taken else next(free, None)
            if client:
                taken |= {self.own(client), self.own(server)}
                self.others[self.own(client)] = self.own(server)
                self.others[self.own(server)] = self.own(client)
