"""Capture on a node's own disk, ended: a `.provio` in, the thread files of its runs on this host brought into their run
folders out.

A file is copied to a temporary name and renamed: to be killed in the middle, or to do it again, does no harm. What
still goes on is copied as it is by now (a thread file is whole at every instant) and stays; of what has ended, the copy
alone is left, and the mark of this host in the run folder says so.
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

LEFT = (node_local.SIGN, ".new", run_source.UNCLOSED)  # what is of no use elsewhere
DONE = ".collected"  # a folder of which all is in the run folder
PART = 1 << 20  # bytes that are copied or compared at once


def place_of(home: Home, run: str) -> Path | None:
    """Return where live files of a run lie on this host, if they are captured and not all collected."""
    place = node_local.noted(str(home.path), run, _host())
    return Path(place) if place else None


def uncollected_runs(home: Home) -> list[str]:
    """The user's runs of which something on this host is not collected; what is a colleague's, theirs collects."""
    notes = home.path / node_local.NOTES / _host()
    try:
        names = os.listdir(notes)
    except OSError:
        return []
    return [name for name in sorted(names) if RUN_ID.fullmatch(name) and _is_own(notes / name)]


def _is_own(note: Path) -> bool:
    try:
        return note.lstat().st_uid == os.geteuid()
    except OSError:  # it is collected by now
        return False


def has_uncollected(home: Home, run: str) -> bool:
    """Tell whether something of a run is not collected, on whichever host."""
    try:
        hosts = os.listdir(home.path / node_local.NOTES)
    except OSError:
        return False
    return any(os.path.lexists(home.path / node_local.NOTES / host / run) for host in hosts)


def collect_here(home: Home, runs: Iterable[str] | None = None, setting: str = "") -> list[str]:
    """Collect what is on this host, of some runs or all; return a line for each that cannot be.

    Where `capture_dir` says (the `setting`), and in shared memory, it is found without a note: another job may have
    taken that away that has a /tmp of its own, and a network file system may refuse to tell where it leads.
    """
    found = _lying(home, str(run_source.shared_memory().parent)) | (_lying(home, setting) if setting else {})
    known = sorted({*uncollected_runs(home), *found})
    wanted = known if runs is None else [run for run in runs if run in known]
    return [line for line in (collect(home, run, found.get(run)) for run in wanted) if line]


def _lying(home: Home, setting: str) -> dict[str, Path]:
    """The captured files of runs of a `.provio` that lie where a setting says; what a collector was killed over that
    had all of it is taken away first."""
    found: dict[str, Path] = {}
    with contextlib.suppress(OSError, ValueError):
        mine = Path(node_local.folder_of(setting), f"provio-{os.geteuid()}")
        for name in os.listdir(mine) if _is_mine(mine) else ():
            run = name.removesuffix(DONE)
            if RUN_ID.fullmatch(run) and node_local.TAKEN.encode() in liveness.mark_of(home.runs / run / _host()):
                if name != run:
                    _tidy(mine / name, mine / run)
                found[run] = mine / run
    return {run: place for run, place in found.items() if place.is_dir()}


def _tidy(aside: Path, place: Path) -> None:
    """Take away what was collected, unless somebody came to it: then it is to be collected again."""
    with contextlib.suppress(OSError), _alone(aside) as alone:
        if alone and living_processes(aside):
            aside.rename(place)
        elif alone:
            _take_away(aside)


def collect(home: Home, run: str, place: Path | None = None, wait: bool = False) -> str:
    """Collect what is on this host of a run, or `wait` for another who does, as its own `provio run` does at the end;
    return why it cannot be, in a line, or nothing.

    Who captures knows the `place` by itself: where jobs have a /tmp of their own each, another one that looks there
    finds nothing, and takes the note away.
    """
    place = place or place_of(home, run)
    if place is None:
        return ""
    try:
        with _alone(place, wait) as alone, home.closed():
            if alone:
                _collect(home, run, place, own=wait)
    except OSError as error:
        return (
            f"run {run}: not collected ({error.strerror}): what was recorded on {environment.host()} stays in {place}; "
            "mend that, then provio merge here"
        )
    return ""


def drop(home: Home, run: str) -> None:
    """Take away what was captured of a run that is removed: on this host the files, the notes of all."""
    place = place_of(home, run)
    if place is not None and _is_mine(place):
        _take_away(place)
    with contextlib.suppress(OSError):
        for host in os.listdir(home.path / node_local.NOTES):
            (home.path / node_local.NOTES / host / run).unlink(missing_ok=True)


def _host() -> str:
    return turtle.segment(environment.host())


def _is_mine(place: Path) -> bool:
    """A folder of one's own, and not what somebody else put where there was none any more."""
    try:
        found = place.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()


@contextlib.contextmanager
def _alone(place: Path, wait: bool = False) -> Iterator[bool]:
    """Whether nobody else collects there (any more, for who waits for that), or the folder is gone."""
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
        raise FileNotFoundError(errno.ENOENT, f"{home.runs} is not there")
    source, target = place / _host(), home.runs / run / _host()
    note = home.path / node_local.NOTES / _host() / run
    if not (home.runs / run).is_dir() or not _is_mine(place):  # removed, or lost with the node as its mark says
        note.unlink(missing_ok=True)
        if _is_mine(place) and not run_source.exists(home.runs / run):
            _take_away(place)
        return
    final = _names(source)  # if nobody is there afterwards
    ended = not (
        living_processes(place) or run in liveness.started_runs() or (not own and _is_under_way(home.runs / run))
    )
    target.mkdir(exist_ok=True)
    _bring_all(source, target, _names(source))
    if ended:
        _let_go(place, note, target, final)
    share(home, home.runs / run)


def _names(source: Path) -> set[str]:
    return {name for name in os.listdir(source) if not name.endswith(LEFT)} if source.is_dir() else set()


def _bring_all(source: Path, target: Path, names: Iterable[str]) -> None:
    for name in sorted(names):
        _bring(source / name, target / name)


def _is_under_way(folder: Path) -> bool:
    """Whether a `provio run` is there whose command has not ended: it may be about to start it."""
    from provio.trace import read  # only who asks in that time needs it

    return liveness.is_locked(folder) and "endedNs" not in read.read_head(folder)


def _take_away(place: Path) -> None:
    import shutil  # slow to import, and every merge loads this module

    shutil.rmtree(place, ignore_errors=True)


def living_processes(place: Path) -> set[int]:
    """The processes of this host that have files, or left their identity, in a folder of captured files."""
    found = set()
    with contextlib.suppress(OSError):
        for name in os.listdir(place / _host()):
            pid, _, rest = name.partition(".")
            if pid.isdigit() and liveness.alive((pid, rest.partition(".")[0])):
                found.add(int(pid))
    return found


def _bring(source: Path, target: Path) -> None:
    """Copy a file, unless it is there as it is."""
    if source.is_symlink():  # a gap
        if not os.path.lexists(target):
            os.symlink(os.readlink(source), target)
        return
    if not source.is_file() or _same(source, target):
        return
    temporary = target.with_suffix(".new")
    temporary.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with source.open("rb") as old, open(os.open(temporary, flags, 0o600), "wb") as new:
        while part := old.read(PART):
            new.write(part)
        new.flush()
        os.fsync(new.fileno())  # a full quota may show itself only so
    temporary.replace(target)


def _same(source: Path, target: Path) -> bool:
    """By content: stores through a map change neither size nor time."""
    if not target.is_file() or source.stat().st_size != target.stat().st_size:
        return False
    with source.open("rb") as one, target.open("rb") as other:
        while part := one.read(PART):
            if part != other.read(PART):
                return False
    return True


def _let_go(place: Path, note: Path, target: Path, final: set[str]) -> None:
    """Say that all is collected, and take away what lies here, unless somebody came to it meanwhile and is there: who
    comes from now on begins anew. Who came and has ended left what was not final."""
    aside, source, mark = place.with_name(place.name + DONE), place / _host(), target / node_local.MARK
    with _alone(source) as alone:
        if not alone or living_processes(place):
            return
        _bring_all(source, target, _names(source) - final)
        node_local.unsay(str(mark))
        said, new = mark.read_text(encoding="utf-8", errors="replace").removesuffix(" .\n"), mark.with_suffix(".new")
        new.write_text(f"{said}{node_local.COLLECTED}{time.time_ns()} .\n", encoding="utf-8")
        new.replace(mark)
        note.unlink(missing_ok=True)
        place.rename(aside)
    _take_away(aside)
