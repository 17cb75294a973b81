"""Follow the calls of pools: from the process or Task that submitted a call to the Task that ran it, and from there to
the process or Task that received its result.

In: the Tasks of pools, and the rows of event files by which the submitter and the worker name a call
(`interceptors/python/pool_calls.py`).

- A Task in a thread has the data of its process at the moment when it was submitted, not at its start. From the receipt
  of its result on (its end, if nothing receives it), its inputs are inputs of the process or Task in which it ended, as
  if that had called the function itself.
- A Task in a worker process has the data of its worker before the worker's first Task, and the data of the call: the
  earlier inputs of the submitter (`carried`), or only short values (control). It has no inputs of earlier Tasks of the
  worker. Its result is an entity that the receiver used.
- An app of Parsl has the data of its call and the results that it depends on, also in a thread; its result is an
  entity.
- A Task of a call that is not named starts and ends like one of a thread, without the moment of its submission.
"""

from __future__ import annotations

from collections.abc import Iterator

from provio.interceptors.python import events as rows
from provio.lineage.identity import POOLED, without_task
from provio.lineage.model import Conclusions, Input, Strand
from provio.lineage.task_results import NANOSECONDS, Images, Result, Submission
from provio.trace.events import Keys
from provio.trace.facts import Process
from provio.trace.run_facts import Trace

APP = "app"  # kind of Tasks whose dependencies are stated
RAN = (rows.RAN, rows.RAN_WITH_DATA)
SUBMITTED = (rows.SUBMITTED, rows.SUBMITTED_LAZILY)


def follow(trace: Trace, conclusions: Conclusions) -> None:
    """Record where the Tasks of pools were submitted, and who used their results."""
    pooled = {iri: one for iri, one in conclusions.strands.items() if trace.tasks[iri].record.get("kind") in POOLED}
    if not pooled:
        return
    calls = _Calls(trace, conclusions, pooled)
    calls.start()
    calls.use()
    for strand in sorted(pooled.values(), key=lambda strand: strand.ended):  # inner ones before those around them
        if strand.process.iri not in calls.remote:
            later, at = strand.ended_in, strand.received or strand.ended
            known = (one for one in conclusions.inputs[strand.process.iri] if one.first <= strand.ended)
            found = {one.version: one.noise for one in known}
            conclusions.inputs[later.iri] += [Input(later, version, at, at, noise) for version, noise in found.items()]


def communication(trace: Trace) -> set[tuple[str, str, int]]:
    """Return the pipes and shared memory (host, device, inode) by which only the processes of pools communicate."""
    found = set()
    for file in trace.events:
        for fact in file.facts("communication"):
            for name in fact.facts.get("inodes", ()):
                device, _, inode = str(name).partition("/")
                found.add((file.host, device, int(inode)))
    return found


def helpers(trace: Trace) -> set[str]:
    """Return the processes that only pass on calls and results."""
    images = Images(trace)
    found = (images.of(file) for file in trace.events if any(file.facts("helper")))
    return {process.iri for process in found if process}


class _Calls:
    """The calls of pools, by their keys; `remote` are the Tasks' processes that other processes submitted, and apps."""

    def __init__(self, trace: Trace, conclusions: Conclusions, pooled: dict[str, Strand]) -> None:
        self.trace, self.out, self.pooled = trace, conclusions, pooled
        self.submitted: dict[bytes, tuple[Process, Keys]] = {}
        self.inner: dict[str, list[bytes]] = {}  # Task → the calls that were submitted in it
        self.by_key: dict[bytes, list[str]] = {}  # → Tasks
        self.ran: list[tuple[str, Keys]] = []
        self.received: list[tuple[Process, Keys]] = []
        self.depends: dict[bytes, tuple[bytes, ...]] = {}
        self.remote: set[str] = set()
        for process, row in self._rows():
            self._add(process, row, f"{process.iri}t{row.task}")

    def _rows(self) -> Iterator[tuple[Process, Keys]]:
        images = Images(self.trace)
        for file in self.trace.events:
            process = images.of(file) if file.part == "pool" else None
            if process:
                yield from ((process, row) for row in file.events if isinstance(row, Keys))

    def _add(self, process: Process, row: Keys, task: str) -> None:
        actor = self.out.acting(process, task if row.task else "")
        if row.role in SUBMITTED:
            self.submitted[row.keys[0]] = actor, row
            self.inner.setdefault(task, []).append(row.keys[0])
        elif row.role == rows.RECEIVED:
            self.received.append((actor, row))
        elif row.role == rows.DEPENDS:
            self.depends[row.keys[0]] = row.keys[1:]
        elif row.role == rows.HANDED and task in self.pooled:
            self.pooled[task].submitted = min(_moment(row), self.pooled[task].started)
            self.by_key[row.keys[0]] = [task]
        elif row.role in RAN and task in self.pooled:
            self.ran.append((task, row))
            for key in row.keys:
                self.by_key.setdefault(key, []).append(task)

    def start(self) -> None:
        """Set where each Task was submitted."""
        first: dict[str, int] = {}
        for strand in self.pooled.values():
            whole = without_task(strand.process.iri)
            first[whole] = min(strand.started, first.get(whole, strand.started))
        for task, ran in self.ran:
            if ran.keys[0] not in self.submitted:
                continue
            strand = self.pooled[task]
            submitter, row = self.submitted[ran.keys[0]]
            at, whole = min(_moment(row), strand.started), without_task(strand.process.iri)
            here = without_task(submitter.iri) == whole
            strand.sealed = self._is_app(task)
            if here and not strand.sealed:
                strand.started_in, strand.submitted = submitter, at
                continue
            self.remote.add(strand.process.iri)
            by_value = here or ran.role == rows.RAN_WITH_DATA
            if by_value and row.role == rows.SUBMITTED_LAZILY:
                at = strand.started
            self.out.submissions[strand.process.iri] = Submission(submitter, at, by_value)
            self.out.task_starts.setdefault(submitter.iri, []).append(at)
            if strand.started_in.iri == whole:
                strand.submitted = first[whole]

    def use(self) -> None:
        """Record the uses of results: by Tasks that depend on them, and by those who received them."""
        uses = [
            (self.pooled[task].started, self.pooled[task].process, key)
            for task, ran in self.ran
            for key in self.depends.get(ran.keys[0], ())
        ]
        uses += [(_moment(row), actor, key) for actor, row in self.received for key in row.keys]
        for at, user, key in sorted(uses, key=lambda use: use[0]):
            self._use(key, user, at)

    def _use(self, key: bytes, user: Process, at: int) -> None:
        waiting = [key]
        for one in waiting:  # the loop extends it
            for task in self.by_key.get(one, ()):
                strand = self.pooled[task]
                if strand.ended > at or self.trace.tasks[task].record.get("status") != "ok":
                    continue
                if self._is_app(task):
                    waiting += [inner for inner in self.inner.get(task, ()) if inner not in waiting]
                if strand.process.iri in self.remote or strand.ended_in.iri != user.iri:
                    self._use_result(task, strand, user, at)
                elif not strand.received:
                    strand.received = at

    def _use_result(self, task: str, strand: Strand, user: Process, at: int) -> None:
        own = strand.process
        if not (self._is_app(task) or own.openings or own.events or own.containers or self.out.inputs[own.iri]):
            return  # it had no data but that of the call
        iri = f"{own.iri}result"
        if iri not in self.out.results:
            self.out.results[iri] = Result(iri, own, strand.ended)
            self.out.declared.made.append((own.iri, strand.ended))
        self.out.inputs[user.iri].append(Input(user, iri, at, at))

    def _is_app(self, task: str) -> bool:
        return self.trace.tasks[task].record.get("kind") == APP


def _moment(row: Keys) -> int:
    return int(row.at * NANOSECONDS)
