"""The background merge: the runs of a `.provio` that have ended are merged once nothing has ended for two seconds.

One process does that for all runs of a store. It is there under an address that is no file (a socket in the abstract
namespace, named after the device and inode of `.provio`), at which ends of runs tell it of them, and who wants the
store asks it to let go of it. Between merges it holds nothing in the project, neither a descriptor nor its working
folder; it ends when `.provio` is gone or moved. It never takes time, memory or disk that another process wants.
"""

from __future__ import annotations

import contextlib
import os
import struct
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from provio.settings.home import Home
from provio.settings.lock import RUN, YIELD, Lock, merger_address, tell_merger

if TYPE_CHECKING:
    import socket

QUIET = 2.0  # seconds without an end before a merge begins,
LONGEST = 60.0  # unless the first end was so long ago; it waits as long for another process that merges
LOOK = 0.5  # seconds between two looks at whether `.provio` is still there
PUBLISH = 2.0  # seconds of work after which what is merged is published: more is not done twice where it has to let go
ROOM = 1 << 30  # bytes of memory that its control group must have left


def may_start(chosen: bool) -> bool:
    """Tell whether a background merge may be started from here: not in a batch job, and not where its control group has
    little memory left; in a container and under CI only where it was `chosen` by a setting, not by default."""
    from provio.trace import environment

    if environment.job_id() or left() < ROOM:
        return False
    return chosen or not (os.environ.get("CI") or environment.in_container())


def begin(home: Home, folders: Iterable[Path]) -> None:
    """Start the background merge of a `.provio`, whose settings lie in some folders; one that is there is told."""
    from provio.system import child

    child.begin("provio.merge.background", str(home.path), *map(str, folders), folder="/")


class Merger:
    """The background merge of one `.provio`, as long as it is there."""

    def __init__(self, home: Home, folders: list[Path]) -> None:
        """`folders` are where settings may lie. Raises OSError where there is no such `.provio`."""
        self.home, self.folders, self.address = home, folders, merger_address(home.path)
        if not self.address:
            raise FileNotFoundError(home.path)
        self.last_end = time.monotonic()
        self.at_work = False
        self.tried: set[str] = set()

    def open(self) -> bool:
        """Listen at the address; tell whether no other process does."""
        import socket
        import threading

        self.bell = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self.bell.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            self.bell.bind(self.address)
        except OSError:
            self.bell.close()
            return False
        self.bell.settimeout(LOOK)
        threading.Thread(target=self._listen, args=(self.bell,), daemon=True).start()
        return True

    def close(self) -> None:
        """Listen no more: a run that ends from here on starts another background merge."""
        self.bell.close()

    def _listen(self, bell: socket.socket) -> None:
        """Hear of ends; begin again where another process wants the store, end where `.provio` is gone. What is not
        published yet is merged again then."""
        path = b""
        while merger_address(self.home.path) == self.address:
            try:
                message, _, said = self._heard(bell).partition(b" ")
            except OSError:  # it is closed
                return
            path = said or path
            if message == RUN:
                self.last_end = time.monotonic()
            elif message == YIELD and self.at_work:
                self._begin_again(self.home.path)
        moved = Path(os.fsdecode(path))
        if path and moved != self.home.path and merger_address(moved) == self.address:
            self._begin_again(moved)  # a run has ended there
        _stop()
        os._exit(0)

    def _heard(self, bell: socket.socket) -> bytes:
        """Return the next message, or nothing where none comes for a while. Anybody can send to the address: what
        others say counts only in a record that is shared, and never a path."""
        try:
            message, said, _, _ = bell.recvmsg(4200, 64)
        except TimeoutError:
            return b""
        _, user, _ = struct.unpack("iII", said[0][2][:12]) if said else (0, -1, 0)
        if user == os.getuid():
            return message
        return message.partition(b" ")[0] if self.home.shared else b""

    def _begin_again(self, path: Path) -> None:
        """Become a new background merge, which has nothing open."""
        _stop()
        words = [sys.executable, "-P", "-m", "provio.merge.background", str(path), *map(str, self.folders)]
        os.execv(sys.executable, words)  # noqa: S606 (without a shell)

    def wait(self) -> None:
        """Wait until no run has ended for a while."""
        begun = time.monotonic()
        while time.monotonic() - self.last_end < QUIET and time.monotonic() - begun < LONGEST:
            time.sleep(QUIET / 10)

    def pending(self) -> list[Path]:
        """The runs that ended and are to be merged, but for those that were tried in vain."""
        from provio.settings import load
        from provio.store import pending
        from provio.trace import liveness
        from provio.trace.read import read_head

        self.settings = load.load(self.folders, forgive=lambda _: None)
        started, found = liveness.watched(), []
        for folder in pending(self.home, self.settings):
            if folder.name not in self.tried and not liveness.going(folder, read_head(folder), started=started):
                found.append(folder)
        return found

    def merge(self, folders: list[Path]) -> None:
        """Merge runs, and do what follows: hashes that are wanted, packing."""
        from provio.merge import archive_runs, hashing
        from provio.merge.runs import merge
        from provio.store import served

        lock = Lock(self.home, wait=False)
        self.at_work = True
        try:
            merge(self.home, folders, lock=lock, wait=False, settings=self.settings, between=PUBLISH)
        finally:
            self.at_work = False
        self.tried |= {folder.name for folder in folders}
        hashing.begin(self.home)
        if self.settings.pack and archive_runs.crowded(served(self.home, self.settings), time.time()):
            archive_runs.begin(self.home)


def _stop() -> None:
    """End what this process started."""
    from provio.store.embedded import loading

    loading.stop()


def main() -> None:
    """Merge what is pending of the `.provio` that is named, unless another process is there for it; where settings may
    lie is named behind it."""
    from provio.base.errors import Busy, ProvioError
    from provio.settings import home as homes
    from provio.system.child import give_way

    home, folders = Home(Path(sys.argv[1])), [Path(folder) for folder in sys.argv[2:] if folder]
    os.chdir("/")
    try:
        merger = Merger(home, folders or homes.project_folders(home.project))
    except OSError:
        return
    while not merger.open():
        if tell_merger(home.path, RUN + b" " + os.fsencode(home.path)):
            return
    give_way()  # but for the thread that listens
    begun = time.monotonic()
    while left() >= ROOM:
        merger.wait()
        runs = merger.pending()
        if not runs:
            merger.close()
            if not merger.pending() or not merger.open():
                return
            continue
        try:
            merger.merge(runs)
            begun = time.monotonic()
        except Busy:  # whoever merges may leave some
            if time.monotonic() - begun > LONGEST:
                return
            merger.last_end = time.monotonic()
        except (OSError, ProvioError):
            return  # the next question says what is wrong


# How much memory the control groups of this process have left: /proc and /sys/fs/cgroup in, bytes out.


ROOT = Path("/sys/fs/cgroup")
FILES = "memory.max", "memory.current", "inactive_file"  # of version 2,
EARLIER = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"  # and of version 1


def left() -> float:
    """Return the bytes that this process may still take; infinity where no group has a limit."""
    return min((found for found in _left() if found is not None), default=float("inf"))


def _left() -> Iterator[float | None]:
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            yield from _along(ROOT, path, FILES)
        elif "memory" in controllers.split(","):
            yield from _along(ROOT / "memory", path, EARLIER)


def _along(root: Path, path: str, names: tuple[str, str, str]) -> Iterator[float | None]:
    """What a group has left, and each that it is in."""
    place = root / path.lstrip("/")
    while place.is_relative_to(root):
        yield _of(place, *names)
        place = place.parent


def _of(place: Path, limit: str, used: str, cached: str) -> float | None:
    with contextlib.suppress(OSError, ValueError):
        most = int((place / limit).read_text(encoding="ascii"))  # of no limit, `max`: a ValueError
        statistics = (place / "memory.stat").read_text(encoding="ascii").split()
        given_back = int(statistics[statistics.index(cached) + 1])
        return most - int((place / used).read_text(encoding="ascii")) + given_back
    return None


if __name__ == "__main__":
    main()
