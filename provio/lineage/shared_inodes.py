"""Draw the conclusions about files that many processes use and some of them write, before those about the processes.

The input is all accesses to these files alone. The result is the inputs, spans and products of each process with
respect to these files, so that a partition of the run can be described without the others. The rules are the same as
for any other file, in the same order. Conclusions that depend on all activities of a process (its phases) remain
pending until the process is described.
"""

from __future__ import annotations

from collections.abc import Iterator

from provio.base.records import field, plain
from provio.lineage.clocks import Clocks
from provio.lineage.code import Noise
from provio.lineage.identity import Identity
from provio.lineage.model import Conclusions, ProgramFacts, Span, inode_of
from provio.lineage.names import name
from provio.lineage.phases import seen
from provio.lineage.ranks import took_part
from provio.lineage.same_key import part
from provio.lineage.spans import gather
from provio.lineage.versions import Making, make, makings
from provio.trace import hosts
from provio.trace.facts import Process
from provio.trace.run_facts import Trace


@plain()
class Shared:
    """The conclusions about such files.

    `inodes` are the files, as hashes; `out` are the conclusions that need no phases. `spans` and `made` have the
    spans and products of each process, by its IRI.
    """

    inodes: frozenset[int] = frozenset()
    out: Conclusions = field(default_factory=lambda: Conclusions({}))
    spans: dict[str, list[Span]] = field(default_factory=dict)
    made: dict[str, list[Making]] = field(default_factory=dict)

    def join(self, trace: Trace, identity: Identity, conclusions: Conclusions) -> None:
        """Add to the processes of a partition their inputs and spans of these files, and the versions that these
        refer to.

        Each is removed here when it is added, because each process is in one partition.
        """
        wanted: dict[str, None] = {}
        for process in trace.processes.values() if self.inodes else ():
            inputs, spans = self.out.inputs.pop(process.iri, []), self.spans.pop(process.iri, [])
            conclusions.inputs[process.iri] += inputs
            conclusions.spans += spans
            conclusions.seen[process.iri] = self.out.seen.pop(process.iri, set())
            wanted.update(dict.fromkeys(one.version for one in inputs))
            wanted.update(dict.fromkeys(self._made(process)))
            wanted.update(dict.fromkeys(_met(process, identity, conclusions)))
        for iri in wanted:
            self._take(iri, conclusions)
        conclusions.owners, conclusions.took_part = self.out.owners, self.out.took_part

    def _made(self, process: Process) -> Iterator[str]:
        """Yield the versions that a process made or contributed to, and their previous versions."""
        for version, writer in self.made.get(process.iri, ()):
            iri = version.iri if writer else self.out.owners[version.iri]
            yield iri
            yield from (one for one in self.out.versions[iri].revision_of if one not in self.out.owners)

    def _take(self, iri: str, conclusions: Conclusions) -> None:
        parts = self.out.parts.get(iri, [])
        if parts:
            conclusions.parts[iri] = parts
        for version in parts or [self.out.versions[one] for one in (iri,) if one in self.out.versions]:
            conclusions.versions[version.iri] = version
            conclusions.elsewhere.add(version.iri)

    def make(self, trace: Trace, conclusions: Conclusions) -> None:
        """Set the phases in which the processes of a partition made their products."""
        for iri in trace.processes if self.inodes else ():
            for version, writer in self.made.pop(iri, ()):
                make(conclusions, version, writer)


def _met(process: Process, identity: Identity, conclusions: Conclusions) -> Iterator[str]:
    """Yield the versions of such files that a process may have used."""
    for opening in (*process.openings, *process.containers):
        if conclusions.is_separate(opening.facts):
            known = (opening.facts, opening.at_close, opening.settled)
            yield from (identity.version(facts) for facts in known if facts)
    for event in process.events:
        facts = event.facts()
        if facts and conclusions.is_separate(facts):
            yield identity.version(facts)


def conclude(
    trace: Trace, identity: Identity, programs: dict[str, ProgramFacts], noise: Noise, ends: dict[str, int],
    inodes: frozenset[int],
) -> Shared:  # fmt: skip
    """Return the conclusions about the files of `inodes`; the trace holds the facts of all processes that concern
    them.

    The trace is emptied and must not be used afterwards.
    """
    out = Conclusions(programs, clocks=Clocks(hosts.clock_uncertainty(trace.hosts)))
    gather(trace, identity, out, noise, ends)
    out.separate = inodes
    out.versions = {iri: version for iri, version in out.versions.items() if out.is_separate(version.facts)}
    out.separate = frozenset()
    name(trace, identity, out)
    part(trace, out)
    out.seen = seen(out)
    found = Shared(inodes, out)
    for span in out.spans:
        found.spans.setdefault(span.process.iri, []).append(span)
    _making(found)
    makers = {(iri, inode_of(version.facts)) for iri, made in found.made.items() for version, _ in made}
    files = (file for process in trace.processes.values() for file in process.containers)
    out.took_part = frozenset(took_part((member for file in files for member in file.members), makers))
    _let_go(trace, found)
    return found


def _making(found: Shared) -> None:
    contributed: set[str] = set()
    for version, writer in makings(found.out):
        process = writer.process if writer else version.maker[0] if version.maker else None
        if process:
            found.made.setdefault(process.iri, []).append((version, writer))
        if writer is None:
            contributed.add(version.iri)
    versions = found.out.versions.values()
    found.out.owners = {iri: one.iri for one in versions for iri in one.revision_of if iri in contributed}


def _let_go(trace: Trace, found: Shared) -> None:
    for span in found.out.spans:
        span.opening = None
    for process in trace.processes.values():
        process.openings, process.events, process.containers, process.threads = [], [], [], []
    trace.processes = {}
