"""Where runs spend their time. In: a store, figures of runs. Out: the time of each run by phase, and by task prefix.

The phases of a run are sums over its processes; `elapsed` is the duration of the run itself.

    I/O            time in calls on files
    communication  time in calls on pipes and connections, also while they wait for the other side; of a framework whose
                   workers report their transfers the time of these, in place of its messages
    waiting        time of a process outside of these calls while its children ran; of a worker, while none of its tasks
                   ran
    computation    the rest of the lives of the processes: no CPU time is recorded

A prefix is that of the keys of tasks, the name of other Tasks, or a program: the sum of their durations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from provio.ask import task_list
from provio.ask.event_questions import transfers
from provio.base.vocab import RUN_BASE
from provio.graph.lines import bundle_iri
from provio.lineage.identity import SEALED
from provio.stats import spread
from provio.stats.activity import POSIX
from provio.stats.reading import nanoseconds
from provio.store import Confined

if TYPE_CHECKING:
    from provio.ask.task_list import Listed
    from provio.settings.home import Home
    from provio.stats import Figures
    from provio.stats.spread import Spread
    from provio.store import Store

ELAPSED, IO, COMMUNICATION, COMPUTATION, WAITING = "elapsed", "I/O", "communication", "computation", "waiting"
PHASES = (ELAPSED, IO, COMMUNICATION, COMPUTATION, WAITING)
TALKS = frozenset({"pipe", "socket", "messages"})
LIVES = """SELECT ?p ?start ?end { ?p a provio:Process ; prov:startedAtTime ?start ; prov:endedAtTime ?end }"""
PARENTS = """SELECT ?a ?b { ?a provio:launchedBy|provio:carriedFrom ?b FILTER(STRENDS(STR(?a), "/phase/0")) }"""
Interval = tuple[int, int]
Times = dict[str, dict[str, int | None]]  # by group and run


class Workload:
    """The lives of the processes of some runs, and their Tasks; each is read when it is needed."""

    def __init__(self, store: Store, home: Home, figures: Figures) -> None:
        self.figures, self.home, self.store = figures, home, store
        self.runs = [run.id for run in figures.recorded.runs.values()]
        self.reader = Confined(store, [bundle_iri(RUN_BASE + run) for run in self.runs])
        self._last: dict[str, tuple[int, str]] = {}  # of each process the last program: its start and IRI

    @cached_property
    def tasks(self) -> Listed:
        """The Tasks of the runs, with the event files of those that have any."""
        if next(self.reader.table(task_list.ANY), None) is None:
            return task_list.Listed([], {})
        return task_list.listed(self.store, self.home, self.runs)

    def spreads(self, way: str) -> list[Spread]:
        """Return the spreads of the times by `phase` or `prefix`."""
        found = self.phases() if way == "phase" else self.prefixes()
        return spread.described(((name,), "", "nanoseconds", values) for name, values in found.items())

    def prefixes(self) -> Times:
        """Return the time by prefix and run, the longest first."""
        found: Times = {}
        for row in self.tasks.rows:
            if row.seconds is not None:
                _add(found, row.prefix, row.run, round(row.seconds * 1e9))
        for name, (start, end) in self.lives.items():
            last = self.figures.recorded.processes.get(self._last[name][1])
            if last and last.program:
                _add(found, last.program, _run(name), end - start)
        return dict(sorted(found.items(), key=lambda one: -sum(value or 0 for value in one[1].values())))

    def phases(self) -> Times:
        """Return the time by phase and run; None where it is not recorded."""
        calls = self._calls()
        idle = self._idle()
        found: Times = {name: {} for name in PHASES}
        for one in self.figures.recorded.runs.values():
            found[ELAPSED][one.id] = nanoseconds(one.end) - nanoseconds(one.start) if one.start and one.end else None
        for name, (start, end) in self.lives.items():
            run = _run(name)
            moved, talked = calls.get(name, (0, 0))
            _add(found, IO, run, moved)
            _add(found, COMMUNICATION, run, talked)
            rest = None if moved is None or talked is None else max(0, end - start - moved - talked)
            waited = idle[name] if rest is None else min(idle[name], rest)  # calls on a pipe may wait for a child
            _add(found, WAITING, run, waited)
            _add(found, COMPUTATION, run, None if rest is None else rest - waited)
        for run, events in self.tasks.events.items():
            for *_, took, _ in transfers(events.files, None):
                _add(found, COMMUNICATION, run, round(float(took or 0) * 1e9))
        return found

    @cached_property
    def lives(self) -> dict[str, Interval]:
        """The start and the end of each process, from its first program to its last."""
        found: dict[str, Interval] = {}
        for iri, start, end in self.reader.table(LIVES):
            name, own = process(iri), (nanoseconds(start), nanoseconds(end))
            known = found.get(name, own)
            found[name] = min(known[0], own[0]), max(known[1], own[1])
            self._last[name] = max(self._last.get(name, (own[0], iri)), (own[0], iri))
        return found

    def _idle(self) -> dict[str, int]:
        """Return the time in which each process waited."""
        children: dict[str, list[Interval]] = {}
        for first, earlier in self.reader.table(PARENTS):
            child, parent = process(first), process(earlier)
            if child != parent and child in self.lives:
                children.setdefault(parent, []).append(self.lives[child])
        tasks: dict[str, list[Interval]] = {}
        for row in self.tasks.rows:
            if row.kind in SEALED and row.start and row.end:
                tasks.setdefault(process(row.iri), []).append((nanoseconds(row.start), nanoseconds(row.end)))
        found = {}
        for name, (start, end) in self.lives.items():
            busy = _within(tasks.get(name, ()), start, end)
            found[name] = end - start - busy if name in tasks else _within(children.get(name, ()), start, end)
        return found

    def _calls(self) -> dict[str, tuple[int | None, int | None]]:
        """Return the time in calls on files, and on pipes and connections, of each process."""
        found: dict[str, tuple[int | None, int | None]] = {}
        for group in self.figures.by("process", "file"):
            iri, kind = group.key[0], group.key[-1]
            if group.layer != POSIX or not isinstance(iri, str):
                continue
            name, took = process(iri), group.tally.of("nanoseconds")
            if kind == "messages" and _run(name) in self.tasks.events:
                took = 0
            files, talks = found.get(name, (0, 0))
            if kind in TALKS:
                found[name] = files, _sum(talks, took)
            else:
                found[name] = _sum(files, took), talks
        return found


def process(iri: str) -> str:
    """Return the part of the IRI of a process, or of something in it, that all programs of the process share."""
    run, _, rest = iri.removeprefix(RUN_BASE).partition("/")
    host, _, rest = rest.partition("/")
    return f"{run}/{host}/{rest.partition('/')[0].rpartition('.')[0]}"


def _run(name: str) -> str:
    return name.partition("/")[0]


def _within(some: Iterable[Interval], start: int, end: int) -> int:
    """Return the time between two moments that intervals cover together."""
    return sum(max(0, min(last, end) - max(first, start)) for first, last in _united(some))


def _united(some: Iterable[Interval]) -> Iterator[Interval]:
    """Yield the intervals that some intervals cover together, none of which overlap."""
    now: Interval | None = None
    for first, last in sorted(some):
        if now and first <= now[1]:
            now = now[0], max(now[1], last)
            continue
        if now:
            yield now
        now = first, last
    if now:
        yield now


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _add(found: Times, name: str, run: str, value: int | None) -> None:
    runs = found.setdefault(name, {})
    runs[run] = _sum(runs.get(run, 0), value)
