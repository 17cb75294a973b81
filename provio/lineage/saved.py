"""Checkpoints: which file versions each is, and which configurations and metrics were in force when it was saved.

What is in force is the latest of each name that was said in the checkpoint's own Task, or else in a part of it; else
in the Task that this is a part of, or in another part of that, and so on; else in the process; else in the run.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from operator import attrgetter
from os.path import normpath
from typing import TypeVar

from provio.facts import Process
from provio.lineage.model import Conclusions, Version
from provio.lineage.sayings import Saved, Under
from provio.metrics import Metric
from provio.run_facts import Trace
from provio.said import Checkpoint

RUN = ""  # the level above all processes
WITHIN = " "  # behind the name of a level: what was said in parts of it, too
Named = TypeVar("Named", Under, Metric)
Latest = dict[str, dict[str, Named]]


def save(trace: Trace, conclusions: Conclusions) -> None:
    """Say of each checkpoint what it is and was under, once versions have their makers."""
    if not trace.said.checkpoints:
        return
    given: dict[str, list[Metric]] = {}
    for metric in trace.said.metrics:
        if metric.given_with:
            given.setdefault(metric.given_with, []).append(metric)
    files, levels = Files(conclusions, trace.processes.values()), _Levels(trace)
    under: Latest[Under] = {}
    metrics: Latest[Metric] = {}
    for one in _in_order(trace, conclusions):
        line = levels.of(one.process, one.task)
        if isinstance(one, Checkpoint):
            saved = Saved(one, conclusions.acting(trace.processes[one.process], one.task), files.of(one.path, one.at))
            saved.configurations = sorted({found.version for found in _nearest(line, under).values()})
            own = _nearest(line, metrics) | {metric.name: metric for metric in given.get(one.iri, ())}
            saved.metrics = [metric.iri for _, metric in sorted(own.items())]
            conclusions.said.saved.append(saved)
        elif isinstance(one, Under):
            _note(one, line, under)
        else:
            _note(one, line, metrics)


def _in_order(trace: Trace, conclusions: Conclusions) -> Iterator[Under | Metric | Checkpoint]:
    """Everything that was said, by when; a checkpoint after the rest of its moment."""
    moment = attrgetter("at")
    under, checkpoints = sorted(conclusions.said.under, key=moment), sorted(trace.said.checkpoints, key=moment)
    return merge(under, trace.said.metrics.in_order(), checkpoints, key=moment)


def _note(one: Named, line: Sequence[str], latest: Latest[Named]) -> None:
    for level in (line[0], *(whole + WITHIN for whole in line)):
        latest.setdefault(level, {})[one.name] = one


def _nearest(line: Sequence[str], latest: Mapping[str, Mapping[str, Named]]) -> dict[str, Named]:
    found: dict[str, Named] = {}
    for level in (level for whole in line for level in (whole, whole + WITHIN)):
        for name, one in latest.get(level, {}).items():
            found.setdefault(name, one)
    return found


class _Levels:
    """What something was said in, the nearest first: Tasks, the process, the run."""

    def __init__(self, trace: Trace) -> None:
        self.tasks = trace.tasks
        self.known: dict[tuple[str, str], tuple[str, ...]] = {}

    def of(self, process: str, task: str) -> tuple[str, ...]:
        """Return the names of the levels."""
        found = self.known.get((process, task))
        if found is None:
            line: dict[str, None] = {}
            while task in self.tasks and task not in line:
                line[task] = None
                task = self.tasks[task].part_of
            found = self.known[process, task] = (*line, process, RUN)
        return found


class Files:
    """The file versions that a run made, by path and by when they were there."""

    def __init__(self, conclusions: Conclusions, processes: Iterable[Process]) -> None:
        self.there: dict[bytes, list[tuple[int, str]]] = {}
        for version, moment in _made(conclusions):
            for (_, path), (first, _last) in version.sightings.items():
                self.there.setdefault(path, []).append((max(first, moment), version.iri))
        for versions in self.there.values():
            versions.sort()
        self.paths = sorted(self.there)
        self.gone: dict[bytes, list[int]] = {}
        for event in (event for process in processes for event in process.events):
            name = event.text("path" if event.kind == "Delete" else "from")
            if name and event.kind in ("Delete", "Rename"):
                self.gone.setdefault(normpath(name), []).append(event.at)

    def of(self, path: bytes, at: int) -> list[str]:
        """Return the versions at a path, or below it, as they were at a moment; where there were none yet, the first
        that came."""
        paths = list(self._below(normpath(path)))
        found = [version for one in paths if (version := self._at(one, at))]
        if not found:
            found = [version for one in paths if (version := self._after(one, at))]
        return list(dict.fromkeys(found))

    def _below(self, path: bytes) -> Iterator[bytes]:
        if path in self.there:
            yield path
        folder = path.rstrip(b"/") + b"/"
        for place in range(bisect_left(self.paths, folder), len(self.paths)):
            if not self.paths[place].startswith(folder):
                break
            yield self.paths[place]

    def _at(self, path: bytes, at: int) -> str | None:
        known = self.there.get(path, [])
        place = bisect_right(known, at, key=lambda one: one[0])
        if place == 0:
            return None
        moment, version = known[place - 1]
        return None if any(moment <= gone <= at for gone in self.gone.get(path, ())) else version

    def _after(self, path: bytes, at: int) -> str | None:
        return next((version for moment, version in self.there.get(path, []) if moment > at), None)


def _made(conclusions: Conclusions) -> Iterator[tuple[Version, int]]:
    """The versions that the run made, each with when it was made."""
    contributed: dict[str, int] = {}
    for one in conclusions.contributions:
        if one.maker:
            whole = one.iri.rpartition("~")[0]
            contributed[whole] = max(one.maker[1], contributed.get(whole, 0))
    for version in conclusions.versions.values():
        if version.generated_by:
            yield version, version.maker[1] if version.maker else version.facts.mtime
        elif version.iri in contributed:
            yield version, contributed[version.iri]
