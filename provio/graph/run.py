"""Write the named graph of one run as N-Triples lines (`docs/graph.md` describes its content)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from urllib.parse import unquote

from provio.base import turtle
from provio.base.vocab import PROV
from provio.graph.calls import CallGraph, counters_of
from provio.graph.declarations import DeclarationGraph
from provio.graph.lines import OWN, Graph, Pair, RunGraph, bundle_iri, informed, path_if_known
from provio.graph.members import Hand, MemberGraph
from provio.graph.tasks import TaskGraph
from provio.graph.whole import Whole
from provio.lineage.conclusions import conclude_lone
from provio.lineage.identity import VERSION, Identity, without_task
from provio.lineage.model import Code, Conclusions, Phase, Strand, Version
from provio.settings.home import RUN_ID
from provio.system import jobs
from provio.system.packages import of_purl
from provio.system.statx import Record
from provio.trace import read as traces
from provio.trace.facts import Process
from provio.trace.run_facts import Membership, Trace

CLOCK = ("clockOffset", "clockWithin")
JOB_FACTS = ("jobId", "jobArrayIndex", "jobNodes", "jobPartition", "jobAccount", "jobResources")


def triples(
    trace: Trace, identity: Identity, conclusions: Conclusions, whole: Whole, of_run: bool = False
) -> Iterator[str]:
    """Yield the lines of the graph of a partition of a run, in pieces of bounded size.

    Marks in each piece separate the statements that belong to the run from those about shared entities. The lines
    describe the processes and versions in the partition, and with `of_run` also the run itself and its ranks.
    """
    graph = RunGraph(trace.iri)
    writer = _Writer(graph, trace, identity, conclusions, whole)
    for step in chain((writer.run(), writer.ranks()) if of_run else (), writer.steps()):
        for _ in step:
            if len(graph.lines) + len(graph.shared) > 12_500:
                yield graph.take()
    yield graph.take()


def ties(tied: Iterable[tuple[str, str, str]]) -> str:
    """Return the lines that tie phases of the run: (phase, `carriedFrom` or `launchedBy`, the earlier phase)."""
    graph = Graph()
    for phase, name, earlier in tied:
        graph.add(phase, *informed(name, earlier))
    return OWN + "".join(graph.lines)


def _own_name(version: Version) -> bytes | None:
    """Return the last name of a version; None where its File already states it."""
    if len(version.sightings) == 1:
        return None
    name = version.last_name or None
    return None if set(version.names.values()) == {name} else name


class _Writer:
    """Writes the graph of one run, one kind of node after the other."""

    def __init__(self, graph: Graph, trace: Trace, identity: Identity, conclusions: Conclusions, whole: Whole) -> None:
        self.graph = graph
        self.trace = trace
        self.identity = identity
        self.out = conclusions
        run = trace.run
        self.calls = CallGraph(graph, trace, identity, conclusions)
        self.kept = self.calls.kept
        self.tasks = TaskGraph(graph, conclusions, self.kept)
        self.user = identity.user(run.get("host", "host"), run.get("user", "user"))
        self.person = None if "user" in self.kept.left_out else f"<{self.user}>"
        self.files: set[str] = set()
        self.packages: set[str] = set()
        self.image = f"<{identity.image(trace.image)}>" if trace.image else None
        self.strands: dict[str, list[tuple[str, Strand]]] = {}
        for iri, strand in conclusions.strands.items():
            self.strands.setdefault(trace.tasks[iri].process.iri, []).append((iri, strand))
        self.inside = MemberGraph(conclusions, Hand(graph.node, self.calls.activity, counters_of, self.kept.program))
        self.whole = whole
        self.acting = {} if "rank" in self.kept.left_out else whole.ranks.of

    def steps(self) -> Iterable[Iterable[None]]:
        """Yield the parts of the graph; each yields from time to time, so that the caller can take the lines."""
        for process in self.trace.processes.values():
            yield self._process(process)
            yield self.calls.activities(process)
            yield self._lone(process)
            yield self.inside.activities(process)
        yield self._versions()
        yield self.inside.members()
        yield DeclarationGraph(self.trace, self.out, self.graph.add).nodes()
        yield self._rest()

    def _lone(self, process: Process) -> Iterator[None]:
        """Write the lone files of a process, and the process's activities on them."""
        for part, others in traces.lone_files(self.trace, process):
            found = conclude_lone(part, others, self.identity, self.out)
            writer = _Writer(self.graph, part, self.identity, found, self.whole)
            writer.calls.usual = self.calls.usual
            for opening in part.openings():
                writer.calls.opening(opening)
                yield
            for one in found.inputs[process.iri]:
                use = "usedAsNoise" if one.noise else "prov:used"
                for phase in {found.phase_at(process, moment).iri for moment in (one.first, one.last)}:
                    self.graph.add(phase, (use, f"<{one.version}>"))
            yield from writer._versions()

    def run(self) -> Iterator[None]:
        """Write the run itself, and the facts at its start."""
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
                "redirections",
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
        graph.add(bundle_iri(self.trace.iri), ("a", f"<{PROV}Bundle>"))
        if RUN_ID.fullmatch(run.get("parentRun", "")):
            parent = self.trace.iri.rpartition("/")[0] + "/" + turtle.segment(run["parentRun"])
            graph.node(parent, "Run")
            graph.add(self.trace.iri, ("partOf", f"<{parent}>"), ("prov:wasInformedBy", f"<{parent}>"))
        for key, value in self.trace.environment.items():
            iri = f"{self.trace.iri}/environment/{turtle.segment(key)}"
            graph.node(iri, "Environment", ("name", turtle.literal(key)), ("value", turtle.literal(value)))
            graph.add(self.trace.iri, ("prov:used", f"<{iri}>"))
        for job in self._jobs():
            self._job(f"{self.trace.iri}/job/{turtle.segment(jobs.key(job))}", job)
        for libraries, loaded in self.trace.libraries.items():
            members = (("prov:hadMember", f"<{self.identity.version(one.facts)}>") for one in loaded)
            graph.node(libraries, "Libraries", *members)
        for host, record in self.trace.hosts.items():
            self._host(f"{self.trace.iri}/{host}/host", unquote(host), record)
        yield

    def ranks(self) -> Iterator[None]:
        """Write the ranks."""
        for process, program in self.out.programs.items() if self.acting else ():
            if "program" not in self.kept.left_out:
                self.whole.ranks.acting(process, program.iri)
        yield from self.whole.ranks.add(self.graph.node, self.graph.add, self.person) if self.acting else ()

    def _host(self, iri: str, name: str, record: Record) -> None:
        """Write a host that took part, with the measurements of its clock."""
        called = turtle.literal(name)
        measured = [(word, turtle.integer(int(record[word]))) for word in CLOCK if word in record]
        self.graph.node(iri, "Host", ("name", called), ("rdfs:label", called), *measured)
        self.graph.add(self.trace.iri, ("prov:atLocation", f"<{iri}>"))

    def _jobs(self) -> list[dict[str, str]]:
        """Return the facts of the run's own job, and of those that joined it."""
        own = {name: self.trace.run[name] for name in JOB_FACTS if name in self.trace.run}
        return [*([own] if "jobId" in own else []), *self.trace.jobs.values()]

    def _job(self, iri: str, job: dict[str, str]) -> None:
        label = f"job {job['jobId']}" + (f"[{job['jobArrayIndex']}]" if "jobArrayIndex" in job else "")
        self.graph.node(iri, "Job", ("rdfs:label", turtle.literal(label)), *self._texts(job, *JOB_FACTS))
        self.graph.add(self.trace.iri, ("inJob", f"<{iri}>"))

    def _texts(self, record: dict[str, str], *names: str) -> list[Pair]:
        return [(name, turtle.literal(record[name])) for name in names if name in record]

    def _process(self, process: Process) -> Iterator[None]:
        program, whole = self.out.programs[process.iri], self.kept.whole(process)
        if whole == process.iri:
            self._image(process)
        if self.kept.program(program.iri):
            self._program(process)
        for thread in () if "thread" in self.kept.left_out else process.threads:
            acts = ("prov:actedOnBehalfOf", self.kept.program(program.iri))
            self.graph.node(thread.iri, "Thread", ("tid", turtle.integer(thread.tid)), acts)
        self._phases(process, program.iri)
        yield
        for iri, strand in self.strands.get(process.iri, ()):
            if not self.tasks.node(self.trace.tasks[iri], strand, program.iri):
                self._phases(strand.process, program.iri)
            yield

    def _image(self, process: Process) -> None:
        record, program = process.record, self.out.programs[process.iri]
        ended, end = self.whole.ends.of(process)
        self.graph.node(
            process.iri,
            "Process",
            ("partOf", f"<{self.trace.iri}>"),
            ("pid", turtle.integer(process.pid)),
            ("startTick", turtle.integer(process.tick)),
            *self._texts(record, "argv", "cwd", "cwdEncoded", "host", "jobId", "jobArrayIndex"),
            *((name, turtle.integer(int(record[name]))) for name in ("rank", "peakMemory") if name in record),
            ("prov:startedAtTime", turtle.instant(process.started)),
            ("prov:endedAtTime", turtle.instant(ended)),
            *((name, turtle.integer(int(end[name]))) for name in ("exitCode", "signal") if name in end),
            ("prov:wasAssociatedWith", self.kept.program(program.iri)),
        )

    def _phases(self, process: Process, program: str) -> None:
        noise: dict[str, bool] = {}  # whether an input is noise depends on the process
        for found in self.out.inputs.get(process.iri, ()):
            noise[found.version] = noise.get(found.version, True) and found.noise
        for phase in self.out.phases[process.iri]:
            self._phase(phase, program, self.kept.whole(process), noise)
        for phase in self.out.finer.get(process.iri, ()):
            self._phase(phase, program, phase.iri.rpartition("/")[0], noise)

    def _program(self, process: Process) -> None:
        graph, program = self.graph, self.out.programs[process.iri]
        label = turtle.literal(program.label)
        graph.node(program.iri, "Program", ("rdfs:label", label), path_if_known("path", program.path))
        graph.add(program.iri, ("prov:actedOnBehalfOf", self.person))
        if "process" in self.kept.left_out:
            return
        association = process.iri + "association"
        graph.add(association, ("a", f"<{PROV}Association>"))
        graph.add(process.iri, ("prov:qualifiedAssociation", f"<{association}>"))
        graph.add(association, ("prov:agent", f"<{program.iri}>"))
        if program.plan:
            graph.add(association, ("prov:hadPlan", f"<{program.plan.version}>"))
            graph.add(program.plan.version, ("a", f"<{PROV}Plan>"))

    def _phase(self, phase: Phase, program: str, whole: str, noise: dict[str, bool]) -> None:
        graph, alone = self.graph, self.kept.only_thread(phase.process)
        code, libraries = (
            (self.out.programs[phase.process.iri].code, phase.process.libraries) if self._is_first(phase) else ((), ())
        )
        rank = self.acting.get(without_task(phase.process.iri)) if self.acting else None
        graph.node(
            phase.iri,
            "Task" if phase.process.image == "task" else "Phase",
            ("partOf", f"<{whole}>"),
            ("prov:startedAtTime", turtle.instant(phase.start)),
            ("prov:endedAtTime", turtle.instant(max(phase.end, phase.start))),
            ("prov:wasAssociatedWith", self.kept.program(program)),
            ("prov:wasAssociatedWith", f"<{alone.iri}>" if alone else None),
            ("prov:wasAssociatedWith", f"<{rank}>" if rank else None),
            *((self._use(version, noise), f"<{version}>") for version in phase.used),
            ("prov:used", self.image if phase.process.iri in self.trace.contained else None),
            *(("ranAsNoise" if self._is_noise(one.version) else "ran", f"<{one.version}>") for one in code),
            *(("loaded", f"<{loaded}>") for loaded in libraries),
        )
        if phase.continued and phase.carried_from:
            graph.add(phase.iri, ("continuedFrom", f"<{phase.carried_from}>"))
        for name, earlier in (("carriedFrom", phase.carried_from), ("launchedBy", phase.launched_by)):
            graph.add(phase.iri, *informed(name, earlier))
        for task in phase.joined:
            graph.add(phase.iri, *informed("carriedFrom", task))

    def _use(self, entity: str, noise: dict[str, bool]) -> str:
        version = entity.partition("#")[0]
        as_noise = noise[version] if version in noise else self._is_noise(version)
        return "usedAsNoise" if as_noise else "prov:used"

    def _run(self, code: Code) -> str:
        return "ranAsNoise" if self._is_noise(code.version) else "ran"

    def _is_noise(self, iri: str) -> bool:
        version = self.out.versions.get(iri)
        return version is not None and version.noise

    def _is_first(self, phase: Phase) -> bool:
        """Return whether a phase is the first of its process: only that one states the code, as the others carry it
        on."""
        phases = self.out.phases[phase.process.iri], self.out.finer.get(phase.process.iri, (None,))
        return phase.process.image != "task" and any(phase is known[0] for known in phases)

    def _versions(self) -> Iterator[None]:
        for version in (*self.out.described(), *self.out.contributions):
            self._version(version)
            yield

    def _version(self, version: Version) -> None:
        graph, names = self.graph, version.names
        graph.node(
            version.iri,
            "FileVersion",
            ("size", turtle.integer(version.facts.size)),
            ("modified", turtle.instant(version.facts.mtime)),
            path_if_known("path", _own_name(version)),
            ("sha256", turtle.literal(version.sha256) if version.sha256 else None),
            *(("metadata", turtle.literal(f"{name}={text}")) for name, text in version.metadata.items()),
            ("format", turtle.literal("HDF5") if version.iri in self.out.known else None),
            *(self._member(version.member) if version.member else ()),
            ("prov:wasGeneratedBy", f"<{version.generated_by}>" if version.generated_by else None),
            ("madeIn", self._made_in(version.iri)),
            ("prov:wasAttributedTo", self.kept.program(version.attributed_to) if version.attributed_to else None),
            *(("prov:specializationOf", f"<{file}>") for file in names),
        )
        if not version.noise:
            graph.version(version.iri, self._writer_start(version))
        for _, other in version.retimed:
            graph.add(version.iri, ("prov:alternateOf", f"<{other}>"))
        for earlier in version.revision_of:
            graph.add(version.iri, ("prov:wasRevisionOf", f"<{earlier}>"), ("prov:wasDerivedFrom", f"<{earlier}>"))
        for removed in version.without or ():
            graph.add(version.iri, ("without", f"<{removed}>"))
        for file, path in names.items():
            self._file(file, path)

    def _member(self, member: Membership) -> Iterator[Pair]:
        """Yield the properties of a version that is a part of a package; describe each package once."""
        if member.build_id:
            yield "buildId", turtle.literal(member.build_id)
        if member.purl and member.purl not in self.packages:
            package = of_purl(member.purl)
            self.packages.add(member.purl)
            version = turtle.literal(package.version)
            about = ("name", turtle.literal(package.name)), ("packageVersion", version)
            self.graph.node(package.purl, "Package", *about, ("kind", turtle.literal(package.kind)))
        if member.purl:
            yield "inPackage", f"<{member.purl}>"

    def _writer_start(self, version: Version) -> int | None:
        """Return the earliest moment at which a writer in the run may have started to make a version; None without a
        writer."""
        if version.generated_by is None:
            return None
        earlier = (int(found["mtime"]) for found in map(VERSION.match, version.revision_of) if found)
        return max(earlier, default=self.whole.start)  # the kept content existed before the writer started

    def _made_in(self, entity: str) -> str | None:
        """Return the finer phase that finished an entity; None where its process has no finer phases."""
        phase = self.out.made_in.get(entity)
        return f"<{phase}>" if phase else None

    def _file(self, file: str, path: bytes) -> None:
        if file not in self.files:
            self.files.add(file)
            self.graph.node(file, "File", path_if_known("path", path))

    def _image_of_container(self) -> None:
        """Write the image that the processes in its container used, with its files among the versions of the run."""
        record, iri = self.trace.image, self.identity.image(self.trace.image)
        labels = record.get("imageLabel", "").split("\n")
        members = (version for version in self.out.versions.values() if self._is_of_image(version))
        self.graph.node(
            iri,
            "Image",
            ("rdfs:label", turtle.literal(os.path.basename(record.get("path", "")) or record.get("name", "image"))),
            *self._texts(record, "name", "path", "pathEncoded", "digest", "recipe", "runtime"),
            *(("imageLabel", turtle.literal(label)) for label in labels if label),
            *(("prov:hadMember", f"<{version.iri}>") for version in members),
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
                ("partOf", f"<{self.kept.whole(copy.process)}>"),
                ("prov:startedAtTime", turtle.instant(copy.start)),
                ("prov:endedAtTime", turtle.instant(copy.end)),
                ("prov:wasAssociatedWith", self.kept.program(self.out.programs[copy.process.iri].iri)),
                *((self._use(source, {}), f"<{source}>") for source in copy.used),
                *informed("launchedBy", copy.launched_by),
            )
        for segment in self.out.segments:
            made = ("prov:wasGeneratedBy", f"<{segment.generated_by}>" if segment.generated_by else None)
            noise = ("noise", turtle.boolean(True) if segment.noise else None)
            graph.node(segment.iri, segment.kind, path_if_known("path", segment.path), made, noise)
            graph.add(segment.iri, *(("prov:wasDerivedFrom", f"<{part}>") for part in segment.parts))
            if segment.program:
                graph.add(segment.iri, ("prov:wasAttributedTo", self.kept.program(segment.program)))
            if segment.kind != "Memory":
                graph.add(segment.iri, ("prov:specializationOf", f"<{segment.channel}>"))
            graph.add(segment.iri, ("madeIn", self._made_in(segment.iri)))
        for channel in dict.fromkeys(name for names in self.out.channels.values() for name in names if name):
            graph.node(channel, "Channel")
        for alias, channel in sorted(self.out.aliases):
            graph.node(alias, "Channel", ("prov:alternateOf", f"<{channel}>"))
        for version, other in self.out.shown:
            graph.add(version, ("mapsOnto", f"<{other}>"), ("prov:wasDerivedFrom", f"<{other}>"))
        for iri, about, reason in (*self.trace.gaps, *self.out.gaps):
            graph.node(iri, "Gap", ("reason", turtle.literal(reason)), ("about", f"<{about}>"))
        yield
