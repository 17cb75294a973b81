"""Builds typed facts from the records of a file: threads, openings, accesses, events and failures of processes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import chain

from provio.base.records import pattern
from provio.base.vocab import local_name
from provio.system.statx import Facts, Record
from provio.trace.decode import path_of
from provio.trace.facts import Access, Connection, CopyCalls, Event, Failure, Member, Opening, Process, Thread
from provio.trace.fast.compact_record import Packed
from provio.trace.openings import closed_access
from provio.trace.processes import gap, parent_of, process_at
from provio.trace.read_declarations import USES, DeclarationReader
from provio.trace.records import Records
from provio.trace.run_facts import Task, Trace

KINDS = frozenset({"Group", "Dataset", "Attribute", "Datatype", "NamedLink"})


class Members:
    """The objects in hierarchical files: takes their records, file by file, then assembles them. `hold` is the class
    that stores the records of accesses."""

    def __init__(self, hold: type[Packed] = Packed) -> None:
        self.hold = hold
        self.containers: dict[str, Opening] = {}
        self.records: Records = {}
        self.found: dict[str, Member] = {}
        self.sources: list[tuple[str, str]] = []  # a virtual dataset, and a source of it

    def takes(self, iri: str, record: Record) -> bool:
        """Take a record of an object in a file; return whether it was one."""
        if not ("inFile" in record or "virtualSource" in record):
            return False
        if "virtualSource" in record and "object" in record:
            self.sources.append((record["object"], record["virtualSource"]))
            return True
        if record.get("a") in KINDS and "inFile" in record:
            self.records.setdefault(iri, {}).update(record)
            return True
        return False

    def place(self) -> None:
        """Assign each object to its file, once all openings are known."""
        of_file: dict[str, list[Member]] = {}
        for iri, record in self.records.items():
            file, path = self.containers.get(record["inFile"]), path_of(record, "path")
            name = path_of(record, "name")
            if file and path is not None and (name is not None) == (record["a"] == "Attribute"):
                self.found[iri] = Member(iri, record["a"], file, path, name, record)
                of_file.setdefault(file.iri, []).append(self.found[iri])
        for iri, members in of_file.items():
            self.containers[iri].members = members
        own = [(iri, record["virtualSource"]) for iri, record in self.records.items() if "virtualSource" in record]
        for iri, source in self.sources + own:
            if iri in self.found and source in self.found:
                self.found[iri].shows.append(self.found[source])

    def update(self, iri: str, record: Record) -> bool:
        """Add the properties that another thread recorded of an object; return whether it is one."""
        member = self.found.get(iri)
        if member and "a" not in record:
            member.record.update({name: value for name, value in record.items() if name not in member.record})
        return member is not None

    def access(self, thread: Thread, iri: str, record: Record) -> Access | None:
        """Add the access of one thread to an object by one function; None if the record is of no object."""
        member = self.found.get(record.get("object", ""))
        if member is None:
            self._summed(thread, iri, record)
            return None
        access = Access(iri[len(thread.iri) :], thread, member.file, self.hold(record)).timed(record)
        source = self.found.get(record.get("source", ""))
        member.accesses.append(access)
        if record["a"] == "Copy" and source:
            member.copied_from.append((source, access))
        return access

    def _summed(self, thread: Thread, iri: str, record: Record) -> None:
        file = self.containers.get(record.get("inFile", ""))
        if file:
            thread.process.summed.append(Access(iri[len(thread.iri) :], thread, file, self.hold(record)))

    def failure(self, thread: Thread, iri: str, record: Record, kind: str, numbers: tuple[int, int]) -> bool:
        """Add the failed calls on an object; return whether the record is of one."""
        member = self.found.get(record.get("object", ""))
        if member:
            failure = Failure(iri, thread, None, kind, record.get("api", ""), *numbers, member)
            thread.process.failures.append(failure)
        return member is not None

    def event(self, event: Event) -> bool:
        """Add the event of a name in a file; return whether it is one."""
        record = event.record
        if "inFile" not in record and record.get("object") not in self.found:
            return False
        event.process.within.append(event)
        return True


def is_container(record: Record) -> bool:
    """Return whether an opening is by a library that knows the file's objects."""
    return "format" in record


def adopt(process: Process) -> None:
    """Add the library's openings to the process if the process's own openings of these files were not observed."""
    seen = {opening.facts.lasting for opening in process.openings if opening.kind == "FileVersion"}
    shown = {source.iri for file in process.containers for member in file.members for source in member.shows}
    for file in process.containers:
        if file.facts.inode and file.facts.lasting not in seen and not _named_only(file, shown):
            process.openings.append(file)


def _named_only(file: Opening, shown: set[str]) -> bool:
    """Return whether a file was only named as a source by a virtual dataset, and never opened."""
    return bool(file.members) and all(one.iri in shown and not one.accesses for one in file.members)


TASK = pattern(r"/t[0-9]{1,20}$")
CLOSE = ("closedNs", "closedMtimeNs", "closedCtimeNs", "closedSize", "closedLinks")
DETAILS = {"AccessSizes": 1, "Turn": 2}  # the records about an access, and the segments that they add to its IRI
Details = list[tuple[str, Packed]]
OPENED = frozenset({"FileVersion", "Directory", "Pipe", "Socket", "File"})


def assemble(trace: Trace, records: Records, members: Members, declarations: DeclarationReader) -> dict[str, Packed]:
    """Add a file's processes, threads, openings and declarations; return the other records for `attach`."""
    later: dict[str, Packed] = {}
    for iri, record in records.items():
        kind = record.get("a") or _kind_without_class(record)
        if kind in PARTS:
            PARTS[kind](trace, iri, record)
        elif kind in OPENED and "openedNs" in record:
            _open(trace, iri, record, members)
            if "closedNs" in record or "closedMtimeNs" in record:
                later[iri] = members.hold({name: record[name] for name in CLOSE if name in record})
        elif not (declarations.takes(iri, record) or members.takes(iri, record)):
            later[iri] = members.hold(record)
    return later


def _task(trace: Trace, iri: str, record: Record) -> None:
    process = process_at(trace, parent_of(iri))
    if process and TASK.search(iri):
        trace.tasks[iri] = Task(iri, process, record)


def _process(trace: Trace, iri: str, record: Record) -> None:
    process = process_at(trace, iri)
    if process:
        process.record.update(record)


def _thread(trace: Trace, iri: str, record: Record) -> None:
    process = process_at(trace, parent_of(iri))
    if process:
        process.threads.append(Thread(iri, process, int(record.get("tid", 0)), int(record.get("epochNs", 0))))


def _libraries(trace: Trace, iri: str, _record: Record) -> None:
    own, _, number = iri.rpartition("libraries/")
    process = process_at(trace, own)
    if process:
        process.libraries.append(f"{trace.iri}/{process.host}/libraries/{number}")


PARTS = {"Process": _process, "Thread": _thread, "Task": _task, "Libraries": _libraries}


def _kind_without_class(record: Record) -> str:
    """Return the kind of a record without a class: only its links to others are recorded, by the settings."""
    if "peakMemory" in record:  # a thread may write it into another file than that of the header
        return "Process"
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
    readers: tuple[Members, DeclarationReader],
) -> Details:  # fmt: skip
    """Add accesses and closes to their openings and events to their processes, in any order of files. Return the
    details of accesses that are in other files of their threads, for `attach_details`."""
    members, declarations = readers
    accesses: dict[str, Access] = {}
    details: Details = []
    for iri, packed in later.items():
        record = packed.record()
        kind = record.get("a")
        thread = threads.get(parent_of(iri))
        if kind == "Gap":
            gap(trace, thread, iri, record)
        elif kind in USES:
            declarations.add_use_of_thread(thread, record)
        elif "closing" in record or kind in DETAILS:
            details.append((iri, packed))
        elif kind is None or "closedNs" in record:
            _update(trace, iri, record, openings, members)
        elif thread:
            _of_thread(openings, thread, iri, record, accesses, members)
    return [(iri, packed) for iri, packed in details if not _describe(accesses, iri, packed.record())]


def attach_details(trace: Trace, details: Details) -> None:
    """Add the details of accesses that are in earlier files of their threads."""
    closings = {iri: packed.record() for iri, packed in details if "closing" in packed.record()}
    for opening in trace.openings() if closings else ():
        if opening.iri in closings:
            _close_own(opening, closings[opening.iri])
    details = [(iri, packed) for iri, packed in details if iri not in closings]
    wanted = {described(iri, packed.record()["a"]) for iri, packed in details}
    accesses: dict[str, Access] = {}
    for process in trace.processes.values() if wanted else ():
        openings = chain(process.openings, process.containers)
        members = (member.accesses for file in process.containers for member in file.members)
        for access in chain(process.summed, *(opening.accesses for opening in openings), *members):
            iri = access.thread.iri + access.name
            if iri in wanted:
                accesses[iri] = access
    for iri, packed in details:
        _describe(accesses, iri, packed.record())


def _close_own(opening: Opening, record: Record) -> None:
    """Add the close of an opening by the thread that opened it, with the counters of its own access."""
    facts, counts, sizes = closed_access(record)
    place, known = next((item for item in enumerate(opening.accesses) if item[1].name == opening.label), (0, None))
    if known is None:
        return
    counters = known.counts | counts
    access = Access(known.name, known.thread, opening, type(known.packed)(counters), turns=known.turns).timed(counters)
    access.unusual = sizes or known.unusual
    opening.accesses[place] = access
    opening.closed = known.thread.epoch + int(counts["closed"])
    _close(opening, facts)


def described(iri: str, kind: str) -> str:
    """Return the access that a record of its sizes or turns is about."""
    return iri.rsplit("/", DETAILS[kind])[0]


def _describe(accesses: dict[str, Access], iri: str, record: Record) -> bool:
    """Add a detail to its access; return whether that is known."""
    access = accesses.get(described(iri, record["a"])) if "closing" not in record else None
    if access is None:
        return False
    if record["a"] == "AccessSizes":
        unusual = access.unusual = access.unusual or {}
        unusual[iri.rpartition("/")[2]] = record
    else:
        _turn(access, iri.rsplit("/", 2)[1], record)
    return True


def _update(trace: Trace, iri: str, record: Record, openings: dict[str, Opening], members: Members) -> None:
    if "a" not in record and iri in trace.tasks:
        trace.tasks[iri].record.update(record)
    elif not (members.found and members.update(iri, record)):
        _close(openings.get(iri), record)


def _turn(access: Access, side: str, record: Record) -> None:
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
    if opening is not None:
        if "closedNs" in record:
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
    if source and (access.count("count") or access.unreturned):
        tried = max(source.opened, opening.opened)
        copy = CopyCalls(access, source, opening, moment("first") or tried, moment("last") or tried)
        opening.copied_from = _with(opening.copied_from, copy)
        source.copied_to = _with(source.copied_to, copy)
    return access


def _with(known: Sequence[CopyCalls], copy: CopyCalls) -> Sequence[CopyCalls]:
    """Add a copy; most openings have none, and share an empty tuple."""
    if not isinstance(known, list):
        return [copy]
    known.append(copy)
    return known
