"""Looks at what only the time after a run can tell: the facts of a trace in, `settled.ttl` out.

For each path whose close nobody saw: what the file is now, if it still is that file. For each path that holds `..` or
leads through a symbolic link: the name without them. For each program
that could not be watched: which version of its file it is. For each HDF5 file that was written past all that watches
HDF5 (`hdf5_unseen.py`): that its datasets were not seen.
"""

from __future__ import annotations

import contextlib
import os
import stat
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from provio.base import turtle
from provio.base.folders import folders
from provio.base.vocab import NS
from provio.settings.record_classes import left_out
from provio.system import statx
from provio.system.elf import SYSTEM, hdf5_inside, is_hdf5
from provio.system.statx import Facts
from provio.trace import environment, liveness
from provio.trace.facts import Opening, Process
from provio.trace.run_facts import Trace
from provio.trace.run_source import folders_of, put

# HDF5 files of which only the bytes were seen: a run's facts in, a word on each opening that wrote one out.


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
    both = (
        opening
        for opening in process.openings
        if opening.flags & os.O_ACCMODE == os.O_RDWR and not opening.unseen_reason
    )
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
            opening.unseen_reason = f"{why}: datasets that it wrote are not seen ({REMEDY})"
            return True
    return False


SETTLED = "settled.ttl"
NUMBERS = ("inode", "birthNs", "mtimeNs", "ctimeNs", "size")


def postprocess(trace: Trace) -> Trace:
    """Look at what processes that outlived the run on this host have left."""
    if os.access(trace.folder, os.W_OK):
        postprocess_host(trace, turtle.segment(environment.host()))
    return trace


def postprocess_host(trace: Trace, host: str) -> None:
    """Add to each opening and process of `trace` on `host` what is found now, and write it to the host's `settled.ttl`.

    What was found before stays as it was; what a process has open that is still there is looked at when it is merged
    again, too.
    """
    if _places(trace, host):
        found = inspect(trace, host)
        write_settled(trace, host, statements(trace, host), found)


def inspect(trace: Trace, host: str) -> bool:
    """Add to each opening and process of a trace, or of a part of one that has nothing to do with the others, what is
    found now; tell whether there was anything."""
    resolve = Resolver()
    names, alive = _Names(trace), cache(liveness.alive)
    found = "file" not in left_out(trace.run.get("detail", "")) and _programs(trace, host)
    for opening in trace.openings():
        if opening.process.host == host:
            found |= _late_facts(opening, names, alive) | _resolved(opening, resolve)
    if trace.run.get("hdf5") == "auto":  # where it was to be seen: an older run says nothing of it
        found |= hide(trace, host)
    return found


def write_settled(trace: Trace, host: str, stated: Iterable[str], found: bool) -> None:
    """Write what is stated (Turtle) of all that was found, now or before, to the host's `settled.ttl`."""
    places = _places(trace, host)
    if places and (found or not any((place / SETTLED).exists() for place in places)):
        text = "".join([f"@prefix : <{NS}> .\n", *stated])
        put(places[0] / SETTLED, text)
        trace.digests.replace((host, SETTLED), text.encode())


def _places(trace: Trace, host: str) -> list[Path]:
    return [folder for folder in folders_of(trace.folder, trace.run) if folder.name == host]


def statements(trace: Trace, host: str) -> Iterator[str]:
    """All that is settled, as Turtle."""
    for process in trace.processes.values():
        if process.host == host and _found_here(process):
            values = [("device", turtle.literal(process.record["device"]))]
            yield _statement(process.iri, values + [(name, process.record[name]) for name in NUMBERS])
    for opening in trace.openings():
        values = _values(opening) if opening.process.host == host else []
        if values:
            yield _statement(opening.iri, values)


def _found_here(process: Process) -> bool:
    """Its program's facts are no word of its own."""
    return "inode" in process.record and "a" not in process.record


def settled_values(later: Facts) -> dict[str, str]:
    """What a record says of what a file was found to be, by the names there."""
    return {"settledMtimeNs": str(later.mtime), "settledCtimeNs": str(later.ctime), "settledSize": str(later.size)}


def _values(opening: Opening) -> list[tuple[str, str]]:
    values: list[tuple[str, str]] = []
    if opening.settled and not opening.provisional:
        values += settled_values(opening.settled).items()
    if opening.resolved:
        values.append(turtle.text_or_encoded("resolvedPath", opening.resolved))
    if opening.unseen_reason:
        values.append(("reason", turtle.literal(opening.unseen_reason)))
    return values


def _statement(subject: str, pairs: list[tuple[str, str]]) -> str:
    return f"<{subject}>" + " ;".join(f" :{name} {value}" for name, value in pairs) + " .\n"


def _programs(trace: Trace, host: str) -> bool:
    """Note the facts of each executable that its process does not state, where it was not changed since the start."""
    known: dict[bytes, Facts | None] = {}
    found = False
    for process in trace.processes.values():
        path = process.executable
        if process.host != host or path is None or "inode" in process.record:
            continue
        if path not in known:
            known[path] = _facts_of(path)
        facts = known[path]
        if facts and facts.ctime <= process.started:
            values = (facts.inode, facts.birth, facts.mtime, facts.ctime, facts.size)
            process.record.update(zip(NUMBERS, map(str, values), strict=True), device=facts.device)
            found = True
    return found


def _facts_of(path: bytes) -> Facts | None:
    try:
        return statx.facts(path)
    except OSError:
        return None


def _late_facts(opening: Opening, names: _Names, alive: Callable[[tuple[str, str]], bool]) -> bool:
    """What the file is now, where nobody saw the close of what was open for writing; tell whether it stays that."""
    if opening.kind != "FileVersion" or not opening.writable or opening.at_close or opening.settled:
        return False
    # Tested before the file is inspected: the process may end in between.
    opening.provisional = alive((str(opening.process.pid), str(opening.process.tick)))
    for path in names.of(opening):
        facts = _facts_of(path)
        if facts and facts.lasting == opening.facts.lasting:
            opening.settled = facts
            return not opening.provisional
    return False


class _Names:
    """Where files of a trace are now: the renames and links in it, in the order of time."""

    def __init__(self, trace: Trace) -> None:
        self.new: dict[tuple[str, int, int], list[tuple[int, bytes]]] = {}
        self.moments: list[int] = []
        self.moved: dict[bytes, list[tuple[int, bytes]]] = {}  # by the folder: which of the moves, and its new name
        files = {opening.facts.lasting for opening in trace.openings()}
        events = (e for p in trace.processes.values() for e in p.events if e.kind in ("Rename", "Link"))
        for event in sorted(events, key=lambda event: event.at):
            old, new, facts = event.text("from"), event.text("to"), event.facts()
            if old and new and facts:
                self.new.setdefault(facts.lasting, []).append((event.at, new))
                if event.kind == "Rename" and facts.lasting not in files:
                    self.moved.setdefault(old, []).append((len(self.moments), new))
                    self.moments.append(event.at)

    def of(self, opening: Opening) -> list[bytes]:
        """Return the paths that may lead to the file of an opening now, the likeliest first."""
        names = [(opening.opened, opening.path or b""), *self.new.get(opening.facts.lasting, ())]
        return [path for path in dict.fromkeys(self._moved(*name) for name in reversed(names)) if path]

    def _moved(self, since: int, path: bytes) -> bytes:
        """Where a path leads now that folders were moved."""
        number = bisect_left(self.moments, since)
        while self.moved:
            found = [(*known[0], old) for old in folders(path) if (known := self._since(number, old))]
            if not found:
                break
            number, new, old = min(found)
            number, path = number + 1, new + path[len(old) :]
        return path

    def _since(self, number: int, folder: bytes) -> list[tuple[int, bytes]]:
        """The next move of a folder, if any."""
        known = self.moved.get(folder, [])
        place = bisect_left(known, (number, b""))
        return known[place : place + 1]


def _resolved(opening: Opening, resolve: Resolver) -> bool:
    """The path without `..` and symbolic links, where it still leads to this file."""
    named = opening.kind in ("FileVersion", "Directory", "Pipe") and not opening.unlinked
    if not named or not opening.path or opening.resolved:
        return False
    path = resolve(opening.path)
    if path == opening.path:
        return False
    try:
        found = os.lstat(path)
    except OSError:
        return False
    device = f"{os.major(found.st_dev)}:{os.minor(found.st_dev)}"
    if (device, found.st_ino) != (opening.facts.device, opening.facts.inode):
        return False
    opening.resolved = path
    return True


class Resolver:
    """`realpath`, with the folders remembered."""

    def __init__(self) -> None:
        self.folders: dict[bytes, bytes] = {}

    def __call__(self, path: bytes) -> bytes:
        """Return a path without links in it."""
        folder, _, name = path.rpartition(b"/")
        if name in (b"", b"..") or self._is_link(path):
            return os.path.realpath(path)
        known = self.folders.get(folder)
        if known is None:
            known = self.folders[folder] = os.path.realpath(folder or b"/")
        return (b"" if known == b"/" else known) + b"/" + name

    @staticmethod
    def _is_link(path: bytes) -> bool:
        try:
            return stat.S_ISLNK(os.lstat(path).st_mode)
        except OSError:
            return False
