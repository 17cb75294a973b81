"""A run told part by part: its parts in, its graph in pieces out, as if it had been concluded from as a whole. Most
runs are one part.

What one part alone has to do with is told and let go. What several read is told once, at the end; and so is which
phase of one part launched a process of another.
"""

from __future__ import annotations

import contextlib
import copy as copying
import os
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import chain

from provio.base import gc_pause, turtle
from provio.base.errors import Busy, NotAllowed
from provio.graph.lines import bundle_iri
from provio.graph.run import Whole, ties, triples
from provio.lineage import shared_inodes
from provio.lineage.conclusions import Conclusions, Known, conclude, hashed
from provio.lineage.identity import Identity, without_task
from provio.lineage.model import MemberVersion, Version, inode_hash
from provio.lineage.phases import Origin
from provio.merge import cross_run, intake
from provio.merge.intake import Prepared
from provio.settings.schema import Config
from provio.trace import environment, post_run, redact
from provio.trace.declarations import Declarations
from provio.trace.fast.compact_record import Packed
from provio.trace.run_facts import Trace

Locked = Callable[[], AbstractContextManager[object]]


class Partitions:
    """A run in parts that have nothing to do with each other; here one part, all of it.

    `whole` has its processes until the parts are taken, and none after that. `touching` is what was done by all of
    them to files that many touched and one wrote, `wide` the inodes of these (by their hash), `common` those that
    several parts read; `origins` what each image comes from (None: each comes from one in its own part); `after` what
    was found after the run of openings and programs, by process."""

    def __init__(self, whole: Trace) -> None:
        self.whole = whole
        self.touching: Trace | None = None
        self.wide = frozenset[int]()
        self.common = set[int]()
        self.origins: dict[str, Origin] | None = None
        self.after: dict[str, dict[str, Packed]] = {}

    def each(self) -> Iterator[Trace]:
        """Yield the parts."""
        part = copying.copy(self.whole)
        self.whole = part_of(self.whole)
        self.whole.gaps = part.gaps
        yield part


def part_of(whole: Trace) -> Trace:
    """Return a trace of the same run in which nothing is."""
    part = copying.copy(whole)
    part.processes, part.gaps, part.tasks, part.unwatched, part.declarations = {}, [], {}, [], Declarations()
    part.damages = []
    return part


def prepare(found: Partitions, settings: Config, locked: Locked | None = None) -> Prepared:
    """Conclude what follows from a run alone, as its pieces are taken; what it leaves open, and what the index says of
    it, is known after the last. `locked` holds the lock of where the run lies; it may raise Busy, NotAllowed. Without
    it nothing is looked at on the disk: that was done when the run was read."""
    prepared = Prepared(bundle_iri(found.whole.iri), (), [], set())
    pieces = _RunGraph(found, settings, prepared, locked).pieces()
    # What is wrong with a run of one part shows before the store is changed.
    prepared.pieces = pieces if locked else chain([next(pieces)], pieces)
    return prepared


class _RunGraph:
    """What is kept of one part for the others."""

    def __init__(self, found: Partitions, settings: Config, prepared: Prepared, locked: Locked | None) -> None:
        self.found, self.settings, self.prepared = found, settings, prepared
        whole = found.whole
        self.host = turtle.segment(environment.host())
        self.locked = locked if os.access(whole.folder, os.W_OK) else None
        self.late, self.stated = False, list[str]()
        self.passing: set[str] = set()  # openings of which what was found is not to be kept
        self.identity = Identity(whole)
        self.redaction = redact.Redaction(settings.redact_add, settings.redact_keep)
        self.known = Known.of(whole, self.identity, settings)
        self.known.origins, self.origins = found.origins, found.origins or {}
        self._shared()
        self.told = Whole(whole)
        known = self.known.shared.out if self.known.shared else Conclusions({})
        self.common = Conclusions(
            self.known.programs, versions=dict(known.versions), owners=known.owners, clocks=known.clocks
        )
        self.common.gaps += known.gaps
        self.wanted = {origin.process.iri for origin in self.origins.values()}
        self.starts: dict[str, array[int]] = {}  # when the phases began of what something comes from
        self.apart: list[tuple[str, str]] = []  # (what comes from another part, the image that it is of)

    def _shared(self) -> None:
        """Conclude from what all did to files that many have to do with."""
        trace, self.found.touching = self.found.touching, None
        if trace:
            if self.locked:
                self.late |= post_run.inspect(trace, self.host)
                self._settled(trace)
            told = self.known.programs, self.known.noise, self.known.ends
            self.known.shared = shared_inodes.conclude(trace, self.identity, *told, self.found.wide)
            gc_pause.let_go()

    def _settled(self, trace: Trace) -> None:
        """Have parts find the same: what is written still would be another file each time."""
        for opening in trace.openings():
            if opening.settled:
                after = self.found.after.setdefault(opening.process.iri, {})
                known = after[opening.iri].record() if opening.iri in after else {}
                after[opening.iri] = Packed(post_run.settled_values(opening.settled) | known)
            if opening.provisional:
                self.passing.add(opening.iri)

    def pieces(self) -> Iterator[str]:
        """Yield the graph."""
        yield from chain.from_iterable(map(self._part, self.found.each()))  # each is let go before the next is read
        whole = self.found.whole
        redact.trace(whole, self.redaction)
        yield ties(self._ties())
        for member in self.common.members.values():
            member.noise = member.noise and self.common.versions[member.file].noise
        hashed(whole, self.common)
        self.common.gaps += self.common.clocks.gaps()
        self.prepared.open |= cross_run.left_open(self.common)
        yield from triples(whole, self.identity, self.common, self.told, of_run=True)
        if self.locked:
            with contextlib.suppress(Busy, NotAllowed), self.locked():
                post_run.write_settled(whole, self.host, self.stated, self.late)
        self.prepared.index += intake.index_of(whole, self.settings)

    def _part(self, part: Trace) -> Iterator[str]:
        for opening in part.openings() if self.passing else ():
            opening.provisional = opening.iri in self.passing
        if self.locked:
            self.late |= post_run.inspect(part, self.host)
            self.stated.append("".join(post_run.statements(part, self.host)))
        part.gaps = self.found.whole.gaps
        redact.declarations(part, self.redaction)
        conclusions = conclude(part, self.identity, self.settings, self.known)
        part.gaps = []
        redact.processes(part, self.redaction)
        self._keep(part, conclusions)
        self.prepared.open |= cross_run.left_open(conclusions)
        yield from triples(part, self.identity, conclusions, self.told)
        for strand in conclusions.strands.values():  # what was noted of Tasks is of no use to others
            self.known.programs.pop(strand.process.iri)
            self.known.ends.pop(strand.process.iri)

    def _keep(self, part: Trace, conclusions: Conclusions) -> None:
        """Keep what concerns other parts."""
        for version in conclusions.versions.values() if self.found.common else ():
            if inode_hash(version.facts) in self.found.common:
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
        made = (one.iri.partition("~")[0] for one in conclusions.contributions)
        self.common.contributed |= conclusions.elsewhere.intersection(made)
        for iri, phases in conclusions.phases.items():
            if iri in self.wanted:
                self.starts[iri] = array("q", (phase.start for phase in phases))
        self._keep_apart(part, conclusions)

    def _keep_apart(self, part: Trace, conclusions: Conclusions) -> None:
        """Keep which phases and copies come from an image of another part."""
        apart: set[str] = set()
        for iri in part.processes:
            origin = self.origins.get(iri)
            if origin and without_task(origin.process.iri) not in part.processes:
                apart.add(iri)
                finer = [conclusions.finer[iri][0].iri] if iri in conclusions.finer else []
                self.apart += [(phase, iri) for phase in (f"{iri}phase/0", *finer)]
        for copy in conclusions.copies:
            iri = without_task(copy.process.iri)
            if iri in apart and not self.origins[iri].fork:
                self.apart.append((copy.iri, iri))

    def _ties(self) -> Iterator[tuple[str, str, str]]:
        for later, iri in self.apart:
            origin = self.origins[iri]
            yield later, "carriedFrom" if origin.fork else "launchedBy", self._phase(origin)

    def _phase(self, origin: Origin) -> str:
        """The phase of another part that an image comes from."""
        starts, moment = self.starts[origin.process.iri], origin.moment
        number = len(starts) - 1 if moment is None else max(0, bisect_right(starts, moment) - 1)
        return f"{origin.process.iri}phase/{number}"


def _add(version: Version, versions: dict[str, Version]) -> None:
    """Add what one part knows of a version that several read."""
    known = versions.setdefault(version.iri, version)
    known.noise = known.noise and version.noise
    known.seen = min(known.seen, version.seen)
    for (file, path), seen in version.sightings.items():
        for moment in seen:
            known.name(file, path, moment)


def _add_member(member: MemberVersion, members: dict[str, MemberVersion]) -> None:
    """Add what one part knows of an object in such a version."""
    known = members.setdefault(member.iri, member)
    if member.record and not known.record:
        known.kind, known.record = member.kind, member.record
    if known.generated_by is None:
        known.generated_by, known.program = member.generated_by, member.program
    known.noise = known.noise or member.noise
    for own, other in ((known.revision_of, member.revision_of), (known.leads_to, member.leads_to)):
        own.update(other)
    known.shows.update(member.shows)
