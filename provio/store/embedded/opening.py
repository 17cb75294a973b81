"""Opens the files of the embedded store: checks their version, links and address space, and reports damage."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox

from provio.base.errors import StoreError, remedy
from provio.settings.home import Home
from provio.store import Damaged

VERSION = "2"
EARLIER = frozenset({"1"})  # versions that can be queried; the next merge builds the store again
ADDRESSES = 448 << 20  # observed address space of RocksDB and its threads, in bytes


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
        advice = remedy(error, "make room, or check the permissions")
        why = str(error).partition(". Run")[0]  # the message contains a remedy of its own
        raise StoreError(f"cannot open the store {shown} ({why}): {advice}") from error
    except Exception as error:
        raise Damaged(f"the store {shown} is damaged ({error}): delete it; provio merge builds it again") from error


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
