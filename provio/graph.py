"""One run's facts and conclusions in, its named graph out as N-Triples lines (`docs/graph.md` says what it holds)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain

from provio import turtle
from provio.facts import Access, Event, Opening, Process, Record, Task, Thread, Trace, path_of
from provio.graph_members import Hand, MemberGraph
from provio.graph_said import SaidGraph
from provio.home import RUN_ID
from provio.identity import Identity
from provio.lineage.model import Code, Conclusions, Phase, Strand, Version
from provio.switches import left_out
from provio.vocab import PROV, RDF, RDFS, provio, types

# What the class of an IOActivity does to the object: the property from the object to it.
INFLUENCES = {
    "Create": "wasCreatedBy", "Open": "wasOpenedBy", "Read": "wasReadBy", "Write": "wasWrittenBy", "Map": "wasReadBy",
    "SubmitRead": "wasReadBy", "SubmitWrite": "wasWrittenBy", "Fsync": "wasFlushedBy", "Flush": "wasFlushedBy",
    "Rename": "wasModifiedBy", "Link": "wasModifiedBy", "Truncate": "wasModifiedBy", "Allocate": "wasModifiedBy",
    "SetTimes": "wasModifiedBy", "SetMode": "wasModifiedBy", "SetOwner": "wasModifiedBy",
    "SetAttribute": "wasModifiedBy", "Resize": "wasModifiedBy",
}  # fmt: skip

JOB_FACTS = ("jobId", "jobArrayIndex", "jobNodes", "jobPartition", "jobAccount", "jobResources")
DURATIONS = frozenset({"elapsed", "maxElapsed"})

# The classes of single calls that become IOActivities.
SINGLE_CALLS = frozenset(
    "Rename Link Delete Create Truncate Map SetTimes SetMode SetOwner SetAttribute Stat List".split()
)


@cache
def term(name: str) -> str:
    """Return a word of provio's or, with its prefix, of PROV's as an N-Triples term."""
    prefix, _, local = name.rpartition(":")
    return f"<{PROV + local if prefix == 'prov' else RDFS + local if prefix == 'rdfs' else provio(local)}>"


@cache
def _typing(kind: str) -> tuple[str, ...]:
    return tuple(f"<{RDF}type> <{iri}> .\n" for iri in types(kind))


def _counters(access: Access, side: str) -> dict[str, int]:
    """What an access's side (`read`, `write`) counted; nothing of detail `file`.

    RDF is dear: of the sizes only those that occurred (an empty read has none), and none where one call moved all; the
    longest call where several moved something; the consecutive bytes where they are not all.
    """
    if side + "s" not in access.counts:
        return {}
    empty = access.count("emptyReads") if side == "read" else 0
    names = (("count", "s"), ("bytes", "Bytes"), ("elapsed", "Elapsed"))
    counters = {name: access.count(side + part) for name, part in names}
    timed = side + "Longest" in access.counts
    if side + "Elapsed" in access.counts and not timed:
        return counters  # an older trace, which has no more
    if timed and counters["count"] - empty > 1:
        counters["maxElapsed"] = access.count(side + "Longest")
    if access.consecutive(side) != counters["bytes"]:
        counters["consecutiveBytes"] = access.consecutive(side)
    sizes = {f"size{number}": count for number, count in enumerate(access.sizes(side), start=1) if count}
    return counters | sizes if sum(sizes.values()) > 1 else counters


class Graph:
    """Lines of N-Triples; `node` begins a subject, `say` adds to it. Nothing is checked here: see `provio.vocab`."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def node(self, iri: str, kind: str, *pairs: tuple[str, str | None]) -> None:
        """Add a typed subject and its properties; a value of None is left out, and of no kind nothing is said."""
        subject = f"<{iri}> "
        self.lines += [subject + typing for typing in _typing(kind)] if kind else ()
        self.say(iri, *pairs)

    def say(self, iri: str, *pairs: tuple[str, str | None]) -> None:
        """Add properties to a subject; values are N-Triples terms."""
        self.lines += [f"<{iri}> {term(name)} {value} .\n" for name, value in pairs if value is not None]


class Ends:
    """How the processes of a run ended: their parents' waits say it, each of the last image with the pid and tick."""

    def __init__(self, trace: Trace) -> None:
        processes = sorted(trace.processes.values(), key=lambda process: process.started)
        self.last_images = {(process.host, process.pid, process.tick): process.iri for process in processes}
        self.ends = {
            (process.host, event.number("childPid")): (event.at, event.packed)
            for process in processes
            for event in process.events
            if event.kind == "ChildEnd"
        }

    def of(self, process: Process) -> Record:
        """Return what was said of a process's end, if anything."""
        at, packed = self.ends.get((process.host, process.pid), (0, None))
        last = self.last_images[process.host, process.pid, process.tick]
        return packed.record() if packed and last == process.iri and at >= process.started else {}


def triples(trace: Trace, identity: Identity, conclusions: Conclusions, ends: Ends | None = None) -> Iterator[str]:
    """Yield the lines of a run's graph, in pieces of bounded size; of a part of a run, whose `ends` are known, what is
    said of the processes and versions in it."""
    graph = Graph()
    writer = _Writer(graph, trace, identity, conclusions, ends or Ends(trace))
    for step in chain([writer.run()] if ends is None else (), writer.steps()):
        for _ in step:
            if len(graph.lines) > 50_000:
                yield "".join(graph.lines)
                graph.lines.clear()
    yield "".join(graph.lines)


def ties(informed: Iterable[tuple[str, str, str]]) -> str:
    """Return the lines that tie phases: (phase, `carriedFrom` or `launchedBy`, the earlier one)."""
    graph = Graph()
    for phase, name, earlier in informed:
        graph.say(phase, *_informed(name, earlier))
    return "".join(graph.lines)


def _informed(name: str, earlier: str | None) -> list[tuple[str, str | None]]:
    return [(name, _iri(earlier)), ("prov:wasInformedBy", _iri(earlier))] if earlier else []


def bundle_iri(run_iri: str) -> str:
    """Return the IRI of a run's graph: a prov:Bundle is an entity, so it is not the run activity's."""
    return run_iri + "/bundle"


def _iri(value: str) -> str:
    return f"<{value}>"


def _own_name(version: Version) -> bytes | None:
    """The last name of a version, where its File does not say it already."""
    name = version.last_name or None
    return None if set(version.names.values()) == {name} else name


def _path(name: str, value: bytes | None) -> tuple[str, str | None]:
    return turtle.text_or_encoded(name, value) if value is not None else (name, None)


class _Writer:
    """Writes the graph of one run, a kind of node after the other."""

    def __init__(self, graph: Graph, trace: Trace, identity: Identity, conclusions: Conclusions, ends: Ends) -> None:
        self.graph = graph
        self.trace = trace
        self.identity = identity
        self.out = conclusions
        run = trace.run
        self.left_out = left_out(run.get("detail", ""))
        self.user = identity.user(run.get("host", "host"), run.get("user", "user"))
        self.person = None if "user" in self.left_out else _iri(self.user)
        self.files: set[str] = set()
        self.image = _iri(identity.image(trace.image)) if trace.image else None
        self.strands: dict[str, list[tuple[str, Strand]]] = {}
        for iri, strand in conclusions.strands.items():
            self.strands.setdefault(trace.tasks[iri].process.iri, []).append((iri, strand))
        self.inside = MemberGraph(conclusions, Hand(graph.node, self._activity, _counters, self._program_iri))
        self.ends = ends

    def steps(self) -> Iterable[Iterable[None]]:
        """The parts of the graph; each yields now and then, so that its lines can be taken away."""
        for process in self.trace.processes.values():
            yield self._process(process)
            yield self._activities(process)
            yield self.inside.activities(process)
        yield self._versions()
        yield self.inside.members()
        yield SaidGraph(self.trace, self.out, self.graph.say, self.graph.lines.append).nodes()
        yield self._rest()

    def run(self) -> Iterator[None]:
        """What is said of the run itself, and of all that it began with."""
        run, graph = self.trace.run, self.graph
        ended = run.get("endedNs")
        graph.node(
            self.trace.iri,
            "Run",
            ("prov:startedAtTime", turtle.instant(int(run["startedNs"])) if "startedNs" in run else None),
            ("prov:endedAtTime", turtle.instant(int(ended)) if ended else None),
            *self._texts(
                run,
                "commandLine",
                "name",
                "campaign",
                "cwd",
                "cwdEncoded",
                "host",
                "system",
                "kernel",
                "cpu",
                "gitCommit",
                *JOB_FACTS,
                "detail",
            ),
            *((name, turtle.integer(int(run[name]))) for name in ("exitCode", "signal", "uid") if name in run),
            ("gitDirty", turtle.boolean(run["gitDirty"] == "true") if "gitDirty" in run else None),
            ("prov:wasAssociatedWith", self.person),
        )
        if self.person:
            name = turtle.literal(run.get("user", "user"))
            graph.node(self.user, "User", ("name", name), ("rdfs:label", name))
        graph.lines += [
            f"<{bundle_iri(self.trace.iri)}> <{RDF}type> <{PROV}{kind}> .\n" for kind in ("Bundle", "Entity")
        ]
        if RUN_ID.fullmatch(run.get("parentRun", "")):
            parent = self.trace.iri.rpartition("/")[0] + "/" + turtle.segment(run["parentRun"])
            graph.node(parent, "Run")
            graph.say(self.trace.iri, ("partOf", _iri(parent)), ("prov:wasInformedBy", _iri(parent)))
        for key, value in self.trace.environment.items():
            iri = f"{self.trace.iri}/environment/{turtle.segment(key)}"
            graph.node(iri, "Environment", ("name", turtle.literal(key)), ("value", turtle.literal(value)))
            graph.say(self.trace.iri, ("prov:used", _iri(iri)))
        yield

    def _texts(self, record: dict[str, str], *names: str) -> list[tuple[str, str | None]]:
        return [(name, turtle.literal(record[name])) for name in names if name in record]

    def _program_iri(self, program: str) -> str | None:
        """A program as what an activity or entity is tied to, where programs are recorded."""
        return None if "program" in self.left_out else _iri(program)

    def _whole(self, process: Process) -> str:
        """What the phases of a process are parts of: the run, where processes are left out."""
        return self.trace.iri if "process" in self.left_out and process.image != "task" else process.iri

    def _process(self, process: Process) -> Iterator[None]:
        program, whole = self.out.programs[process.iri], self._whole(process)
        if whole == process.iri:
            self._image(process)
        if self._program_iri(program.iri):
            self._program(process)
        for thread in () if "thread" in self.left_out else process.threads:
            acts = ("prov:actedOnBehalfOf", self._program_iri(program.iri))
            self.graph.node(thread.iri, "Thread", ("tid", turtle.integer(thread.tid)), acts)
        self._phases(process, program.iri)
        yield
        for iri, strand in self.strands.get(process.iri, ()):
            self._task(self.trace.tasks[iri], strand, program.iri)
            self._phases(strand.process, program.iri)
            yield

    def _image(self, process: Process) -> None:
        record, program = process.record, self.out.programs[process.iri]
        self.graph.node(
            process.iri,
            "Process",
            ("partOf", _iri(self.trace.iri)),
            ("pid", turtle.integer(process.pid)),
            ("startTick", turtle.integer(process.tick)),
            *self._texts(record, "argv", "cwd", "cwdEncoded", "host"),
            ("rank", turtle.integer(int(record["rank"])) if "rank" in record else None),
            ("prov:startedAtTime", turtle.instant(process.started)),
            ("prov:endedAtTime", turtle.instant(process.ended)),
            *self._end(process),
            ("prov:wasAssociatedWith", self._program_iri(program.iri)),
        )

    def _phases(self, process: Process, program: str) -> None:
        for phase in self.out.phases[process.iri]:
            self._phase(phase, program, self._whole(process))
        for phase in self.out.finer.get(process.iri, ()):
            self._phase(phase, program, phase.iri.rpartition("/")[0])

    def _task(self, task: Task, strand: Strand, program: str) -> None:
        """A Task as a whole; what it used and generated its parts say."""
        record, graph = task.record, self.graph
        name = path_of(record, "name") or b"task"
        graph.node(
            strand.process.iri,
            "Task",
            ("partOf", _iri(task.part_of + "/" if task.part_of in self.out.strands else self._whole(task.process))),
            ("rdfs:label", turtle.literal(name.decode("utf-8", "replace"))),
            _path("name", name),
            *(_path(word, path_of(record, word)) for word in ("kind", "sourceText")),
            ("number", turtle.integer(int(record["number"])) if "number" in record else None),
            ("status", turtle.literal(record["status"]) if "status" in record else None),
            ("prov:startedAtTime", turtle.instant(task.started)),
            ("prov:endedAtTime", turtle.instant(max(task.started, strand.ended))),
            ("prov:wasAssociatedWith", self._program_iri(program)),
        )

    def _program(self, process: Process) -> None:
        graph, program = self.graph, self.out.programs[process.iri]
        label = turtle.literal(program.label)
        graph.node(program.iri, "Program", ("rdfs:label", label), _path("path", program.path))
        graph.say(program.iri, ("prov:actedOnBehalfOf", self.person))
        if "process" in self.left_out:
            return
        association = process.iri + "association"
        graph.lines.append(f"<{association}> <{RDF}type> <{PROV}Association> .\n")
        graph.say(process.iri, ("prov:qualifiedAssociation", _iri(association)))
        graph.say(association, ("prov:agent", _iri(program.iri)))
        if program.plan:
            graph.say(association, ("prov:hadPlan", _iri(program.plan.version)))
            graph.lines.append(f"<{program.plan.version}> <{RDF}type> <{PROV}Plan> .\n")

    def _end(self, process: Process) -> list[tuple[str, str | None]]:
        """How a process ended."""
        record = self.ends.of(process)
        return [(name, turtle.integer(int(record[name]))) for name in ("exitCode", "signal") if name in record]

    def _phase(self, phase: Phase, program: str, whole: str) -> None:
        graph, alone = self.graph, self._only_thread(phase.process)
        graph.node(
            phase.iri,
            "Task" if phase.process.image == "task" else "Phase",
            ("partOf", _iri(whole)),
            ("prov:startedAtTime", turtle.instant(phase.start)),
            ("prov:endedAtTime", turtle.instant(max(phase.end, phase.start))),
            ("prov:wasAssociatedWith", self._program_iri(program)),
            ("prov:wasAssociatedWith", _iri(alone.iri) if alone else None),
            *(("prov:used", _iri(version)) for version in phase.used),
            ("prov:used", self.image if phase.process.iri in self.trace.contained else None),
            *(("ran", _iri(code.version)) for code in self._code(phase)),
        )
        if phase.continued and phase.carried_from:
            graph.say(phase.iri, ("continuedFrom", _iri(phase.carried_from)))
        for name, earlier in (("carriedFrom", phase.carried_from), ("launchedBy", phase.launched_by)):
            graph.say(phase.iri, *_informed(name, earlier))
        for task in phase.joined:
            graph.say(phase.iri, *_informed("carriedFrom", task))

    def _code(self, phase: Phase) -> tuple[Code, ...]:
        """What is said of the first phase of a process alone: the others carry it on."""
        phases = self.out.phases[phase.process.iri], self.out.finer.get(phase.process.iri, (None,))
        first = phase.process.image != "task" and any(phase is known[0] for known in phases)
        return self.out.programs[phase.process.iri].code if first else ()

    def _versions(self) -> Iterator[None]:
        for version in (*self.out.told(), *self.out.contributions):
            self._version(version)
            yield

    def _version(self, version: Version) -> None:
        graph = self.graph
        graph.node(
            version.iri,
            "FileVersion",
            ("size", turtle.integer(version.facts.size)),
            ("modified", turtle.instant(version.facts.mtime)),
            _path("path", _own_name(version)),
            ("sha256", turtle.literal(version.sha256) if version.sha256 else None),
            ("noise", turtle.boolean(True) if version.noise else None),
            ("inode", None if version.noise else turtle.integer(version.facts.inode)),
            ("format", turtle.literal("HDF5") if version.iri in self.out.known else None),
            ("prov:wasGeneratedBy", _iri(version.generated_by) if version.generated_by else None),
            ("madeIn", self._made_in(version.iri)),
            ("prov:wasAttributedTo", self._program_iri(version.attributed_to) if version.attributed_to else None),
            *(("prov:specializationOf", _iri(file)) for file in version.names),
        )
        for _, other in version.retimed:
            graph.say(version.iri, ("prov:alternateOf", _iri(other)))
        for earlier in version.revision_of:
            graph.say(version.iri, ("prov:wasRevisionOf", _iri(earlier)), ("prov:wasDerivedFrom", _iri(earlier)))
        for gone in version.without or ():
            graph.say(version.iri, ("without", _iri(gone)))
        for file, path in version.names.items():
            self._file(file, path)

    def _made_in(self, entity: str) -> str | None:
        """The finer phase that finished it, where its process has finer ones."""
        phase = self.out.made_in.get(entity)
        return _iri(phase) if phase else None

    def _file(self, file: str, path: bytes) -> None:
        if file not in self.files:
            self.files.add(file)
            self.graph.node(file, "File", _path("path", path))

    def _activities(self, process: Process) -> Iterator[None]:
        seen = set(map(id, process.openings)) if process.containers else ()
        for opening in (*process.openings, *(one for one in process.containers if id(one) not in seen)):
            self._opening(opening)
            yield
        for event in process.events:
            self._event(event)
        self._failures(process)
        yield

    def _opening(self, opening: Opening) -> None:
        entity = self._entity(opening)
        thread = opening.accesses[0].thread.iri if opening.accesses else None
        opened = opening.api or ("api" in self.left_out and not opening.inherited)
        if opened and thread:
            counters = {"elapsed": opening.elapsed}
            made = next((access.task for access in opening.accesses if "closed" in access.counts), "")
            acting = self.out.acting(opening.process, made)
            api = opening.api or ""
            self._activity(opening.iri + "/open", "Open", acting, thread, api, counters, opening.opened, entity)
        for access in opening.accesses:
            self._access(access, entity)

    def _entity(self, opening: Opening) -> str | None:
        """The version that an opening's activities touched: what it left, or else what it found."""
        if opening.kind != "FileVersion":
            return None
        for facts in (opening.at_close, opening.settled, opening.facts):
            moment = opening.closed or opening.opened
            version = self.out.version_at(self.identity.version(facts), moment) if facts else None
            if version:
                return version.iri
        return None

    def _access(self, access: Access, entity: str | None) -> None:
        process, thread = access.opening.process, access.thread.iri
        for kind, name, first, last in (
            ("Read", "read", access.first_read, access.last_read),
            ("Write", "write", access.first_write, access.last_write),
        ):
            if first:
                counters = _counters(access, name)
                seen = self.identity.version(access.opening.facts) if kind == "Read" else None
                target = seen if seen in self.out.versions else entity or self._channel(access, kind)
                api = access.counts.get(name + "Api", name)
                acting = self.out.acting(process, access.task)
                self._activity(f"{access.iri}/{name}", kind, acting, thread, api, counters, first, target, last)
        if access.count("count") and access.counts["a"] == "Copy":
            self._copied(access, entity)
        elif access.operation and access.count("count"):
            counters = {name: access.count(name) for name in ("count", "bytes", "elapsed") if name in access.counts}
            if counters["count"] > 1:
                counters["maxElapsed"] = access.count("longest")
            start, end = access.moments()
            kind, api, acting = access.operation, access.counts.get("api", ""), self.out.acting(process, access.task)
            self._activity(f"{access.iri}/call", kind, acting, thread, api, counters, start, entity, end)

    def _channel(self, access: Access, kind: str) -> str | None:
        """The pipe or direction of a connection that was written into or read from; its end is nothing read."""
        written, read = self.out.channels.get(access.opening.iri, (None, None))
        if kind == "Write":
            return written
        return read if access.count("readBytes") or "reads" not in access.counts else None

    def _failures(self, process: Process) -> None:
        """What failed on a file is said of it; the rest is summed over the process."""
        sums: dict[tuple[str, str, int], list[int]] = {}
        for failure in process.failures:
            entity = self._entity(failure.opening) if failure.opening and failure.kind in INFLUENCES else None
            if failure.member and failure.kind in INFLUENCES:
                known = self.out.made_as, self.out.read_as
                entity = next((found[failure.member.iri] for found in known if failure.member.iri in found), None)
            if entity is None:
                total = sums.setdefault((failure.kind, failure.api, failure.errno), [0])
                total[0] += failure.count
            elif failure.count:
                self._failed(
                    process, failure.iri, failure.kind, failure.thread.iri, failure.api, failure.errno, failure.count
                )
                self.graph.say(entity, (INFLUENCES[failure.kind], _iri(failure.iri)))
        for (kind, api, error), (count,) in sums.items():
            name = turtle.segment(api or kind.lower())
            self._failed(process, f"{process.iri}failed/{name}.{error}", kind, None, api, error, count)

    def _failed(
        self, process: Process, iri: str, kind: str, thread: str | None, api: str, error: int, count: int
    ) -> None:
        """Calls that failed: of a thread, or of the whole process."""
        agent = self._program_iri(self.out.programs[process.iri].iri)
        if thread and "thread" not in self.left_out:
            agent = _iri(thread)
        kind = "IOActivity" if kind == "Copy" else kind  # a Copy is what made something
        self.graph.node(
            iri,
            kind,
            ("api", self._api(api)),
            ("errors", turtle.integer(count)),
            ("errno", turtle.integer(error)),
            ("prov:wasAssociatedWith", agent),
            ("partOf", _iri(self._whole(process))),
        )

    def _copied(self, access: Access, entity: str | None) -> None:
        """What the kernel copied was read and written, though by no process's hand."""
        copy = next((c for c in access.opening.copied_from if c.access is access), None)
        if copy is None:  # its source was in a damaged part of the trace
            return
        counters = {name: access.count(name) for name in ("count", "bytes", "elapsed")}
        api, thread = access.counts.get("api", "copy"), access.thread.iri
        for kind, target in (("Read", self._entity(copy.source)), ("Write", entity)):
            iri = f"{access.iri}/{kind.lower()}"
            acting = self.out.acting(access.thread.process, access.task)
            self._activity(iri, kind, acting, thread, api, counters, copy.first, target, copy.last)

    def _activity(
        self, iri: str, kind: str, process: Process, thread: str, api: str, counters: dict[str, int], start: int,
        entity: str | None, end: int | None = None, phase: Phase | None = None,
    ) -> None:  # fmt: skip
        graph, alone = self.graph, self._only_thread(process)
        phased = "thread" in self.left_out or (alone and alone.iri == thread)  # then the phase says who
        timed = "duration" not in self.left_out
        graph.node(
            iri,
            kind,
            ("api", self._api(api)),
            *((name, turtle.integer(value)) for name, value in counters.items() if timed or name not in DURATIONS),
            ("prov:startedAtTime", turtle.instant(start)),
            ("prov:endedAtTime", turtle.instant(max(start, end)) if end and counters.get("count") != 1 else None),
            ("prov:wasAssociatedWith", None if phased else _iri(thread)),
            ("partOf", _iri((phase or self.out.phase_at(process, start)).iri)),
        )
        if entity and kind in INFLUENCES:
            graph.say(entity, (INFLUENCES[kind], _iri(iri)))

    def _api(self, api: str) -> str | None:
        return None if "api" in self.left_out else turtle.literal(api)

    def _only_thread(self, process: Process) -> Thread | None:
        """The thread of a process that has one: its phases name it, so that each of its calls need not."""
        return process.threads[0] if len(process.threads) == 1 and "thread" not in self.left_out else None

    def _event(self, event: Event) -> None:
        if event.kind not in SINGLE_CALLS:
            return
        facts = event.facts()
        known = self.out.version_at(self.identity.version(facts), event.at) if facts else None
        counters = {"elapsed": event.number("elapsed")}
        api = event.record.get("api", event.kind.lower())
        entity = known.iri if known else None
        acting = self.out.acting(event.process, event.task)
        self._activity(event.iri, event.kind, acting, event.thread.iri, api, counters, event.at, entity)
        for name in ("from", "to", "path"):
            value = event.text(name)
            if value is not None:
                self.graph.say(event.iri, _path(name, os.path.normpath(value)))
        if event.kind == "Delete" and known and event.number("links", 1) == 0:
            self.graph.say(known.iri, ("prov:wasInvalidatedBy", _iri(event.iri)))

    def _image_of_container(self) -> None:
        """The image that the processes in its container used, and its own files among the versions of the run."""
        record, iri = self.trace.image, self.identity.image(self.trace.image)
        labels = record.get("imageLabel", "").split("\n")
        members = (version for version in self.out.versions.values() if self._is_of_image(version))
        self.graph.node(
            iri,
            "Image",
            ("rdfs:label", turtle.literal(os.path.basename(record.get("path", "")) or record.get("name", "image"))),
            *self._texts(record, "name", "path", "pathEncoded", "digest", "recipe", "runtime"),
            *(("imageLabel", turtle.literal(label)) for label in labels if label),
            *(("prov:hadMember", _iri(version.iri)) for version in members),
        )

    def _is_of_image(self, version: Version) -> bool:
        if version.facts.device in self.trace.image_devices:
            return True
        roots = [root + b"/" for root in self.trace.roots]
        return any(path.startswith(root) for path in version.names.values() for root in roots)

    def _rest(self) -> Iterator[None]:
        graph = self.graph
        if self.trace.image:
            self._image_of_container()
        for copy in self.out.copies:
            graph.node(
                copy.iri,
                "Copy",
                ("partOf", _iri(self._whole(copy.process))),
                ("prov:startedAtTime", turtle.instant(copy.start)),
                ("prov:endedAtTime", turtle.instant(copy.end)),
                ("prov:wasAssociatedWith", self._program_iri(self.out.programs[copy.process.iri].iri)),
                *(("prov:used", _iri(source)) for source in copy.used),
                *_informed("launchedBy", copy.launched_by),
            )
        for segment in self.out.segments:
            made = ("prov:wasGeneratedBy", _iri(segment.generated_by))
            noise = ("noise", turtle.boolean(True) if segment.noise else None)
            graph.node(segment.iri, segment.kind, _path("path", segment.path), made, noise)
            graph.say(segment.iri, ("prov:wasAttributedTo", self._program_iri(segment.program)))
            graph.say(segment.iri, ("prov:specializationOf", _iri(segment.channel)))
            graph.say(segment.iri, ("madeIn", self._made_in(segment.iri)))
        for channel in dict.fromkeys(name for names in self.out.channels.values() for name in names if name):
            graph.node(channel, "Channel")
        for alias, channel in sorted(self.out.aliases):
            graph.node(alias, "Channel", ("prov:alternateOf", _iri(channel)))
        for version, other in self.out.shown:
            graph.say(version, ("mapsOnto", _iri(other)), ("prov:wasDerivedFrom", _iri(other)))
        for iri, about, reason in (*self.trace.gaps, *self.out.gaps):
            graph.node(iri, "Gap", ("reason", turtle.literal(reason)), ("about", _iri(about)))
        yield
