"""Data that the worker of a framework's task may have kept in its memory from earlier tasks: a cache, a model.

In: the activities of an answer. Out: how many earlier tasks of the same workers read files, and, for `--via carried`,
the edges to them. The graph does not state these ties: they follow from the order of the tasks of each worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from provio.ask.document import Kept
from provio.ask.walk import Walk, batches
from provio.base.vocab import NS, PROV
from provio.lineage.identity import POOLED, SEALED, without_task
from provio.store import Reader

KINDS = SEALED | POOLED
KIND, START = NS + "kind", PROV + "startedAtTime"
CODE = (".py", ".pyc", ".so", ".ipynb")
TASKS = f"""SELECT DISTINCT ?process ?task ?phase ?start WHERE {{
  VALUES ?process {{ %s }}
  VALUES ?kind {{ {" ".join(f'"{kind}"' for kind in sorted(KINDS))} }}
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
    """An activity of a worker that read files: its phase, the Task (empty: of the worker itself), and its start."""

    phase: str
    task: str
    start: str


def kept(reader: Reader, walk: Walk) -> list[Kept]:
    """Return for each worker how many earlier tasks read files that may still be in its memory; `own`: it read files
    outside of tasks, too."""
    tasks = _sealed(walk)
    found: list[Kept] = []
    for process, earlier in _earlier(reader, tasks).items() if tasks else ():
        last = max(start for _, start in tasks[process])
        shown = {task for task, _ in tasks[process]}
        before = {one.task for one in earlier if one.start < last and one.task not in shown}
        if before:
            found.append(Kept(process=process, tasks=len(before - {""}), own="" in before))
    return found


def tie(reader: Reader, walk: Walk) -> set[str]:
    """Add the edges from the tasks of a walk to the earlier activities of their workers; return the phases of these."""
    tasks, new = _sealed(walk), set[str]()
    phases = {iri.partition("phase/")[0]: iri for iri in sorted(walk.activities, key=len)} if tasks else {}
    for process, earlier in _earlier(reader, tasks).items() if tasks else ():
        for task, start in tasks[process]:
            for one in earlier:
                edge = phases[task], NS + "carriedFrom", one.phase
                if one.start < start and one.task != task and edge not in walk.edges:
                    walk.edges[edge] = None
                    new.add(one.phase)
    return new - walk.activities


def _sealed(walk: Walk) -> dict[str, list[tuple[str, str]]]:
    """Return the framework's tasks of a walk with their starts, by the process of their worker."""
    found: dict[str, dict[tuple[str, str], None]] = {}
    wholes = {iri.partition("phase/")[0] for iri in walk.activities if without_task(iri.partition("phase/")[0]) != iri}
    properties = walk.known.of(wholes)
    for iri in wholes:
        if KINDS.intersection(properties[iri].get(KIND, ())):
            start = min(properties[iri].get(START, ("",)))
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
            yield process, Earlier(phase, task, start)
        for process, phase, path, start in reader.table(OWN % values):
            if not path.endswith(CODE):
                yield process, Earlier(phase, "", start)
