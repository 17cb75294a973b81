"""Add the declarations of programs to the conclusions: configurations, used and made entities, checkpoints.

A declared configuration is an input of the program from that moment on. A declared use is an input and a declared
product is an output: they cut phases like files do. A metric or a checkpoint ends no phase. Some declared entities
have no file; their states are recorded. Each checkpoint gets its file versions and the configurations and metrics
that were in force.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from operator import attrgetter
from os.path import normpath
from typing import TypeVar

from provio.lineage.declared import (
    ConfigurationUse,
    SavedCheckpoint,
    State,
    StateNames,
    entity_iri,
    series_of,
    version_iri,
)
from provio.lineage.declared import Version as ConfigurationVersion
from provio.lineage.identity import Identity
from provio.lineage.model import Conclusions, Input, Span, Version, inode_of
from provio.system.statx import Facts
from provio.trace.declarations import Checkpoint, Configuration, Entity, Use
from provio.trace.facts import Process
from provio.trace.metrics import Metric
from provio.trace.run_facts import Trace


def say(trace: Trace, identity: Identity, conclusions: Conclusions) -> None:
    """Record configurations, and declared uses and products, before processes are cut into phases."""
    for one in sorted(trace.declarations.configurations, key=lambda one: (one.at, one.iri)):
        configured(one, trace, conclusions)
    for declaration in trace.declarations.entities.values():
        conclusions.declared.kept.setdefault(entity_iri(trace.iri, declaration), []).append(declaration)
    states, seen = _States(trace, conclusions), _Seen(conclusions.versions.values() if trace.declarations.uses else ())
    for use in sorted(trace.declarations.uses, key=lambda use: use.at):
        actor = conclusions.acting(trace.processes[use.process], use.task)
        if use.entity in trace.declarations.entities:
            states.use(entity_iri(trace.iri, trace.declarations.entities[use.entity]), use, actor)
        elif use.path is not None and not (inside := seen.below(use.path, use.at)) and use.facts:
            seen.add(use.path, use.at, _file(use, use.facts, actor, identity, conclusions))
        elif use.path is not None:
            known = inside or seen.at(use.path, use.at)
            if known and not use.made:
                conclusions.inputs[actor.iri] += [Input(actor, version, use.at, use.at) for version in known]
            elif not inside:
                declaration = Entity("", use.process, use.at, use.path.decode("utf-8", "replace"), "", "", {})
                iri = entity_iri(trace.iri, declaration)
                conclusions.declared.kept.setdefault(iri, []).append(declaration)
                states.use(iri, use, actor)


def configured(one: Configuration, trace: Trace, conclusions: Conclusions) -> None:
    """Record a configuration, as an input of the program from its moment on."""
    actor, iri = conclusions.acting(trace.processes[one.process], one.task), version_iri(one)
    series = series_of(conclusions.programs[one.process].iri, one.name)
    conclusions.declared.versions.setdefault(iri, ConfigurationVersion(iri, one))
    use = ConfigurationUse(one.iri, iri, series, actor, one.process, one.task, one.at, one.name)
    conclusions.declared.under.append(use)
    conclusions.inputs[actor.iri].append(Input(actor, iri, one.at, one.at))


class _Seen:
    """Versions by the paths at which they were observed, and since when. A folder stands for the files in it at that
    moment."""

    def __init__(self, versions: Iterable[Version]) -> None:
        self.there: dict[bytes, list[tuple[int, str]]] = {}
        for version in versions:
            for (_, path), (first, _last) in version.sightings.items():
                self.there.setdefault(path, []).append((first, version.iri))
        self.paths = sorted(self.there)

    def add(self, path: bytes, first: int, version: str) -> None:
        """Add a version that was observed at a path."""
        if path not in self.there:
            insort(self.paths, path)
        self.there.setdefault(path, []).append((first, version))

    def at(self, path: bytes, moment: int) -> list[str]:
        """Return the latest version observed at a file's path by a moment: a list of one or none."""
        known = [found for found in self.there.get(path, ()) if found[0] <= moment]
        return [max(known)[1]] if known else []

    def below(self, path: bytes, moment: int) -> list[str]:
        """Return the latest versions of all files in a folder, by a moment."""
        folder = path.rstrip(b"/") + b"/"
        found: list[str] = []
        for place in range(bisect_left(self.paths, folder), len(self.paths)):
            if not self.paths[place].startswith(folder):
                break
            found += self.at(self.paths[place], moment)
        return found


def _file(use: Use, facts: Facts, actor: Process, identity: Identity, conclusions: Conclusions) -> str:
    """Record the declared use or product of a file that no call showed; return the version's IRI."""
    path = use.path or b""
    iri = identity.version(facts)
    version = conclusions.versions.setdefault(iri, Version(iri, facts, False, use.at))
    version.noise = False
    version.name(identity.file(path, facts.device), path, use.at)
    if not use.made:
        conclusions.inputs[actor.iri].append(Input(actor, iri, use.at, use.at))
    elif not any(span.inode == inode_of(facts) for span in conclusions.spans):
        conclusions.spans.append(Span(actor, inode_of(facts), use.at, use.at, use.at, None, facts))
    return iri


class _States:
    """The successive states of entities without a file.

    A declared product starts a new state. A state that is used before any product has no maker: the run found it.
    """

    def __init__(self, trace: Trace, conclusions: Conclusions) -> None:
        self.names, self.out = StateNames(trace.iri), conclusions
        self.now: dict[str, State] = {}

    def use(self, of: str, use: Use, actor: Process) -> None:
        """Record that a process used the current state of an entity, or made a new one."""
        state = self.now.get(of)
        if use.made:
            state = State(self.names.next(of), of, use.at, actor)
            self.out.declared.made.append((actor.iri, use.at))
        elif state is None:
            state = State(self.names.next(of), of, use.at)
        self.now[of] = self.out.declared.states[state.iri] = state
        if not use.made:
            self.out.inputs[actor.iri].append(Input(actor, state.iri, use.at, use.at))


# Checkpoints.


RUN = ""  # the level above all processes
WITHIN = " "  # after the name of a level: the declarations in its parts as well
Named = TypeVar("Named", ConfigurationUse, Metric)
Latest = dict[str, dict[str, Named]]


def save(trace: Trace, conclusions: Conclusions) -> None:
    """Set the file versions, configurations and metrics of each checkpoint, once versions have their makers."""
    if not trace.declarations.checkpoints:
        return
    given: dict[str, list[Metric]] = {}
    for metric in trace.declarations.metrics:
        if metric.given_with:
            given.setdefault(metric.given_with, []).append(metric)
    files, levels = Files(conclusions, trace.processes.values()), _Levels(trace)
    under: Latest[ConfigurationUse] = {}
    metrics: Latest[Metric] = {}
    for one in _in_order(trace, conclusions):
        line = levels.of(one.process, one.task)
        if isinstance(one, Checkpoint):
            actor = conclusions.acting(trace.processes[one.process], one.task)
            saved = SavedCheckpoint(one, actor, files.of(one.path, one.at))
            saved.configurations = sorted({found.version for found in _nearest(line, under).values()})
            own = _nearest(line, metrics) | {metric.name: metric for metric in given.get(one.iri, ())}
            saved.metrics = [metric.iri for _, metric in sorted(own.items())]
            conclusions.declared.saved.append(saved)
        elif isinstance(one, ConfigurationUse):
            _note(one, line, under)
        else:
            _note(one, line, metrics)


def _in_order(trace: Trace, conclusions: Conclusions) -> Iterator[ConfigurationUse | Metric | Checkpoint]:
    """Yield all declarations by their moments; a checkpoint follows the other declarations of its moment."""
    moment = attrgetter("at")
    under = sorted(conclusions.declared.under, key=moment)
    checkpoints = sorted(trace.declarations.checkpoints, key=moment)
    measured = sorted(conclusions.declared.measured, key=moment)
    return merge(under, trace.declarations.metrics.in_order(), measured, checkpoints, key=moment)


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
    """The levels around a declaration, the innermost first: Tasks, the process, the run."""

    def __init__(self, trace: Trace) -> None:
        self.tasks = trace.tasks
        self.known: dict[tuple[str, str], tuple[str, ...]] = {}

    def of(self, process: str, task: str) -> tuple[str, ...]:
        """Return the names of the levels around a Task of a process."""
        key = process, task
        found = self.known.get(key)
        if found is None:
            line: dict[str, None] = {}
            while task in self.tasks and task not in line:
                line[task] = None
                task = self.tasks[task].part_of
            found = self.known[key] = (*line, process, RUN)
        return found


class Files:
    """The file versions that a run made, by path and moment."""

    def __init__(self, conclusions: Conclusions, processes: Iterable[Process]) -> None:
        self.there: dict[bytes, list[tuple[int, str]]] = {}
        for version, moment in _made(conclusions):
            for (_, path), (first, _last) in version.sightings.items():
                self.there.setdefault(path, []).append((max(first, moment), version.iri))
        for versions in self.there.values():
            versions.sort()
        self.paths = sorted(self.there)
        self.removed: dict[bytes, list[int]] = {}
        for event in (event for process in processes for event in process.events):
            name = event.text("path" if event.kind == "Delete" else "from")
            if name and event.kind in ("Delete", "Rename"):
                self.removed.setdefault(normpath(name), []).append(event.at)

    def of(self, path: bytes, at: int) -> list[str]:
        """Return the versions at a path, or below it, that existed at a moment; if none existed yet, the first later
        ones."""
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
        return None if any(moment <= removed <= at for removed in self.removed.get(path, ())) else version

    def _after(self, path: bytes, at: int) -> str | None:
        return next((version for moment, version in self.there.get(path, []) if moment > at), None)


def _made(conclusions: Conclusions) -> Iterator[tuple[Version, int]]:
    """Yield the versions that the run made, each with the moment at which it was made."""
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
