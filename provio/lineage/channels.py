"""Find who wrote to and read from each pipe and each direction of a connection, and when.

`positions` places these parts at byte positions, where every byte is accounted for. Otherwise a stretch of reading
comes from all stretches of writing that started before it ended.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from provio.base.algorithms import components
from provio.base.turtle import segment
from provio.lineage import pool_tasks, task_results
from provio.lineage.code import kernels
from provio.lineage.identity import Identity, without_task
from provio.lineage.model import MESSAGES, Conclusions
from provio.lineage.positions import Channel, Part, arrived, is_direct, place
from provio.lineage.ranks import is_launcher
from provio.trace.facts import Opening, Process, Thread
from provio.trace.run_facts import Trace

if TYPE_CHECKING:
    from provio.trace.fast.lone_files import Moments

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
        made: dict[str, Opening] = {}  # the first opening of each end: by `connect` and `accept`
        for one in sockets:
            made.setdefault(self.own(one), one)
        unmatched = [o for own, o in made.items() if own not in self.others and o.connection.peer_pid]
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


LAST = ("firstRead", "lastRead", "firstWrite", "lastWrite", "last")  # counters of moments
MAKES = frozenset({b"make", b"gmake", b"remake"})


NUMBER = 8  # bytes: the size of the largest wake-up


def channels_of(trace: Trace, identity: Identity, conclusions: Conclusions) -> list[Channel]:
    """Return the pipes and connections of a run, with their parts in the order of time; set the `channels` and
    `aliases` of `conclusions`."""
    found: dict[str, Channel] = {}
    ends = Ends(trace, identity)
    tokens, ignored = job_servers(trace) | _wake_ups(trace), _launcher_directions(trace, ends)
    parts = task_results.parts(trace)
    silent = {process.iri for process in kernels(trace)} | {iri for iri, own in parts.items() if "client" not in own}
    ignored |= _framework_directions(trace, ends, parts)
    helpers = pool_tasks.helpers(trace)
    silent |= helpers
    passing = [one for one in trace.openings() if one.process.iri in helpers] if helpers else []
    ignored |= {end(one) for one in passing if one.kind == "Socket" for end in (ends.own, ends.other)}
    messages = _framework_pipes(trace, parts) | pool_tasks.communication(trace)
    messages |= {_pipe(one) for one in passing if one.kind == "Pipe"}
    masters: list[tuple[str, Opening]] = []
    last_of = _LastMoments(conclusions.lone)
    for opening in trace.openings():
        if opening.kind not in ("Pipe", "Socket"):
            continue
        if opening.process.iri in silent or (opening.kind == "Pipe" and _pipe(opening) in messages):
            conclusions.channels[opening.iri] = MESSAGES  # outside of its cells or tasks, it only communicates
            continue
        if opening.kind == "Pipe":
            if _pipe(opening) in tokens:
                continue
            conclusions.channels[opening.iri] = (identity.pipe(opening),) * 2
        else:
            own, other = ends.own(opening), ends.other(opening)
            conclusions.channels[opening.iri] = ("" if own in ignored else own, "" if other in ignored else other)
            conclusions.aliases.update(ends.aliases(opening))
        written, read = conclusions.channels[opening.iri]
        _add(found, written, opening, "write", conclusions)
        _add_unreturned(found, written, opening, last_of)
        _add(found, read, opening, "read", conclusions)
        if opening.connection.terminal and opening.connection.local.endswith(".master"):
            masters.append((read, opening))
    for name, opening in masters:
        _add_echo(trace, found, name, opening, conclusions)
    _add_held(found, identity, conclusions)
    for channel in found.values():
        place(channel, watched=not trace.unwatched)
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


def _framework_directions(trace: Trace, ends: Ends, parts: Container[str]) -> set[str]:
    """Return the directions of connections between the processes of a parallel framework: outside of Tasks all, within
    Tasks those to the addresses of its parts."""
    if not parts:
        return set()
    addresses = task_results.addresses(trace)
    sockets = [one for one in trace.openings() if one.kind == "Socket"]
    own = [one for one in sockets if one.process.iri in parts]
    found = {ends.own(one) for one in own} & {ends.other(one) for one in own}
    named = [one for one in sockets if {one.connection.local, one.connection.peer} & addresses]
    return found | {ends.own(one) for one in named} | {ends.other(one) for one in named}


def _framework_pipes(trace: Trace, parts: Container[str]) -> set[tuple[str, str, int]]:
    """Return the pipes of which only processes of a parallel framework have ends, outside of Tasks."""
    users: dict[tuple[str, str, int], bool] = {}
    for opening in trace.openings() if parts else ():
        if opening.kind == "Pipe":
            users[_pipe(opening)] = users.get(_pipe(opening), True) and opening.process.iri in parts
    return {pipe for pipe, own in users.items() if own}


def _pipe(opening: Opening) -> tuple[str, str, int]:
    return opening.process.host, opening.facts.device, opening.facts.inode


def _add_echo(trace: Trace, found: dict[str, Channel], name: str, opening: Opening, conclusions: Conclusions) -> None:
    """Add the data that a process wrote into a terminal's master as data that returns from it: the echo.

    It is added only where it makes a difference: if another process reads the master, or if nothing else explains the
    data that was read.
    """
    channel = found.get(name)
    if channel is None:
        return
    shared = any(part.process.iri != opening.process.iri for part in channel.reads)
    if shared or not (channel.writes or trace.unwatched):
        _add(found, name, opening, "write", conclusions)


def _add(found: dict[str, Channel], name: str, opening: Opening, side: str, conclusions: Conclusions) -> None:
    times = opening.reads() if side == "read" else opening.writes()
    if not times or not name:
        return
    channel = found.setdefault(name, Channel(name, opening.kind))
    known = [(one, access) for access in opening.accesses for one in access.stretches(side) if one.size]
    channel.terminal = opening.connection.terminal
    channel.loses = channel.loses or opening.kind != "Pipe" or bool(opening.path) or bool(opening.flags & os.O_DIRECT)
    channel.placed = channel.placed and len(known) == len(times) and not channel.terminal
    parts = channel.reads if side == "read" else channel.writes
    if len(known) != len(times):
        parts += [Part(opening.process, first, last, 0, opening.path) for first, last in times]
        return
    for one, access in known:
        part = Part(opening.process, one.first, one.last, one.size, opening.path, opening=opening.iri)
        part.buffered = not is_direct(access, side)
        if part.buffered and side == "write":
            image = without_task(opening.process.iri)
            part.arrived = arrived(opening, one.last) or (conclusions.ends[image] if image in conclusions.exited else 0)
        parts.append(part)


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
        first = last_of(access.thread) + 1
        last = max(first, opening.process.ended)
        part = Part(opening.process, first, last, 0, opening.path, opening=opening.iri, returned=False)
        part.buffered = not is_direct(access, "write")
        found.setdefault(name, Channel(name, opening.kind)).unreturned.append(part)


class _LastMoments:
    """Finds the last known moments of threads."""

    def __init__(self, lone: Mapping[str, Moments]) -> None:
        self.lone = lone
        self.known: dict[str, dict[str, int]] = {}  # process → thread → moment

    def __call__(self, thread: Thread) -> int:
        """Return the last known moment of a thread, in ns since 1970."""
        process, epoch = thread.process, thread.epoch
        if process.iri not in self.known:
            found = self.known[process.iri] = dict(self.lone[process.iri].last) if process.iri in self.lone else {}
            for access in (access for opening in process.openings for access in opening.accesses):
                last = max(map(access.count, LAST)) + access.thread.epoch
                found[access.thread.iri] = max(found.get(access.thread.iri, 0), last)
            for event in process.events:
                found[event.thread.iri] = max(found.get(event.thread.iri, 0), event.at)
        return max(process.started, epoch, self.known[process.iri].get(thread.iri, 0))


def circles(channels: Iterable[Channel]) -> dict[str, int]:
    """Return a number for each process that writes or reads: the same number for processes that receive data from
    each other, directly or through others."""
    onward: dict[str, set[str]] = {}
    for channel in channels:
        readers = {part.process.iri for part in channel.reads}
        for iri in {part.process.iri for part in channel.writes}:
            onward.setdefault(iri, set()).update(readers)
    return components(onward)
