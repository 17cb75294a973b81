"""The list of Tasks: runs in, one row for each Task out, with its worker, times, status and I/O; or groups of them.

The store has the Tasks and their I/O; the event files of the runs have the workers, results and transfers of a
framework's tasks. The I/O of a Task includes that of the Tasks inside it, as its time does. Calls of MPI-IO and HDF5
are not counted: they call the C library in turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from provio.ask import key_prefix, runs
from provio.ask.task_events import TaskEvents, of_run
from provio.base.errors import NothingKnown
from provio.base.records import field, plain
from provio.base.text import seconds, sortable
from provio.base.vocab import RUN_BASE
from provio.graph.lines import bundle_iri
from provio.lineage.identity import SEALED, VERSION
from provio.store import Confined

if TYPE_CHECKING:
    from provio.settings.home import Home
    from provio.store import Reader, Store


def _each(node: str, pattern: str) -> str:
    """Return a pattern of a node and a property with its variable as a sub-select, which the store joins by hash."""
    return f"{{ SELECT {node} {pattern.rpartition(' ')[2]} {{ {node} {pattern} }} }}"


KNOWN = ("provio:kind ?kind", "provio:status ?status", "prov:startedAtTime ?start", "prov:endedAtTime ?end")
TASKS = f"""SELECT ?t ?name ?kind ?status ?start ?end ?whole {{ {_each("?t", "provio:%s ?name")}
    {{ SELECT ?t {{ ?t a provio:Task }} }} {_each("?t", "provio:partOf ?whole")}
    {" ".join(f"OPTIONAL {_each('?t', one)}" for one in KNOWN)} }}"""
ANY = "SELECT ?t { ?t a provio:Task ; provio:name|provio:nameEncoded ?name } LIMIT 1"
PROCESSES = "SELECT ?process ?host ?pid { ?process a provio:Process ; provio:host ?host ; provio:pid ?pid }"
CALLS = f"""SELECT ?part ?kind ?api ?version ?size ?count {{
    {{ SELECT ?io ?kind ?part {{ {{ SELECT ?io ?kind {{ VALUES ?kind {{ provio:Read provio:Write }} ?io a ?kind }} }}
        {_each("?io", "provio:partOf ?part")} }} }} {{ SELECT ?part {{ ?part a provio:Task }} }}
    {{ SELECT ?io ?version {{ VALUES ?did {{ provio:wasReadBy provio:wasWrittenBy }} ?version ?did ?io }} }}
    {" ".join(f"OPTIONAL {_each('?io', f'provio:{one}')}" for one in ("api ?api", "bytes ?size", "count ?count"))}
    }}"""
NOISE = "SELECT ?part ?version { ?part provio:usedAsNoise ?version }"
OTHER_LAYERS = ("MPI_", "H5")  # functions that call the C library in turn
OK, UNFINISHED = "ok", "unfinished"
FAILED = frozenset({"error", "failed"})  # a status may be any word of the program


@plain(slots=True)
class Row:
    """A Task. `start` and `end` are times; `read`, `written` and `result` bytes; None: unknown. `calls` are reads and
    writes, `attempt` counts the Tasks of a key, from 1."""

    iri: str
    name: str
    kind: str | None
    status: str
    start: str | None
    end: str | None
    whole: str
    worker: str = ""
    attempt: int | None = None
    read: int = 0
    written: int = 0
    calls: int = 0
    result: int | None = None
    priority: str | None = None
    restrictions: str | None = None
    files: set[str] = field(default_factory=set)

    @property
    def run(self) -> str:
        """The id of its run."""
        return self.iri.removeprefix(RUN_BASE).partition("/")[0]

    @property
    def seconds(self) -> float | None:
        """Its duration; None of an unfinished one."""
        return seconds(self.start, self.end) if self.start and self.end else None

    @property
    def prefix(self) -> str:
        """The prefix of a key of Dask; of any other Task its name."""
        return key_prefix.prefix(self.name) if self.kind in SEALED else self.name

    @property
    def failed(self) -> bool:
        """Whether it ended with an error."""
        return self.status in FAILED

    def flowcept(self) -> dict[str, Any]:
        """Return its facts by the names of FlowCept's tasks; times in seconds since 1970."""
        started, ended = (datetime.fromisoformat(time).timestamp() if time else None for time in (self.start, self.end))
        return {
            "task_id": self.name, "activity_id": self.prefix, "workflow_id": self.run, "subtype": self.kind,
            "status": self.status, "started_at": started, "ended_at": ended, "address": self.worker,
            "seconds": self.seconds, "attempt": self.attempt, "bytes_read": self.read, "bytes_written": self.written,
            "bytes_result": self.result, "priority": self.priority, "restrictions": self.restrictions, "iri": self.iri,
        }  # fmt: skip


def cells(row: Row) -> list[str | int | float | None]:
    """Return the cells of the table `tasks` (docs/output.md)."""
    facts = (row.name, row.kind, row.worker, row.start, row.seconds, row.status, row.read, row.written)
    return [*facts, row.attempt, row.prefix, row.result, row.priority, row.restrictions, row.run, row.iri]


STATUS: dict[str, Callable[[Row], bool]] = {
    "failed": lambda row: row.failed,
    "ok": lambda row: row.status == OK,
    "unfinished": lambda row: row.status == UNFINISHED,
}


@plain(slots=True)
class Group:
    """The Tasks with a prefix, or of a worker; `transferred` are the bytes of results that workers sent each other: of
    a prefix those of its Tasks, of a worker those that it received."""

    name: str
    kinds: set[str] = field(default_factory=set)
    tasks: int = 0
    times: list[float] = field(default_factory=list)
    read: int = 0
    written: int = 0
    files: set[str] = field(default_factory=set)
    transferred: int = 0
    failed: int = 0

    def percentile(self, share: float) -> float | None:
        """Return the time (s) that this share of the Tasks do not exceed, interpolated; None without times."""
        if not self.times:
            return None
        place = share * (len(self.times) - 1)
        below = int(place)
        above = min(below + 1, len(self.times) - 1)
        return self.times[below] + (place - below) * (self.times[above] - self.times[below])


@plain()
class Listed:
    """The Tasks of some runs, oldest first, and the event files of the runs that have any."""

    rows: list[Row]
    events: dict[str, TaskEvents]


def chosen(store: Store, wanted: Sequence[str] | None) -> list[str]:
    """Return the wanted runs, or without any the newest run with Tasks. Raises NothingKnown if no run has any."""
    if wanted is not None:
        return list(wanted)
    for row in reversed(list(store.rows(runs.LISTING))):
        if next(Confined(store, [bundle_iri(RUN_BASE + row["run"])]).table(ANY), None):
            return [row["run"]]
    raise NothingKnown(
        "no run with tasks is recorded: tasks of Dask and cells of notebooks become tasks by themselves, other "
        "parts of a program if it declares them (with provio.activity)"
    )


def listed(store: Store, home: Home, wanted: Sequence[str], kind: str | None = None, results: bool = True) -> Listed:
    """Return the Tasks of runs, of one kind or of all; without `results` the sizes of their results stay unknown."""
    reader = Confined(store, [bundle_iri(RUN_BASE + run) for run in wanted])
    every = _tasks(reader)
    _add_calls(reader, every)
    found = sorted(
        (row for row in every.values() if kind is None or row.kind == kind),
        key=lambda row: (sortable(row.start or ""), row.iri),
    )
    with_events = dict.fromkeys(row.run for row in found if row.kind in SEALED)
    events = {run: of_run(home, run, results) for run in with_events}
    _add_places(reader, found, every, events)
    return Listed(found, events)


def _tasks(reader: Reader) -> dict[str, Row]:
    """Return the Tasks by IRI: a Task has a name, its phases have none."""
    found = {}
    for word, decoded in (("name", str), ("nameEncoded", unquote)):
        for iri, name, kind, status, start, end, whole in reader.table(TASKS % word):
            is_lean = kind in SEALED  # of these, the graph omits the status of a successful one
            stated = status or (OK if is_lean else UNFINISHED)
            done = end if stated != UNFINISHED else ""
            found[iri] = Row(iri, decoded(name), kind or None, stated, start or None, done or None, whole)
    return found


def _add_calls(reader: Reader, every: dict[str, Row]) -> None:
    """Add the reads and writes of files to each Task and to those around it; those of system files do not count."""
    noise = {(part, version) for part, version in reader.table(NOISE)}
    calls = list(reader.table(CALLS))
    wholes = {part: part.rpartition("phase/")[0] for part, *_ in calls}  # the IRI of a phase starts with its Task's
    others = [part for part, whole in wholes.items() if whole not in every]
    for part, word, whole in reader.about(others) if others else ():  # named by another tool
        wholes |= {part: whole} if word.endswith("partOf") else {}
    for part, kind, api, version, size, count in calls:
        of_file = VERSION.match(version)
        if (part, version) in noise or api.startswith(OTHER_LAYERS) or not of_file or "#" in version:
            continue
        row = every.get(wholes[part])
        while row:
            row.files.add(of_file["inode"])
            row.calls += int(count or 0)
            if kind.endswith("Read"):
                row.read += int(size or 0)
            else:
                row.written += int(size or 0)
            row = every.get(row.whole)


def _add_places(reader: Reader, rows: Iterable[Row], every: dict[str, Row], events: dict[str, TaskEvents]) -> None:
    """Add the worker, the result and the attempt to Tasks in the order of their starts."""
    processes = {iri: f"{pid}@{host}" for iri, host, pid in reader.table(PROCESSES)}
    attempts: Counter[tuple[str, int, str]] = Counter()
    for row in rows:
        process = row.whole
        while process in every:
            process = every[process].whole
        row.worker = processes.get(process, "")
        if row.kind in SEALED:
            run = row.run
            cluster = events[run].cluster(row.iri, row.kind)
            attempts[run, cluster, row.name] += 1
            row.attempt = attempts[run, cluster, row.name]
            row.priority, row.restrictions = events[run].conditions.get((cluster, row.name), (None, None))
            row.worker = events[run].worker(row.iri, row.kind) or row.worker
            if result := events[run].result(row.iri):
                row.result = result.size if result.size >= 0 else None


def groups(found: Listed, by: str) -> list[Group]:
    """Return the Tasks in groups by `prefix` or by `worker`, the longest time first."""
    grouped: dict[str, Group] = {}

    def group(name: str) -> Group:
        return grouped.setdefault(name, Group(name))

    name_of: Callable[[Row], str] = (lambda row: row.prefix) if by == "prefix" else lambda row: row.worker
    for row in found.rows:
        one = group(name_of(row))
        one.tasks += 1
        one.kinds |= {row.kind} if row.kind else set()
        one.times += [row.seconds] if row.seconds is not None else []
        one.read, one.written = one.read + row.read, one.written + row.written
        one.files |= row.files
        one.failed += row.failed
    for name, size in _moved(found, by):
        if name in grouped:
            grouped[name].transferred += size
    for one in grouped.values():
        one.times.sort()
    return sorted(grouped.values(), key=lambda one: (-sum(one.times), one.name))


def _moved(found: Listed, by: str) -> Iterator[tuple[str, int]]:
    """Yield the bytes of transferred results, each with the prefix of its key or with its receiver."""
    for events in found.events.values():
        for receiver, transfer in events.transfers():
            for key, size in transfer.keys:
                yield (key_prefix.prefix(key) if by == "prefix" else receiver), max(size, 0)
