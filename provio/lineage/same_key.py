"""Separate contents that have the same key (inode, mtime, size), where file times are coarse or were set back.

Only our own clock separates them. A key denotes a content from the start of its writer until the start of the next
writer of the same key. Each such content but the last becomes a version of its own, and it is the version that a
process read or copied in that time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping

from provio.base.records import plain
from provio.lineage.clocks import Clocks
from provio.lineage.identity import contribution
from provio.lineage.model import FOREVER, Conclusions, Input, Version, inode_of
from provio.trace.facts import Process
from provio.trace.run_facts import Trace

COARSE = "coarse clock: several contents of this file had one time and size; their write times distinguish them"
SET_BACK = "its time was set to one that earlier content had: the origins of the two contents are not distinguished"
MAPPED = "a process had it mapped for writing, and its times do not show whether that process stored into it"

Key = tuple[tuple[str, int, int], int, int]


@plain(frozen=True, slots=True)
class _Stretch:
    """When a key became the key of a content; `how` is `write`, `map` (a store through a map) or `times` (the times
    were set)."""

    first: int
    last: int
    process: Process
    how: str


def part(trace: Trace, conclusions: Conclusions) -> None:
    """Divide the versions of `conclusions` that had several contents, and redirect their uses to the right one."""
    stretches = _stretches(trace, conclusions)
    emptied: dict[tuple[str, int, int], list[int]] = {}
    for span in conclusions.spans:
        if span.truncated:
            emptied.setdefault(span.inode, []).append(span.truncated)
    for moments in emptied.values():
        moments.sort()
    readers: defaultdict[str, set[str]] = defaultdict(set)
    for iri, inputs in conclusions.inputs.items() if stretches else ():
        for one in inputs:
            readers[one.version].add(iri)
    outside: defaultdict[tuple[str, int, int], list[Version]] = defaultdict(list)
    for version in list(conclusions.versions.values()):
        known = stretches.get((inode_of(version.facts), version.facts.mtime, version.facts.size))
        if known:
            emptied_at = emptied.get(inode_of(version.facts), [])
            merged = _merge_overlapping(known, emptied_at, conclusions.clocks)
            alone = len(known) == 1 and known[0].how == "map" and readers[version.iri] <= {known[0].process.iri}
            if not _divide(version, merged, alone, conclusions):
                outside[inode_of(version.facts)].append(version)
    _leave_out(outside, conclusions)
    if conclusions.parts:
        _redirect(conclusions)


def _stretches(trace: Trace, conclusions: Conclusions) -> dict[Key, list[_Stretch]]:
    found: dict[Key, list[_Stretch]] = {}
    for span in conclusions.spans:
        if span.final and span.wrote_content:
            one = _Stretch(span.first, max(span.end, span.last), span.process, "map" if span.mapped else "write")
            found.setdefault((span.inode, span.final.mtime, span.final.size), []).append(one)
    for process in trace.processes.values():
        for event in process.events:
            after = event.facts() if event.kind == "SetTimes" else None
            if after and event.number("previousMtimeNs", after.mtime) != after.mtime:
                one = _Stretch(event.at, event.at, process, "times")
                found.setdefault((inode_of(after), after.mtime, after.size), []).append(one)
    return found


def _merge_overlapping(stretches: list[_Stretch], emptied: list[int], clocks: Clocks) -> list[_Stretch]:
    """Join stretches that overlap, or may overlap: simultaneous writers make one content together.

    Each result starts where the file was emptied for it; `emptied` is sorted.
    """
    joined: list[_Stretch] = []
    for one in sorted(stretches, key=lambda stretch: (stretch.first, stretch.last)):
        if joined and one.first <= joined[-1].last + clocks.between(one.process.host, joined[-1].process.host):
            before = joined.pop()
            how = before.how if one.how == "times" else one.how
            joined.append(_Stretch(before.first, max(before.last, one.last), one.process, how))
        else:
            since = joined[-1].last if joined else 0
            place = bisect_right(emptied, one.first)
            last = emptied[place - 1] if place else 0
            joined.append(_Stretch(last if last > since else one.first, one.last, one.process, one.how))
    return joined


def _divide(version: Version, stretches: list[_Stretch], alone: bool, conclusions: Conclusions) -> bool:
    """Make a version of each stretch but the last, and of the content before the first; `alone`: one process alone may
    have changed and read it, through a map. Return False if the map may have changed a content from before the run: it
    is left out then, as other runs know that content by the same key."""
    error = conclusions.clocks.between(version.host, stretches[0].process.host)
    found = version.seen < stretches[0].first - error
    if len(stretches) + found < 2:
        return True
    if found and alone:
        conclusions.gaps.append((version.iri + "~mapped", version.iri, MAPPED))
        return False
    starts = [0, *(stretch.first for stretch in stretches[not found :])]
    parts = []
    for number, since in enumerate(starts[:-1], start=1):
        process = stretches[max(0, number - 1 - found)].process
        parts.append(version.part(f"{contribution(version.iri, process)}~{number}", since, starts[number]))
    parts.append(version.part(version.iri, starts[-1], FOREVER))
    conclusions.parts[version.iri] = parts
    reason = _doubt(stretches, found)
    for one in parts:
        one.retimed = [known for known in version.retimed if one.since <= known[0] < one.until]
        conclusions.versions[one.iri] = one
        if reason:
            conclusions.gaps.append((one.iri + "~clock", one.iri, reason))
    return True


def _leave_out(versions: Mapping[tuple[str, int, int], list[Version]], conclusions: Conclusions) -> None:
    """Leave out the maps that may have changed these contents from before the run (by inode)."""
    conclusions.spans = [
        span
        for span in conclusions.spans
        if not (span.mapped and any(span.saw(version) for version in versions.get(span.inode, ())))
    ]


def _doubt(stretches: list[_Stretch], found: bool) -> str | None:
    """Return the reason for a gap; None where each content is known, by a map in the run or by the moments at which the
    times were set."""
    if found and any(stretch.how == "times" for stretch in stretches):
        return SET_BACK
    if found and all(stretch.how == "map" for stretch in stretches):
        return MAPPED
    return COARSE if found + sum(stretch.how == "write" for stretch in stretches) > 1 else None


def _redirect(conclusions: Conclusions) -> None:
    """Redirect inputs, copies and set times to the version that existed at their moment."""
    for process, inputs in conclusions.inputs.items():
        conclusions.inputs[process] = [one for found in inputs for one in _read(found, conclusions)]
    for span in conclusions.spans:
        span.sources = [_at(iri, span.first, conclusions) for iri in span.sources]
    for version in conclusions.versions.values():
        version.retimed = [(moment, _at(iri, moment - 1, conclusions)) for moment, iri in version.retimed]


def _at(iri: str, moment: int, conclusions: Conclusions) -> str:
    version = conclusions.version_at(iri, moment)
    return version.iri if version else iri


def _read(found: Input, conclusions: Conclusions) -> list[Input]:
    parts = conclusions.parts.get(found.version)
    if parts is None:
        return [found]
    error = conclusions.clocks.clock_error
    there = [one for one in parts if one.since - error <= found.last and found.first < one.until + error]
    return [
        Input(
            found.process, one.iri, max(found.first, one.since - error), min(found.last, one.until + error), found.noise
        )
        for one in there
    ]
