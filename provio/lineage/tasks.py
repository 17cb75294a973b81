"""Divide the facts of a process among its Tasks: each Task becomes a process of its own, a strand.

The strand has the openings, accesses and events of the Task, and `Process.image` is `task`. It is cut into phases,
uses and generates entities like a process. It starts as a fork does, with the data in the memory of the strand in
which it was started; when it ends, its inputs are in the memory of that strand. Of two simultaneous Tasks, neither
has the inputs of the other. A Task that starts after another has ended has them, through the memory of the process
(`carriedFrom`).
"""

from __future__ import annotations

import copy as copying
from collections.abc import Iterable, Sequence
from itertools import pairwise

from provio.base.records import plain
from provio.lineage.model import Conclusions, Phase, Strand
from provio.lineage.positions import Channel
from provio.lineage.task_results import is_sealed
from provio.system.statx import Record
from provio.trace.facts import Access, Event, Member, Opening, Process, Thread
from provio.trace.run_facts import Task, Trace


@plain()
class Divided:
    """A trace in which the actions within Tasks belong to strands, and the strands, by the Tasks' IRIs."""

    trace: Trace
    strands: dict[str, Strand]


def divide(trace: Trace) -> Divided:
    """Return the trace with a process for each Task; the same trace if there are no Tasks."""
    if not trace.tasks:
        return Divided(trace, {})
    of_process: dict[str, list[Task]] = {}
    for task in trace.tasks.values():
        of_process.setdefault(task.process.iri, []).append(task)
    processes: dict[str, Process] = {}
    strands: dict[str, Strand] = {}
    for iri, process in trace.processes.items():
        if iri not in of_process:
            processes[iri] = process
            continue
        divider = _Divider(process, sorted(of_process[iri], key=lambda task: task.started))
        processes.update((strand.iri, strand) for strand in divider.processes.values())
        strands.update(divider.strands())
    divided = copying.copy(trace)
    divided.processes = processes
    return Divided(divided, strands)


class _Divider:
    """Divides the actions of one process among its Tasks; those outside of all Tasks stay its own, under an empty
    name."""

    def __init__(self, process: Process, tasks: Sequence[Task]) -> None:
        self.whole, self.tasks = process, tasks
        self.processes = {"": _process(process, process.iri, process.image_number, process.record, process.threads)}
        for task in tasks:
            self.processes[task.iri] = _of_task(process, task)
        for name, moment in process.last_declared.items():
            declared = self.processes[self.known(name)].last_declared
            declared[""] = max(moment, declared.get("", 0))
        self.copies: dict[tuple[int, str], Opening] = {}
        taken = self._taken()
        divided = {id(one): self._opening(one, _Inside(one), taken.get(id(one), ())) for one in process.containers}
        self.opened_in = {place: next(iter(found)) for place, found in divided.items()}
        for container in process.containers:
            for name, copy in divided[id(container)].items():
                self.processes[name].containers.append(copy)
        self._members()
        mapped = self._events()
        for opening in process.openings:
            found = divided.get(id(opening)) or self._opening(opening, None, mapped.get(opening.iri, ()))
            for name, copy in found.items():
                self.processes[name].openings.append(copy)

    def _taken(self) -> dict[int, set[str]]:
        """Return, by opened file, the Tasks that used its content by a copy within the library or by a virtual
        dataset."""
        found: dict[int, set[str]] = {}
        for member in (member for container in self.whole.containers for member in container.members):
            for source, access in member.copied_from:
                found.setdefault(id(source.file), set()).add(self.known(access.task))
            for source in member.shows:
                found.setdefault(id(source.file), set()).update(self.known(access.task) for access in member.accesses)
        return found

    def known(self, task: str) -> str:
        """Return the name of a Task; an empty string for an unknown one."""
        return task if task in self.processes else ""

    def _events(self) -> dict[str, set[str]]:
        """Assign events to Tasks, and return the Tasks that acted on each opening; a map belongs to the Task that
        made it."""
        maps = {event.iri: self.known(event.task) for event in self.whole.events if event.kind == "Map"}
        touched: dict[str, set[str]] = {}
        for event in self.whole.events:
            name = maps.get(event.record.get("map", ""), self.known(event.task))
            self.processes[name].events.append(_event(event, self.processes[name]))
            if "object" in event.record:
                touched.setdefault(event.record["object"], set()).add(name)
        for event in self.whole.within:
            name = self.known(event.task)
            self.processes[name].within.append(_event(event, self.processes[name]))
        return touched

    def _opening(self, opening: Opening, inside: _Inside | None, touched: Iterable[str] = ()) -> dict[str, Opening]:
        """Return a copy of an opening for each Task that used it; all copies but that of the Task that made it are
        inherited."""
        made_in = self.known(next((a.task for a in opening.accesses if "closed" in a.counts), ""))
        if inside:
            made_in = self.known(inside.first)
        accesses: dict[str, list[Access]] = {}
        for access in opening.accesses:
            accesses.setdefault(self.known(access.task), []).append(access)
        names = accesses.keys() | set(touched)
        names |= {self.known(copy.access.task) for copy in opening.copied_to}
        names |= {self.known(name) for name in inside.tasks} if inside else set()
        found = {}
        for name in dict.fromkeys([made_in, *sorted(names)]):
            copy = self._copy(opening, name, accesses.get(name, []), name == made_in)
            found[name] = self.copies[id(opening), name] = copy
        return found

    def _copy(self, opening: Opening, name: str, accesses: list[Access], maker: bool) -> Opening:
        first = min((m for a in accesses for m in (a.first_read, a.first_write) if m), default=opening.opened)
        copy = Opening(
            opening.label, self.processes[name], opening.kind, opening.path, opening.facts, opening.flags,
            opening.opened if maker else first, opening.inherited or not maker, opening.unlinked,
            opening.api if maker else None, opening.elapsed if maker else 0, opening.closed, opening.at_close,
            opening.settled, opening.resolved, opening.unseen_reason, opening.connection, accesses,
        )  # fmt: skip
        copy.owner = opening.process.iri
        copy.copied_from = [one for one in opening.copied_from if self.known(one.access.task) == name]
        copy.copied_to = [one for one in opening.copied_to if self.known(one.access.task) == name]
        return copy

    def _members(self) -> None:
        """Assign the objects inside files to each Task that used them; the maker is the Task that created or first
        used it."""
        copies: dict[tuple[int, str], Member] = {}
        every = [member for container in self.whole.containers for member in container.members]
        wanted: dict[int, set[str]] = {}
        for member in every:
            for name in {self.known(access.task) for access in member.accesses} | {self._maker(member)}:
                _want(member, name, wanted)
        for container in self.whole.containers:
            self._divide(container, wanted, copies)
        for member in every:
            for name in wanted[id(member)]:
                own = copies.get((id(member), name))
                if own:
                    self._tie(own, member, name, copies)

    def _divide(self, container: Opening, wanted: dict[int, set[str]], copies: dict[tuple[int, str], Member]) -> None:
        members: dict[str, list[Member]] = {}
        for member in container.members:
            for name in sorted(wanted[id(member)]):
                file = self.copies.get((id(container), name))
                if file:
                    members.setdefault(name, []).append(self._member(member, file, name, copies))
        for name, found in members.items():
            self.copies[id(container), name].members = found

    def _tie(self, own: Member, member: Member, name: str, copies: dict[tuple[int, str], Member]) -> None:
        own.shows = [copies.get((id(one), name), one) for one in member.shows]
        own.copied_from = [
            (copies.get((id(source), name), source), access)
            for source, access in member.copied_from
            if self.known(access.task) == name
        ]

    def _maker(self, member: Member) -> str:
        made = next((a.task for a in member.accesses if a.operation == "Create"), None)
        first = self.opened_in.get(id(member.file), "")
        return self.known(made if made is not None else next((a.task for a in member.accesses), first))

    def _member(self, member: Member, file: Opening, name: str, copies: dict[tuple[int, str], Member]) -> Member:
        accesses = [access for access in member.accesses if self.known(access.task) == name]
        record = member.record
        if self._maker(member) != name:
            record = {key: value for key, value in record.items() if key not in ("created", "replacedNs")}
        copy = Member(member.iri, member.kind, file, member.path, member.name, record, accesses)
        copies[id(member), name] = copy
        return copy

    def strands(self) -> dict[str, Strand]:
        """Return the strand of each Task, with the Task or process in which it was started."""
        found: dict[str, Strand] = {}
        ends = {task.iri: task.ended or self.processes[task.iri].ended for task in self.tasks}
        above = {task.iri: self.known(task.part_of) for task in self.tasks}
        for task in self.tasks:
            back = above[task.iri]
            for _ in self.tasks:  # a Task may outlive the one it was started in
                if back == "" or ends[back] >= ends[task.iri]:
                    break
                back = above[back]
            process = self.processes[task.iri]
            started_in = self.processes[above[task.iri]]
            times = task.started, ends[task.iri]
            found[task.iri] = Strand(process, started_in, *times, self.processes[back], task.started, is_sealed(task))
        return found


def _want(member: Member, name: str, wanted: dict[int, set[str]]) -> None:
    """Record that a Task that uses an object also uses the objects that it maps or was copied from."""
    waiting = [member]
    for one in waiting:  # the loop extends it
        names = wanted.setdefault(id(one), set())
        if name not in names:
            names.add(name)
            waiting += [*one.shows, *(source for source, _ in one.copied_from)]


class _Inside:
    """The Tasks that acted inside a file that a library opened, and the first of them."""

    def __init__(self, container: Opening) -> None:
        accesses = [access for member in container.members for access in member.accesses]
        self.tasks = {access.task for access in accesses}
        self.first = min(accesses, key=_began).task if accesses else ""


def _began(access: Access) -> int:
    moments = (access.first_read, access.first_write, access.moments()[0] if access.operation else 0)
    return min((moment for moment in moments if moment), default=1 << 63)


def _event(event: Event, process: Process) -> Event:
    return Event(event.iri, event.kind, process, event.thread, event.at, event.packed)


def _process(process: Process, iri: str, number: str, record: Record, threads: list[Thread]) -> Process:
    return Process(iri, process.host, process.pid, process.tick, number, record, threads, libraries=process.libraries)


def _of_task(process: Process, task: Task) -> Process:
    record = process.record | {"image": "task", "startedNs": str(task.started)}
    record.pop("rank", None)
    if task.ended:
        record["endedNs"] = str(task.ended)
    return _process(process, task.iri + "/", f"{process.image_number}.{task.iri.rpartition('/')[2]}", record, [])


# Ties between Tasks and their process.


def strands(trace: Trace, conclusions: Conclusions, ends: dict[str, int]) -> Trace:
    """Return the trace with a process for each Task, and add these processes to `conclusions` and `ends`."""
    divided = divide(trace)
    conclusions.strands = divided.strands
    for iri, strand in divided.strands.items():
        whole, own = trace.tasks[iri].process.iri, strand.process.iri
        conclusions.programs[own], ends[own] = conclusions.programs[whole], ends[whole]
    return divided.trace


def begin(channels: list[Channel], conclusions: Conclusions) -> None:
    """Record when Tasks started in each process, and when Tasks with inputs ended in it."""
    strands = [strand for strand in conclusions.strands.values() if not strand.sealed]
    if not strands:
        return
    took = {part.process.iri for channel in channels for part in channel.reads}
    took |= {iri for iri, inputs in conclusions.inputs.items() if not all(one.noise for one in inputs)}
    for strand in sorted(strands, key=lambda strand: strand.ended):
        conclusions.task_starts.setdefault(strand.started_in.iri, []).append(strand.submitted)
        if strand.process.ended > strand.ended:  # later inputs were not in memory at its end
            conclusions.task_starts.setdefault(strand.process.iri, []).append(strand.ended)
        if strand.process.iri in took:
            took.add(strand.ended_in.iri)
            conclusions.joins.setdefault(strand.ended_in.iri, []).extend(strand.known_at)


def is_alone(strand: Strand, phases: Sequence[Phase]) -> bool:
    """Return whether a framework's task is one node in the graph, without a node for its phase: it touched no file."""
    own = strand.process
    return strand.sealed and len(phases) == 1 and not (own.openings or own.events or own.containers or own.within)


def _submit(first: Phase, conclusions: Conclusions) -> None:
    """Tie the first phase of a framework's task to the phase that submitted it: by data if that passed data with it."""
    found = conclusions.submissions.get(first.process.iri)
    if found:
        phase = conclusions.phase_at(found.process, found.at).iri
        if found.by_value and first.carried_from:
            first.joined[phase] = None
        elif found.by_value:
            first.carried_from = phase
        else:
            first.launched_by = phase


def join(conclusions: Conclusions) -> None:
    """Tie the first phase of each Task to the phase in which it started, and the phase in which it ended to its last
    phase."""
    for strand in conclusions.strands.values():  # before any tie names it
        phases = conclusions.phases[strand.process.iri]
        if is_alone(strand, phases):
            phases[0].iri = strand.process.iri
    for strand in conclusions.strands.values():
        phases = conclusions.phases[strand.process.iri]
        for earlier, later in pairwise(phases):
            later.carried_from = earlier.iri
        if strand.sealed:
            _submit(phases[0], conclusions)
            continue
        phases[0].carried_from = conclusions.phase_at(strand.started_in, strand.submitted).iri
        conclusions.forks[strand.process.iri] = strand.started_in, strand.submitted
        _submit(phases[0], conclusions)
        for moment in strand.known_at:
            target = conclusions.phase_at(strand.ended_in, moment)
            joined = moment in conclusions.joins.get(strand.ended_in.iri, ())
            if joined and target.iri != phases[0].carried_from:
                target.joined[conclusions.phase_at(strand.process, moment).iri] = None
                target.end = max(target.end, moment)  # the process has no later activity of its own
