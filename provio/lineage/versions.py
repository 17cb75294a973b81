"""Find which phase generated each version, and which earlier version it kept content of.

The writer of a version of an inode is the span with a close that observed it, or else the one that encloses its
mtime. An overwrite ends the earlier content; an append or an update in place keeps it: a revision. Other processes
that wrote between the earlier version and this one have contributed: `<version>~<process>`; so have earlier phases of
the writer, from its first write on: `<version>~<process>~<phase>`. A version with times that were set has the content
of the one before, and no writer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from provio.lineage.identity import contribution, earlier_phase, without_task
from provio.lineage.model import TICK, Conclusions, Copy, Span, Version, inode_of
from provio.lineage.unwatched import Programs, perhaps_written
from provio.lineage.writing import Stretches, Writing, writings
from provio.trace.facts import Process
from provio.trace.run_facts import Trace

UNWRITTEN = "no recorded process wrote its content: the process that made the file did not, or not in a recorded call"
MOST = 1_000  # earlier phases of a writer that contribute to a version
OUR_CLOCK = 100_000  # ns by which our clock may lag behind the kernel's


Making = tuple[Version, Span | None]  # (version, its last writer), or (contribution to a version, None)


def attribute(conclusions: Conclusions) -> None:
    """Set `generated_by`, `revision_of` and the contributions of the versions of `conclusions`."""
    for version, writer in makings(conclusions):
        make(conclusions, version, writer)


def makings(conclusions: Conclusions) -> Iterator[Making]:
    """Set `revision_of`; yield each version with its writer, and each contribution. This needs no phases."""
    known = writings(conclusions)
    chains: dict[tuple[str, int, int], list[Version]] = {}
    for version in conclusions.described():
        chains.setdefault(inode_of(version.facts), []).append(version)
    possible: dict[tuple[str, int, int], list[tuple[Span, str]]] = {}
    for span, program in conclusions.possible:
        possible.setdefault(span.inode, []).append((span, program))
    unwatched = {inode: _Unwatched(spans) for inode, spans in possible.items()}
    nobody = _Unwatched(())
    for inode, chain in chains.items():
        if inode in known or inode in unwatched:
            yield from _chain(conclusions, chain, known.get(inode) or Writing([]), unwatched.get(inode, nobody))


def make(conclusions: Conclusions, version: Version, writer: Span | None) -> None:
    """Set the phase that made a version or contribution."""
    if writer:
        _generate(conclusions, version, writer)
    elif version.maker:
        version.generated_by = conclusions.phase_at(*version.maker).iri
        conclusions.contributions.append(version)


def _chain(conclusions: Conclusions, chain: list[Version], writing: Writing, unwatched: _Unwatched) -> Iterator[Making]:
    """Attribute the versions of one inode, oldest first.

    The order is that of the kernel's mtimes, unless these were set. Only our own clock decides whether a version was
    before or after a truncation.
    """
    writers = {version.iri: _writer_of_content(version, writing, unwatched) for version in chain}
    moments = {version.iri: _written(version, writers[version.iri]) for version in chain}
    before, since, wrote = None, 0, None
    for version in sorted(
        chain, key=lambda v: (_order(v, writers[v.iri], moments[v.iri]), moments[v.iri], v.facts.size)
    ):
        writer, moment = writers[version.iri], moments[version.iri]
        if writer:
            emptied, by = writing.emptied_by(moment, writer.process.host)
            version.begun = _begun(writer, writing, max(emptied, since), moment)
            yield version, writer
            if before and before.facts.size and _kept(conclusions, before, (wrote, since), (by, emptied)):
                version.revision_of += (before.iri,)
            yield from _contribute(conclusions, version, writer, writing, (max(emptied, since), moment), before)
            _add_unseen(conclusions, version, writer, writing, unwatched, (max(emptied, since), moment))
        before, since, wrote = version, moment, writer


def _begun(writer: Span, writing: Writing, since: int, moment: int) -> int:
    """Return when the process of a writer first wrote content into the file between two moments."""
    own = (span for span in writing.between(since, moment) if span.process is writer.process and span.wrote_content)
    return max(since, min((span.content or span.first for span in own), default=moment))


def _kept(
    conclusions: Conclusions, before: Version, written: tuple[Span | None, int], emptied: tuple[Span | None, int]
) -> bool:
    """Return whether a version may have been written after the file was emptied.

    For two hosts, the server's clock decides, if it gave the file a time when the file was emptied; otherwise the
    hosts' clocks, where their order is certain.
    """
    (writer, since), (by, at) = written, emptied
    if not writer or not by or writer.process.host == by.process.host:
        return since >= at
    found = by.opening.facts.mtime if by.opening and by.opening.truncated else before.facts.mtime
    if found == before.facts.mtime and abs(since - at) <= writer.clock_error:
        _add_unclear(conclusions, before, writer, by)
        return True
    return before.facts.mtime > found if found != before.facts.mtime else since >= at


def _add_unclear(conclusions: Conclusions, version: Version, one: Span, other: Span) -> None:
    conclusions.clocks.doubt(version.iri, one.process.host, other.process.host)


def _written(version: Version, writer: Span | None) -> int:
    """Return when a version was written, by our clock where that is known, or when its times were set."""
    if writer:
        return writer.wrote(version)
    return version.retimed[0][0] if version.retimed else min(version.facts.mtime, version.seen)


def _order(version: Version, writer: Span | None, moment: int) -> int:
    """Return the version's mtime; our own moment, where the mtime was set or has a resolution of one second."""
    mtime = version.facts.mtime
    lag = TICK + (writer.clock_error if writer else 0)
    stamped = writer and writer.first - lag <= mtime <= max(writer.last, writer.end) + lag
    return mtime if stamped else moment


class _Unwatched:
    """The spans of the unwatched programs that may have inherited a file."""

    def __init__(self, possible: Sequence[tuple[Span, str]]) -> None:
        self.spans = [[span for span, _ in possible if span.sure is sure] for sure in (True, False)]
        self.stretches = [Stretches([(span.first, span.end) for span in spans]) for spans in self.spans]
        self.sure = Programs((name, span.first, span.end) for span, name in possible if span.sure)

    def writer(self, mtime: int) -> Span | None:
        """Return the last of those that ran at a file's mtime, or else the last before it, whose child processes may
        have written the file."""
        for until in (mtime - TICK, 0):
            for spans, stretches in zip(self.spans, self.stretches, strict=True):
                for number in stretches.reaching(mtime + TICK, until):
                    return spans[number]
        return None


def _writer_of_content(version: Version, writing: Writing, unwatched: _Unwatched) -> Span | None:
    """Return the span that wrote a version; if no observed process wrote its content, that of an unwatched program
    that may have inherited the file."""
    found = _writer(version, writing)
    if not version.facts.size or version.retimed or (found and found.wrote_content):
        return found
    return unwatched.writer(version.facts.mtime) or found


def _add_unseen(
    conclusions: Conclusions,
    version: Version,
    writer: Span,
    writing: Writing,
    unwatched: _Unwatched,
    between: tuple[int, int],
) -> None:
    """Add a gap to a version that an unwatched program may have written besides its writer, or whose content no
    observed process wrote."""
    since, moment = between
    names = unwatched.sure.names(moment, since + 1, without=(writer.first, writer.end))
    if names:
        conclusions.gaps.append(perhaps_written(version, names))
    elif version.facts.size and not version.noise and not _wrote_content(writer, writing, between):
        conclusions.gaps.append((version.iri + "~unwritten", version.iri, UNWRITTEN))


def _wrote_content(writer: Span, writing: Writing, between: tuple[int, int]) -> bool:
    """Return whether the writer, or another observed process between two moments, wrote content."""
    return writer.wrote_content or any(span.wrote_content for span in writing.between(*between))


def _writer(version: Version, writing: Writing) -> Span | None:
    """Return the span that wrote a version; None if there is none.

    It is a span that observed this version at its end and wrote until its mtime; but a span that started after that,
    within a tick and before the version was first observed, has precedence. Otherwise, it is a span that was writing
    at the mtime. The kernel's clock may lag by a tick: a span that started before the version was observed has
    contributed to it. Otherwise, it is a span that observed the version at its end (and flushed it), or the latest
    that encloses its mtime.
    """
    mtime = version.facts.mtime
    saw = writing.saw(version)
    found = [span for span in saw if span.last >= mtime - OUR_CLOCK - span.clock_error]
    if found and len(writing.spans) > 1:
        found = _later(version, writing, max(span.last for span in found)) or found
    if not found and not version.retimed:
        others = [span for span in writing.enclosing(version) if _on_its_way(span, version)]
        within = (s for s in others if s.first - TICK - s.clock_error <= mtime <= s.last + s.clock_error)
        found = list(within) or saw or others
    return max(found or saw, key=lambda s: (min(s.last, mtime), s.last), default=None)


def _later(version: Version, writing: Writing, last: int) -> list[Span]:
    """Return the spans that started after `last`, the last write of the span that observed the version at its close,
    and certainly before the version was first observed."""
    return [
        span
        for span in writing.enclosing(version)
        if last < span.first <= 2 * version.seen - span.seen(version) and _on_its_way(span, version)
    ]


def _on_its_way(span: Span, version: Version) -> bool:
    """Return whether the version may be an intermediate state of the span: not the state at opening, nor later than
    the state at close."""
    found = span.opening.facts if span.opening and not span.truncated else None
    if found and (found.mtime, found.size) == (version.facts.mtime, version.facts.size):
        return False
    return not span.final or span.final.mtime >= version.facts.mtime


def _generate(conclusions: Conclusions, version: Version, writer: Span) -> None:
    program = conclusions.programs[writer.process.iri].iri
    version.attributed_to = program
    if writer.copied_only:
        copy = Copy(
            conclusions.copy_iri(writer.process),
            writer.process,
            writer.first,
            writer.last,
            writer.sources,
            conclusions.phases[without_task(writer.process.iri)][0].launched_by,
        )
        conclusions.copies.append(copy)
        version.generated_by = copy.iri
        return
    version.maker = writer.process, writer.wrote(version)
    if writer.clock_error:
        _perhaps_before(conclusions, version, writer)
    phase = conclusions.phase_at(*version.maker)
    for source in writer.sources:
        phase.used[source] = None
    if version.iri in phase.used:
        _read_back(conclusions, version, writer, phase.iri)
    else:
        version.generated_by = phase.iri
        _add_earlier_phases(conclusions, version, writer)


def _add_earlier_phases(conclusions: Conclusions, version: Version, writer: Span) -> None:
    """Add the contributions of earlier phases of the writer, from its first write into the version on.

    A phase that the next one continues needs none: its inputs are inputs of that phase. The inputs of phases before the
    last MOST are carried.
    """
    process, phases = writer.process, conclusions.phases[writer.process.iri]
    last = conclusions.number_at(process, writer.wrote(version))
    revisions = list[str]()
    for number in range(max(conclusions.number_at(process, version.begun), last - MOST), last):
        phase = phases[number]
        if phases[number + 1].continued or version.iri in phase.used:
            continue
        made = _contribution(version, earlier_phase(version.iri, process, phase.iri))
        made.generated_by, made.attributed_to = phase.iri, version.attributed_to
        conclusions.contributions.append(made)
        revisions.append(made.iri)
    version.revision_of += tuple(revisions)


def _perhaps_before(conclusions: Conclusions, version: Version, writer: Span) -> None:
    """Record that a version that another host observed may have existed before its writer read an input."""
    early, late = writer.wrote(version, earliest=True), writer.wrote(version)
    if any(early < one.first <= late and not one.noise for one in conclusions.inputs[writer.process.iri]):
        conclusions.clocks.doubt(version.iri, writer.process.host, version.host)


def _contribution(version: Version, iri: str) -> Version:
    """Return a contribution to a version, under a name of its own."""
    return Version(iri, version.facts, False, version.seen, dict(version.sightings))


def _is_concurrent(span: Span, version: Version, before: Version | None) -> bool:
    """Return, by the server's times, whether all writes of a span are in the version before, or whether the span
    opened the file when it was this version or a later one."""
    if span.final and before and span.final.mtime <= before.facts.mtime:
        return True
    return bool(span.opening and span.opening.facts.mtime >= version.facts.mtime)


def _read_back(conclusions: Conclusions, version: Version, writer: Span, phase: str) -> None:
    """Give the generated version a name of its own, where one phase both used and generated a key."""
    made = _contribution(version, contribution(version.iri, writer.process))
    made.generated_by, made.maker, version.maker = phase, version.maker, None
    made.attributed_to = conclusions.programs[writer.process.iri].iri
    conclusions.contributions.append(made)
    version.attributed_to = None


def _contribute(
    conclusions: Conclusions, version: Version, writer: Span, writing: Writing, between: tuple[int, int],
    before: Version | None,
) -> Iterator[Making]:  # fmt: skip
    """Yield a contribution for each other process that wrote between the earlier version and this one."""
    since, moment = between
    done, revisions = {writer.process.iri}, list[str]()
    for span in writing.between(since - writer.clock_error, moment + writer.clock_error):
        if span.process.iri in done or not span.wrote_content:
            continue
        if span.last <= since or span.first > moment:
            if span.process.host == writer.process.host or _is_concurrent(span, version, before):
                continue
            _add_unclear(conclusions, version, span, writer)
        done.add(span.process.iri)
        made = _contribution(version, contribution(version.iri, span.process))
        clock_error = conclusions.clocks.between(span.process.host, writer.process.host)
        made.maker = span.process, min(span.last, moment + clock_error)
        made.attributed_to = conclusions.programs[span.process.iri].iri
        revisions.append(made.iri)
        yield made, None
    version.revision_of += tuple(revisions)


# The latest write of each image.


def exited(trace: Trace) -> frozenset[str]:
    """Return the programs of which a parent observed that they ended with an exit code: the C library has then written
    the buffers of their streams. A fork that did not become a program often ends without that."""
    codes: dict[tuple[str, int], list[tuple[int, bool]]] = {}
    for process in trace.processes.values():
        for event in process.events:
            if event.kind == "ChildEnd":
                ended = event.at + event.number("elapsed"), "exitCode" in event.record
                codes.setdefault((process.host, event.number("childPid")), []).append(ended)
    found = set()
    for process in trace.processes.values():
        failed = {event.record.get("exec") for event in process.events if event.kind == "ExecFailed"}
        replaced = any(event.kind == "Exec" and event.iri not in failed for event in process.events)
        ends = [end for end in codes.get((process.host, process.pid), ()) if end[0] >= process.started]
        if process.image == "exec" and not replaced and ends and min(ends)[1]:
            found.add(process.iri)
    return frozenset(found)


def lives(trace: Trace) -> dict[str, int]:
    """Return the latest moment at which each image may have written: its exec, the end that its parent observed, or
    the end of the run."""
    waited: dict[tuple[str, int], list[int]] = {}
    for process in trace.processes.values():
        for event in process.events:
            if event.kind == "ChildEnd":
                ends = waited.setdefault((process.host, event.number("childPid")), [])
                ends.append(event.at + event.number("elapsed"))
    last = int(trace.run.get("endedNs", 0)) or max((p.ended for p in trace.processes.values()), default=0)
    return {process.iri: _life(process, waited, last) for process in trace.processes.values()}


def _life(process: Process, waited: dict[tuple[str, int], list[int]], last: int) -> int:
    """Return that moment for one image. Pids recur, so its end is the first recorded one after the image started."""
    failed = {event.record.get("exec") for event in process.events if event.kind == "ExecFailed"}
    replaced = [event.at for event in process.events if event.kind == "Exec" and event.iri not in failed]
    if replaced:
        return max(replaced)
    ends = [end for end in waited.get((process.host, process.pid), ()) if end >= process.started]
    return min(ends, default=max(last, process.ended))
