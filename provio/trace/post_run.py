"""Post-processing of a run: the facts that can only be determined after it, written to `settled.ttl`.

For each file with no observed close or unmap: its present facts, if the path still leads to that file. For each path
that has `..` or a symbolic link: the resolved path. For each program that could not be watched: the version of its
executable. For each HDF5 file that was written without the HDF5 interceptors: that its datasets were not observed.
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
from provio.trace.run_source import TERMINAL_ENDING, folders_of, put

# HDF5 files that were written without the HDF5 interceptors: of these only the bytes were observed.


REMEDY = "see docs/hdf5.md"
OWN_WRITES = frozenset({"pwrite", "pwrite64"})


def note_unseen_hdf5(trace: Trace, host: str) -> bool:
    """Note, for each HDF5 file that a process wrote without a record of its objects, that they were not observed, if
    the file has not changed since; return whether there was any."""
    inside: dict[bytes, bool] = {}
    found = False
    for process in trace.processes.values():
        path = process.executable if process.host == host else None
        written = _written_unseen(process) if path else []
        if not path or not written:
            continue
        if path not in inside:
            inside[path] = _contains_hdf5(path, process)
        for opening in written:
            found |= _note_unseen(opening, path if inside[path] else None)
    return found


def _written_unseen(process: Process) -> list[Opening]:
    """Return the openings that the HDF5 library may have written and that no HDF5 interceptor reported."""
    if any(not container.facts.inode for container in process.containers):
        return []  # a file in several parts, or created at its close: some of the openings may belong to it
    reported = {container.facts.lasting for container in process.containers}
    both = (
        opening
        for opening in process.openings
        if opening.flags & os.O_ACCMODE == os.O_RDWR and not opening.unseen_reason
    )
    return [opening for opening in both if _facts_after_write(opening) and opening.facts.lasting not in reported]


def _facts_after_write(opening: Opening) -> Facts | None:
    """Return the facts of a file after the process wrote it; None if it did not write it."""
    wrote = opening.kind == "FileVersion" and opening.writes()
    return opening.at_close or opening.settled if wrote else None


def _contains_hdf5(path: bytes, process: Process) -> bool:
    """Return whether the HDF5 library is linked into an executable, if that is still the file that ran."""
    with contextlib.suppress(OSError, ValueError):
        own = not path.startswith(SYSTEM) and statx.facts(path).key == Facts.of(process.record).key
        return own and hdf5_inside(path)
    return False


def _note_unseen(opening: Opening, program: bytes | None) -> bool:
    """Note why the objects of a file were not observed, if it is an unchanged HDF5 file; `program` is the executable
    that contains the HDF5 library."""
    left = _facts_after_write(opening)
    at_places = any(access.counts.get("writeApi") in OWN_WRITES for access in opening.accesses)
    if left is None or not (program or at_places):
        return False
    with contextlib.suppress(OSError):
        path = opening.name or b""
        if is_hdf5(path) and statx.facts(path).key == left.key:
            inside = program and f"HDF5 is inside the executable {program.decode('utf-8', 'replace')}"
            why = inside or "HDF5 was called without its interceptors"
            opening.unseen_reason = f"{why}: datasets that it wrote are not seen ({REMEDY})"
            return True
    return False


SETTLED = "settled.ttl"
NUMBERS = ("inode", "birthNs", "mtimeNs", "ctimeNs", "size")


def postprocess(trace: Trace) -> Trace:
    """Post-process a run's files of this host, if its folder can be written; return the trace."""
    if os.access(trace.folder, os.W_OK):
        postprocess_host(trace, turtle.segment(environment.host()))
        _remove_marks(trace)
    return trace


def _remove_marks(trace: Trace) -> None:
    """Remove the marks of terminals of this host, unless a process of the run may still search one."""
    places = _places(trace, turtle.segment(environment.host()))
    marks = [mark for place in places for mark in place.glob(f"*{TERMINAL_ENDING}")]
    if marks and not liveness.in_progress(trace.folder, trace.run, started=liveness.started_runs()):
        for mark in marks:
            with contextlib.suppress(OSError):
                mark.unlink()


def postprocess_host(trace: Trace, host: str) -> None:
    """Add the present facts to each opening and process of `trace` on `host`, and write them to its `settled.ttl`.

    Facts of an earlier call stay. Files that a living process has open are inspected again at the next merge.
    """
    if _places(trace, host):
        found = inspect(trace, host)
        write_settled(trace, host, statements(trace, host), found)


def inspect(trace: Trace, host: str) -> bool:
    """Add the present facts to each opening and process of a trace or of a partition; return whether any was added."""
    resolve = Resolver()
    names, alive, mapped = _CurrentNames(trace), cache(liveness.alive), _still_mapped(trace)
    found = "file" not in left_out(trace.run.get("detail", "")) and _programs(trace, host)
    for opening in trace.openings():
        if opening.process.host == host:
            ended = opening.at_close and opening.iri not in mapped
            found |= (not ended and _late_facts(opening, names, alive)) | _resolved(opening, resolve)
    if trace.run.get("hdf5") == "auto":  # runs of older versions have no such value
        found |= note_unseen_hdf5(trace, host)
    return found


def write_settled(trace: Trace, host: str, stated: Iterable[str], found: bool) -> None:
    """Write the statements (Turtle) to the host's `settled.ttl` if facts were `found` now, or there is no file yet."""
    places = _places(trace, host)
    if places and (found or not any((place / SETTLED).exists() for place in places)):
        text = "".join([f"@prefix : <{NS}> .\n", *stated])
        put(places[0] / SETTLED, text)
        trace.digests.replace((host, SETTLED), text.encode())


def _places(trace: Trace, host: str) -> list[Path]:
    return [folder for folder in folders_of(trace.folder, trace.run) if folder.name == host]


def statements(trace: Trace, host: str) -> Iterator[str]:
    """Yield the facts that post-processing found, as Turtle."""
    for process in trace.processes.values():
        if process.host == host and _has_found_facts(process):
            values = [("device", turtle.literal(process.record["device"]))]
            yield _statement(process.iri, values + [(name, process.record[name]) for name in NUMBERS])
    for opening in trace.openings():
        values = _values(opening) if opening.process.host == host else []
        if values:
            yield _statement(opening.iri, values)


def _has_found_facts(process: Process) -> bool:
    """Return whether the facts of a process's executable come from post-processing, not from the process itself."""
    return "inode" in process.record and "a" not in process.record


def settled_values(later: Facts) -> dict[str, str]:
    """Return the properties of a `settled.ttl` record for a file's facts."""
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
    """Add the facts of executables to the processes without them, if the file has not changed since the start."""
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


def _late_facts(opening: Opening, names: _CurrentNames, alive: Callable[[tuple[str, str]], bool]) -> bool:
    """Add the present facts of a file that was open or mapped for writing until the end of its process; return whether
    they are final."""
    if opening.kind != "FileVersion" or not opening.writable or opening.settled:
        return False
    # Tested before the file is inspected: the process may end in between.
    opening.provisional = alive((str(opening.process.pid), str(opening.process.tick)))
    for path in names.of(opening):
        facts = _facts_of(path)
        if facts and facts.lasting == opening.facts.lasting:
            opening.settled = facts
            return not opening.provisional
    return False


def _still_mapped(trace: Trace) -> set[str]:
    """Return the openings with a shared writable map without an observed unmap."""
    events = [e for process in trace.processes.values() for e in process.events if e.kind in ("Map", "Unmap")]
    unmapped = {event.record.get("map") for event in events if event.kind == "Unmap"}
    held = (event for event in events if event.kind == "Map" and event.iri not in unmapped)
    return {event.record.get("object", "") for event in held if event.record.get("shared") == "true"}


class _CurrentNames:
    """The present paths of a trace's files, from its renames and links in the order of time."""

    def __init__(self, trace: Trace) -> None:
        self.new: dict[tuple[str, int, int], list[tuple[int, bytes]]] = {}
        self.moments: list[int] = []
        self.moved: dict[bytes, list[tuple[int, bytes]]] = {}  # by folder: index of the move, new name
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
        """Return the paths that may lead to an opening's file now, the most likely first."""
        names = [(opening.opened, opening.path or b""), *self.new.get(opening.facts.lasting, ())]
        return [path for path in dict.fromkeys(self._moved(*name) for name in reversed(names)) if path]

    def _moved(self, since: int, path: bytes) -> bytes:
        """Return the present path, after the renames of folders since a moment."""
        number = bisect_left(self.moments, since)
        while self.moved:
            found = [(*known[0], old) for old in folders(path) if (known := self._since(number, old))]
            if not found:
                break
            number, new, old = min(found)
            number, path = number + 1, new + path[len(old) :]
        return path

    def _since(self, number: int, folder: bytes) -> list[tuple[int, bytes]]:
        """Return the next rename of a folder, if any, as a list."""
        known = self.moved.get(folder, [])
        place = bisect_left(known, (number, b""))
        return known[place : place + 1]


def _resolved(opening: Opening, resolve: Resolver) -> bool:
    """Add the path without `..` and symbolic links, if it still leads to this file, or if its folder was moved; return
    whether it was added."""
    named = opening.kind in ("FileVersion", "Directory", "Pipe") and not opening.unlinked
    if not named or not opening.path or opening.resolved:
        return False
    path = resolve(opening.path)
    if path == opening.path:
        return False
    try:
        found = os.lstat(path)
    except OSError:
        opening.resolved = None if os.path.lexists(os.path.dirname(path)) else path
        return opening.resolved is not None
    device = f"{os.major(found.st_dev)}:{os.minor(found.st_dev)}"
    if (device, found.st_ino) != (opening.facts.device, opening.facts.inode):
        return False
    opening.resolved = path
    return True


class Resolver:
    """`realpath` with a cache of folders."""

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
