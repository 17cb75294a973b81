"""Which phase generated each version, and which earlier version it kept content of.

A version of an inode is the work of the writer whose close saw it, or else of the one whose writing encloses its
mtime. An
overwrite ends the earlier content; an append or an update in place keeps it: a revision. Others who wrote between the
earlier
version and this one have contributed: `<version>~<process>`.
"""

from __future__ import annotations

from provio.identity import contribution
from provio.lineage.model import Conclusions, Copy, Span, Version
from provio.lineage.spans import TICK, inode_of


def attribute(conclusions: Conclusions) -> None:
    """Fill `generated_by`, `revision_of` and the contributions of the versions of `conclusions`."""
    spans: dict[tuple[str, int, int], list[Span]] = {}
    for span in conclusions.spans:
        spans.setdefault(span.inode, []).append(span)
    chains: dict[tuple[str, int, int], list[Version]] = {}
    for version in conclusions.versions.values():
        chains.setdefault(inode_of(version.facts), []).append(version)
    for inode, chain in chains.items():
        writers = spans.get(inode)
        if writers:
            _chain(conclusions, sorted(chain, key=_age), writers)


def _age(version: Version) -> tuple[int, int, int]:
    return version.facts.mtime, version.facts.ctime, version.facts.size


def _chain(conclusions: Conclusions, chain: list[Version], spans: list[Span]) -> None:
    """Attribute the versions of one inode, oldest first."""
    before: Version | None = None
    for version in chain:
        writer = _writer(version, spans)
        if writer:
            emptied = _emptied(version, writer, spans)
            kept = before if before and before.facts.size and before.facts.mtime >= emptied else None
            since = max(emptied, before.facts.mtime if before else 0)
            _generate(conclusions, version, writer)
            if kept and kept.iri != version.iri:
                version.revision_of.append(kept.iri)
            _contribute(conclusions, version, writer, spans, since)
        before = version


def _writer(version: Version, spans: list[Span]) -> Span | None:
    """The span whose end saw this version; else the latest that encloses its mtime."""
    mtime = version.facts.mtime
    saw = [s for s in spans if s.final and (s.final.mtime, s.final.size) == (mtime, version.facts.size)]
    if not saw:
        saw = [s for s in spans if s.first - TICK <= mtime <= max(s.last, s.end) and not _ended_before(s, version)]
    return max(saw, key=lambda s: (min(s.last, mtime), s.last), default=None)


def _ended_before(span: Span, version: Version) -> bool:
    """The writer's own close saw an earlier or later state: this version cannot be its last, only one on the way."""
    return bool(span.final and span.final.mtime < version.facts.mtime)


def _emptied(version: Version, writer: Span, spans: list[Span]) -> int:
    """When the content before this version was last thrown away; 0 for never."""
    if (
        writer.truncated
        and writer.opening
        and writer.first >= writer.truncated - TICK
        and writer.truncated <= writer.last
    ):
        own = writer.truncated
    else:
        own = 0
    limit = max(version.facts.mtime, own)
    return max([own, *(s.truncated for s in spans if s.truncated and s.truncated <= limit)])


def _generate(conclusions: Conclusions, version: Version, writer: Span) -> None:
    program = conclusions.programs[writer.process.iri].iri
    version.attributed_to.add(program)
    if writer.copied_only:
        copy = Copy(
            f"{writer.process.iri}copy/{len(conclusions.copies)}",
            writer.process,
            writer.first,
            writer.last,
            writer.sources,
        )
        conclusions.copies.append(copy)
        version.generated_by = copy.iri
        return
    final = writer.final and writer.final.mtime == version.facts.mtime
    moment = writer.last if final else min(max(version.facts.mtime, writer.first), writer.last)
    phase = conclusions.phase_at(writer.process, moment)
    for source in writer.sources:
        phase.used[source] = None
    if version.iri in phase.used:
        _read_back(conclusions, version, writer, phase.iri)
    else:
        version.generated_by = phase.iri


def _read_back(conclusions: Conclusions, version: Version, writer: Span, phase: str) -> None:
    """A key that one phase both used and generated: the generated side gets a name of its own."""
    made = Version(contribution(version.iri, writer.process), version.facts, dict(version.names), False, phase)
    made.attributed_to = {conclusions.programs[writer.process.iri].iri}
    conclusions.contributions.append(made)
    version.attributed_to.clear()


def _contribute(conclusions: Conclusions, version: Version, writer: Span, spans: list[Span], since: int) -> None:
    done = {writer.process.iri}
    for span in spans:
        overlaps = span.first <= version.facts.mtime + TICK and span.last > since
        if span.process.iri in done or not overlaps or not _wrote(span):
            continue
        done.add(span.process.iri)
        moment = min(span.last, max(version.facts.mtime, span.first))
        made = Version(contribution(version.iri, span.process), version.facts, dict(version.names), False)
        made.generated_by = conclusions.phase_at(span.process, moment).iri
        made.attributed_to = {conclusions.programs[span.process.iri].iri}
        conclusions.contributions.append(made)
        version.revision_of.append(made.iri)


def _wrote(span: Span) -> bool:
    """Wrote content, and did not only make or empty the file (as a shell does for its child)."""
    return span.truncated is None or span.last > span.truncated
