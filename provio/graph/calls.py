"""Write the I/O activities of a run: openings, accesses, single calls and failures."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator

from provio.base import turtle
from provio.graph.lines import Graph, messages_of, path_if_known
from provio.graph.summed_calls import SIDES, Sum, SummedCalls, counters, is_of_kernel
from provio.lineage.identity import Identity
from provio.lineage.model import MESSAGES, Conclusions, Phase, Version
from provio.settings.record_classes import left_out
from provio.trace.facts import Access, Event, Opening, Process, Thread
from provio.trace.run_facts import Trace

# The class of an IOActivity → the property from the object to it.
INFLUENCES = {
    "Create": "wasCreatedBy", "Open": "wasOpenedBy", "Read": "wasReadBy", "Write": "wasWrittenBy", "Map": "wasReadBy",
    "SubmitRead": "wasReadBy", "SubmitWrite": "wasWrittenBy", "Fsync": "wasFlushedBy", "Flush": "wasFlushedBy",
    "Rename": "wasModifiedBy", "Link": "wasModifiedBy", "Truncate": "wasModifiedBy", "Allocate": "wasModifiedBy",
    "SetTimes": "wasModifiedBy", "SetMode": "wasModifiedBy", "SetOwner": "wasModifiedBy",
    "SetAttribute": "wasModifiedBy", "GetAttribute": "wasReadBy", "Resize": "wasModifiedBy",
}  # fmt: skip

DURATIONS = frozenset({"elapsed", "maxElapsed", "openElapsed"})

# The classes of single calls that become IOActivities.
SINGLE_CALLS = frozenset(
    "Rename Link Delete Create Truncate Map SetTimes SetMode SetOwner SetAttribute GetAttribute Stat List".split()
)


def counters_of(access: Access, side: str) -> dict[str, int]:
    """Return the counters of one side (`read`, `write`) of an access; empty at detail `file`.

    RDF is expensive, so some counters are omitted: sizes that did not occur (an empty read has none), all sizes if a
    single call moved all bytes, the longest call unless several calls moved bytes, and the consecutive bytes if all
    bytes are consecutive.
    """
    counts = access.counts
    if side + "s" not in counts:
        return {}
    names = (("count", side + "s"), ("bytes", side + "Bytes"), ("elapsed", side + "Elapsed"))
    counters = {name: int(counts.get(counter, 0)) for name, counter in names}
    longest = counts.get(side + "Longest")
    if longest is None and side + "Elapsed" in counts:
        return counters  # an older trace has no more counters
    moved = access.moved(side)
    if longest is not None and moved > 1:
        counters["maxElapsed"] = int(longest)
    consecutive = access.consecutive(side)
    if consecutive != counters["bytes"]:
        counters["consecutiveBytes"] = consecutive
    if moved > 1:
        counters |= {f"size{number}": count for number, count in enumerate(access.sizes(side), start=1) if count}
    return counters


def _end(access: Access, side: str, last: int) -> int | None:
    """Return the last moment of a side; None where a single call moved bytes, as its start and its time imply the
    end."""
    return None if side + "s" in access.counts and access.moved(side) <= 1 else last


class Kept:
    """The record classes that the settings keep, and the resulting ties of activities to agents and wholes."""

    def __init__(self, trace: Trace) -> None:
        self.run = trace.iri
        self.left_out = left_out(trace.run.get("detail", ""))

    def program(self, iri: str) -> str | None:
        """Return the term of a program to which an activity or entity is tied; None where programs are not recorded."""
        return None if "program" in self.left_out else f"<{iri}>"

    def whole(self, process: Process) -> str:
        """Return the IRI of which the phases of a process are parts: the run, where processes are not recorded."""
        return self.run if "process" in self.left_out and process.image != "task" else process.iri

    def only_thread(self, process: Process) -> Thread | None:
        """Return the only thread of a process; None if there are several. The phases name it, so its calls need not."""
        return process.threads[0] if len(process.threads) == 1 and "thread" not in self.left_out else None


class CallGraph:
    """Writes the activities of the calls of processes."""

    def __init__(self, graph: Graph, trace: Trace, identity: Identity, out: Conclusions) -> None:
        self.graph, self.identity, self.out, self.kept = graph, identity, out, Kept(trace)
        self.sums, self.messages = SummedCalls(), messages_of(trace.iri)
        self.usual: dict[str, str] = {}
        self.opened: Opening | None = None  # the current opening, until an access states it

    def activities(self, process: Process) -> Iterator[None]:
        """Write the activities of a process; yield from time to time, so that the caller can take the lines."""
        self._usual_functions(process)
        for opening in self._openings(process):
            self.opening(opening)
            yield
        for event in process.events:
            self._event(event)
        self._failures(process)
        self._sums()
        yield

    def opening(self, opening: Opening) -> None:
        """Write the activities of an opening."""
        if self.out.channels.get(opening.iri) == MESSAGES:
            self._communication(opening)
            return
        version = self._entity(opening)
        if version and is_of_kernel(opening, version):
            self._of_kernel(opening, version.iri)
            return
        entity = version.iri if version else None
        self.opened = opening if self._is_stated_by_access(opening) else None
        if self.opened is None and opening.accesses and (opening.api or self._is_nameless(opening)):
            self._only_opened(opening, version)
        for access in opening.accesses:
            self._access(access, entity)

    def _communication(self, opening: Opening) -> None:
        """Add the messages of an opening to those of its process."""
        process = opening.process
        for access in opening.accesses:
            moments = (access.first_read, access.last_read), (access.first_write, access.last_write)
            for (kind, side), (first, last) in zip(SIDES, moments, strict=True):
                if first:
                    iri, api = f"{process.iri}messages/{side}", access.counts.get(side + "Api", side)
                    known = counters(access, side)
                    self.sums.add(kind, Sum(iri, kind, process, "", api, self.messages, first, last, known))

    def _of_kernel(self, opening: Opening, entity: str) -> None:
        """Add the reads of a file of the kernel to those of its process."""
        for access in opening.accesses:
            acting, api = self.out.acting(opening.process, access.task), access.counts.get("readApi", "read")
            thread, first = access.thread.iri, access.first_read
            phase = self.out.phase_at(acting, first).iri
            read = Sum(
                access.iri + "/read", "Read", acting, thread, api, entity, first, access.last_read,
                counters(access, "read"),
            )  # fmt: skip
            self.sums.add((phase, entity, thread, api), read)
            if access is opening.accesses[0] and (opening.api or self._is_nameless(opening)):
                opened, known, api = opening.opened, {"count": 1, "elapsed": opening.elapsed}, opening.api or ""
                one = Sum(opening.iri + "/open", "Open", acting, thread, api, entity, opened, opened, known)
                self.sums.add((phase, entity, thread, "open", api), one)

    def _sums(self) -> None:
        """Write the sums of a process."""
        for one in self.sums.take():
            self.activity(
                one.iri, one.kind, one.process, one.thread, one.api, one.counters, one.first, one.entity, one.last
            )
            if one.entity == self.messages:
                self.graph.node(self.messages, "Channel")
            elif one.kind == "Open":
                self.graph.add(one.iri, ("noise", turtle.boolean(True)))

    def _is_nameless(self, opening: Opening) -> bool:
        return "api" in self.kept.left_out and not opening.inherited

    def _is_stated_by_access(self, opening: Opening) -> bool:
        """Return whether the first read or write states the function and the time of the opening; else Open is a
        separate activity."""
        known = opening.api and not self.kept.left_out & {"api", "duration"}
        return bool(known) and any(access.first_read or access.first_write for access in opening.accesses)

    def _only_opened(self, opening: Opening, version: Version | None) -> None:
        made = next((access.task for access in opening.accesses if "closed" in access.counts), "")
        acting, thread = self.out.acting(opening.process, made), opening.accesses[0].thread.iri
        iri, counters, entity = opening.iri + "/open", {"elapsed": opening.elapsed}, version.iri if version else None
        self.activity(iri, "Open", acting, thread, opening.api or "", counters, opening.opened, entity)
        if version and version.noise:
            self.graph.add(iri, ("noise", turtle.boolean(True)))

    def _usual_functions(self, process: Process) -> None:
        """State with each phase the function that opened most of the files that the phase read or wrote."""
        counts: dict[str, Counter[str]] = {}
        for opening in filter(self._is_stated_by_access, self._openings(process)):
            access, start = next(
                (access, access.first_read or access.first_write)
                for access in opening.accesses
                if access.first_read or access.first_write
            )
            phase = self.out.phase_at(self.out.acting(process, access.task), start).iri
            counts.setdefault(phase, Counter())[opening.api or ""] += 1
        lone = self.out.lone.get(process.iri)
        if lone and lone.first and not self.kept.left_out & {"api", "duration"}:
            starts = [phase.start for phase in self.out.phases[process.iri]]
            numbers = (max(0, bisect_right(starts, first) - 1) for first in lone.first)
            for (number, by), count in Counter(zip(numbers, lone.api, strict=True)).items():
                counts.setdefault(self.out.phases[process.iri][number].iri, Counter())[lone.apis[by]] += count
        self.usual = {phase: min(found, key=lambda api: (-found[api], api)) for phase, found in counts.items()}
        for phase, api in self.usual.items():
            self.graph.add(phase, ("openApi", turtle.literal(api)))

    def _openings(self, process: Process) -> Iterator[Opening]:
        seen = set(map(id, process.openings)) if process.containers else ()
        yield from process.openings
        yield from (one for one in process.containers if id(one) not in seen)

    def _entity(self, opening: Opening) -> Version | None:
        """Return the version that an opening's activities touched: the one at its close, or else the one that it
        found."""
        if opening.kind != "FileVersion":
            return None
        for facts in (opening.at_close, opening.settled, opening.facts):
            moment = opening.closed or opening.opened
            version = self.out.version_at(self.identity.version(facts), moment) if facts else None
            if version:
                return version
        return None

    def _entity_iri(self, opening: Opening | None) -> str | None:
        version = self._entity(opening) if opening else None
        return version.iri if version else None

    def _access(self, access: Access, entity: str | None) -> None:
        process, thread = access.opening.process, access.thread.iri
        for kind, name, first, latest in (
            ("Read", "read", access.first_read, access.last_read),
            ("Write", "write", access.first_write, access.last_write),
        ):
            if first:
                counters, last = counters_of(access, name), _end(access, name, latest)
                opened, self.opened = self.opened, None
                if opened:
                    counters["openElapsed"] = opened.elapsed
                seen = self.identity.version(access.opening.facts) if kind == "Read" else None
                target = seen if seen in self.out.versions else entity or self._channel(access, kind)
                api = access.counts.get(name + "Api", name)
                acting = self.out.acting(process, access.task)
                self.activity(f"{access.iri}/{name}", kind, acting, thread, api, counters, first, target, last)
                if opened and opened.api != self.usual[self.out.phase_at(acting, first).iri]:
                    self.graph.add(f"{access.iri}/{name}", ("openApi", self._api(opened.api or "")))
        if not access.count("count"):
            return
        if access.counts["a"] == "Copy":
            self._copied(access, entity)
        elif access.operation:
            counters = {name: access.count(name) for name in ("count", "bytes", "elapsed") if name in access.counts}
            if counters["count"] > 1:
                counters["maxElapsed"] = access.count("longest")
            start, end = access.moments()
            kind, api, acting = access.operation, access.counts.get("api", ""), self.out.acting(process, access.task)
            self.activity(f"{access.iri}/call", kind, acting, thread, api, counters, start, entity, end)

    def _channel(self, access: Access, kind: str) -> str | None:
        """Return the pipe or direction of a connection that an access wrote or read; None for a read at the end of a
        pipe."""
        written, read = self.out.channels.get(access.opening.iri, (None, None))
        if kind == "Write":
            return written
        return read if access.count("readBytes") or "reads" not in access.counts else None

    def _failures(self, process: Process) -> None:
        """Write the failed calls: on a file, as activities on it; all others as sums over the process."""
        sums: dict[tuple[str, str, int], list[int]] = {}
        for failure in process.failures:
            entity = self._entity_iri(failure.opening) if failure.kind in INFLUENCES else None
            if failure.member and failure.kind in INFLUENCES:
                known = self.out.made_as, self.out.read_as
                entity = next((found[failure.member.iri] for found in known if failure.member.iri in found), None)
            if entity is None:
                total = sums.setdefault((failure.kind, failure.api, failure.errno), [0])
                total[0] += failure.count
            elif failure.count:
                self._failed(
                    process, failure.iri, failure.kind, failure.thread.iri, failure.api, failure.errno, failure.count
                )
                self.graph.add(entity, (INFLUENCES[failure.kind], f"<{failure.iri}>"))
        for (kind, api, error), (count,) in sums.items():
            name = turtle.segment(api or kind.lower())
            self._failed(process, f"{process.iri}failed/{name}.{error}", kind, None, api, error, count)

    def _failed(
        self, process: Process, iri: str, kind: str, thread: str | None, api: str, error: int, count: int
    ) -> None:
        """Write calls that failed: of a thread, or of the entire process."""
        agent = self.kept.program(self.out.programs[process.iri].iri)
        if thread and "thread" not in self.kept.left_out:
            agent = f"<{thread}>"
        kind = "IOActivity" if kind == "Copy" else kind  # a Copy is an activity that made an entity
        self.graph.node(
            iri,
            kind,
            ("api", self._api(api)),
            ("errors", turtle.integer(count)),
            ("errno", turtle.integer(error)),
            ("prov:wasAssociatedWith", agent),
            ("partOf", f"<{self.kept.whole(process)}>"),
        )

    def _copied(self, access: Access, entity: str | None) -> None:
        """Write a kernel copy as a read and a write, though no process had the bytes in its memory."""
        copy = next((c for c in access.opening.copied_from if c.access is access), None)
        if copy is None:  # its source was in a damaged part of the trace
            return
        counters = {name: access.count(name) for name in ("count", "bytes", "elapsed")}
        api, thread = access.counts.get("api", "copy"), access.thread.iri
        for kind, target in (("Read", self._entity_iri(copy.source)), ("Write", entity)):
            iri = f"{access.iri}/{kind.lower()}"
            acting = self.out.acting(access.thread.process, access.task)
            self.activity(iri, kind, acting, thread, api, counters, copy.first, target, copy.last)

    def activity(
        self, iri: str, kind: str, process: Process, thread: str, api: str, counters: dict[str, int], start: int,
        entity: str | None, end: int | None = None, phase: Phase | None = None,
    ) -> None:  # fmt: skip
        """Write one activity: calls of a class by a thread from `start` to `end`, as a part of the process's phase at
        the start."""
        graph, alone = self.graph, self.kept.only_thread(process)
        phased = "thread" in self.kept.left_out or (alone and alone.iri == thread)  # then the phase names the thread
        timed = "duration" not in self.kept.left_out
        graph.node(
            iri,
            kind,
            ("api", self._api(api)),
            *((name, turtle.integer(value)) for name, value in counters.items() if timed or name not in DURATIONS),
            ("prov:startedAtTime", turtle.instant(start)),
            ("prov:endedAtTime", turtle.instant(max(start, end)) if end and counters.get("count") != 1 else None),
            ("prov:wasAssociatedWith", None if phased or not thread else f"<{thread}>"),
            ("partOf", f"<{(phase or self.out.phase_at(process, start)).iri}>"),
        )
        if entity and kind in INFLUENCES:
            graph.add(entity, (INFLUENCES[kind], f"<{iri}>"))

    def _api(self, api: str) -> str | None:
        return None if "api" in self.kept.left_out else turtle.literal(api)

    def _event(self, event: Event) -> None:
        if event.kind not in SINGLE_CALLS:
            return
        facts = event.facts()
        known = self.out.version_at(self.identity.version(facts), event.at) if facts else None
        counters = {"elapsed": event.number("elapsed")}
        api = event.record.get("api", event.kind.lower())
        entity = known.iri if known else None
        acting = self.out.acting(event.process, event.task)
        self.activity(event.iri, event.kind, acting, event.thread.iri, api, counters, event.at, entity)
        for name in ("from", "to", "path"):
            value = event.text(name)
            if value is not None:
                self.graph.add(event.iri, path_if_known(name, os.path.normpath(value)))
        if event.kind == "Delete" and known and event.number("links", 1) == 0:
            self.graph.add(known.iri, ("prov:wasInvalidatedBy", f"<{event.iri}>"))
