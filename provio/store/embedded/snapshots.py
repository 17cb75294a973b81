"""What readers see: a writer publishes snapshots of its store, a reader holds the newest while it asks.

`.provio/snapshots/N` are hard-linked copies of the store, `current` is a link to the newest. A reader holds a shared
lock on the folder of the one it asks. An older snapshot is deleted by its last reader, or by the next writer, which
deletes what a kill left half made too. A store that a merge did not leave whole is put back to what was published last.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from provio.settings.home import Home

KEPT = frozenset({"current", "merged"})
LEADING = ("CURRENT", "MANIFEST-")  # the files by which RocksDB finds the tables
YOUNG = 60.0  # seconds for which somebody may be about to lock what he has begun
TRIES = 1000  # a link that leads nowhere is broken, not just overtaken, when it does so again and again


def hold(home: Home) -> tuple[str, int] | None:
    """Return the name of the published snapshot, and a descriptor that keeps it there; None where there is none."""
    for _ in range(TRIES):
        name = published(home)
        if name is None:
            return None
        fd = _held(home.snapshots / name)
        if fd is not None:
            return name, fd
    return None


def published(home: Home) -> str | None:
    """Return the name that `current` has; None where there is none, or it would lead out of the folder."""
    try:
        name = os.readlink(home.snapshots / "current")
    except OSError:
        return None
    return name if name.isascii() and name.isdigit() else None


def _held(folder: Path) -> int | None:
    """A shared lock on a snapshot; None where a writer has taken it away, or is about to."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        _lock(fd, fcntl.LOCK_SH)
        if os.path.samestat(os.fstat(fd), os.stat(folder)):
            return fd
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(fd)
    return None


def _lock(fd: int, how: int) -> None:
    """Lock at once or raise BlockingIOError; a file system without locks has nobody hold anything."""
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return


def let_go(home: Home, name: str, fd: int) -> None:
    """End what `hold` began; a snapshot that was superseded is deleted, unless somebody else holds it."""
    try:
        if published(home) not in (None, name):
            _lock(fd, fcntl.LOCK_EX)
            take_away(home.snapshots / name)
    except BlockingIOError:
        pass  # the last one deletes it
    finally:
        os.close(fd)


def publish(home: Home, store: Path) -> None:
    """Let readers see what a store holds, which nobody has open and of which all is in tables."""
    home.snapshots.mkdir(exist_ok=True)
    number = 1 + max(map(_number, os.listdir(home.snapshots)), default=0)
    new = home.snapshots / f"{number}.tmp"
    take_away(new)
    _link(store, new)
    new.rename(home.snapshots / str(number))
    link = home.snapshots / "current.new"
    link.unlink(missing_ok=True)
    link.symlink_to(str(number))
    link.replace(home.snapshots / "current")
    sweep(home)
    sweep_overlays(home)


def _number(name: str) -> int:
    digits = name.partition(".")[0]
    return int(digits) if digits.isascii() and digits.isdigit() else 0


def sweep(home: Home) -> None:
    """Take away the snapshots that are neither published nor held, and what is left of half-made ones."""
    try:
        current = os.readlink(home.snapshots / "current")
        entries = list(os.scandir(home.snapshots))
    except OSError:
        return  # nothing was published yet, which the next merge will do
    for entry in entries:
        if entry.name not in KEPT and entry.name != current and entry.is_dir(follow_symlinks=False):
            with contextlib.suppress(OSError), _alone(entry.path):
                take_away(entry.path)


def sweep_overlays(home: Home) -> None:
    """Take away what was made of an earlier snapshot and of runs that are not in it, where nobody asks it."""
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(home.overlays)):
            take_overlay(Path(entry.path))
        home.overlays.rmdir()  # where somebody has one, it stays


def take_overlay(folder: Path) -> None:
    """Take one away, unless somebody makes or asks it."""
    import shutil  # slow to import, and seldom wanted

    lock = folder / "lock"
    with contextlib.suppress(OSError), _alone(lock if lock.exists() else folder):
        if not lock.exists() and time.time() - folder.stat().st_mtime < YOUNG:
            return  # somebody begins one
        asked = folder / "snapshots" / "1"
        with _alone(asked) if asked.exists() else contextlib.nullcontext():
            shutil.rmtree(folder, ignore_errors=True)


def take_away(folder: str | Path) -> None:
    """Delete what a store keeps in a folder, and it; what cannot go stays."""
    try:
        for entry in list(os.scandir(folder)):
            os.unlink(entry)
        os.rmdir(folder)
    except OSError:
        import shutil  # slow to import, and every merge takes a snapshot away: a folder of plain files

        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _alone(place: str | Path) -> Iterator[None]:
    """Hold a folder or a file that nobody else holds; raises BlockingIOError where somebody does."""
    fd = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        _lock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def restore(home: Home) -> None:
    """Put the store back to what was published last, or to nothing, after a merge that did not end."""
    take_away(home.store)
    name = published(home)
    if name and (home.snapshots / name).is_dir():
        _link(home.snapshots / name, home.store)
    sweep(home)
    home.unfinished.unlink()


def _link(source: Path, target: Path) -> None:
    """Make a folder of the same tables, and of copies of the files that lead to them."""
    target.mkdir()
    for entry in os.scandir(source):
        if entry.name.startswith(LEADING) or entry.name.endswith((".sst", ".log")):
            _same(entry.path, str(target / entry.name))
    _to_disk(target)


def beside(home: Home, name: str, target: Path) -> None:
    """Make a store of its own of what a snapshot holds, which needs it as long as its tables lie on another disk."""
    target.mkdir()
    for entry in os.scandir(home.snapshots / name):
        if entry.name.endswith(".sst"):
            second_name(entry.path, target / entry.name)
        elif entry.name.startswith(LEADING) or entry.name.endswith(".log"):
            _copy(entry.path, target / entry.name)


def second_name(source: str, target: Path) -> None:
    """Have a file under another name, too, wherever that is."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        target.symlink_to(os.path.abspath(source))


def _same(source: str, target: str) -> None:
    """A second name for a table, which is never written again; a copy of any other file, which is."""
    if source.endswith(".sst"):
        with contextlib.suppress(OSError):
            return os.link(source, target)
    _copy(source, target)
    return _to_disk(target)


def _copy(source: str, target: str | Path) -> None:
    import shutil  # slow to import, and most of what is asked needs none

    shutil.copyfile(source, target)


def _to_disk(path: str | Path) -> None:
    """Have a file or a folder outlive a power failure."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
