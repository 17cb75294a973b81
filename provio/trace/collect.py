"""Collects node-local capture: copies the thread files that runs captured on this host's disk into their run folders.

A file is copied to a temporary name and renamed, so a copy that was interrupted can be repeated. The files of a run in
progress are copied as they are (a thread file is complete at every instant) and stay; those of a run that ended on this
host are removed after the copy, which the host's mark in the run folder states.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from provio.base import turtle
from provio.settings.home import RUN_ID, Home, share
from provio.system import node_local
from provio.trace import environment, liveness, run_source

# endings of files that only this host uses, and of the list, which is copied before the others
NOT_COPIED = (node_local.SIGN, ".new", run_source.UNCLOSED, run_source.TERMINAL_ENDING, run_source.LIST)
DONE = ".collected"  # ending of a folder that is completely copied to the run folder
PART = 1 << 20  # bytes that are copied or compared at once


def place_of(home: Home, run: str) -> Path | None:
    """Return the folder of a run's captured files on this host; None if all are collected or none was captured."""
    place = node_local.noted(str(home.path), run, _host())
    return Path(place) if place else None


def uncollected_runs(home: Home) -> list[str]:
    """Return the user's own runs that have uncollected files on this host; other users collect theirs."""
    notes = home.path / node_local.NOTES / _host()
    try:
        names = os.listdir(notes)
    except OSError:
        return []
    return [name for name in sorted(names) if RUN_ID.fullmatch(name) and _is_own_note(notes / name)]


def _is_own_note(note: Path) -> bool:
    try:
        return note.lstat().st_uid == os.geteuid()
    except OSError:  # already collected
        return False


def has_uncollected(home: Home, run: str) -> bool:
    """Return whether a run has uncollected files on any host."""
    try:
        hosts = os.listdir(home.path / node_local.NOTES)
    except OSError:
        return False
    return any(os.path.lexists(home.path / node_local.NOTES / host / run) for host in hosts)


def collect_here(home: Home, runs: Iterable[str] | None = None, setting: str = "") -> list[str]:
    """Collect the captured files on this host, of the given runs or all; return a line for each run that fails.

    The folder that `capture_dir` names (the `setting`) and shared memory are also searched directly, without the notes:
    a job with a private /tmp may have removed a note, and a network file system may refuse to read it.
    """
    found = _captured_in(home, str(run_source.shared_memory().parent))
    found |= _captured_in(home, setting) if setting else {}
    known = sorted({*uncollected_runs(home), *found})
    wanted = known if runs is None else [run for run in runs if run in known]
    return [line for line in (collect(home, run, found.get(run)) for run in wanted) if line]


def _captured_in(home: Home, setting: str) -> dict[str, Path]:
    """Return the folders of captured runs of a `.provio` in the place that a setting names. First remove the folders
    that a collector had finished when it was killed."""
    found: dict[str, Path] = {}
    with contextlib.suppress(OSError, ValueError):
        mine = Path(node_local.folder_of(setting), f"provio-{os.geteuid()}")
        names = (
            [name for name in os.listdir(mine) if RUN_ID.fullmatch(name.removesuffix(DONE))] if _is_mine(mine) else []
        )
        runs, host = home.runs, _host()
        for name in names:
            run = name.removesuffix(DONE)
            if (runs / run).is_dir() and node_local.TAKEN.encode() in liveness.mark_of(runs / run / host):
                if name != run:
                    _remove_collected(mine / name, mine / run)
                found[run] = mine / run
    return {run: place for run, place in found.items() if place.is_dir()}


def _remove_collected(aside: Path, place: Path) -> None:
    """Remove a collected folder; if a process joined it in the meantime, rename it back, to be collected again."""
    with contextlib.suppress(OSError), _exclusive(aside) as locked:
        if locked and living_processes(aside):
            aside.rename(place)
        elif locked:
            _remove(aside)


def collect(home: Home, run: str, place: Path | None = None, wait: bool = False) -> str:
    """Collect a run's files on this host; return one line with the reason if that fails, else an empty string. `wait`
    for another collector of the run, as its own `provio run` does at the end.

    The process that captures passes the `place`: where each job has a private /tmp, a collector of another job finds
    nothing in the place that the note names, and removes the note.
    """
    place = place or place_of(home, run)
    if place is None:
        return ""
    try:
        with _exclusive(place, wait) as locked, home.closed():
            if locked:
                _collect(home, run, place, own=wait)
    except OSError as error:
        return (
            f"run {run}: not collected ({error.strerror}): the files recorded on {environment.host()} stay in {place}; "
            "fix the cause, then run provio merge on this host"
        )
    return ""


def drop(home: Home, run: str) -> None:
    """Remove the captured files of a run on this host, and its notes of all hosts: the run is being removed."""
    place = place_of(home, run)
    if place is not None and _is_mine(place):
        _remove(place)
    with contextlib.suppress(OSError):
        for host in os.listdir(home.path / node_local.NOTES):
            (home.path / node_local.NOTES / host / run).unlink(missing_ok=True)


def _host() -> str:
    return turtle.segment(environment.host())


def _is_mine(place: Path) -> bool:
    """Return whether the place is a folder of this user, not something that another user put there."""
    try:
        found = place.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


@contextlib.contextmanager
def _exclusive(place: Path, wait: bool = False) -> Iterator[bool]:
    """Lock a folder against other collectors; yield False if one holds the lock, True if the folder does not exist."""
    fd = -1
    try:
        fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield True
    except BlockingIOError:
        yield False
    except FileNotFoundError:
        if fd >= 0:
            raise
        yield True
    finally:
        if fd >= 0:
            os.close(fd)


def _collect(home: Home, run: str, place: Path, own: bool) -> None:
    if not home.runs.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"{home.runs} is missing")
    source, target = place / _host(), home.runs / run / _host()
    note = home.path / node_local.NOTES / _host() / run
    if not (home.runs / run).is_dir() or not _is_mine(place):  # the run was removed, or the node lost its files
        note.unlink(missing_ok=True)
        if _is_mine(place) and not run_source.exists(home.runs / run):
            _remove(place)
        return
    final = _names(source)  # complete if no process is there afterwards
    ended = not (
        living_processes(place) or run in liveness.started_runs() or (not own and _is_starting(home.runs / run))
    )
    target.mkdir(exist_ok=True)
    _copy_list(source, target)
    _copy_all(source, target, _names(source))
    if ended:
        _finish(place, note, target, final)
    share(home, home.runs / run)


def _names(source: Path) -> set[str]:
    return {name for name in os.listdir(source) if not name.endswith(NOT_COPIED)} if source.is_dir() else set()


def _copy_list(source: Path, target: Path) -> None:
    """Add to the list of thread files, before the folder is searched: all files that a copy of it names are copied.
    After an earlier collection, the folder was made again, and its list names only the later files."""
    lists = [path for path in (target / run_source.LIST, source / run_source.LIST) if path.exists()]
    lines = [line for path in lists for line in path.read_bytes().splitlines(keepends=True)]
    whole = b"".join(dict.fromkeys(line for line in lines if line.endswith(b"\n")))
    if lists and not (lists[0].parent == target and lists[0].read_bytes() == whole):
        _write(target / run_source.LIST, [whole])


def _copy_all(source: Path, target: Path, names: Iterable[str]) -> None:
    for name in sorted(names):
        _copy(source / name, target / name)


def _is_starting(folder: Path) -> bool:
    """Return whether the run's `provio run` exists and its command has not ended: it may be about to start it."""
    from provio.trace import read  # rarely needed

    return liveness.is_locked(folder) and "endedNs" not in read.read_head(folder)


def _remove(place: Path) -> None:
    import shutil  # slow to import, and every merge loads this module

    shutil.rmtree(place, ignore_errors=True)


def living_processes(place: Path) -> set[int]:
    """Return the processes of this host that have files, or left their identity, in a folder of captured files."""
    found = set()
    with contextlib.suppress(OSError):
        for name in os.listdir(place / _host()):
            pid, _, rest = name.partition(".")
            if pid.isdigit() and liveness.alive((pid, rest.partition(".")[0])):
                found.add(int(pid))
    return found


def _copy(source: Path, target: Path) -> None:
    """Copy a file, unless the target is equal."""
    if source.is_symlink():  # a gap
        if not os.path.lexists(target):
            os.symlink(os.readlink(source), target)
        return
    if not source.is_file() or _same(source, target):
        return
    with source.open("rb") as old:
        _write(target, iter(lambda: old.read(PART), b""))


def _write(target: Path, parts: Iterable[bytes]) -> None:
    temporary = target.with_suffix(".new")
    temporary.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with open(os.open(temporary, flags, 0o600), "wb") as new:
        new.writelines(parts)
        new.flush()
        os.fsync(new.fileno())  # some file systems report a full quota only here
    temporary.replace(target)


def _same(source: Path, target: Path) -> bool:
    """Compare by content: stores through a memory map change neither size nor time."""
    if not target.is_file() or source.stat().st_size != target.stat().st_size:
        return False
    with source.open("rb") as one, target.open("rb") as other:
        while part := one.read(PART):
            if part != other.read(PART):
                return False
    return True


def _finish(place: Path, note: Path, target: Path, final: set[str]) -> None:
    """Mark this host as collected, and remove its captured files, unless a process joined in the meantime and is alive.
    A process that joined and ended left files that are not `final`: they are copied first. Later ones start again."""
    aside, source, mark = place.with_name(place.name + DONE), place / _host(), target / node_local.MARK
    with _exclusive(source) as locked:
        if not locked or living_processes(place):
            return
        _copy_list(source, target)
        _copy_all(source, target, _names(source) - final)
        node_local.unsay(str(mark))
        text, new = mark.read_text(encoding="utf-8", errors="replace").removesuffix(" .\n"), mark.with_suffix(".new")
        new.write_text(f"{text}{node_local.COLLECTED}{time.time_ns()} .\n", encoding="utf-8")
        new.replace(mark)
        note.unlink(missing_ok=True)
        place.rename(aside)
    _remove(aside)
