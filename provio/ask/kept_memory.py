"""Data that the worker of a framework's task may have kept in its memory for later tasks: a cache, a model.

In: the activities of an answer. Out: how many earlier tasks of the same workers read files (forward: how many tasks ran
later), and, for `--via carried`, the edges to them. The graph does not state these ties: they follow from the order of
the tasks of each worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from provio.ask.document import Kept
from provio.ask.walk import USED, Walk, batches
from provio.base.text import sortable
from provio.base.vocab import NS, PROV
from provio.lineage.identity import POOLED, SEALED, without_task
from provio.store import Reader

OF_WORKERS = SEALED | POOLED
KIND, START = NS + "kind", PROV + "startedAtTime"
CODE = (".py", ".pyc", ".so", ".ipynb")
KINDS = "VALUES ?kind {{ {} }}".format(" ".join(f'"{kind}"' for kind in sorted(OF_WORKERS)))
ANY = f"SELECT ?task {{ {KINDS} ?task provio:kind ?kind }} LIMIT 1"
STARTS = f"""SELECT ?task ?start {{ VALUES ?task {{ %s }} {KINDS}
  ?task provio:kind ?kind ; prov:startedAtTime ?start }}"""
LATER = f"""SELECT DISTINCT ?process ?task ?phase ?start ?kind {{
  VALUES ?process {{ %s }} {KINDS}
  ?task provio:partOf ?process ; provio:kind ?kind ; prov:startedAtTime ?start .
  OPTIONAL {{ ?phase provio:partOf ?task ; a provio:Task }} }}"""
TASKS = f"""SELECT DISTINCT ?process ?task ?phase ?start WHERE {{
  VALUES ?process {{ %s }}
  {KINDS}
  ?task provio:partOf ?process ; provio:kind ?kind ; prov:startedAtTime ?start .
  ?phase provio:partOf ?task ; prov:used ?version . ?version prov:specializationOf ?file
}}"""
# A Task of a pool is tied to the earlier reads of its worker.
OWN = f"""SELECT DISTINCT ?process ?phase ?path ?start WHERE {{
  VALUES ?process {{ %s }}
  FILTER EXISTS {{ ?task provio:partOf ?process ; provio:kind {", ".join(f'"{kind}"' for kind in sorted(SEALED))} }}
  ?phase provio:partOf ?process ; a provio:Phase ; prov:used ?version ; prov:startedAtTime ?start .
  ?version prov:specializationOf ?file . ?file provio:path ?path
}}"""


class Earlier(NamedTuple):
    """An activity of a worker that read files: its phase, the Task (empty: of the worker itself), and its start
    (`sortable`)."""

    phase: str
    task: str
    start: str


def kept(reader: Reader, walk: Walk, shown: set[str]) -> list[Kept]:
    """Return for each worker of the `shown` activities of a walk how many earlier tasks read files that may still be in
    its memory; `own`: it read files outside of tasks, too. Forward: how many tasks ran later."""
    if walk.forward:
        later = _later(reader, walk, shown)
        return [Kept(process=process, tasks=len({task for task, *_ in rows}), own=False) for process, rows in later]
    tasks = _sealed(walk, shown)
    found: list[Kept] = []
    for process, earlier in _earlier(reader, tasks).items() if tasks else ():
        last = max(start for _, start in tasks[process])
        own = {task for task, _ in tasks[process]}
        before = {one.task for one in earlier if one.start < last and one.task not in own}
        if before:
            found.append(Kept(process=process, tasks=len(before - {""}), own="" in before))
    return found


def has_tasks(reader: Reader) -> bool:
    """Return whether a task of a framework is recorded."""
    return next(iter(reader.table(ANY)), None) is not None


def of_makers(reader: Reader, makers: Iterable[str]) -> set[str]:
    """Return those of the makers of files that are tasks of workers of which an earlier activity read files."""
    tasks = {iri.partition("phase/")[0]: iri for iri in makers}
    tasks = {task: iri for task, iri in tasks.items() if without_task(task) != task}
    found: set[str] = set()
    earlier = _earlier(reader, {without_task(task) for task in tasks}) if tasks else {}
    for batch in batches(tasks if earlier else ()):
        for task, start in reader.table(STARTS % " ".join(f"<{task}>" for task in batch)):
            before = earlier.get(without_task(task), ())
            found |= {tasks[task] for one in before if one.start < sortable(start) and one.task != task}
    return found


def tie(reader: Reader, walk: Walk) -> set[str]:
    """Add the edges from the tasks of a walk to the earlier activities of their workers (forward: to the later tasks);
    return the phases of these."""
    if walk.forward:
        rows = [row for _, later in _later(reader, walk, walk.activities) for row in later]
        walk.edges.update(((phase, NS + "carriedFrom", by), None) for _, phase, by in rows)
        return {phase for _, phase, _ in rows} - walk.activities
    tasks, new = _sealed(walk, walk.activities), set[str]()
    phases = {iri.partition("phase/")[0]: iri for iri in sorted(walk.activities, key=len)} if tasks else {}
    for process, earlier in _earlier(reader, tasks).items() if tasks else ():
        for task, start in tasks[process]:
            for one in earlier:
                edge = phases[task], NS + "carriedFrom", one.phase
                if one.start < start and one.task != task and edge not in walk.edges:
                    walk.edges[edge] = None
                    new.add(one.phase)
    return new - walk.activities


def _sealed(walk: Walk, activities: set[str]) -> dict[str, list[tuple[str, str]]]:
    """Return the framework's tasks among activities with their starts, by the process of their worker."""
    found: dict[str, dict[tuple[str, str], None]] = {}
    wholes = {iri.partition("phase/")[0] for iri in activities if without_task(iri.partition("phase/")[0]) != iri}
    properties = walk.known.of(wholes)
    for iri in wholes:
        if OF_WORKERS.intersection(properties[iri].get(KIND, ())):
            start = min(map(sortable, properties[iri].get(START, ("",))))
            found.setdefault(without_task(iri), {})[iri, start] = None
    return {process: list(tasks) for process, tasks in found.items()}


def _earlier(reader: Reader, processes: Iterable[str]) -> dict[str, list[Earlier]]:
    """Return the activities of workers that read files, by process."""
    found: dict[str, list[Earlier]] = {}
    for process, one in _rows(reader, sorted(processes)):
        found.setdefault(process, []).append(one)
    return found


def _rows(reader: Reader, processes: list[str]) -> Iterator[tuple[str, Earlier]]:
    for batch in batches(processes):
        values = " ".join(f"<{iri}>" for iri in batch)
        for process, task, phase, start in reader.table(TASKS % values):
            yield process, Earlier(phase, task, sortable(start))
        for process, phase, path, start in reader.table(OWN % values):
            if not path.endswith(CODE):
                yield process, Earlier(phase, "", sortable(start))


def _later(reader: Reader, walk: Walk, shown: set[str]) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Return for each worker the tasks that ran after the first of the `shown` activities of a walk that read files,
    and are not shown: (task, its phase, that activity)."""
    if not has_tasks(reader):
        return []
    read = {user for user, predicate, _ in walk.edges if predicate == USED and user in shown}
    started = walk.known.of(read)
    first: dict[str, tuple[str, str]] = {}
    for iri in sorted(read):
        process, start = without_task(iri.partition("phase/")[0]), min(map(sortable, started[iri].get(START, ("",))))
        first[process] = min(first.get(process, (start, iri)), (start, iri))
    tasks = {iri.partition("phase/")[0] for iri in shown}
    found: dict[str, list[tuple[str, str, str]]] = {}
    for batch in batches(sorted(first)):
        for process, task, phase, start, kind in reader.table(LATER % " ".join(f"<{iri}>" for iri in batch)):
            # The graph states which data of its process, outside of calls, a call of a pool has.
            followed = kind in POOLED and first[process][1].startswith(process + "phase/")
            if task not in tasks and sortable(start) > first[process][0] and not followed:
                found.setdefault(process, []).append((task, phase or task, first[process][1]))
    return list(found.items())
