"""What is kept of a process when its files are let go: what others need of it, or what it did to some files; a process
in, another one or less of it out.
"""

from __future__ import annotations

import sys

from provio.facts import Event, Opening, Process, Thread
from provio.lineage.model import inode_hash
from provio.lineage.spans import HANDS_ON
from provio.plain import replace

TIES = frozenset({"Fork", "Spawn", "Exec", "ExecFailed", "ChildEnd"})  # events that concern other processes


def outline(process: Process, script: Opening | None) -> Process:
    """Return what there is to know of a process for others."""
    record = {name: sys.intern(value) for name, value in process.record.items()}
    found = Process(process.iri, process.host, process.pid, process.tick, process.image_number, record)
    found._started, found._ended = process.started, process.ended
    thread = Thread("", found, 0, 0)
    for event in process.events:
        if event.kind in TIES:
            found.events.append(Event(event.iri, event.kind, found, thread, event.at, event.packed.packed()))
    prefixes = [one for one in process.openings if one.path and one.path.endswith(b"/pyvenv.cfg")]
    for opening in ([script] if script else []) + prefixes:
        kept = replace(opening, process=found, accesses=[], copied_from=(), copied_to=(), members=())
        found.openings.append(kept)
    return found


def concerning(process: Process, files: frozenset[int]) -> Process:
    """Leave of a process what concerns some files alone, by the hash of their inodes."""
    process._started, process._ended = process.started, process.ended
    process.openings = [one for one in process.openings if inode_hash(one.facts) in files]
    process.containers = [one for one in process.containers if inode_hash(one.facts) in files]
    known = {one.iri for one in process.openings}
    maps = {e.iri for e in process.events if e.record.get("object") in known}
    process.events = [e for e in process.events if _concerns(e, files, known, maps)]
    process.failures, process.within, process.summed = [], [], []
    process.record = {name: process.record[name] for name in ("image", "rank") if name in process.record}
    _pack(process)
    for member in (member for file in process.containers for member in file.members):
        member.record = {name: member.record[name] for name in ("created",) if name in member.record}
    return process


def _pack(process: Process) -> None:
    """Have small what is kept of a process."""
    for event in process.events:
        event.packed = event.packed.packed()
    for opening in (*process.openings, *process.containers):
        for access in (*opening.accesses, *(access for member in opening.members for access in member.accesses)):
            access.packed = access.packed.packed()


def _concerns(event: Event, files: frozenset[int], openings: set[str], maps: set[str]) -> bool:
    if event.kind in HANDS_ON or event.record.get("object") in openings or event.record.get("map") in maps:
        return True
    facts = event.facts()
    return facts is not None and inode_hash(facts) in files
