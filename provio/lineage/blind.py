"""Programs that could not be watched: what they may have written, of the facts of those around them.

A program that was started with a file open for writing is that file's writer, where nobody else is. Any other file that
changed while it ran, and that no recorded process wrote, may be its work: a Gap says so. And files of which only the
bytes were seen, for the library that wrote them is inside the executable.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from provio.facts import Opening, Process
from provio.identity import Identity
from provio.lineage.model import TICK, Conclusions
from provio.run_facts import Trace, Unwatched


def handed_on(trace: Trace) -> Iterator[tuple[Unwatched, Opening]]:
    """Yield what each unwatched program had open for writing when it was started: by the image before it, or by its
    parent, where that did not write to it itself from then on."""
    images: dict[tuple[str, int, int], list[Process]] = {}
    parents = {
        (process.host, event.number("childPid"), event.number("childTick")): process
        for process in trace.processes.values()
        for event in process.events
        if event.kind in ("Fork", "Spawn")
    }
    for process in trace.processes.values():
        images.setdefault((process.host, process.pid, process.tick), []).append(process)
    for program in trace.unwatched:
        key = (program.process.host, program.process.pid, program.process.tick)
        before = [
            image for image in images.get(key, ()) if image is not program.process and image.started <= program.started
        ]
        for image in [*before, *([parents[key]] if key in parents else [])]:
            yield from ((program, opening) for opening in image.openings if _left_open(opening, program.started))


def _left_open(opening: Opening, moment: int) -> bool:
    kept = opening.writable and not opening.flags & os.O_CLOEXEC
    still = opening.opened <= moment and not 0 < opening.closed <= moment
    return kept and still and all(last <= moment for _, last in opening.writes())


def suspect(trace: Trace, conclusions: Conclusions, lives: dict[str, int]) -> None:
    """Say of each version that nobody was seen to write, and that was made while a program ran unwatched, that it may
    be that program's work."""
    if not trace.unwatched:
        return
    contributed = {made.iri.partition("~")[0] for made in conclusions.contributions}
    for version in conclusions.versions.values():
        mtime = version.facts.mtime
        if version.generated_by or version.noise or version.iri in contributed:
            continue
        names = [u.name for u in trace.unwatched if u.started - TICK <= mtime <= lives[u.process.iri] + TICK]
        if names:
            reason = f"may have been written by {_listed(names)}, which could not be watched"
            conclusions.gaps.append((version.iri + "~unwatched", version.iri, reason))


def hide(trace: Trace, identity: Identity, conclusions: Conclusions) -> None:
    """Say of each version whose writer had a library of its format inside the executable what was not seen of it."""
    for opening in trace.openings():
        left = opening.at_close or opening.settled
        if opening.hidden and left:
            version = conclusions.version_at(identity.version(left), opening.closed or opening.opened)
            if version:
                conclusions.gaps.append((version.iri + "~inside", version.iri, opening.hidden))


def unseen_writer(trace: Trace) -> str | None:
    """Return what to say of a pipe that was read and that nobody was seen to write to; None where all was watched."""
    names = [program.name for program in trace.unwatched]
    return f"read from a pipe that {_listed(names)}, which could not be watched, may have written" if names else None


def _listed(names: list[str]) -> str:
    known = list(dict.fromkeys(names))
    return " or ".join(known[:3]) + (f" or {len(known) - 3} others" if len(known) > 3 else "")
