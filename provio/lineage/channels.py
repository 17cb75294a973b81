"""Find who wrote to and read from each pipe and each direction of a connection, when, and at which byte positions.

The data is first in, first out. Where every byte is accounted for, a stretch of reading contains the bytes between
two positions and comes from the stretches of writing at these positions, independent of their times. Otherwise it
comes from all stretches of writing that started before it ended.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import accumulate

from provio.base.algorithms import components
from provio.base.records import field, plain
from provio.base.turtle import segment
from provio.lineage.code import kernels
from provio.lineage.identity import Identity
from provio.lineage.model import Conclusions
from provio.lineage.ranks import is_launcher
from provio.trace.facts import Opening, Process, Stretch, Thread
from provio.trace.run_facts import Trace

# The two ends of connections.


def unknown(own: str) -> str:
    """Return the name of the other direction of a connection, for an end that does not know its peer."""
    return own + "~other"


class Ends:
    """Names of the two directions of each connection: an end's own direction is the data that is written at it."""

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
        self._by_process(trace, sockets)

    def own(self, opening: Opening) -> str:
        """Return the name of the direction that is written at this end."""
        connection = opening.connection
        if connection.local and connection.peer:
            return self.identity.connection(opening.process.host, connection.local, connection.peer)
        return self.identity.pipe(opening)

    def other(self, opening: Opening) -> str:
        """Return the name of the direction that is written at the other end."""
        own = self.own(opening)
        return self.others.get(own) or unknown(own)

    def aliases(self, opening: Opening) -> Iterator[tuple[str, str]]:
        """Yield (name in another run, name here) for the two directions; the other run has the other end of the
        connection."""
        other, own, pid = self._stated(opening), self.own(opening), opening.connection.peer_pid
        if other and opening.connection.peer_inode:
            yield unknown(other), own
        if pid and own not in self.others:
            yield self._between(opening, opening.process.pid, pid), own
            yield self._between(opening, pid, opening.process.pid), unknown(own)

    def _between(self, opening: Opening, writer: int, reader: int) -> str:
        """Return the name of all connections through one address between two processes, where nothing more is known
        of them."""
        place = self.identity.channel("Socket", opening.process.host, "processes", writer)
        return f"{place}.{reader}/{segment(opening.path or b'')}"

    def _stated(self, opening: Opening) -> str | None:
        connection, host = opening.connection, opening.process.host
        if connection.local and connection.peer:
            return self.identity.connection(host, connection.peer, connection.local)
        if connection.peer_inode:
            return self.identity.channel("Socket", host, opening.facts.device, connection.peer_inode)
        return None

    def _by_process(self, trace: Trace, sockets: list[Opening]) -> None:
        """Match a server's end, which knows only the client's process because the client had closed its end, with the
        client's, which knows only the process that made the listening socket.

        That is the server itself, or a process from which the server inherited the socket. A process that is the client
        of itself comes last: its ends look like those of the client of such an heir. A server accepts connections in
        the order in which they were made.
        """
        unmatched = [o for o in sockets if self.own(o) not in self.others and o.connection.peer_pid]
        waiting: dict[tuple[str, int, int, bytes | None], deque[Opening]] = {}
        for one in unmatched:
            place = (one.process.host, one.process.pid, one.connection.peer_pid, one.path)
            waiting.setdefault(place, deque()).append(one)
        clients = {(host, client) for host, client, _, _ in waiting}
        unmatched = [one for one in unmatched if (one.process.host, one.connection.peer_pid) in clients]
        between = [one for one in unmatched if one.connection.peer_pid != one.process.pid]
        for servers, listener_of in ((between, _own_pid), (between, _Ancestors(trace)), (unmatched, _own_pid)):
            for server in servers:
                for listener in listener_of(server.process):
                    place = (server.process.host, server.connection.peer_pid, listener, server.path)
                    self._match(server, waiting.get(place, deque()))

    def _match(self, server: Opening, clients: deque[Opening]) -> None:
        """Match a server's end with the first client's end that is not matched yet."""
        while clients and self.own(clients[0]) in self.others:
            clients.popleft()
        client = next((one for one in clients if one is not server and self.own(one) not in self.others), None)
        if client and self.own(server) not in self.others:
            self.others[self.own(client)] = self.own(server)
            self.others[self.own(server)] = self.own(client)


def _own_pid(process: Process) -> tuple[int]:
    return (process.pid,)


class _Ancestors:
    """Finds the pids of the process that started a process, of the one that started that one, and so on."""

    def __init__(self, trace: Trace) -> None:
        self.parents = {(one.host, one.pid): one.parent_pid for one in trace.processes.values()}

    def __call__(self, process: Process) -> list[int]:
        """Return these pids, the nearest first."""
        found: list[int] = []
        parent = self.parents.get((process.host, process.pid))
        while parent and parent not in (process.pid, *found):
            found.append(parent)
            parent = self.parents.get((process.host, parent))
        return found


ENDLESS = 1 << 63
LAST = ("firstRead", "lastRead", "firstWrite", "lastWrite", "last")  # counters of moments
MAKES = frozenset({b"make", b"gmake", b"remake"})


@plain(slots=True)
class Part:
    """One stretch of writing or reading of a process; its bytes are between the positions `low` and `high`."""

    process: Process
    first: int
    last: int
    size: int
    path: bytes | None
    low: int = 0
    high: int = ENDLESS

    def reaches(self, read: Part) -> bool:
        """Return whether a part that was read may contain bytes that were written here."""
        return self.first <= read.last and self.low < read.high and read.low < self.high


@plain()
class Channel:
    """A pipe, or one direction of a connection; `placed`: all its bytes are accounted for; `terminal`: of a
    pseudo-terminal, which changes the ends of lines and returns an echo."""

    name: str
    kind: str
    writes: list[Part] = field(default_factory=list)
    reads: list[Part] = field(default_factory=list)
    unreturned: list[Part] = field(default_factory=list)  # writes that may have been the last actions of processes
    placed: bool = True
    terminal: bool = False


NUMBER = 8  # bytes: the size of the largest wake-up


def channels_of(trace: Trace, identity: Identity, conclusions: Conclusions) -> list[Channel]:
    """Return the pipes and connections of a run, with their parts in the order of time; set the `channels` and
    `aliases` of `conclusions`."""
    found: dict[str, Channel] = {}
    ends = Ends(trace, identity)
    tokens, ignored = job_servers(trace) | _wake_ups(trace), _launcher_directions(trace, ends)
    jupyter = {process.iri for process in kernels(trace)}
    masters: list[tuple[str, Opening]] = []
    last_of = _LastMoments()
    for opening in trace.openings():
        if opening.process.iri in jupyter:  # outside of its cells, a kernel only communicates with the notebook
            conclusions.channels[opening.iri] = ("", "")
            continue
        if opening.kind == "Pipe":
            if _pipe(opening) in tokens:
                continue
            conclusions.channels[opening.iri] = (identity.pipe(opening),) * 2
        elif opening.kind == "Socket":
            own, other = ends.own(opening), ends.other(opening)
            conclusions.channels[opening.iri] = ("" if own in ignored else own, "" if other in ignored else other)
            conclusions.aliases.update(ends.aliases(opening))
        else:
            continue
        written, read = conclusions.channels[opening.iri]
        _add(found, written, opening, "write")
        _add_unreturned(found, written, opening, last_of)
        _add(found, read, opening, "read")
        if opening.connection.terminal and opening.connection.local.endswith(".master"):
            masters.append((read, opening))
    for name, opening in masters:
        _add_echo(trace, found, name, opening)
    _add_held(found, identity, conclusions)
    for channel in found.values():
        _fill(channel)
        channel.writes.sort(key=lambda part: part.first)
        channel.reads.sort(key=lambda part: part.first)
        channel.placed = channel.placed and not trace.unwatched and _adds_up(channel)
        if channel.placed:
            _place(channel.writes)
            _place(channel.reads)
    return list(found.values())


def job_servers(trace: Trace) -> set[tuple[str, str, int]]:
    """Return the pipes and FIFOs that hold a make's job tokens, which are no data.

    A make has both ends of its token pipe and writes to it itself. In contrast, another process writes to the pipe of
    `$(shell …)`, and `$(file …)` opens only one end.
    """
    found = set()
    for process in trace.processes.values():
        if (process.executable or b"").rpartition(b"/")[2] in MAKES:
            pipes = [opening for opening in process.openings if opening.kind == "Pipe"]
            readable = {_pipe(opening) for opening in pipes if opening.flags & os.O_ACCMODE != os.O_WRONLY}
            found |= readable & {_pipe(opening) for opening in pipes if opening.writes()}
    return found


def _wake_ups(trace: Trace) -> set[tuple[str, str, int]]:
    """Return the pipes through which the threads of a rank wake each other, which are no data.

    No other process has an end of such a pipe, and each write has at most the size of a number.
    """
    users: dict[tuple[str, str, int], list[Opening]] = {}
    for opening in trace.openings() if any("rank" in one.record for one in trace.processes.values()) else ():
        if opening.kind == "Pipe":
            users.setdefault(_pipe(opening), []).append(opening)
    return {pipe for pipe, ends in users.items() if _wakes(ends)}


def _wakes(ends: list[Opening]) -> bool:
    written = [access for end in ends for access in end.accesses if access.first_write]
    alone = "rank" in ends[0].process.record and len({end.process.iri for end in ends}) == 1
    return alone and all(access.count("writeBytes") <= NUMBER * access.count("writes") for access in written)


def _launcher_directions(trace: Trace, ends: Ends) -> set[str]:
    """Return the directions of connections that a launcher writes and a process that is no launcher reads."""
    launchers = {process.iri for process in trace.processes.values() if is_launcher(process)}
    if not launchers:
        return set()
    sockets = [opening for opening in trace.openings() if opening.kind == "Socket"]
    read = {ends.other(opening) for opening in sockets if opening.process.iri not in launchers}
    return read & {ends.own(opening) for opening in sockets if opening.process.iri in launchers}


def _pipe(opening: Opening) -> tuple[str, str, int]:
    return opening.process.host, opening.facts.device, opening.facts.inode


def _add_echo(trace: Trace, found: dict[str, Channel], name: str, opening: Opening) -> None:
    """Add the data that a process wrote into a terminal's master as data that returns from it: the echo.

    It is added only where it makes a difference: if another process reads the master, or if nothing else explains the
    data that was read.
    """
    channel = found.get(name)
    if channel is None:
        return
    shared = any(part.process.iri != opening.process.iri for part in channel.reads)
    if shared or not (channel.writes or trace.unwatched):
        _add(found, name, opening, "write")


def _add(found: dict[str, Channel], name: str, opening: Opening, side: str) -> None:
    times = opening.reads() if side == "read" else opening.writes()
    if not times or not name:
        return
    channel = found.setdefault(name, Channel(name, opening.kind))
    known = [stretch for access in opening.accesses for stretch in access.stretches(side) if stretch.size]
    channel.terminal = opening.connection.terminal
    channel.placed = channel.placed and len(known) == len(times) and not channel.terminal
    parts = channel.reads if side == "read" else channel.writes
    for one in known if len(known) == len(times) else [Stretch(first, last, 0) for first, last in times]:
        parts.append(Part(opening.process, one.first, one.last, one.size, opening.path))


def _add_held(found: dict[str, Channel], identity: Identity, conclusions: Conclusions) -> None:
    """Add the unwatched programs that may have inherited an end of a pipe, if no observed process used that end."""
    unread = {name for name, channel in found.items() if not channel.reads}
    unwritten = {name for name, channel in found.items() if not channel.writes}
    for one in conclusions.held:
        name, process = identity.pipe(one.opening), one.program.process
        if one.opening.kind != "Pipe" or name not in found:
            continue
        part = Part(process, one.program.started, conclusions.ends[process.iri], 0, one.opening.path)
        if one.opening.writable and name in unwritten:
            found[name].writes.append(part)
        elif not one.opening.writable and name in unread:
            found[name].reads.append(part)


def _add_unreturned(found: dict[str, Channel], name: str, opening: Opening, last_of: _LastMoments) -> None:
    """Add the writes that did not return. Each began after all other actions of its thread."""
    for access in opening.unreturned() if name else ():
        first = last_of(access.thread)
        last = max(first, opening.process.ended)
        part = Part(opening.process, first, last, 0, opening.path)
        found.setdefault(name, Channel(name, opening.kind)).unreturned.append(part)


class _LastMoments:
    """Finds the last known moments of threads."""

    def __init__(self) -> None:
        self.known: dict[str, dict[str, int]] = {}  # process → thread → moment

    def __call__(self, thread: Thread) -> int:
        """Return the last known moment of a thread, in ns since 1970."""
        process, epoch = thread.process, thread.epoch
        if process.iri not in self.known:
            found = self.known[process.iri] = {}
            for access in (access for opening in process.openings for access in opening.accesses):
                last = max(map(access.count, LAST)) + access.thread.epoch
                found[access.thread.iri] = max(found.get(access.thread.iri, 0), last)
            for event in process.events:
                found[event.thread.iri] = max(found.get(event.thread.iri, 0), event.at)
        return max(process.started, epoch, self.known[process.iri].get(thread.iri, 0))


def _fill(channel: Channel) -> None:
    """Count the writes that did not return among the writes, unless readers got only data of counted writes. A single
    one wrote all that is missing."""
    missing = sum(part.size for part in channel.reads) - sum(part.size for part in channel.writes)
    if not channel.unreturned or (channel.reads and channel.placed and missing <= 0):
        return
    channel.placed = channel.placed and len(channel.unreturned) == 1
    if channel.placed:
        channel.unreturned[0].size = max(0, missing)
    channel.writes += channel.unreturned


def _adds_up(channel: Channel) -> bool:
    """Return whether every byte that was read was also written. Unread bytes of a pipe are at its end, which does no
    harm; in a connection, messages may have been truncated, so the sums must be equal."""
    written, read = sum(part.size for part in channel.writes), sum(part.size for part in channel.reads)
    return read == written or (channel.kind == "Pipe" and read < written)


def _place(parts: list[Part]) -> None:
    """Set the positions of each part: after the parts that ended before it started, before those that started after
    its end."""
    firsts, lasts = [part.first for part in parts], sorted(parts, key=lambda part: part.last)
    offsets = [0, *accumulate(part.size for part in parts)]
    ended = [0, *accumulate(part.size for part in lasts)]
    moments = [part.last for part in lasts]
    for part in parts:
        part.low = ended[bisect_left(moments, part.first)]
        part.high = offsets[bisect_right(firsts, part.last)]


def circles(channels: Iterable[Channel]) -> dict[str, int]:
    """Return a number for each process that writes or reads: the same number for processes that receive data from
    each other, directly or through others."""
    onward: dict[str, set[str]] = {}
    for channel in channels:
        readers = {part.process.iri for part in channel.reads}
        for iri in {part.process.iri for part in channel.writes}:
            onward.setdefault(iri, set()).update(readers)
    return components(onward)
