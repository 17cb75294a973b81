"""Which phase generated each version, and which earlier version it kept content of.

A version of an inode is the work of the writer whose close saw it, or else of the one whose writing encloses its mtime.
An overwrite ends the earlier content; an append or an update in place keeps it: a revision. Others who wrote between
the earlier version and this one have contributed: `<version>~<process>`. A version whose times were set has the content
of the one before, and no writer.
"""

from __future__ import annotations

from provio.facts import Process
from provio.identity import contribution, without_task
from provio.lineage.model import TICK, Conclusions, Copy, Span, Version, inode_of
from provio.lineage.writing import Writing, writings

OUR_CLOCK = 100_000  # by how much our clock may lag behind the kernel's


def attribute(conclusions: Conclusions) -> None:
    """Fill `generated_by`, `revision_of` and the contributions of the versions of `conclusions`."""
    known = writings(conclusions)
    chains: dict[tuple[str, int, int], list[Version]] = {}
    for version in conclusions.versions.values():
        chains.setdefault(inode_of(version.facts), []).append(version)
    for inode, chain in chains.items():
        if inode in known:
            _chain(conclusions, chain, known[inode])


def _chain(conclusions: Conclusions, chain: list[Version], writing: Writing) -> None:
    """Attribute the versions of one inode, oldest first.

    Their order is the kernel's (mtimes), where those were not set; what came before or after a truncation is told by
    our own clock alone.
    """
    writers = {version.iri: _writer(version, writing) for version in chain}
    moments = {version.iri: _written(version, writers[version.iri]) for version in chain}
    before, since = None, 0
    for version in sorted(
        chain, key=lambda v: (_order(v, writers[v.iri], moments[v.iri]), moments[v.iri], v.facts.size)
    ):
        writer, moment = writers[version.iri], moments[version.iri]
        if writer:
            emptied = writing.emptied_by(moment)
            _generate(conclusions, version, writer)
            if before and before.facts.size and since >= emptied:
                version.revision_of += (before.iri,)
            _contribute(conclusions, version, writer, writing, (max(emptied, since), moment))
        before, since = version, moment


def _written(version: Version, writer: Span | None) -> int:
    """When a version was written, by our clock where that is known, or got its time."""
    if writer:
        return writer.wrote(version)
    return version.retimed[0][0] if version.retimed else min(version.facts.mtime, version.seen)


def _order(version: Version, writer: Span | None, moment: int) -> int:
    """The version's mtime; where that was set, or tells seconds alone, our own moment."""
    mtime = version.facts.mtime
    stamped = writer and writer.first - TICK <= mtime <= max(writer.last, writer.end) + TICK
    return mtime if stamped else moment


def _writer(version: Version, writing: Writing) -> Span | None:
    """The span whose end saw this version, having written until its mtime; else the one that was writing then (the
    kernel's clock may lag by a tick: whoever began before the version was seen has his part in it); else
    the one whose end saw it (and flushed it), or the latest that encloses its mtime."""
    mtime = version.facts.mtime
    saw = writing.saw(version)
    found = [span for span in saw if span.last >= mtime - OUR_CLOCK]
    if not found and not version.retimed:
        others = [span for span in writing.enclosing(version) if _on_its_way(span, version)]
        found = [span for span in others if span.first - TICK <= mtime <= span.last] or saw or others
    return max(found or saw, key=lambda s: (min(s.last, mtime), s.last), default=None)


def _on_its_way(span: Span, version: Version) -> bool:
    """Not what the writer found when it opened the file, nor later than what its close saw."""
    found = span.opening.facts if span.opening and not span.truncated else None
    if found and (found.mtime, found.size) == (version.facts.mtime, version.facts.size):
        return False
    return not span.final or span.final.mtime >= version.facts.mtime


def _generate(conclusions: Conclusions, version: Version, writer: Span) -> None:
    program = conclusions.programs[writer.process.iri].iri
    version.attributed_to = program
    if writer.copied_only:
        copy = Copy(
            f"{writer.process.iri}copy/{len(conclusions.copies)}",
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
    phase = conclusions.phase_at(*version.maker)
    for source in writer.sources:
        phase.used[source] = None
    if version.iri in phase.used:
        _read_back(conclusions, version, writer, phase.iri)
    else:
        version.generated_by = phase.iri


def _contribution(version: Version, process: Process) -> Version:
    """What one process made of a version, under a name of its own."""
    return Version(contribution(version.iri, process), version.facts, False, version.seen, dict(version.sightings))


def _read_back(conclusions: Conclusions, version: Version, writer: Span, phase: str) -> None:
    """A key that one phase both used and generated: the generated side gets a name of its own."""
    made = _contribution(version, writer.process)
    made.generated_by, made.maker, version.maker = phase, version.maker, None
    made.attributed_to = conclusions.programs[writer.process.iri].iri
    conclusions.contributions.append(made)
    version.attributed_to = None


def _contribute(
    conclusions: Conclusions, version: Version, writer: Span, writing: Writing, between: tuple[int, int]
) -> None:
    """Say of each other process that wrote between the earlier version and this one that it did."""
    since, moment = between
    done, revisions = {writer.process.iri}, list[str]()
    for span in writing.between(since, moment):
        if span.process.iri in done or not span.wrote_content:
            continue
        done.add(span.process.iri)
        made = _contribution(version, span.process)
        made.maker = span.process, min(span.last, moment)
        made.generated_by = conclusions.phase_at(*made.maker).iri
        made.attributed_to = conclusions.programs[span.process.iri].iri
        conclusions.contributions.append(made)
        revisions.append(made.iri)
    version.revision_of += tuple(revisions)
