"""Reads a run folder: Turtle files in, facts out (`docs/trace-format.md`); nothing is concluded here.

A damaged file costs only itself: its good prefix is kept, and what was wrong is named with its line in `Trace.damages`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, count
from pathlib import Path
from types import MappingProxyType

import pyoxigraph

from provio import runfiles
from provio.admit import LONGEST, admitted, without_long
from provio.digests import Digests
from provio.facts import (
    RUN_BASE,
    Access,
    Connection,
    CopyCalls,
    Damage,
    Event,
    Facts,
    Failure,
    Hash,
    Opening,
    Process,
    Record,
    Task,
    Thread,
    Trace,
    Unwatched,
    path_of,
)
from provio.mount_tables import MountTables
from provio.packed import Packed
from provio.patterns import pattern
from provio.runfiles import RunFile, RunFiles
from provio.trace_members import Members, adopt, is_container
from provio.trace_said import USES, Sayings
from provio.vocab import NS, XSD, local_name, vocabulary

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
STRING = pyoxigraph.NamedNode(XSD + "string")
Records = dict[str, Record]
AFTER = ("settled.ttl", "hashes.ttl")  # what was found after the run
NOTHING: Mapping[str, Mapping[str, Packed]] = MappingProxyType({})
TRIALS = 4  # to find where the good part of a damaged file ends
IMAGE = pattern(r"/([A-Za-z0-9._~%-]+)/([0-9]{1,20})\.([0-9]{1,20})\.([0-9a-z]{1,20})/")
TASK = pattern(r"/t[0-9]{1,20}$")
FEW = 30  # files
_asked = count()
NUMBER = pattern(r"[+-]?[0-9]{1,20}")  # 64 bits: times beyond 2286, inodes of stacked file systems


def read_run(folder: Path) -> Trace:
    """Read the run folder `folder`; never fails on content, see `Trace.damages`."""
    source = runfiles.of(folder)
    trace, head = begin(source)
    read_files(trace, source.files(trace.run))
    for iri, record in head.items():
        if record.get("a") == "Gap":
            _gap(trace, None, iri, record)
    trace.gaps += _damage_gaps(trace, trace.damages)
    if trace.damages:
        _date_the_lost(trace)
    return trace


def begin(source: RunFiles) -> tuple[Trace, Records]:
    """Return a trace of which nothing is read but what `run.ttl` says, and all the records of that."""
    damages: list[Damage] = []
    digests, run_id = Digests(), source.folder.name
    head = admitted(_load(source.head(), digests, damages), RUN_BASE + run_id, source.head().path, damages)
    run = head.get(RUN_BASE + run_id, {})
    if not run and not damages:
        damages.append(Damage(source.head().path, 1, "says nothing of the run"))
    mounts = [record for record in head.values() if record.get("a") == "Mount"]
    trace = Trace(source.folder, run_id, run, mounts, {}, [], damages, digests)
    trace.environment = {
        r["name"]: r["value"] for r in head.values() if r.get("a") == "Environment" and {"name", "value"} <= r.keys()
    }
    trace.image = next((record for record in head.values() if record.get("a") == "Image"), {})
    return trace, head


def records_of(trace: Trace, file: RunFile) -> Records:
    """Return what one file of a run says; what is wrong with it goes to the trace's damages."""
    records = _load(file, trace.digests, trace.damages)
    return admitted(records, f"{trace.iri}/{file.host}/", file.path, trace.damages)


def read_files(trace: Trace, files: Iterable[RunFile], after: Mapping[str, Mapping[str, Packed]] = NOTHING) -> None:
    """Add to a trace what some files of its run say that have to do with no others, and what was found `after` the run
    of the openings in them, by process, where that is not among the files."""
    settled: Records = {}
    late: deque[dict[str, Packed]] = deque()
    members, sayings, tables = Members(), Sayings(partial(_process, trace)), MountTables(trace.mounts)
    for file in files:
        if file.gap is not None:
            trace.digests.add((file.host, file.name), os.fsencode(file.gap))
            _file_gap(trace, file, file.gap)
            continue
        own = f"{trace.iri}/{file.host}/"
        apart = _apart(file, own, trace.digests, sayings)
        records = records_of(trace, file) if apart is None else admitted(apart, own, file.path, trace.damages)
        if file.name in AFTER:
            settled.update(records)
        elif not tables.takes(records, file.name, own):
            late.append(_assemble(trace, records, members, sayings))
    _containers(trace, tables)
    openings = {opening.iri: opening for opening in trace.openings()} | members.containers
    members.place()
    threads = {thread.iri: thread for process in trace.processes.values() for thread in process.threads}
    while late:
        _attach(trace, late.popleft(), openings, threads, (members, sayings))
    trace.said = sayings.placed()
    for process in {id(one.process): one.process for one in members.containers.values()}.values():
        adopt(process)
    for own in trace.processes if after else ():
        settled.update((iri, packed.record()) for iri, packed in after.get(own, {}).items())
    _attach_settled(trace, settled, openings)
    _bound_accesses(trace)
    if trace.gaps:
        _date_the_lost(trace)


def _containers(trace: Trace, tables: MountTables) -> None:
    trace.contained, trace.roots, trace.image_devices = set(tables.of_process), tables.roots(), tables.devices()


def read_head(folder: Path) -> Record:
    """Return the facts about the run itself, from `run.ttl`; empty where it is missing or damaged."""
    return _load(runfiles.of(folder).head(), None, []).get(RUN_BASE + folder.name, {})


def parse(data: bytes, path: Path, damages: list[Damage]) -> Records:
    """Return the records of a Turtle document: subject → property's local name → value. Appends what is damaged."""
    known = _quickly(data)
    if known is not None:
        return known
    try:
        return _whole(_records(data), path, damages)
    except (SyntaxError, ValueError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 0
        reason = str(error).split(": ", 1)[-1]
        damages.append(Damage(path, line, reason))
        return _whole(_good_prefix(data, line) if line else _read_until(data), path, damages)


def _quickly(data: bytes) -> Records | None:
    """The records of a file by the shapes of its lines, where that is quicker: to learn them takes as long as to parse
    some files."""
    if next(_asked) < FEW:
        return None
    from provio import blocks  # dear to load, and most runs have few files

    return blocks.records(data)


def _whole(records: Records, path: Path, damages: list[Damage]) -> Records:
    """Leave out the records with a value that is no number where one belongs."""
    integers = vocabulary().integers
    for iri, record in list(records.items()):
        for name in record.keys() & integers:
            if not NUMBER.fullmatch(record[name]):
                damages.append(Damage(path, 0, f"{name} of <{iri[:200]}> is no number"))
                records.pop(iri, None)
    return records


def _load(file: RunFile, digests: Digests | None, damages: list[Damage]) -> Records:
    try:
        data = file.load()
    except OSError as error:
        damages.append(Damage(file.path, 0, error.strerror or "cannot be read"))
        return {}
    if digests is not None:
        digests.add((file.host, file.name), data)
    records = parse(data, file.path, damages)
    return records if len(data) <= LONGEST else without_long(records, file.path, damages)


def _apart(file: RunFile, own: str, digests: Digests, sayings: Sayings) -> Records | None:
    """The records of a large file, whose metrics are taken as they are met; None where it is not large, or unusual."""
    try:
        parts = file.parts()
        if parts is None or file.name in AFTER:
            return None
        from provio import trace_metrics  # dear to load, and most files are small

        return trace_metrics.read(digests.through((file.host, file.name), parts), own, sayings)
    except OSError:
        return None  # which it says when it is loaded


def _good_prefix(data: bytes, line: int) -> Records:
    """Records of the lines before the damaged one, back to the last line that ends a statement.

    Where that is not plain to see (a line that ends a statement may lie within a text), what was read until then.
    """
    lines = data.split(b"\n")[: line - 1]
    for _ in range(TRIALS):
        while lines and not _ends_statement(lines[-1]):
            lines.pop()
        try:
            return _records(b"\n".join(lines) + b"\n")
        except (SyntaxError, ValueError, MemoryError) as error:
            del lines[min(len(lines), getattr(error, "lineno", None) or 1) - 1 :]
    return _read_until(data)


def _ends_statement(line: bytes) -> bool:
    """Whether it looks as if: what begins with `#` was never committed."""
    return not line.startswith(b"#") and line.split(b" #")[0].rstrip(b"# ").endswith(b".")


def _read_until(data: bytes) -> Records:
    """The records before the first mistake, but for the last, of which all may not have been said."""
    records: Records = {}
    with contextlib.suppress(SyntaxError, ValueError, MemoryError):
        _records(data, records)
    if records:
        records.popitem()
    return records


def _records(data: bytes, records: Records | None = None) -> Records:
    """The records of a document, added to `records` as they are read."""
    records = {} if records is None else records
    skip = len(NS)
    for triple in pyoxigraph.parse(data, pyoxigraph.RdfFormat.TURTLE):
        if isinstance(triple.object, pyoxigraph.Triple):
            continue
        subject, predicate, value = triple.subject.value, triple.predicate.value, triple.object.value
        record = records.get(subject)
        if record is None:
            record = records[subject] = {}
        if predicate == RDF_TYPE:
            record["a"] = value[skip:] if value.startswith(NS) else value
        elif predicate.startswith(NS):
            name = predicate[skip:]
            record[name] = value
            if name == "value" and getattr(triple.object, "datatype", STRING) != STRING:
                record["valueType"] = local_name(triple.object.datatype.value)
    return records


def _process(trace: Trace, iri: str) -> Process | None:
    """The process of an IRI `…/run/RUN/HOST/PID.TICK.N/`."""
    process = trace.processes.get(iri)
    if process is None:
        name = IMAGE.fullmatch(iri, len(trace.iri)) if iri.startswith(trace.iri + "/") else None
        if name is None:
            return None
        process = Process(iri, name[1], int(name[2]), int(name[3]), name[4])
        trace.processes[iri] = process
    return process


def _parent_iri(iri: str) -> str:
    return iri.rstrip("/").rpartition("/")[0] + "/"


CLOSE = ("closedNs", "closedMtimeNs", "closedCtimeNs", "closedSize", "closedLinks")
OPENED = frozenset({"FileVersion", "Directory", "Pipe", "Socket", "File"})


def _assemble(trace: Trace, records: Records, members: Members, sayings: Sayings) -> dict[str, Packed]:
    """Make processes, threads, openings and events of a file's records; return its accesses and closes for later."""
    later: dict[str, Packed] = {}
    for iri, record in records.items():
        kind = record.get("a") or _left_out(record)
        if kind == "Process":
            process = _process(trace, iri)
            if process:
                process.record.update(record)
        elif kind == "Thread":
            process = _process(trace, _parent_iri(iri))
            if process:
                process.threads.append(Thread(iri, process, int(record.get("tid", 0)), int(record.get("epochNs", 0))))
        elif kind == "Task":
            _task(trace, iri, record)
        elif kind in OPENED and "openedNs" in record:
            _open(trace, iri, record, members)
            if "closedNs" in record:
                later[iri] = Packed({name: record[name] for name in CLOSE if name in record})
        elif not (sayings.takes(iri, record) or members.takes(iri, record)):
            later[iri] = Packed(record)
    return later


def _task(trace: Trace, iri: str, record: Record) -> None:
    process = _process(trace, _parent_iri(iri))
    if process and TASK.search(iri):
        trace.tasks[iri] = Task(iri, process, record)


def _left_out(record: Record) -> str:
    """What a record is of that says what ties others to it and no more: its class is one that was left out."""
    return "Process" if "image" in record else "Thread" if "epochNs" in record else ""


def _open(trace: Trace, iri: str, record: Record, members: Members) -> None:
    process = _process(trace, _parent_iri(iri))
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


def _attach(
    trace: Trace, later: dict[str, Packed], openings: dict[str, Opening], threads: dict[str, Thread],
    beside: tuple[Members, Sayings],
) -> None:  # fmt: skip
    """Give accesses and closes to their openings, events to their processes, wherever they were written."""
    members, sayings = beside
    accesses: dict[str, Access] = {}
    for iri, packed in later.items():
        record = packed.record()
        kind = record.get("a")
        thread = threads.get(_parent_iri(iri))
        if kind == "Gap":
            _gap(trace, thread, iri, record)
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
        access = access or _access(openings, thread, iri, record)
        if access:
            accesses[iri] = access
    elif kind == "Failure":
        _failure(openings, thread, iri, record, members)
    else:
        at = thread.epoch + int(record.get("at", 0))
        event = Event(iri, kind, thread.process, thread, at, Packed(record))
        if not (members.containers and members.event(event)):
            thread.process.events.append(event)


def _failure(openings: dict[str, Opening], thread: Thread, iri: str, record: Record, members: Members) -> None:
    kind, api = local_name(record.get("operation", "IOActivity")), record.get("api", "")
    numbers = int(record.get("errno", 0)), int(record.get("count", 0))
    if not members.failure(thread, iri, record, kind, numbers):
        opening = openings.get(record.get("object", ""))
        thread.process.failures.append(Failure(iri, thread, opening, kind, api, *numbers))


def _bound_accesses(trace: Trace) -> None:
    """Where only the first moment of an access is recorded, it lasted at most until the close or the run's end."""
    contained = (container for process in trace.processes.values() for container in process.containers)
    for opening in chain(trace.openings(), contained):
        end = opening.closed or int(trace.run.get("endedNs", 0)) or opening.process.ended
        within = (member.accesses for member in opening.members) if opening.members else ()
        for access in chain(opening.accesses, *within):
            access.last_read = access.last_read or (access.first_read and max(end, access.first_read))
            access.last_write = access.last_write or (access.first_write and max(end, access.first_write))


def _gap(trace: Trace, thread: Thread | None, iri: str, record: Record) -> None:
    """What could not be seen. A program that could not be watched has its place among the processes all the same."""
    about, reason = record.get("about", trace.iri), record.get("reason", "unknown")
    path = path_of(record, "executable")
    name = path.decode("utf-8", "replace") + " " if path else ""
    unseen = ": what it reads and writes is not seen" if name else ""
    trace.gaps.append((iri, about, name + reason + unseen))
    process = _process(trace, about) if thread is None or about != thread.process.iri else None
    if process is None:
        return
    before = thread.process.record if thread else trace.run
    started = thread.epoch + int(record.get("at", 0)) if thread else int(record.get("startedNs", 0))
    trace.unwatched.append(Unwatched(process, iri, name.strip() or "a program", started))
    if "image" not in process.record:
        told = {key: record[key] for key in ("argv", "executable", "executableEncoded") if key in record}
        own = {"image": "exec", "startedNs": str(started), "host": process.host}
        place = {key: value for key, value in before.items() if key in ("cwd", "cwdEncoded")}
        process.record.update(told | own | place)


def _close(opening: Opening | None, record: Record) -> None:
    if opening is not None and "closedNs" in record:
        opening.closed = int(record["closedNs"])
        if "closedMtimeNs" in record:
            opening.at_close = opening.facts.later(record, "closed")


def _access(openings: dict[str, Opening], thread: Thread, iri: str, record: Record) -> Access | None:
    opening, source = openings.get(record.get("object", "")), openings.get(record.get("source", ""))
    if opening is None:
        return None

    def moment(name: str) -> int:
        value = int(record.get(name, 0))
        return thread.epoch + value if value else 0

    left = {name: value for name, value in record.items() if name not in ("object", "source")}
    access = Access(sys.intern(iri[len(thread.iri) :]), thread, opening, Packed(left)).timed()
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


def _attach_settled(trace: Trace, settled: Records, openings: dict[str, Opening]) -> None:
    for iri, record in settled.items():
        opening = openings.get(iri)
        if opening is None:
            if iri in trace.processes:
                trace.processes[iri].record.update(record)
            elif "sha256" in record or "reason" in record:
                trace.hashes[Facts.of(record).key] = Hash(record.get("sha256", ""), record.get("reason", ""))
            continue
        if "settledMtimeNs" in record:
            opening.settled = opening.facts.later(record, "settled")
        opening.resolved = path_of(record, "resolvedPath")
        opening.hidden = record.get("reason", "")


def _date_the_lost(trace: Trace) -> None:
    """A process of which nothing is left but its file's name began after the images before it, and with the run."""
    lost: list[Process] = []
    ends: dict[tuple[str, int, int], int] = {}
    for process in trace.processes.values():
        if "startedNs" in process.record or process.openings or process.events or process.containers:
            image = process.host, process.pid, process.tick
            ends[image] = max(ends.get(image, 0), process.ended)
        else:
            lost.append(process)
    for process in lost:
        earlier = ends.get((process.host, process.pid, process.tick), 0)
        process.record["startedNs"] = str(max(earlier, int(trace.run.get("startedNs", 0))))


def _damage_gaps(trace: Trace, damages: list[Damage]) -> Iterator[tuple[str, str, str]]:
    """What was lost is about the process whose file it was, or about the run: one gap for all of it."""
    found: dict[str, list[Damage]] = {}
    for damage in damages:
        process = _process(trace, f"{trace.iri}/{damage.path.parent.name}/{damage.path.name.rsplit('.', 2)[0]}/")
        found.setdefault(process.iri if process else trace.iri, []).append(damage)
    for about, (first, *more) in found.items():
        also = f" (and at {len(more)} more)" if more else ""
        reason = f"the trace is damaged from line {first.line} of {first.path.name}{also}"
        yield f"{about.rstrip('/')}/damage", about, reason


def _file_gap(trace: Trace, file: RunFile, reason: str) -> None:
    iri = f"{trace.iri}/{file.host}/{file.name.rsplit('.', 2)[0]}/"
    if _process(trace, iri):
        trace.gaps.append((iri + "gap", iri, reason))
