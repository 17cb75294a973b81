"""Whether a run is in progress. In: its folder and its record in `run.ttl`.

It is while the `provio run` that started it exists, which holds a lock on the run folder until it ends, and while any
process exists that has a thread file in the folder, or that was started in the run and has no file yet. A shell that is
recorded from some point on (`provio env`) left its identity in the folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from provio.base import turtle
from provio.system import node_local, proc, statx
from provio.trace import environment, run_source

if TYPE_CHECKING:
    from provio.system.statx import Record

SILENT = 3600.0  # seconds without a change after which a run of another host is assumed to have ended
LOOKS, MOMENT = 3, 0.001  # attempts at a lock, seconds between them
STARTED_IN = rb"(?:^|\0)PROVIO_TRACE=[^;\0]*;[^;\0]*;[^;\0]*;([0-9a-f-]{36});"


def lock(folder: Path) -> int:
    """Take the lock that marks a run as in progress; return its descriptor, which no command inherits, or -1 if the
    folder cannot be opened."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_SH)
        return fd
    return -1


def in_progress(folder: Path, record: Record, lost: bool = False, *, started: Collection[str] = ()) -> bool:
    """Return whether a run is in progress, as far as this host can determine. A run of another host without an end is
    assumed to be, unless the other hosts are known to be `lost`. `started` is the result of `started_runs`: it covers
    processes without a file."""
    if not folder.is_dir():  # archived
        return False
    if is_locked(folder) or folder.name in started:
        return True
    if not began_here(record) and "endedNs" not in record and not lost:
        return True
    return has_living_process(folder, record)


def seems_in_progress(folder: Path, record: Record) -> bool:
    """Return whether queries treat a run as in progress: as `in_progress`, but a run of other hosts counts as ended
    after an hour without a change."""
    if not folder.is_dir():  # archived
        return False
    if is_locked(folder) or has_living_process(folder, record):
        return True
    if "host" not in record or ("endedNs" in record and "unattended" not in record):
        return False
    return bool(hosts_at_work(folder, record)) and age(folder) < SILENT


def age(folder: Path) -> float:
    """Return the seconds since the last change in a run folder, by the files' times."""
    return time.time() - run_source.Folder(folder).changed() / 1e9


def has_living_process(folder: Path, record: Record) -> bool:
    """Return whether a process of this host that has a thread file in a run exists."""
    return folder.is_dir() and _booted(folder, record) and any(map(alive, process_images(folder, record)))


def hosts_at_work(folder: Path, record: Record) -> list[str]:
    """Return the encoded names of the other hosts that may have processes of a run: all without the mark that their
    files are collected."""
    if not folder.is_dir():  # archived
        return []
    own, marked = turtle.segment(environment.host()), "unattended" in record
    began = not (marked or began_here(record) or "endedNs" in record)
    found = {turtle.segment(record.get("host", ""))} if began else set()
    for place in run_source.folders_of(folder, record):
        mark = mark_of(place)
        if place.name != own and (mark or marked) and node_local.COLLECTED.encode() not in mark:
            found.add(place.name)
    return sorted(found)


def mark_of(place: Path) -> bytes:
    """Return the content of a host's mark; empty if there is none."""
    try:
        return run_source.content(place / node_local.MARK)
    except OSError:
        return b""


def _booted(folder: Path, record: Record) -> bool:
    """Return whether this host took part in the run since its boot: process ids recur."""
    boot = statx.boot_id()
    return record.get("bootId") == boot or boot.encode() in mark_of(folder / turtle.segment(environment.host()))


def started_runs() -> set[str]:
    """Return the ids of the runs that the user's processes on this host were started in: a process that has not read
    or written yet has no file."""
    return {run for _, runs in _started() for run in runs}


def _started() -> Iterator[tuple[int, set[str]]]:
    """Yield the user's processes, each with the runs that it was started in."""
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                found = re.findall(STARTED_IN, Path(entry.path, "environ").read_bytes())
                yield int(entry.name), {run.decode() for run in found}


def living_processes(folder: Path, record: Record) -> list[tuple[int, str]]:
    """Return the living processes of a run on this host: their ids and program names."""
    seen = {int(image[0]) for image in process_images(folder, record) if _booted(folder, record) and alive(image)}
    seen |= {pid for pid, runs in _started() if folder.name in runs}
    found = []
    for pid in sorted(seen):
        with contextlib.suppress(OSError):  # it has just ended
            name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="backslashreplace")
            found.append((pid, name.removesuffix("\n")))
    return found


def began_here(record: Record) -> bool:
    """Return whether a run started on this host."""
    return record.get("host") == environment.host()


def is_locked(folder: Path) -> bool:
    """Return whether the `provio run` of a run exists. Another caller of this function holds the lock for a moment."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for _ in range(LOOKS):
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return False
            except BlockingIOError:
                time.sleep(MOMENT)
        return True
    except OSError:
        return False  # a file system without locks: the processes decide
    finally:
        os.close(fd)


def process_images(folder: Path, record: Record) -> set[tuple[str, str]]:
    """Return the process id and start tick of each process of this host, from the names of its files."""
    host = turtle.segment(environment.host())
    names = (file.name.split(".") for file in run_source.Folder(folder).files(record) if file.host == host)
    images = {(parts[0], parts[1]) for parts in names if len(parts) == 5} | set(_shells(folder, record, host))
    return images | set(_captured(folder, host))


def _captured(folder: Path, host: str) -> Iterator[tuple[str, str]]:
    """Yield the processes that have files which are not collected yet."""
    place = node_local.noted(str(folder.parent.parent), folder.name, host)
    with contextlib.suppress(OSError):
        for name in os.listdir(os.path.join(place, host)) if place else ():
            pid, _, rest = name.partition(".")
            yield pid, rest.partition(".")[0]


def _shells(folder: Path, record: Record, host: str) -> Iterator[tuple[str, str]]:
    """Yield the shells that `provio env` records: each left its line of `/proc/<pid>/stat`."""
    for place in run_source.folders_of(folder, record):
        for sign in place.glob(f"*{run_source.SHELL_ENDING}") if place.name == host else ():
            with contextlib.suppress(OSError, IndexError):
                text = run_source.content(sign).decode("utf-8", "replace")
                yield text.split(" ", 1)[0], proc.fields(text)[proc.START]


def alive(image: tuple[str, str]) -> bool:
    """Return whether a process of this host, by its id and start tick, is alive; a zombie is not."""
    pid, tick = image
    try:
        facts = proc.fields(proc.stat(int(pid)))
        # The first thread of a process may end before the others.
        over = facts[proc.STATE] in ("Z", "X") and len(os.listdir(f"/proc/{pid}/task")) < 2
    except (OSError, ValueError):
        return False
    return facts[proc.START] == tick and not over
