"""Cut each process into phases, and tie the phases to each other.

A process is cut where it first reads a new input after it finished writing an output: with `r(a) w(x) r(b) w(y)`, x
comes from a, y comes from b, and y comes from a only through the earlier phase. An output is finished at its last
write, and at the mtime of each version of it that another process read; data in a pipe or connection, at its last
write that was read. A fork is a cut as well, because the child must not have the later inputs of its parent. The parent
has written nothing, so its phase continues: its earlier inputs remain its own inputs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from provio.base.records import plain
from provio.lineage import memory
from provio.lineage.channels import circles
from provio.lineage.identity import without_task
from provio.lineage.memory import Memory
from provio.lineage.model import Conclusions, Phase, inode_of
from provio.lineage.positions import Channel, Part
from provio.lineage.writing import Stretches, writings
from provio.trace.facts import Event, Process
from provio.trace.run_facts import Trace

LAUNCHES = frozenset({"Fork", "Spawn"})


def cut(trace: Trace, channels: list[Channel], memories: list[Memory], conclusions: Conclusions) -> None:
    """Set the phases of each process, and the versions that each phase used."""
    written = _finished(conclusions)
    _add_cyclic_outputs(channels, written)
    uses = _Uses(channels)
    received = {
        iri: sorted(
            _news(process, conclusions)
            + [part.first for _, part in uses.reads.get(iri, ())]
            + conclusions.joins.get(iri, [])
        )
        for iri, process in trace.processes.items()
    }
    stored = memory.news(memories, received)
    readers = memory.readers(memories)
    waiting = dict.fromkeys(trace.processes)
    while waiting:
        iri = next(iter(waiting))
        del waiting[iri]
        process = trace.processes[iri]
        forks = launches(process, conclusions)
        news = sorted(received[iri] + stored[iri]) if iri in stored else received[iri]
        lone = conclusions.lone[iri].finished if iri in conclusions.lone else ()
        phases = _phases(process, (sorted(written.get(iri, ())), lone), forks, news)
        if len(phases) > len(conclusions.phases.get(iri, ())):
            for writer, moment in (*uses.taken(phases), *memory.taken(readers.get(iri, ()), phases)):
                known = written.setdefault(writer, set())
                if moment not in known:
                    known.add(moment)
                    waiting[writer] = None
        conclusions.phases[iri] = phases
    conclusions.finished = {iri: tuple(moments) for iri, moments in written.items()}
    for process in trace.processes.values():
        for found in conclusions.inputs[process.iri]:
            for moment in (found.first, found.last):
                conclusions.phase_at(process, moment).used[found.version] = None


def _finished(conclusions: Conclusions) -> dict[str, set[int]]:
    """Return for each process the moments at which it had finished an output, except lone files."""
    written = seen(conclusions)
    for iri, moments in conclusions.seen.items():
        written.setdefault(iri, set()).update(moments)
    for span in conclusions.spans:
        if span.wrote_content and not span.by_the_way:
            written.setdefault(span.process.iri, set()).add(span.last)
    return written


def launches(process: Process, conclusions: Conclusions) -> list[int]:
    """Return when a process launched others or started a Task, in order."""
    return sorted([e.at for e in process.events if e.kind in LAUNCHES] + conclusions.task_starts.get(process.iri, []))


def _add_cyclic_outputs(channels: list[Channel], written: dict[str, set[int]]) -> None:
    """Add the finished outputs of processes that receive data from each other: all that one of them writes before it
    reads again is finished."""
    circle = circles(channels)
    for channel in channels:
        readers = {circle.get(part.process.iri) for part in channel.reads} - {None}
        for part in channel.writes:
            if circle.get(part.process.iri) in readers:
                written.setdefault(part.process.iri, set()).add(part.last)


class _Uses:
    """The reads of each process from channels, and the outputs of the writers that these reads finish."""

    def __init__(self, channels: list[Channel]) -> None:
        self.reads: dict[str, list[tuple[_Writes, Part]]] = {}
        for channel in channels:
            writes = _Writes(channel)
            for part in channel.reads:
                self.reads.setdefault(part.process.iri, []).append((writes, part))

    def taken(self, phases: list[Phase]) -> Iterator[tuple[str, int]]:
        """Yield (writer, moment) for the data that each phase received: inputs that the writer reads later are new."""
        starts = [phase.start for phase in phases[1:]]
        latest: dict[tuple[int, int], tuple[_Writes, Part]] = {}
        for writes, read in self.reads.get(phases[0].process.iri, ()):
            place = bisect_right(starts, read.first), id(writes)
            if place not in latest or latest[place][1].last <= read.last:
                latest[place] = writes, read
        for writes, read in latest.values():
            for part in writes.last_reaching(read):
                yield part.process.iri, min(part.last, read.last)


class _Writes:
    """The writes of each process into a channel, by position; by time where the positions are not known."""

    def __init__(self, channel: Channel) -> None:
        self.placed = channel.placed
        found: dict[str, list[Part]] = {}
        for part in channel.writes:
            found.setdefault(part.process.iri, []).append(part)
        self.parts = list(found.values())
        places = [[(one.low, one.high) if self.placed else (one.first, one.last) for one in own] for own in self.parts]
        self.of_each = [Stretches(own) for own in places]
        self.of_all = Stretches([(min(own)[0], max(last for _, last in own)) for own in places])

    def last_reaching(self, read: Part) -> Iterator[Part]:
        """Yield the last write of each process that may have written bytes of a read."""
        moment, until = (read.high - 1, read.low + 1) if self.placed else (read.last, 0)
        for number in self.of_all.reaching(moment, until):
            own = self.parts[number]
            reaching = (own[place] for place in self.of_each[number].reaching(moment, until))
            part = next((one for one in reaching if one.reaches(read)), None)
            if part:
                yield part


@plain(frozen=True, slots=True)
class Origin:
    """The process that an image comes from, at a moment, or with None at its end; `fork`: the image also has its
    memory."""

    process: Process
    moment: int | None
    fork: bool


def tie(trace: Trace, conclusions: Conclusions, known: Mapping[str, Origin]) -> None:
    """Set which earlier phase each phase carries on, and which phase launched each image; `known` are the origins."""
    for process in trace.processes.values():
        if process.image != "task":
            for earlier, later in pairwise(conclusions.phases[process.iri]):
                later.carried_from = earlier.iri
    for iri in trace.processes:
        origin = known.get(iri)
        if origin and origin.process.iri in conclusions.phases:
            _tie(conclusions.phases[iri][0], origin, conclusions)


def _tie(first: Phase, origin: Origin, conclusions: Conclusions) -> None:
    if origin.moment is None:
        first.launched_by = conclusions.phases[origin.process.iri][-1].iri
        return
    phase = conclusions.phase_at(origin.process, origin.moment).iri
    if origin.fork:
        first.carried_from = phase
        conclusions.forks[first.process.iri] = origin.process, origin.moment
    else:
        first.launched_by = phase


def origins(trace: Trace) -> dict[str, Origin]:
    """Return the origin of each image: the image before it, or the process that launched it."""
    images = _images(trace)
    launches, execs = _launches(trace), _execs(trace)
    by_pid: dict[tuple[str, int], list[Process]] = {}
    for (host, pid, _), chain in images.items():
        by_pid.setdefault((host, pid), []).extend(chain)
    found: dict[str, Origin | None] = {}
    for chain in images.values():
        found[chain[0].iri] = _launched(chain[0], launches, by_pid)
        for before, process in pairwise(chain):
            image, moment = execs.get(before.iri) or (before, None)
            found[process.iri] = Origin(image, moment, fork=False)
    return {iri: origin for iri, origin in found.items() if origin}


def _launched(
    process: Process, launches: dict[tuple[str, int, int], Event], by_pid: dict[tuple[str, int], list[Process]]
) -> Origin | None:
    key = (process.host, process.pid, process.tick)
    event = launches.get(key) or launches.get((process.host, process.pid, 0))
    fork = process.image == "fork"
    if event:
        return Origin(event.process, event.at, fork)
    parent = _parent_by_pid(process, by_pid)
    return Origin(parent, process.started, fork) if parent else None


def _execs(trace: Trace) -> dict[str, tuple[Process, int]]:
    """Return the (Task, moment) of the exec that replaced an image by the next one, by the IRI of the process."""
    tasks = [process for process in trace.processes.values() if process.image == "task"]
    found = [(event.at, task) for task in tasks for event in task.events if event.kind == "Exec"]
    return {without_task(task.iri): (task, at) for at, task in sorted(found, key=_moment)}


def _moment(exec_: tuple[int, Process]) -> int:
    return exec_[0]


def _parent_by_pid(process: Process, by_pid: dict[tuple[str, int], list[Process]]) -> Process | None:
    """Return the image that had the parent's pid when this one started; for children that no recorded call created."""
    candidates = [
        image
        for image in by_pid.get((process.host, process.parent_pid), ())
        if image.started <= process.started and image is not process
    ]
    return max(candidates, key=lambda image: image.started, default=None)


def _images(trace: Trace) -> dict[tuple[str, int, int], list[Process]]:
    """Return the images of each process, in order: a child of vfork before its exec, then the results of each exec."""
    found: dict[tuple[str, int, int], list[Process]] = {}
    for process in trace.processes.values():
        if process.image != "task":
            found.setdefault((process.host, process.pid, process.tick), []).append(process)
    for chain in found.values():
        chain.sort(key=lambda p: -1 if p.image_number == "v" else int(p.image_number))
    return found


def _launches(trace: Trace) -> dict[tuple[str, int, int], Event]:
    return {
        (process.host, event.number("childPid"), event.number("childTick")): event
        for process in trace.processes.values()
        for event in process.events
        if event.kind in LAUNCHES and event.number("childPid")
    }


def _news(process: Process, conclusions: Conclusions) -> list[int]:
    """Return when each version was first read; noise causes no cut."""
    first: dict[str, int] = {}
    for found in conclusions.inputs[process.iri]:
        if not found.noise:
            first[found.version] = min(found.first, first.get(found.version, found.first))
    lone = conclusions.lone.get(process.iri)
    return [*first.values(), *(lone.news if lone else ())]


def _phases(process: Process, written: Sequence[Sequence[int]], forks: list[int], news: list[int]) -> list[Phase]:
    """Cut a process at the moments at which it first read new data; `written` has lists of moments, all are sorted."""
    phases = [Phase(f"{process.iri}phase/0", process, process.started, process.ended)]
    for moment in news:
        last = phases[-1]
        finished = any(within(one, last.start, moment) for one in written)
        if moment > last.start and (finished or within(forks, last.start, moment)):
            last.end = moment
            iri = f"{process.iri}phase/{len(phases)}"
            phases.append(Phase(iri, process, moment, process.ended, continued=not finished))
    return phases


def within(moments: Sequence[int], start: int, end: int) -> bool:
    """Return whether one of the sorted moments is between `start` and `end`."""
    done = bisect_right(moments, end)
    return done > 0 and moments[done - 1] >= start


def seen(conclusions: Conclusions) -> dict[str, set[int]]:
    """Return for each writer the moments at which its unfinished output was read, by any process, and at which it
    made an entity without a file."""
    known = writings(conclusions)
    found: dict[str, set[int]] = {}
    for writer, moment in conclusions.declared.made:
        found.setdefault(writer, set()).add(moment)
    for iri, last in _last_taken(conclusions).items():
        version = conclusions.versions.get(iri)
        writing = known.get(inode_of(version.facts)) if version else None
        if version is None or writing is None:
            continue
        for span in (*writing.saw(version), *writing.enclosing(version)):
            if last + span.clock_error >= span.first:
                found.setdefault(span.process.iri, set()).add(span.wrote(version))
    return found


def _last_taken(conclusions: Conclusions) -> dict[str, int]:
    """Return when each version was last read or copied."""
    found: dict[str, int] = {}
    for inputs in conclusions.inputs.values():
        for one in inputs:
            found[one.version] = max(one.last, found.get(one.version, one.last))
    for span in conclusions.spans:
        for source in span.sources:
            found[source] = max(span.last, found.get(source, span.last))
    return found
