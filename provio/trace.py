"""Reads a run folder: Turtle files in, facts out (`docs/trace-format.md`); nothing is concluded here.

A damaged file costs only itself: its good prefix is kept, and what was wrong is named with its line in `Trace.damages`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pyoxigraph

from provio.vocab import NS, vocabulary

RUN_BASE = "https://w3id.org/provio/run/"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
Record = dict[str, str]
Records = dict[str, Record]

NUMBER = re.compile(r"[+-]?[0-9]{1,19}")
WRITE_FLAGS = os.O_WRONLY | os.O_RDWR


@dataclass(frozen=True, slots=True)
class Facts:
    """What `statx` said of a file: times in ns since 1970, size in bytes."""

    device: str
    inode: int
    birth: int
    mtime: int
    ctime: int
    size: int

    @staticmethod
    def of(record: Record) -> Facts:
        """The facts that a record states of a file."""
        times = (int(record.get(name, 0)) for name in ("inode", "birthNs", "mtimeNs", "ctimeNs", "size"))
        return Facts(record.get("device", ""), *times)

    def later(self, record: Record, prefix: str) -> Facts:
        """What a record states of the same file later, under names that begin with `prefix`."""
        times = (int(record.get(prefix + name, 0)) for name in ("MtimeNs", "CtimeNs", "Size"))
        return Facts(self.device, self.inode, self.birth, *times)


@dataclass(slots=True)
class Access:
    """The counters of one (thread, opening, function). Times in ns since 1970, 0 for never; elapsed in ns."""

    iri: str
    thread: Thread
    opening: Opening
    counts: Record
    first_read: int = 0
    last_read: int = 0
    first_write: int = 0
    last_write: int = 0

    def count(self, name: str) -> int:
        """Return a counter's value, 0 where the access has none of that name."""
        return int(self.counts.get(name, 0))


@dataclass(slots=True)
class CopyCalls:
    """What one thread had the kernel copy from one opening to another, first and last (ns since 1970)."""

    access: Access
    source: Opening
    target: Opening
    first: int
    last: int

    @property
    def between_files(self) -> bool:
        """From a file's content to a file's content: no process has had it in hand."""
        return self.source.kind == self.target.kind == "FileVersion"


@dataclass(slots=True)
class Opening:
    """An open file description: how it was opened, what it was then, and what it was at its last close."""

    iri: str
    process: Process
    kind: str
    path: bytes | None
    facts: Facts
    flags: int
    opened: int
    inherited: bool
    unlinked: bool
    api: str | None
    elapsed: int
    closed: int = 0
    at_close: Facts | None = None
    settled: Facts | None = None
    resolved: bytes | None = None
    accesses: list[Access] = field(default_factory=list)
    copied_from: list[CopyCalls] = field(default_factory=list)
    copied_to: list[CopyCalls] = field(default_factory=list)

    def reads(self) -> list[tuple[int, int]]:
        """Return the (first, last) moments of each access's reads, copies from file to file left out."""
        seen = [a for a in self.accesses if a.count("reads")]
        if self.kind in ("Pipe", "Socket"):  # the end of a pipe is no news
            seen = [a for a in seen if a.count("readBytes")]
        own = [(a.first_read, a.last_read) for a in seen]
        return own + [(c.first, c.last) for c in self.copied_to if not c.between_files]

    def writes(self) -> list[tuple[int, int]]:
        """Return the (first, last) moments of each access's writes, copies from file to file left out."""
        own = [(a.first_write, a.last_write) for a in self.accesses if a.count("writes")]
        return own + [(c.first, c.last) for c in self.copied_from if not c.between_files]

    @property
    def name(self) -> bytes | None:
        """The path with symbolic links resolved, where that is known."""
        return self.resolved or self.path

    @property
    def writable(self) -> bool:
        """Opened for writing."""
        return bool(self.flags & WRITE_FLAGS)

    @property
    def truncated(self) -> bool:
        """Emptied when it was opened."""
        return self.writable and bool(self.flags & os.O_TRUNC) and not self.inherited


@dataclass(slots=True)
class Event:
    """A single call that is recorded by itself: rename, unlink, map, fork, exec …"""

    iri: str
    kind: str
    process: Process
    thread: Thread
    at: int
    record: Record

    def facts(self) -> Facts | None:
        """What the file was, as far as the event says."""
        return Facts.of(self.record) if "inode" in self.record else None

    def text(self, name: str) -> bytes | None:
        """A path among the event's facts, as bytes."""
        return _bytes(self.record, name)

    def number(self, name: str, default: int = 0) -> int:
        """An integer among the event's facts."""
        return int(self.record.get(name, default))


@dataclass(slots=True)
class Thread:
    """A thread that did I/O."""

    iri: str
    process: Process
    tid: int
    epoch: int


@dataclass
class Process:
    """One exec'd or forked image; `started` in ns since 1970."""

    iri: str
    host: str
    pid: int
    tick: int
    image_number: str
    record: Record = field(default_factory=dict)
    threads: list[Thread] = field(default_factory=list)
    openings: list[Opening] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    @property
    def image(self) -> str:
        """`exec`, `fork`, or an empty string where the header is lost."""
        return self.record.get("image", "fork" if self.image_number == "v" else "")

    @property
    def parent_pid(self) -> int:
        """The pid of the parent when the process began to record."""
        return int(self.record.get("parentPid", 0))

    @cached_property
    def arguments(self) -> list[bytes]:
        """The command line."""
        return decode_argv(self.record.get("argv", ""))

    @property
    def executable(self) -> bytes | None:
        """The path of the program's file."""
        return _bytes(self.record, "executable")

    @property
    def cwd(self) -> bytes:
        """The working directory when the process began to record."""
        return _bytes(self.record, "cwd") or b"/"

    @cached_property
    def started(self) -> int:
        """When the image began, in ns; the earliest known moment where the header is lost."""
        known = [int(self.record["startedNs"])] if "startedNs" in self.record else []
        return min(known or [o.opened for o in self.openings if o.opened] + [e.at for e in self.events] or [0])

    @cached_property
    def ended(self) -> int:
        """The last moment the process is known to have done something, in ns."""
        moments = [self.started, *(e.at for e in self.events)]
        for opening in self.openings:
            moments += (opening.opened, opening.closed)
            for access in opening.accesses:
                moments += (access.last_read, access.last_write)
        return max(moments)


@dataclass(frozen=True)
class Damage:
    """A file that is not what the trace format says: where, and why."""

    path: Path
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


@dataclass
class Trace:
    """The facts of one run."""

    folder: Path
    run_id: str
    run: Record
    mounts: list[Record]
    processes: dict[str, Process]
    gaps: list[tuple[str, str, str]]
    damages: list[Damage]
    content_hash: str
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def iri(self) -> str:
        """The run's IRI."""
        return RUN_BASE + self.run_id

    def openings(self) -> Iterator[Opening]:
        """Every opening of every process."""
        for process in self.processes.values():
            yield from process.openings


def decode_argv(text: str) -> list[bytes]:
    """Return the arguments of an `:argv` literal (an empty argument is `%`)."""
    return [b"" if part == "%" else unquote_to_bytes(part) for part in text.split(" ")] if text else []


def folders_of(run_folder: Path, record: Record) -> list[Path]:
    """Return the folders that hold thread files of a run: one a host, here and where live files were kept."""
    roots = [run_folder]
    elsewhere = Path(record.get("traceFolder", "/"))
    if elsewhere.name == run_folder.name and elsewhere.is_dir():
        roots.append(elsewhere)
    try:
        return [Path(entry.path) for root in roots for entry in os.scandir(root) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def thread_files(place: Path) -> list[os.DirEntry[str]]:
    """Return the Turtle files of a host's folder, by name; what is no plain file is not one."""
    try:
        entries = sorted(os.scandir(place), key=lambda entry: entry.name)
    except OSError:
        return []
    return [e for e in entries if e.name.endswith(".ttl") and e.is_file(follow_symlinks=False)]


def read_run(folder: Path) -> Trace:
    """Read the run folder `folder`; never fails on content, see `Trace.damages`."""
    damages: list[Damage] = []
    digest = hashlib.sha256()
    head = _load(folder / "run.ttl", digest, damages)
    run_id = folder.name
    run = head.get(RUN_BASE + run_id, {})
    if not run and not damages:
        damages.append(Damage(folder / "run.ttl", 1, "says nothing of the run"))
    trace = Trace(folder, run_id, run, [r for r in head.values() if r.get("a") == "Mount"], {}, [], damages, "")
    trace.environment = {r["name"]: r["value"] for r in head.values() if r.get("a") == "Environment"}
    settled: Records = {}
    late: list[Records] = []
    for place in sorted(folders_of(folder, run)):
        for entry in thread_files(place):
            records = _load(Path(entry.path), digest, damages)
            if entry.name == "settled.ttl":
                settled.update(records)
            else:
                late.append(_assemble(trace, records))
        for gap in sorted(place.glob("*.gap")):
            if gap.is_symlink():
                _file_gap(trace, place.name, gap)
    openings = {opening.iri: opening for opening in trace.openings()}
    threads = {thread.iri: thread for process in trace.processes.values() for thread in process.threads}
    for records in late:
        _attach(trace, records, openings, threads)
    _attach_settled(trace, settled, openings)
    trace.gaps += [_damage_gap(trace, damage) for damage in damages]
    trace.content_hash = digest.hexdigest()
    return trace


def content_hash(folder: Path, record: Record) -> str:
    """Return the hash that `read_run` would give, without parsing anything but `run.ttl`."""
    digest = hashlib.sha256()
    places = [folder / "run.ttl"]
    places += [Path(entry.path) for place in sorted(folders_of(folder, record)) for entry in thread_files(place)]
    for path in places:
        with contextlib.suppress(OSError):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def read_head(folder: Path) -> Record:
    """Return the facts about the run itself, from `run.ttl`; empty where it is missing or damaged."""
    return _load(folder / "run.ttl", None, []).get(RUN_BASE + folder.name, {})


def parse(data: bytes, path: Path, damages: list[Damage]) -> Records:
    """Return the records of a Turtle document: subject → property's local name → value. Appends what is damaged."""
    try:
        return _whole(_records(data), path, damages)
    except (SyntaxError, ValueError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        reason = str(error).split(": ", 1)[-1]
        damages.append(Damage(path, line, reason))
        return _whole(_good_prefix(data, line), path, damages)


def _whole(records: Records, path: Path, damages: list[Damage]) -> Records:
    """Leave out the records with a value that is no number where one belongs."""
    integers = vocabulary().integers
    for iri, record in list(records.items()):
        for name in record.keys() & integers:
            if not NUMBER.fullmatch(record[name]):
                damages.append(Damage(path, 0, f"{name} of {iri} is no number"))
                records.pop(iri, None)
    return records


def _load(path: Path, digest: hashlib._Hash | None, damages: list[Damage]) -> Records:
    try:
        data = path.read_bytes()
    except OSError as error:
        damages.append(Damage(path, 0, error.strerror or "cannot be read"))
        return {}
    if digest is not None:
        digest.update(data)
    return parse(data, path, damages)


def _good_prefix(data: bytes, line: int) -> Records:
    """Records of the lines before the damaged one, back to the last line that ends a statement."""
    lines = data.split(b"\n")[: line - 1]
    while lines:
        while lines and not lines[-1].split(b" #")[0].rstrip(b"# ").endswith(b"."):
            lines.pop()
        try:
            return _records(b"\n".join(lines) + b"\n")
        except (SyntaxError, ValueError, MemoryError) as error:
            del lines[max(0, (getattr(error, "lineno", None) or 1) - 1) :]
    return {}


def _records(data: bytes) -> Records:
    records: Records = {}
    skip = len(NS)
    for triple in pyoxigraph.parse(data, pyoxigraph.RdfFormat.TURTLE):
        subject, predicate, value = triple.subject.value, triple.predicate.value, triple.object.value
        record = records.get(subject)
        if record is None:
            record = records[subject] = {}
        if predicate == RDF_TYPE:
            record["a"] = value[skip:] if value.startswith(NS) else value
        elif predicate.startswith(NS):
            record[predicate[skip:]] = value
    return records


def _bytes(record: Record, name: str) -> bytes | None:
    if name in record:
        return record[name].encode("utf-8", "surrogateescape")
    encoded = record.get(name + "Encoded")
    return unquote_to_bytes(encoded) if encoded is not None else None


def _process(trace: Trace, iri: str) -> Process | None:
    """The process of an IRI `…/run/RUN/HOST/PID.TICK.N/`."""
    process = trace.processes.get(iri)
    if process is None:
        parts = iri[len(RUN_BASE) :].split("/")
        numbers = parts[2].split(".") if len(parts) == 4 else []
        if not iri.startswith(trace.iri + "/") or len(numbers) != 3 or not (numbers[0] + numbers[1]).isdigit():
            return None
        process = Process(iri, parts[1], int(numbers[0]), int(numbers[1]), numbers[2])
        trace.processes[iri] = process
    return process


def _parent_iri(iri: str) -> str:
    return iri.rstrip("/").rpartition("/")[0] + "/"


OPENED = frozenset({"FileVersion", "Directory", "Pipe", "Socket", "File"})


def _assemble(trace: Trace, records: Records) -> Records:
    """Make processes, threads, openings and events of a file's records; return its accesses and closes for later."""
    later: Records = {}
    for iri, record in records.items():
        kind = record.get("a")
        if kind == "Process":
            process = _process(trace, iri)
            if process:
                process.record.update(record)
        elif kind == "Thread":
            process = _process(trace, _parent_iri(iri))
            if process:
                process.threads.append(Thread(iri, process, int(record.get("tid", 0)), int(record.get("epochNs", 0))))
        elif kind in OPENED and "openedNs" in record:
            _open(trace, iri, record)
            if "closedNs" in record:
                later[iri] = record
        else:
            later[iri] = record
    return later


def _open(trace: Trace, iri: str, record: Record) -> None:
    process = _process(trace, _parent_iri(iri))
    if process:
        opening = Opening(
            iri, process, record["a"], _bytes(record, "path"), Facts.of(record), int(record.get("flags", 0)),
            int(record["openedNs"]), record.get("inherited") == "true", record.get("unlinked") == "true",
            record.get("openApi"), int(record.get("openElapsed", 0)),
        )  # fmt: skip
        process.openings.append(opening)


def _attach(trace: Trace, records: Records, openings: dict[str, Opening], threads: dict[str, Thread]) -> None:
    """Give accesses and closes to their openings, events to their processes, wherever they were written."""
    for iri, record in records.items():
        kind = record.get("a")
        thread = threads.get(_parent_iri(iri))
        if kind == "Gap":
            trace.gaps.append((iri, record.get("about", trace.iri), record.get("reason", "unknown")))
        elif kind is None or "closedNs" in record:
            _close(openings.get(iri), record)
        elif thread and kind in ("Access", "Copy"):
            _access(openings, thread, iri, record)
        elif thread:
            at = thread.epoch + int(record.get("at", 0))
            thread.process.events.append(Event(iri, kind, thread.process, thread, at, record))


def _close(opening: Opening | None, record: Record) -> None:
    if opening is not None and "closedNs" in record:
        opening.closed = int(record["closedNs"])
        if "closedMtimeNs" in record:
            opening.at_close = opening.facts.later(record, "closed")


def _access(openings: dict[str, Opening], thread: Thread, iri: str, record: Record) -> None:
    opening, source = openings.get(record.get("object", "")), openings.get(record.get("source", ""))
    if opening is None:
        return

    def moment(name: str) -> int:
        value = int(record.get(name, 0))
        return thread.epoch + value if value else 0

    access = Access(iri, thread, opening, record)
    access.first_read, access.last_read = moment("firstRead"), moment("lastRead")
    access.first_write, access.last_write = moment("firstWrite"), moment("lastWrite")
    opening.accesses.append(access)
    opening.closed = opening.closed or moment("closed")
    if source and access.count("count"):
        copy = CopyCalls(access, source, opening, moment("first"), moment("last"))
        opening.copied_from.append(copy)
        source.copied_to.append(copy)


def _attach_settled(trace: Trace, settled: Records, openings: dict[str, Opening]) -> None:
    for iri, record in settled.items():
        opening = openings.get(iri)
        if opening is None:
            if iri in trace.processes:
                trace.processes[iri].record.update(record)
            continue
        if "settledMtimeNs" in record:
            opening.settled = opening.facts.later(record, "settled")
        opening.resolved = _bytes(record, "resolvedPath")


def _damage_gap(trace: Trace, damage: Damage) -> tuple[str, str, str]:
    """What was lost is about the process whose file it was, or about the run."""
    process = _process(trace, f"{trace.iri}/{damage.path.parent.name}/{damage.path.name.rsplit('.', 2)[0]}/")
    about = process.iri if process else trace.iri
    return f"{about.rstrip('/')}/damage", about, f"the trace is damaged from line {damage.line} of {damage.path.name}"


def _file_gap(trace: Trace, host: str, entry: Path) -> None:
    image = entry.name.rsplit(".", 2)[0]
    iri = f"{trace.iri}/{host}/{image}/"
    if _process(trace, iri):
        trace.gaps.append((iri + "gap", iri, os.readlink(entry)))
