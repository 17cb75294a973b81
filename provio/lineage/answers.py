"""What a process was answered by programs of the system that it started itself: the channels of a run in, which pipes
are of the system, as its files are, out.

A library that asks `uname` for the processor by starting it asks the system. Such a program knows nothing of the user's
but what it was started with (its arguments, its environment), and that its asker knew; so an answer of which nobody but
the asker has had a byte ties it to nothing that it is not tied to already.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from provio.facts import Opening
from provio.lineage.channels import Channel
from provio.lineage.code import Noise
from provio.lineage.model import Conclusions
from provio.run_facts import Trace


def answers(trace: Trace, channels: list[Channel], noise: Noise, conclusions: Conclusions) -> None:
    """Note the segments of pipes that are the system's answers to who reads them."""
    askers = _Askers(trace, noise, conclusions)
    found = {channel.name for channel in channels if channel.kind == "Pipe" and askers.alone_read(channel)}
    for segment in conclusions.segments:
        segment.noise = segment.channel in found


class _Askers:
    """Who started which program of the system."""

    def __init__(self, trace: Trace, noise: Noise, conclusions: Conclusions) -> None:
        self.trace, self.noise, self.out = trace, noise, conclusions
        self.doubtful = {about for _, about, _ in (*trace.gaps, *conclusions.gaps)}

    def alone_read(self, channel: Channel) -> bool:
        """Tell whether one process read all that was written into a pipe, and had started whoever wrote to it."""
        readers = {part.process.iri for part in channel.reads}
        written, read = (sum(part.size for part in parts) for parts in (channel.writes, channel.reads))
        if len(readers) != 1 or not channel.placed or written != read or any(part.path for part in channel.writes):
            return False
        asker = readers.pop()
        return all(self._asked_by(asker, iri) for iri in {part.process.iri for part in channel.writes})

    def _asked_by(self, asker: str, iri: str) -> bool:
        """Tell whether a program, and all that led to it from a process that started it, are of the system."""
        line = list(self._line(iri))
        between = line[: line.index(asker)] if asker in line else []
        program = self.trace.processes[iri].image == "exec"
        return program and bool(between) and all(map(self._of_system, between))

    def _line(self, iri: str) -> Iterator[str]:
        """A process, and what it was started by, or is a fork of, up to the first of all."""
        known = {""}
        while iri not in known:
            yield iri
            known.add(iri)
            first = self.out.phases[iri][0]
            iri = (first.carried_from or first.launched_by or "").rpartition("phase/")[0]

    def _of_system(self, iri: str) -> bool:
        """Tell whether a program is the system's own and had nothing in hand but the system's files; or a fork, before
        it became such a one."""
        process = self.trace.processes[iri]
        code = self.out.programs[iri].code
        own = process.image == "fork" or (process.image == "exec" and all(map(self.noise.of_code, code)))
        known = all(one.noise for one in self.out.inputs[iri]) and all(map(self._silent, process.openings))
        lone = self.out.lone.get(iri)
        return own and known and not (lone and lone.news) and not any(about.startswith(iri) for about in self.doubtful)

    def _silent(self, opening: Opening) -> bool:
        """Tell whether nothing of the user's came by an opening."""
        if opening.kind != "FileVersion":
            return not opening.reads()
        return self.noise(opening) or opening.flags & os.O_ACCMODE == os.O_WRONLY
