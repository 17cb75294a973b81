"""Merge ended runs of a `.provio` in the background, once no run has ended for two seconds.

One process does this for all runs of a store. It listens at a socket in the abstract namespace, so the address is no
file; the address contains the device and inode of `.provio`. Ends of runs send it a message there, and a process that
needs the store requests it to release the store. Between merges it keeps nothing in the project open, neither a
descriptor nor its working folder; it ends when `.provio` is removed or moved. It never takes CPU time, memory or disk
bandwidth that another process needs.
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

QUIET = 2.0  # seconds without the end of a run, after which a merge starts
LONGEST = 60.0  # seconds of waiting after which it starts anyway; also the longest wait for another merging process
LOOK = 0.5  # seconds between checks that `.provio` still exists
PUBLISH = 2.0  # seconds of work after which results are published: at most this is lost if the store must be released
ROOM = 1 << 30  # bytes of memory that must remain in the control group


def may_start(chosen: bool) -> bool:
    """Return whether a background merge may be started here: not in a batch job, and not if its control group has
    little memory left; in a container or under CI only if a setting has `chosen` it, not by default."""
    from provio.trace import environment

    if environment.job_id() or available_memory() < ROOM:
        return False
    return chosen or not (os.environ.get("CI") or environment.in_container())


def begin(home: Home, folders: Iterable[Path]) -> None:
    """Start the background merge of a `.provio`; `folders` may contain its settings. If one is already running, it
    receives a message."""
    from provio.system import child

    child.begin("provio.merge.background", str(home.path), *map(str, folders), folder="/")


class Merger:
    """The background merge of one `.provio`, for the lifetime of this folder."""

    def __init__(self, home: Home, folders: list[Path]) -> None:
        """Compute the address; `folders` may contain settings. Raises OSError if there is no such `.provio`."""
        self.home, self.folders, self.address = home, folders, merger_address(home.path)
        if not self.address:
            raise FileNotFoundError(home.path)
        self.last_end = time.monotonic()
        self.at_work = False
        self.tried: set[str] = set()

    def open(self) -> bool:
        """Listen at the address; return False if another process does."""
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
        """Stop listening: a run that ends from now on starts another background merge."""
        self.bell.close()

    def _listen(self, bell: socket.socket) -> None:
        """Receive messages. Start again if another process needs the store, and end if `.provio` is removed. Runs
        that are merged but not yet published are merged again later."""
        path = b""
        while merger_address(self.home.path) == self.address:
            try:
                message, _, sender = self._next_message(bell).partition(b" ")
            except OSError:  # the socket is closed
                return
            path = sender or path
            if message == RUN:
                self.last_end = time.monotonic()
            elif message == YIELD and self.at_work:
                self._begin_again(self.home.path)
        moved = Path(os.fsdecode(path))
        if path and moved != self.home.path and merger_address(moved) == self.address:
            self._begin_again(moved)  # a run has ended at the new place
        _stop()
        os._exit(0)

    def _next_message(self, bell: socket.socket) -> bytes:
        """Return the next message, or nothing if none arrives within `LOOK` seconds. Any user can send to the
        address: messages of other users count only in a shared record, and paths from them are ignored."""
        try:
            message, sender, _, _ = bell.recvmsg(4200, 64)
        except TimeoutError:
            return b""
        _, user, _ = struct.unpack("iII", sender[0][2][:12]) if sender else (0, -1, 0)
        if user == os.getuid():
            return message
        return message.partition(b" ")[0] if self.home.shared else b""

    def _begin_again(self, path: Path) -> None:
        """Replace this process by a new background merge, which has no open files."""
        _stop()
        words = [sys.executable, "-P", "-m", "provio.merge.background", str(path), *map(str, self.folders)]
        os.execv(sys.executable, words)  # noqa: S606 (without a shell)

    def wait(self) -> None:
        """Wait until no run has ended for `QUIET` seconds, but at most `LONGEST` seconds."""
        started = time.monotonic()
        while time.monotonic() - self.last_end < QUIET and time.monotonic() - started < LONGEST:
            time.sleep(QUIET / 10)

    def pending(self) -> list[Path]:
        """Return the ended runs that are not merged, except those for which a merge already failed."""
        from provio.settings import load
        from provio.store import pending
        from provio.trace import content_requests, liveness
        from provio.trace.read import read_head

        self.settings = load.load(self.folders, forgive=lambda _: None)
        started, found = liveness.started_runs(), []
        requested = content_requests.requested(self.home)
        limited = [run for run in requested if content_requests.is_limited(self.home, run)]
        left = [folder for run in limited if (folder := self.home.runs / run).is_dir()]
        for folder in dict.fromkeys([*pending(self.home, self.settings), *left]):
            if folder.name not in self.tried and not liveness.in_progress(folder, read_head(folder), started=started):
                found.append(folder)
        return found

    def merge(self, folders: list[Path]) -> None:
        """Merge and hash runs; then start the process for the other hashes and, if due, the archiving of runs."""
        from provio.merge import archive_runs, hashing, notices
        from provio.merge.runs import merge
        from provio.store import served

        lock = Lock(self.home, wait=False)
        self.at_work = True
        try:
            outcome = merge(
                self.home, folders, lock=lock, wait=False, settings=self.settings, between=PUBLISH, hashing=True
            )
        finally:
            self.at_work = False
        for run, count in outcome.damaged.items():
            notices.leave(served(self.home, self.settings), run, damages=count)
        self.tried |= {folder.name for folder in folders}
        hashing.begin(self.home)
        if self.settings.pack and archive_runs.has_too_many_folders(served(self.home, self.settings), time.time()):
            archive_runs.begin(self.home)


def _stop() -> None:
    """End the processes that this process started."""
    from provio.store.embedded import loading

    loading.stop()


def main() -> None:
    """Merge the pending runs of the `.provio` named by the first argument, unless another process does so; the other
    arguments name folders that may contain settings."""
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
    give_way()  # except the thread that listens
    started = time.monotonic()
    while available_memory() >= ROOM:
        merger.wait()
        runs = merger.pending()
        if not runs:
            merger.close()
            if not merger.pending() or not merger.open():
                return
            continue
        try:
            merger.merge(runs)
            started = time.monotonic()
        except Busy:  # the other process may leave runs pending
            if time.monotonic() - started > LONGEST:
                return
            merger.last_end = time.monotonic()
        except (OSError, ProvioError):
            return  # the next query reports the error


# ---- the memory left in the control groups of this process, from /proc and /sys/fs/cgroup


ROOT = Path("/sys/fs/cgroup")
FILES = "memory.max", "memory.current", "inactive_file"  # cgroup version 2
EARLIER = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"  # cgroup version 1


def available_memory() -> float:
    """Return the bytes of memory that this process may still use; infinity if no control group has a limit."""
    return min((found for found in _available() if found is not None), default=float("inf"))


def _available() -> Iterator[float | None]:
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
    """Yield the remaining bytes of a group and of each group above it; None without a limit."""
    place = root / path.lstrip("/")
    while place.is_relative_to(root):
        yield _of(place, *names)
        place = place.parent


def _of(place: Path, limit: str, used: str, cached: str) -> float | None:
    with contextlib.suppress(OSError, ValueError):
        most = int((place / limit).read_text(encoding="ascii"))  # without a limit it is `max`: ValueError
        statistics = (place / "memory.stat").read_text(encoding="ascii").split()
        given_back = int(statistics[statistics.index(cached) + 1])
        return most - int((place / used).read_text(encoding="ascii")) + given_back
    return None


if __name__ == "__main__":
    main()
