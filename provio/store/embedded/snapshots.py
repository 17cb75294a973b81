"""The files of the embedded store: opens them, publishes snapshots to readers, and deletes stale ones.

A store is opened after its version, its links and the address space are checked; damage is reported.
`.provio/snapshots/N` are hard-linked copies of the store, `current` is a link to the newest. A reader holds a shared
lock on the folder of its snapshot. The last reader of a superseded snapshot deletes it, or else the next writer,
which also deletes partial snapshots of a killed process. A store that a merge left incomplete is restored to the last
publication.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from provio.base.errors import StoreError, remedy
from provio.settings.home import Home
from provio.store import Damaged

if TYPE_CHECKING:
    import pyoxigraph as ox

VERSION = "2"
EARLIER = frozenset({"1"})  # versions that can be queried; the next merge builds the store again
ADDRESSES = 448 << 20  # observed address space of RocksDB and its threads, in bytes
KEPT = frozenset({"current", "merged"})
LEADING = ("CURRENT", "MANIFEST-")  # the files through which RocksDB finds the tables
YOUNG = 60.0  # seconds for which the creator of an overlay may not have locked it yet
TRIES = 1000  # a dangling link is broken, not merely superseded, after this many attempts


class StorePath:
    """A name of a `.provio` in UTF-8, as RocksDB requires: its own path, or that of an open descriptor of the
    folder."""

    def __init__(self, home: Path) -> None:
        self.fd = -1
        self.name = str(home)
        try:
            self.name.encode()
        except UnicodeEncodeError:
            self.fd = os.open(home, os.O_PATH | os.O_CLOEXEC)
            self.name = f"/proc/self/fd/{self.fd}"

    def __truediv__(self, name: str) -> str:
        return f"{self.name}/{name}"

    def close(self) -> None:
        """Close the descriptor."""
        if self.fd >= 0:
            os.close(self.fd)


def new_store_folder(home: Home) -> Path:
    """Return the folder of a new store (`rebuild`) while it is incomplete."""
    return home.kept / "store.new"


def _check_room(shown: Path) -> None:
    """Raise StoreError where RocksDB could not create its threads: it would end the process."""
    import resource  # rarely needed

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    if limit - taken < ADDRESSES:
        raise StoreError(
            f"cannot open the store {shown}: it takes {ADDRESSES >> 20} MB of address space, and a limit leaves "
            f"{max(0, limit - taken) >> 20}: allow more (ulimit -v)"
        )


def opened(how: Callable[[str], ox.Store], path: str, shown: Path) -> ox.Store:
    """Open a store with `how`; messages name it `shown`. Raises StoreError, and Damaged if its files are invalid."""
    _check_room(shown)
    try:
        return how(path)
    except OSError as error:
        if os.strerror(errno.ENOENT) in str(error):  # a file of the store is missing
            raise Damaged(f"the store {shown} is damaged ({error})") from error
        advice = remedy(error, "make room, or check the permissions")
        why = str(error).partition(". Run")[0]  # the message contains a remedy of its own
        raise StoreError(f"cannot open the store {shown} ({why}): {advice}") from error
    except Exception as error:
        raise Damaged(f"the store {shown} is damaged ({error})") from error


def check_links(home: Home) -> None:
    """Refuse to write through symbolic links: stores are renamed and deleted as folders, and a link may come from a
    checkout."""
    for folder in (home.store, home.snapshots):
        if folder.is_symlink():
            raise StoreError(
                f"{folder} is a symbolic link: delete it; to keep the store in another place, move all of "
                f"{home.path} there (PROVIO_HOME, or a link to the whole folder)"
            )


def check_version(home: Home) -> str:
    """Return the version of a store, empty if there is none yet; raises StoreError for a newer one."""
    try:
        found = (home.kept / "store.version").read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:
        found = ""
    if found not in ("", VERSION, *EARLIER):
        raise StoreError(f"the store in {home.path} has version {found!r}, this provio knows {VERSION}: update provio")
    return found


def ensure_version(home: Home) -> None:
    """Refuse a store that a newer provio wrote; record the version of a new one."""
    if not check_version(home) and os.access(home.kept, os.W_OK):
        note_version(home)


def note_version(home: Home) -> None:
    """Record that this version of provio wrote the store."""
    new = home.kept / f"store.version.{threading.get_native_id()}"  # threads open a store concurrently
    try:
        new.write_text(VERSION + "\n", encoding="ascii")
        new.replace(home.kept / "store.version")
    except OSError:
        new.unlink(missing_ok=True)
        raise


# Snapshots.


def hold(home: Home) -> tuple[str, int] | None:
    """Return the name of the published snapshot and a descriptor that keeps it in place; None if there is none."""
    folder = home.snapshots
    for _ in range(TRIES):
        name = _name_of(folder / "current")
        if name is None:
            return None
        fd = _held(folder / name)
        if fd is not None:
            return name, fd
    return None


def published(home: Home) -> str | None:
    """Return the target name of `current`; None if there is none or if it would point outside the folder."""
    return _name_of(home.snapshots / "current")


def _name_of(link: Path) -> str | None:
    try:
        name = os.readlink(link)
    except OSError:
        return None
    return name if name.isascii() and name.isdigit() else None


def _held(folder: Path) -> int | None:
    """Return a descriptor with a shared lock on a snapshot; None if a writer has deleted it or is about to."""
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
    """Lock without waiting or raise BlockingIOError; on a file system without locks it always succeeds."""
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return


def release(home: Home, name: str, fd: int) -> None:
    """Release a snapshot that `hold` returned; delete it if it was superseded and no other reader holds it."""
    try:
        if published(home) not in (None, name):
            _lock(fd, fcntl.LOCK_EX)
            delete_folder(home.snapshots / name)
    except BlockingIOError:
        pass  # the last reader deletes it
    finally:
        os.close(fd)


def publish(home: Home, store: Path) -> None:
    """Publish the content of a store; no process may have it open, and all its data must be in tables."""
    home.snapshots.mkdir(exist_ok=True)
    number = 1 + max(map(_number, os.listdir(home.snapshots)), default=0)
    new = home.snapshots / f"{number}.tmp"
    delete_folder(new)
    _link(store, new)
    new.rename(home.snapshots / str(number))
    link = home.snapshots / "current.new"
    link.unlink(missing_ok=True)
    link.symlink_to(str(number))
    if not (home.snapshots / "current").is_symlink():  # a copy of the record with links followed
        delete_folder(home.snapshots / "current")
    rules = home.marked_rules()
    link.replace(home.snapshots / "current")
    if rules:
        home.mark_rules(rules)
    sweep(home)
    sweep_overlays(home)


def _number(name: str) -> int:
    digits = name.partition(".")[0]
    return int(digits) if digits.isascii() and digits.isdigit() else 0


def sweep(home: Home) -> None:
    """Delete the snapshots that are neither published nor held, and partial ones."""
    try:
        current = os.readlink(home.snapshots / "current")
        entries = list(os.scandir(home.snapshots))
    except OSError:
        return  # nothing is published yet, the next merge does it
    for entry in entries:
        if entry.name not in KEPT and entry.name != current and entry.is_dir(follow_symlinks=False):
            with contextlib.suppress(OSError), _alone(entry.path):
                delete_folder(entry.path)


def sweep_overlays(home: Home) -> None:
    """Delete the overlays of earlier snapshots (a snapshot combined with runs that it does not contain) that are not
    in use."""
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(home.overlays)):
            delete_overlay(Path(entry.path))
        home.overlays.rmdir()  # fails where an overlay is in use


def delete_overlay(folder: Path) -> None:
    """Delete an overlay, unless a process builds or queries it."""
    import shutil  # slow to import, and rarely needed

    lock = folder / "lock"
    with contextlib.suppress(OSError), _alone(lock if lock.exists() else folder):
        if not lock.exists() and time.time() - folder.stat().st_mtime < YOUNG:
            return  # a process may be creating it
        snapshot = folder / "snapshots" / "1"
        with _alone(snapshot) if snapshot.exists() else contextlib.nullcontext():
            shutil.rmtree(folder, ignore_errors=True)


def delete_folder(folder: str | Path) -> None:
    """Delete a folder and the store files in it; ignore files that cannot be deleted."""
    try:
        for entry in list(os.scandir(folder)):
            os.unlink(entry)
        os.rmdir(folder)
    except OSError:
        import shutil  # slow to import; every merge deletes a snapshot, a folder of plain files

        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _alone(place: str | Path) -> Iterator[None]:
    """Hold an exclusive lock on a folder or a file; raises BlockingIOError if another process has a lock."""
    fd = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        _lock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def restore(home: Home) -> None:
    """Restore the store to the last publication, or delete it if there is none, after a merge that did not end."""
    delete_folder(home.store)
    name = published(home)
    if name and (home.snapshots / name).is_dir():
        _link(home.snapshots / name, home.store)
    sweep(home)
    home.unfinished.unlink()


def _link(source: Path, target: Path) -> None:
    """Create a folder with links to the same tables and with copies of the files that refer to them."""
    target.mkdir()
    for entry in os.scandir(source):
        if entry.name.startswith(LEADING) or entry.name.endswith((".sst", ".log")):
            _same(entry.path, str(target / entry.name))
    _to_disk(target)


def copy(home: Home, name: str, target: Path) -> None:
    """Create a separate store from a snapshot; it needs the snapshot as long as its tables are on another file
    system."""
    target.mkdir()
    for entry in os.scandir(home.snapshots / name):
        if entry.name.endswith(".sst"):
            link(entry.path, target / entry.name)
        elif entry.name.startswith(LEADING) or entry.name.endswith(".log"):
            _copy(entry.path, target / entry.name)


def link(source: str, target: Path) -> None:
    """Give a file a second name: a hard link, or a symbolic link on another file system."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        target.symlink_to(os.path.abspath(source))


def _same(source: str, target: str) -> None:
    """Link a table, which is never written again; copy any other file."""
    if source.endswith(".sst"):
        with contextlib.suppress(OSError):
            return os.link(source, target)
    _copy(source, target)
    return _to_disk(target)


def _copy(source: str, target: str | Path) -> None:
    import shutil  # slow to import, and most queries do not need it

    shutil.copyfile(source, target)


def _to_disk(path: str | Path) -> None:
    """Flush a file or a folder to disk, so that it survives a power failure."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
