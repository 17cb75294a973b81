"""Make the graph of a run, partition by partition; most runs are one partition (`large.survey` divides the others).

In: the partitions of a run. Out: the graph in pieces, the same as for the whole run in one partition.

A version that several partitions read is written once, at the end; so is the tie of a phase to the phase of another
partition that launched it.
"""

from __future__ import annotations

import contextlib
import copy as copying
import gc
import os
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import chain
from typing import TYPE_CHECKING

from provio.base import turtle
from provio.base.errors import Busy, NotAllowed
from provio.graph.lines import bundle_iri
from provio.graph.relocated import Renamed, relocated
from provio.graph.run import ties, triples
from provio.graph.whole import Whole
from provio.lineage import shared_inodes, shared_libraries
from provio.lineage.conclusions import Conclusions, Known, conclude, hashed
from provio.lineage.identity import Identity, without_task
from provio.lineage.model import MemberVersion, Version, inode_hash
from provio.lineage.phases import Origin
from provio.merge import cross_run, intake
from provio.merge.intake import Prepared
from provio.settings import moves
from provio.settings.schema import Config
from provio.trace import environment, post_run, redact
from provio.trace.declarations import Declarations
from provio.trace.fast.compact_record import Packed
from provio.trace.run_facts import Trace

if TYPE_CHECKING:
    from provio.merge.contents import ContentReader

Locked = Callable[[], AbstractContextManager[object]]


class Partitions:
    """A run in independent partitions; in this class, one partition with all processes.

    `whole` has its processes only until the first partition is taken. `wide` are the hashes of the inodes that many
    processes used and at least one wrote, and `wide_accesses` all accesses to them; `common` are the inodes that
    several partitions read. `origins` has the origin of each process image (None: all are in the image's partition),
    `after` the facts that were recorded after the run, by process and record. `contents` reads the files of the run.
    """

    def __init__(self, whole: Trace) -> None:
        self.whole = whole
        self.wide_accesses: Trace | None = None
        self.wide = frozenset[int]()
        self.common = set[int]()
        self.origins: dict[str, Origin] | None = None
        self.after: dict[str, dict[str, Packed]] = {}
        self.contents: ContentReader | None = None

    def each(self) -> Iterator[Trace]:
        """Yield the partitions."""
        part = copying.copy(self.whole)
        self.whole = part_of(self.whole)
        self.whole.gaps = part.gaps
        yield part


def part_of(whole: Trace) -> Trace:
    """Return an empty trace of the same run."""
    part = copying.copy(whole)
    part.processes, part.gaps, part.tasks, part.unwatched, part.declarations = {}, [], {}, [], Declarations()
    part.damages = []
    return part


def prepare(partitions: Partitions, settings: Config, locked: Locked | None = None) -> Prepared:
    """Prepare a run for the store; its pieces are made when they are taken, and `open` and `index` are complete after
    the last one.

    `locked` locks the record that contains the run, for post-processing; it may raise Busy, NotAllowed. Without it no
    file of the machine is inspected: that was done when the run was read.
    """
    prepared = Prepared(bundle_iri(partitions.whole.iri), (), [], set())
    pieces = _RunGraph(partitions, settings, prepared, locked).pieces()
    if renames := intake.renames(partitions.whole.folder, partitions.whole.run):
        inside = Identity(partitions.whole).inside
        pieces = relocated(pieces, [Renamed(old, new, (inside(old), moves.inside(new))) for old, new in renames])
    # Take the first piece now: an invalid run of one partition is then detected before the store is changed.
    prepared.pieces = pieces if locked else chain([next(pieces)], pieces)
    return prepared


class _RunGraph:
    """Makes the graph, and keeps the facts about one partition that the others need."""

    def __init__(self, partitions: Partitions, settings: Config, prepared: Prepared, locked: Locked | None) -> None:
        self.partitions, self.settings, self.prepared = partitions, settings, prepared
        whole = partitions.whole
        self.host = turtle.segment(environment.host())
        self.locked = locked if os.access(whole.folder, os.W_OK) else None
        self.late, self.settled = False, list[str]()
        self.provisional: set[str] = set()  # openings with post-processing results that are not stored
        self.identity = Identity(whole)
        self.redaction = redact.Redaction(settings.redact_add, settings.redact_keep)
        redact.contents(whole, self.redaction)
        self.known = Known.of(whole, self.identity, settings)
        self.known.origins, self.origins = partitions.origins, partitions.origins or {}
        self.known.contents = partitions.contents
        self._shared()
        self.facts = Whole(whole)
        known = self.known.shared.out if self.known.shared else Conclusions({})
        self.common = Conclusions(
            self.known.programs, versions=dict(known.versions), owners=known.owners, clocks=known.clocks
        )
        self.common.gaps += known.gaps
        self.common.contents = partitions.contents
        self.wanted = {origin.process.iri for origin in self.origins.values()}
        self.starts: dict[str, array[int]] = {}  # process that is an origin → the starts of its phases
        self.ties: list[tuple[str, str]] = []  # (phase or copy with an origin in another partition, its image)

    def _shared(self) -> None:
        """Draw the conclusions about the files that many processes used."""
        trace, self.partitions.wide_accesses = self.partitions.wide_accesses, None
        if trace:
            if self.locked:
                self.late |= post_run.inspect(trace, self.host)
                self._keep_settled(trace)
            known = self.known
            known.shared = shared_inodes.conclude(
                trace, self.identity, known.programs, known.noise, known.ends, self.partitions.wide
            )
            gc.collect(0)

    def _keep_settled(self, trace: Trace) -> None:
        """Keep the results of post-processing for the partitions: a file that is still being written would give other
        results each time."""
        for opening in trace.openings():
            if opening.settled:
                after = self.partitions.after.setdefault(opening.process.iri, {})
                known = after[opening.iri].record() if opening.iri in after else {}
                after[opening.iri] = Packed(post_run.settled_values(opening.settled) | known)
            if opening.provisional:
                self.provisional.add(opening.iri)

    def pieces(self) -> Iterator[str]:
        """Yield the graph."""
        parts = map(self._part, self.partitions.each())  # each is released before the next is read
        yield from chain.from_iterable(parts)
        whole = self.partitions.whole
        redact.trace(whole, self.redaction)
        yield ties(self._ties())
        for member in self.common.members.values():
            member.noise = member.noise and self.common.versions[member.file].noise
        shared_libraries.add(whole, self.identity, self.common)
        hashed(whole, self.common)
        if self.partitions.contents:
            self.common.gaps += self.partitions.contents.limits_reached(whole)
        self.common.gaps += self.common.clocks.gaps()
        self.prepared.open |= cross_run.open_channels(self.common)
        yield from triples(whole, self.identity, self.common, self.facts, of_run=True)
        if self.locked:
            with contextlib.suppress(Busy, NotAllowed), self.locked():
                post_run.write_settled(whole, self.host, self.settled, self.late)
        if self.partitions.contents:
            self.partitions.contents.finish(whole)
        self.prepared.index += intake.index_of(whole, self.settings)

    def _part(self, part: Trace) -> Iterator[str]:
        for opening in part.openings() if self.provisional else ():
            opening.provisional = opening.iri in self.provisional
        if self.locked:
            self.late |= post_run.inspect(part, self.host)
            self.settled.append("".join(post_run.statements(part, self.host)))
        part.gaps = self.partitions.whole.gaps
        redact.declarations(part, self.redaction)
        conclusions = conclude(part, self.identity, self.settings, self.known)
        part.gaps = []
        redact.processes(part, self.redaction)
        self._keep(part, conclusions)
        self.prepared.open |= cross_run.open_channels(conclusions)
        yield from triples(part, self.identity, conclusions, self.facts)
        for strand in conclusions.strands.values():  # no other partition needs the facts about Tasks
            self.known.programs.pop(strand.process.iri)
            self.known.ends.pop(strand.process.iri)

    def _keep(self, part: Trace, conclusions: Conclusions) -> None:
        """Keep the conclusions that other partitions or the end of the graph need."""
        for version in conclusions.versions.values() if self.partitions.common else ():
            if inode_hash(version.facts) in self.partitions.common:
                conclusions.elsewhere.add(version.iri)
                _add(version, self.common.versions)
        for member in conclusions.members.values():
            if member.file in conclusions.elsewhere:
                _add_member(member, self.common.members)
        self.common.known |= conclusions.known & conclusions.elsewhere
        elsewhere = conclusions.made_in.keys() & conclusions.elsewhere
        self.common.made_in.update((iri, conclusions.made_in[iri]) for iri in elsewhere)
        for iri in conclusions.clocks.unclear.keys() & conclusions.elsewhere:
            self.common.clocks.unclear.setdefault(iri, set()).update(conclusions.clocks.unclear[iri])
        for iri, phases in conclusions.phases.items():
            if iri in self.wanted:
                self.starts[iri] = array("q", (phase.start for phase in phases))
        self._keep_ties(part, conclusions)

    def _keep_ties(self, part: Trace, conclusions: Conclusions) -> None:
        """Keep the phases and copies with an origin in another partition."""
        images: set[str] = set()
        for iri in part.processes:
            origin = self.origins.get(iri)
            if origin and without_task(origin.process.iri) not in part.processes:
                images.add(iri)
                finer = [conclusions.finer[iri][0].iri] if iri in conclusions.finer else []
                self.ties += [(phase, iri) for phase in (f"{iri}phase/0", *finer)]
        for copy in conclusions.copies:
            iri = without_task(copy.process.iri)
            if iri in images and not self.origins[iri].fork:
                self.ties.append((copy.iri, iri))

    def _ties(self) -> Iterator[tuple[str, str, str]]:
        for later, iri in self.ties:
            origin = self.origins[iri]
            yield later, "carriedFrom" if origin.fork else "launchedBy", self._phase(origin)

    def _phase(self, origin: Origin) -> str:
        """Return the phase of another partition that launched an image."""
        starts, moment = self.starts[origin.process.iri], origin.moment
        number = len(starts) - 1 if moment is None else max(0, bisect_right(starts, moment) - 1)
        return f"{origin.process.iri}phase/{number}"


def _add(version: Version, versions: dict[str, Version]) -> None:
    """Add the conclusions of one partition about a version that several partitions read."""
    known = versions.setdefault(version.iri, version)
    known.noise = known.noise and version.noise
    known.seen = min(known.seen, version.seen)
    for (file, path), seen in version.sightings.items():
        for moment in seen:
            known.name(file, path, moment)


def _add_member(member: MemberVersion, members: dict[str, MemberVersion]) -> None:
    """Add the conclusions of one partition about an object in such a version."""
    known = members.setdefault(member.iri, member)
    if member.record and not known.record:
        known.kind, known.record = member.kind, member.record
    if known.generated_by is None:
        known.generated_by, known.program = member.generated_by, member.program
    known.noise = known.noise or member.noise
    for own, other in ((known.revision_of, member.revision_of), (known.leads_to, member.leads_to)):
        own.update(other)
    known.shows.update(member.shows)
