"""Follow the memory that processes share through a file: maps of one inode that several processes have at a time.

A store through a map is no call, so the record does not show when a process stored and when another one read. While
one process has a shared writable map of a file and another one has it mapped or reads it, or one has it mapped and
another one writes it, each process with a writable map is a writer and each process with a map is a reader of the
memory, for as long as it has the map. A fork has the maps of its parent; an exec or the end of the process ends them.
The data that one phase of a writer may have stored is a segment; the phases of readers that end after the segment
started use it. A gap on each process states that the order is not known. Memory of the transports of launchers and
libraries is no data.

`memories` needs inputs and spans, `connect` needs the phases. Times are ns since 1970.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from heapq import heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING

from provio.base.records import field, plain
from provio.lineage.identity import Identity, without_task
from provio.lineage.model import Conclusions, Input, Phase, Segment, Span, inode_of
from provio.lineage.pipes import segment
from provio.lineage.pool_tasks import communication
from provio.lineage.ranks import of_ranks
from provio.trace.facts import Event, Opening, Process
from provio.trace.run_facts import Trace

if TYPE_CHECKING:
    from provio.lineage.phases import Origin

PROT_WRITE = 2
TRANSIENT = b"/dev/shm/"  # a folder for memory
MOST = 2_000  # moments of new data, or uses of segments, in one memory; beyond it, each process has one segment
NAMED = 4  # processes that a gap names; beyond it, three and "others"

# Uses (mapped, writes) that share data with others at the same time: one stores, one reads, and one has a map.
PARTNERS = {
    (True, True): ((True, True), (True, False), (False, True), (False, False)),
    (True, False): ((True, True), (False, True)),
    (False, True): ((True, True), (True, False)),
    (False, False): ((True, True),),
}

Place = tuple[str, tuple[str, int, int]]  # (host, inode)


@plain(slots=True)
class Use:
    """The time in which a process may store into a memory (`writes`) or read it (`reads`); `mapped`: through a map."""

    process: Process
    opening: Opening
    first: int
    last: int
    writes: bool
    reads: bool
    mapped: bool = True

    def is_of(self, other: Use) -> bool:
        """Return whether both are uses by one process, in any of its Tasks."""
        return without_task(self.process.iri) == without_task(other.process.iri)


@plain()
class Memory:
    """The memory of one file while several processes share it; `coarse`: too much happened to separate it by time."""

    name: str
    path: bytes | None
    uses: list[Use] = field(default_factory=list)
    coarse: bool = False


def memories(
    trace: Trace, identity: Identity, conclusions: Conclusions, ends: Mapping[str, int], origins: Mapping[str, Origin]
) -> list[Memory]:
    """Return the memories that processes of a run share, and add their gaps.

    Forks that may have stored become writers of the file. Versions that are only memory are no inputs within it.
    """
    maps = _maps(trace, conclusions, ends)
    _inherit(trace, maps, conclusions, ends, origins)
    for place, use in _calls(trace, conclusions, maps.keys()) if maps else ():
        maps[place].append(use)
    found: list[Memory] = []
    for place, uses in maps.items():
        shared: dict[str, set[int]] = {}
        for group in _together(uses):
            partners = _partners(group)
            for use, pids in zip(group, partners, strict=True):
                shared.setdefault(without_task(use.process.iri), set()).update(pids)
            if any(partners):
                found.append(_memory(identity, place, [use for use, pids in zip(group, partners, strict=True) if pids]))
        conclusions.gaps += _gaps(place, uses, shared)
    transient = {inode_of(memory.uses[0].opening.facts) for memory in found if _leave_out(memory, conclusions)}
    if transient:
        _forget(trace, transient, conclusions)
    return found


def _maps(trace: Trace, conclusions: Conclusions, ends: Mapping[str, int]) -> dict[Place, list[Use]]:
    """Return the maps of files that a process may store into or writes, by each process, and by its Tasks while they
    run."""
    mapped = [process for process in trace.processes.values() if any(e.kind == "Map" for e in process.events)]
    no_data = communication(trace) if mapped else ()
    written = {span.inode for span in conclusions.spans} if mapped else set()
    maps: dict[Place, list[tuple[Event, Opening, bool]]] = {}
    for process in mapped:
        openings = {opening.iri: opening for opening in process.openings}
        for event in process.events:
            opening = openings.get(event.record.get("object", "")) if event.kind == "Map" else None
            if opening and opening.kind == "FileVersion" and not of_ranks(opening):
                if (process.host, opening.facts.device, opening.facts.inode) in no_data:
                    continue
                writes = event.record.get("shared") == "true" and bool(event.number("protection") & PROT_WRITE)
                maps.setdefault((process.host, inode_of(opening.facts)), []).append((event, opening, writes))
    maps = {place: of for place, of in maps.items() if place[1] in written or any(writes for _, _, writes in of)}
    acting: dict[str, list[Process]] = {}
    for process in trace.processes.values() if maps else ():
        acting.setdefault(without_task(process.iri), []).append(process)
    found: dict[Place, list[Use]] = {place: [] for place in maps}
    events = (event for process in trace.processes.values() if maps for event in process.events)
    unmapped = {event.record.get("map", ""): event.at for event in events if event.kind == "Unmap"}
    for place, event, opening, writes in ((place, *one) for place, of in maps.items() for one in of):
        whole = without_task(opening.process.iri)
        first = min(event.at, opening.opened) if not opening.inherited else event.at
        last = unmapped.get(event.iri, ends.get(whole, opening.process.ended))
        for one in acting[whole]:
            start, end = (one.started, one.ended) if one.image == "task" else (first, last)
            if start <= last and first <= end:
                found[place].append(Use(one, opening, max(first, start), min(last, end), writes, reads=True))
    return found


def _inherit(
    trace: Trace, maps: dict[Place, list[Use]], conclusions: Conclusions, ends: Mapping[str, int],
    origins: Mapping[str, Origin],
) -> None:  # fmt: skip
    """Add the maps that forks have from their parents, and the forks as writers of the mapped files."""
    spans = {(span.process.iri, span.inode): span for span in conclusions.spans if span.mapped}
    wrote = {span.process.iri for span in conclusions.spans}
    held: dict[str, list[tuple[Place, Use]]] = {}
    for place, uses in maps.items():
        for use in uses:
            held.setdefault(use.process.iri, []).append((place, use))
    forks = (process for process in trace.processes.values() if process.image == "fork")
    for process in sorted(forks, key=lambda process: process.started):
        origin = origins.get(process.iri)
        if origin is None or origin.moment is None or not origin.fork:
            continue
        execs = any(event.kind == "Exec" for event in process.events)
        lone = conclusions.lone.get(process.iri)
        if execs and not (conclusions.inputs[process.iri] or process.iri in wrote or (lone and lone.last)):
            continue  # it only becomes another program
        for place, use in held.get(without_task(origin.process.iri), ()):
            if use.first <= origin.moment <= use.last:
                last = max(origin.moment, ends.get(process.iri, process.ended))
                own = Use(process, use.opening, origin.moment, last, use.writes, reads=True)
                maps[place].append(own)
                held.setdefault(process.iri, []).append((place, own))
                span = spans.get((use.process.iri, place[1])) if use.writes else None
                if span:
                    spans[process.iri, place[1]] = added = Span(
                        process, span.inode, own.first, last, last, opening=span.opening, mapped=True,
                        clock_error=span.clock_error,
                    )  # fmt: skip
                    conclusions.spans.append(added)


def _calls(trace: Trace, conclusions: Conclusions, places: Set[Place]) -> Iterator[tuple[Place, Use]]:
    """Yield the writes and reads of files by calls."""
    for span in conclusions.spans:
        place = span.process.host, span.inode
        if place in places and span.opening and span.wrote_content and not span.mapped:
            yield place, Use(span.process, span.opening, span.first, span.last, writes=True, reads=False, mapped=False)
    for process in trace.processes.values():
        for opening in process.openings:
            place = process.host, inode_of(opening.facts)
            if place in places and opening.kind == "FileVersion":
                moments = [moment for times in opening.reads() for moment in times]
                if moments:
                    times = min(moments), max(moments)
                    yield place, Use(process, opening, *times, writes=False, reads=True, mapped=False)


def _together(uses: list[Use]) -> Iterator[list[Use]]:
    """Yield the uses that overlap in time, directly or through others, with one use for each process and way."""
    group: dict[tuple[str, bool], Use] = {}
    end = 0
    for use in sorted(uses, key=lambda use: use.first):
        if group and use.first > end:
            yield list(group.values())
            group = {}
        end = max(end, use.last) if group else use.last
        known = group.get((use.process.iri, use.mapped))
        if known is None:
            group[use.process.iri, use.mapped] = use
        else:
            known.last, known.writes = max(known.last, use.last), known.writes or use.writes
            known.reads = known.reads or use.reads
    if group:
        yield list(group.values())


def _partners(group: Sequence[Use]) -> list[set[int]]:
    """Return for each use the pids of processes with which it shared data: all, or as many as show that there are more
    than a gap names."""
    found: list[set[int]] = [set() for _ in group]
    ends: list[tuple[int, int]] = []
    active: dict[tuple[bool, bool], dict[int, Use]] = {kind: {} for kind in PARTNERS}
    wanting: dict[tuple[bool, bool], dict[int, Use]] = {kind: {} for kind in PARTNERS}  # those with few partners
    for number, use in sorted(enumerate(group), key=lambda one: one[1].first):
        while ends and ends[0][0] < use.first:
            ended = heappop(ends)[1]
            for known in (*active.values(), *wanting.values()):
                known.pop(ended, None)
        for kind in PARTNERS[use.mapped, use.writes]:
            others = (other for other in active[kind].values() if not other.is_of(use))
            while len(found[number]) <= NAMED and (other := next(others, None)):
                found[number].add(other.process.pid)
            for place, other in list(wanting[kind].items()):
                if not other.is_of(use):
                    found[place].add(use.process.pid)
                if len(found[place]) > NAMED:
                    del wanting[kind][place]
        active[use.mapped, use.writes][number] = wanting[use.mapped, use.writes][number] = use
        heappush(ends, (use.last, number))
    return found


def _memory(identity: Identity, place: Place, uses: list[Use]) -> Memory:
    host, (device, inode, birth) = place
    name = f"{identity.channel('Memory', host, device, inode)}.{birth}"
    return Memory(name, next((use.opening.name for use in uses if use.opening.name), None), uses)


def _gaps(place: Place, uses: list[Use], shared: Mapping[str, set[int]]) -> Iterator[tuple[str, str, str]]:
    """Yield a gap for each process that shared a memory at any time."""
    device, inode, birth = place[1]
    path = next((use.opening.name for use in uses if use.opening.name), b"a file without a name")
    for process, pids in shared.items():
        if pids:
            reason = f"shares {path.decode('utf-8', 'replace')} in memory with {_processes(sorted(pids))}"
            yield f"{process}memory/{device}.{inode}.{birth}", process, reason


def _processes(pids: list[int]) -> str:
    if len(pids) == 1:
        return f"process {pids[0]}"
    shown = ", ".join(map(str, pids[:3] if len(pids) > NAMED else pids[:-1]))
    return f"processes {shown} and " + ("others" if len(pids) > NAMED else str(pids[-1]))


def _leave_out(memory: Memory, conclusions: Conclusions) -> bool:
    """Remove the versions of a file that is only memory from the inputs of processes that receive its content through
    the memory; its earlier content is an input of the first process that mapped it. Return whether it is such a file.
    """
    opening = memory.uses[0].opening
    if memory.path and not opening.unlinked and not memory.path.startswith(TRANSIENT):
        return False
    inode = inode_of(opening.facts)
    writers = sorted((use for use in memory.uses if use.mapped and use.writes), key=lambda use: use.first)
    for use in (use for use in memory.uses if use.reads):
        stored = next((one.first for one in writers if not one.is_of(use)), None)

        def stays(one: Input, stored: int | None = stored) -> bool:
            version = conclusions.versions.get(one.version)
            return version is None or inode_of(version.facts) != inode or stored is None or stored >= one.last

        inputs = conclusions.inputs[use.process.iri]
        inputs[:] = filter(stays, inputs)
    return True


def _forget(trace: Trace, inodes: set[tuple[str, int, int]], conclusions: Conclusions) -> None:
    """Remove the versions of files that are only memory, if they are deleted and no process used them otherwise."""
    events = (event for process in trace.processes.values() for event in process.events if event.kind == "Delete")
    found = (event.facts() for event in events if not event.number("links", 1))
    deleted = {inode_of(facts) for facts in found if facts}
    for opening in trace.openings():
        if opening.unlinked or not opening.path:
            deleted.add(inode_of(opening.facts))
    of = {iri: inode_of(version.facts) for iri, version in conclusions.versions.items()}
    used = {of.get(one.version) for inputs in conclusions.inputs.values() for one in inputs}
    used |= {of.get(iri) for span in conclusions.spans for iri in span.sources}
    inodes = (inodes & deleted) - used
    conclusions.spans = [span for span in conclusions.spans if span.inode not in inodes]
    conclusions.versions = {iri: one for iri, one in conclusions.versions.items() if of[iri] not in inodes}


# Between the cuts of phases.


def news(memories: Iterable[Memory], known: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    """Return when each process may have received new data through memory: when another process got the memory, and when
    that process, while it had it, received data that is `known`, by any other way."""
    found: dict[str, list[int]] = {}
    for memory in memories:
        moments: dict[str, list[int]] = {}
        writers, readers = ([use for use in memory.uses if getattr(use, side)] for side in ("writes", "reads"))
        memory.coarse = len(writers) * len(readers) > MOST
        for writer in () if memory.coarse else writers:
            received = known.get(writer.process.iri, ())
            for reader in (use for use in readers if not use.is_of(writer)):
                first, last = max(writer.first, reader.first), min(writer.last, reader.last)
                if first <= last:
                    new = received[bisect_left(received, first) : bisect_right(received, last)]
                    moments.setdefault(reader.process.iri, []).extend((first, *new))
            memory.coarse = sum(map(len, moments.values())) > MOST
            if memory.coarse:
                break
        for iri, new in () if memory.coarse else moments.items():
            found.setdefault(iri, []).extend(new)
    return found


def readers(memories: Iterable[Memory]) -> dict[str, list[tuple[Memory, Use]]]:
    """Return each process's uses of memories that are separated by time."""
    found: dict[str, list[tuple[Memory, Use]]] = {}
    for memory in memories:
        for use in () if memory.coarse else memory.uses:
            if use.reads:
                found.setdefault(use.process.iri, []).append((memory, use))
    return found


def taken(uses: Iterable[tuple[Memory, Use]], phases: Sequence[Phase]) -> Iterator[tuple[str, int]]:
    """Yield (writer, moment) for the data that each phase of a process may have received before it ended with an
    output: inputs that the writer reads later are new."""
    for memory, reader in uses:
        for phase, later in pairwise(phases):
            end = later.start - 1
            if later.continued or end < reader.first or phase.start > reader.last:
                continue
            for writer in memory.uses:
                if writer.writes and writer.first <= end and not writer.is_of(reader):
                    yield writer.process.iri, min(writer.last, end)


# After the cuts: the segments.


@plain(slots=True)
class _Share:
    """The part of a use within one phase."""

    phase: Phase
    first: int
    last: int
    use: Use

    def continues(self, other: _Share) -> bool:
        """Return whether its phase only continues that of the other part."""
        return self.use is other.use and self.phase.continued


def connect(memories: Iterable[Memory], conclusions: Conclusions) -> None:
    """Make a segment for each (memory, writing phase); the phases of other processes that may have read it use it."""
    for memory in memories:
        written = [one for use in memory.uses if use.writes for one in _shares(use, conclusions.phases)]
        known = (conclusions.phases, conclusions.finer)
        read = [_shares(use, phases) for use in memory.uses if use.reads for phases in known]
        if memory.coarse or len(written) * len(read) > MOST:
            _mix(memory, written, read, conclusions)
            continue
        segments = [(one, _segment(memory, one, conclusions).iri) for one in written]
        for shares in read:
            _use(shares, segments, conclusions)


def _mix(memory: Memory, written: list[_Share], read: list[list[_Share]], conclusions: Conclusions) -> None:
    """Let all phases use one mixture of all data, named after the start of this sharing: its size is linear."""
    last = {one.use.process.iri: one for one in written}
    run = without_task(written[0].use.process.iri).split("/")[-4]
    parts = tuple(_segment(memory, one, conclusions).iri for one in last.values())
    began = min(use.first for use in memory.uses)
    mixture = Segment(f"{memory.name}/{run}/mixture.{began}", memory.name, "", "", memory.path, 0, 0, "Memory", parts)
    conclusions.segments.append(mixture)
    for share in (share for shares in read for share in shares):
        share.phase.used[mixture.iri] = None


def _segment(memory: Memory, share: _Share, conclusions: Conclusions) -> Segment:
    found = segment(memory.name, "Memory", share.phase, memory.path, (share.first, share.last), conclusions)
    conclusions.segments.append(found)
    return found


def _shares(use: Use, phases: Mapping[str, list[Phase]]) -> list[_Share]:
    known = phases.get(use.process.iri, [])
    starts = [phase.start for phase in known]
    first, end = max(0, bisect_right(starts, use.first) - 1), max(1, bisect_right(starts, use.last))
    found = []
    for number, phase in enumerate(known[first:end], start=first):
        last = known[number + 1].start - 1 if number + 1 < len(known) else use.last
        found.append(_Share(phase, max(use.first, phase.start), min(last, use.last), use))
    return found


def _use(shares: Sequence[_Share], written: Sequence[tuple[_Share, str]], conclusions: Conclusions) -> None:
    """Let the phases of one process use the segments that started before their end.

    An earlier use is carried; so is the data that its parent stored in phases before the fork. A phase that continues
    another one has the other's inputs as its own.
    """
    parent, forked = conclusions.forks.get(shares[0].use.process.iri, (None, 0)) if shares else (None, 0)
    used: set[str] = set()
    for share in shares:
        for (stored, iri), later in zip(written, [*(one for one, _ in written[1:]), None], strict=True):
            if stored.first > share.last or stored.use.is_of(share.use):
                continue
            inherited = parent is not None and stored.use.process.iri == parent.iri and stored.last < forked
            fresh = iri not in used or stored.last >= share.phase.start
            if fresh and not inherited and not (later and later.continues(stored) and later.first <= share.last):
                share.phase.used[iri] = None
                share.phase.end = max(share.phase.end, stored.first)  # it had the memory, after its last call too
                used.add(iri)
