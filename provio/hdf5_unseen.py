"""HDF5 files of which only the bytes were seen: a run's facts in, a word on each opening that wrote one out.

The library that wrote such a file is inside the executable, or was called by addresses of its own (a plug-in's, those
of `ctypes`): past every layer that says what is done inside HDF5 files. Of the latter its way of writing tells: it
opens a file for reading and writing, writes at positions that it names, and leaves HDF5's signature.
"""

from __future__ import annotations

import contextlib
import os

from provio import statx
from provio.facts import Opening, Process
from provio.hdf5_signs import SYSTEM, hdf5_inside, is_hdf5
from provio.run_facts import Trace
from provio.statx import Facts

REMEDY = "see docs/hdf5.md"
OWN_WRITES = frozenset({"pwrite", "pwrite64"})


def hide(trace: Trace, host: str) -> bool:
    """Say of each HDF5 file that is still as a process left it, and that no layer told of, that what is in it was not
    seen; tell whether there was any."""
    inside: dict[bytes, bool] = {}
    found = False
    for process in trace.processes.values():
        path = process.executable if process.host == host else None
        written = _untold(process) if path else []
        if not path or not written:
            continue
        if path not in inside:
            inside[path] = _has_inside(path, process)
        for opening in written:
            found |= _note(opening, path if inside[path] else None)
    return found


def _untold(process: Process) -> list[Opening]:
    """What a process wrote as HDF5 may have, and of whose inside no layer said a word."""
    if any(not container.facts.inode for container in process.containers):
        return []  # a file of several parts, or one that was made at its close: some of these may be its own
    told = {container.facts.lasting for container in process.containers}
    both = (opening for opening in process.openings if opening.flags & os.O_ACCMODE == os.O_RDWR and not opening.hidden)
    return [opening for opening in both if _left(opening) and opening.facts.lasting not in told]


def _left(opening: Opening) -> Facts | None:
    """What a process left of a file that it wrote."""
    wrote = opening.kind == "FileVersion" and opening.writes()
    return opening.at_close or opening.settled if wrote else None


def _has_inside(path: bytes, process: Process) -> bool:
    """Whether HDF5 is inside an executable, where that is still the file which ran."""
    with contextlib.suppress(OSError, ValueError):
        own = not path.startswith(SYSTEM) and statx.facts(path).key == Facts.of(process.record).key
        return own and hdf5_inside(path)
    return False


def _note(opening: Opening, program: bytes | None) -> bool:
    """Note why what lies in a file was not seen, where it is HDF5 and was left so; `program` is what has HDF5 in it."""
    left = _left(opening)
    at_places = any(access.counts.get("writeApi") in OWN_WRITES for access in opening.accesses)
    if left is None or not (program or at_places):
        return False
    with contextlib.suppress(OSError):
        path = opening.name or b""
        if is_hdf5(path) and statx.facts(path).key == left.key:
            inside = program and f"HDF5 is inside the executable {program.decode('utf-8', 'replace')}"
            why = inside or "HDF5 was called past all that watches it"
            opening.hidden = f"{why}: datasets that it wrote are not seen ({REMEDY})"
            return True
    return False
