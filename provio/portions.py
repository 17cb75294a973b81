"""A large run told portion by portion: what was surveyed of it in, its graph in pieces out, as if it had been concluded
from as a whole.

What one portion alone has to do with is told and let go. What several read is told once, at the end; and so is which
phase of one portion launched a process of another.
"""

from __future__ import annotations

import contextlib
import os
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from provio import across, cycles, environment, intake, redact, settle, turtle
from provio.config import Config
from provio.errors import Busy, NotAllowed
from provio.facts import Trace
from provio.graph import Ends, bundle_iri, ties, triples
from provio.identity import Identity
from provio.intake import Prepared
from provio.lineage import Conclusions, Known, conclude
from provio.lineage.model import Version
from provio.lineage.phases import Origin
from provio.survey import Files, Survey, inode_hash

Locked = Callable[[], AbstractContextManager[object]]


def prepare(found: Survey, settings: Config, locked: Locked) -> Prepared:
    """Conclude what follows from a run alone, as its pieces are taken; what it leaves open, and what the index says of
    it, is known after the last. `locked` holds the lock of where the run lies; it may raise Busy, NotAllowed."""
    prepared = Prepared(bundle_iri(found.whole.iri), (), [], across.Open(set(), []))
    prepared.pieces = _Portions(found, settings, prepared).pieces(locked)
    return prepared


class _Portions:
    """What is kept of one portion for the others."""

    def __init__(self, found: Survey, settings: Config, prepared: Prepared) -> None:
        self.survey, self.settings, self.prepared = found, settings, prepared
        self.whole = whole = found.whole
        self.host = turtle.segment(environment.host())
        self.looks = os.access(whole.folder, os.W_OK)
        if self.looks:
            settle.look(whole, self.host)
        self.late, self.stated = False, list[str]()
        self.identity = Identity(whole)
        self.redaction = redact.Redaction(settings.redact_add, settings.redact_keep)
        self.known = Known.of(whole, self.identity, settings)
        self.known.origins = found.origins
        redact.trace(whole, self.redaction)
        self.ends = Ends(whole)
        self.common = Conclusions(self.known.programs)
        self.wanted = {origin.process.iri for origin in found.origins.values()}
        self.starts: dict[str, array[int]] = {}  # when the phases began of what something comes from
        self.apart: list[str] = []  # images that come from another portion
        _slim(whole)

    def pieces(self, locked: Locked) -> Iterator[str]:
        """Yield the graph."""
        for portion in self.survey.portions:
            yield from self._portion(portion)
            cycles.let_go()
        yield ties(self._ties())
        self.prepared.open.take(across.Open.of(self.common))
        yield from triples(self.whole, self.identity, self.common)
        if self.looks:
            with contextlib.suppress(Busy, NotAllowed), locked():
                settle.keep(self.whole, self.host, self.stated, self.late)
        self.prepared.index += intake.index_of(self.whole, self.settings)

    def _portion(self, portion: list[Files]) -> Iterator[str]:
        part = self.survey.read(portion)
        if self.looks:
            self.late |= settle.look(part, self.host)
            self.stated += settle.statements(part, self.host)
        part.gaps = self.whole.gaps
        conclusions = conclude(part, self.identity, self.settings, self.known)
        part.gaps = []
        redact.processes(part, self.redaction)
        self._keep(part, conclusions)
        self.prepared.open.take(across.Open.of(conclusions))
        yield from triples(part, self.identity, conclusions, self.ends)

    def _keep(self, part: Trace, conclusions: Conclusions) -> None:
        """Keep what concerns other portions."""
        for version in conclusions.versions.values():
            if inode_hash(version.facts) in self.survey.common:
                conclusions.elsewhere.add(version.iri)
                _add(version, self.common.versions)
        for iri in part.processes:
            if iri in self.wanted:
                self.starts[iri] = array("q", (phase.start for phase in conclusions.phases[iri]))
            origin = self.survey.origins.get(iri)
            if origin and origin.process.iri not in part.processes:
                self.apart.append(iri)

    def _ties(self) -> Iterator[tuple[str, str, str]]:
        for iri in self.apart:
            origin = self.survey.origins[iri]
            yield f"{iri}phase/0", "carriedFrom" if origin.fork else "launchedBy", self._phase(origin)

    def _phase(self, origin: Origin) -> str:
        """The phase of another portion that an image comes from."""
        starts, moment = self.starts[origin.process.iri], origin.moment
        number = len(starts) - 1 if moment is None else max(0, bisect_right(starts, moment) - 1)
        return f"{origin.process.iri}phase/{number}"


def _slim(whole: Trace) -> None:
    """Let go of what is known by now."""
    for process in whole.processes.values():
        process.record, process.events, process.openings = {}, [], []
        process._arguments = None
    whole.processes = {}


def _add(version: Version, versions: dict[str, Version]) -> None:
    """Add what one portion knows of a version that several read."""
    known = versions.setdefault(version.iri, version)
    known.noise = known.noise and version.noise
    known.seen = min(known.seen, version.seen)
    for (file, path), seen in version.sightings.items():
        for moment in seen:
            known.name(file, path, moment)
