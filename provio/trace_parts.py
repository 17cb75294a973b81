"""The parts of a trace: the records of a file in; threads, openings, accesses, events and failures out, each at its
process."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from provio.facts import Access, Connection, CopyCalls, Event, Failure, Opening, Thread
from provio.literals import path_of
from provio.packed import Packed
from provio.patterns import pattern
from provio.run_facts import Task, Trace
from provio.statx import Facts, Record
from provio.trace_members import Members, is_container
from provio.trace_processes import gap, parent_of, process_at
from provio.trace_records import Records
from provio.trace_said import USES, Sayings
from provio.vocab import local_name

TASK = pattern(r"/t[0-9]{1,20}$")
CLOSE = ("closedNs", "closedMtimeNs", "closedCtimeNs", "closedSize", "closedLinks")
OPENED = frozenset({"FileVersion", "Directory", "Pipe", "Socket", "File"})


def assemble(trace: Trace, records: Records, members: Members, sayings: Sayings) -> dict[str, Packed]:
    """Make processes, threads, openings and events of a file's records; return its accesses and closes for later."""
    later: dict[str, Packed] = {}
    for iri, record in records.items():
        kind = record.get("a") or _left_out(record)
        if kind == "Process":
            process = process_at(trace, iri)
            if process:
                process.record.update(record)
        elif kind == "Thread":
            process = process_at(trace, parent_of(iri))
            if process:
                process.threads.append(Thread(iri, process, int(record.get("tid", 0)), int(record.get("epochNs", 0))))
        elif kind == "Task":
            _task(trace, iri, record)
        elif kind in OPENED and "openedNs" in record:
            _open(trace, iri, record, members)
            if "closedNs" in record:
                later[iri] = members.hold({name: record[name] for name in CLOSE if name in record})
        elif not (sayings.takes(iri, record) or members.takes(iri, record)):
            later[iri] = members.hold(record)
    return later


def _task(trace: Trace, iri: str, record: Record) -> None:
    process = process_at(trace, parent_of(iri))
    if process and TASK.search(iri):
        trace.tasks[iri] = Task(iri, process, record)


def _left_out(record: Record) -> str:
    """What a record is of that says what ties others to it and no more: its class is one that was left out."""
    return "Process" if "image" in record else "Thread" if "epochNs" in record else ""


def _open(trace: Trace, iri: str, record: Record, members: Members) -> None:
    process = process_at(trace, parent_of(iri))
    if process:
        label, flags = sys.intern(iri[len(process.iri) :]), int(record.get("flags", 0))
        opening = Opening(
            label, process, record["a"], path_of(record, "path"), Facts.of(record), flags,
            int(record["openedNs"]), record.get("inherited") == "true", record.get("unlinked") == "true",
            sys.intern(record["openApi"]) if "openApi" in record else None, int(record.get("openElapsed", 0)),
        )  # fmt: skip
        if opening.kind == "Socket":
            opening.connection = Connection.of(record)
        if is_container(record):
            members.containers[iri] = opening
            process.containers.append(opening)
        else:
            process.openings.append(opening)


def attach(
    trace: Trace, later: dict[str, Packed], openings: dict[str, Opening], threads: dict[str, Thread],
    beside: tuple[Members, Sayings],
) -> None:  # fmt: skip
    """Give accesses and closes to their openings, events to their processes, wherever they were written."""
    members, sayings = beside
    accesses: dict[str, Access] = {}
    for iri, packed in later.items():
        record = packed.record()
        kind = record.get("a")
        thread = threads.get(parent_of(iri))
        if kind == "Gap":
            gap(trace, thread, iri, record)
        elif kind in USES:
            sayings.used_in(thread, record)
        elif kind is None or "closedNs" in record:
            _told_later(trace, iri, record, openings, members)
        elif kind == "AccessSizes":
            access, _, side = iri.rpartition("/")
            if access in accesses:  # which comes before it, in the same file
                unusual = accesses[access].unusual = accesses[access].unusual or {}
                unusual[side] = record
        elif kind == "Turn":
            _turn(accesses, iri, record)
        elif thread:
            _of_thread(openings, thread, iri, record, accesses, members)


def _told_later(trace: Trace, iri: str, record: Record, openings: dict[str, Opening], members: Members) -> None:
    if "a" not in record and iri in trace.tasks:
        trace.tasks[iri].record.update(record)
    elif not (members.found and members.told_later(iri, record)):
        _close(openings.get(iri), record)


def _turn(accesses: dict[str, Access], iri: str, record: Record) -> None:
    name, side = iri.rsplit("/", 2)[:2]
    access = accesses.get(name)
    if access is not None:
        epoch, last = access.thread.epoch, int(record.get("last", 0))
        turn = (last and epoch + last, int(record.get("bytes", 0)), epoch + int(record.get("first", 0)))
        turns = access.turns = access.turns or {}
        turns.setdefault(side, []).append(turn)


def _of_thread(
    openings: dict[str, Opening], thread: Thread, iri: str, record: Record, accesses: dict[str, Access],
    members: Members,
) -> None:  # fmt: skip
    kind = record["a"]
    if kind in ("Access", "Copy"):
        access = members.access(thread, iri, record) if members.found else None
        access = access or _access(openings, thread, iri, record, members.hold)
        if access:
            accesses[iri] = access
    elif kind == "Failure":
        _failure(openings, thread, iri, record, members)
    else:
        at = thread.epoch + int(record.get("at", 0))
        event = Event(iri, kind, thread.process, thread, at, members.hold(record))
        if not (members.containers and members.event(event)):
            thread.process.events.append(event)


def _failure(openings: dict[str, Opening], thread: Thread, iri: str, record: Record, members: Members) -> None:
    kind, api = local_name(record.get("operation", "IOActivity")), record.get("api", "")
    numbers = int(record.get("errno", 0)), int(record.get("count", 0))
    if not members.failure(thread, iri, record, kind, numbers):
        opening = openings.get(record.get("object", ""))
        thread.process.failures.append(Failure(iri, thread, opening, kind, api, *numbers))


def _close(opening: Opening | None, record: Record) -> None:
    if opening is not None and "closedNs" in record:
        opening.closed = int(record["closedNs"])
        if "closedMtimeNs" in record:
            opening.at_close = opening.facts.later(record, "closed")


def _access(
    openings: dict[str, Opening], thread: Thread, iri: str, record: Record, hold: type[Packed]
) -> Access | None:
    opening, source = openings.get(record.get("object", "")), openings.get(record.get("source", ""))
    if opening is None:
        return None

    def moment(name: str) -> int:
        value = int(record.get(name, 0))
        return thread.epoch + value if value else 0

    left = {name: value for name, value in record.items() if name not in ("object", "source")}
    access = Access(sys.intern(iri[len(thread.iri) :]), thread, opening, hold(left)).timed(left)
    opening.accesses.append(access)
    opening.closed = opening.closed or moment("closed")
    if source and access.count("count"):
        copy = CopyCalls(access, source, opening, moment("first"), moment("last"))
        opening.copied_from = _with(opening.copied_from, copy)
        source.copied_to = _with(source.copied_to, copy)
    return access


def _with(known: Sequence[CopyCalls], copy: CopyCalls) -> Sequence[CopyCalls]:
    """Add to what most openings have none of."""
    if not isinstance(known, list):
        return [copy]
    known.append(copy)
    return known
