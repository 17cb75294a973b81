"""The background merge: the runs of a `.provio` that have ended are merged once nothing has ended for two seconds.

One process does that for all runs of a store. It is there under an address that is no file (a socket in the abstract
namespace, named after the device and inode of `.provio`), at which ends of runs tell it of them, and who wants the
store asks it to let go of it. Between merges it holds nothing in the project, neither a descriptor nor its working
folder; it ends when `.provio` is gone or moved. It never takes time, memory or disk that another process wants.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

from provio.home import Home
from provio.lock import RUN, YIELD, Lock, merger_address, tell_merger

QUIET = 2.0  # seconds without an end before a merge begins,
LONGEST = 60.0  # unless the first end was so long ago
LOOK = 0.5  # seconds between two looks at whether `.provio` is still there
PUBLISH = 2.0  # seconds of work after which what is merged is published: more is not done twice where it has to let go
ROOM = 1 << 30  # bytes of memory that its control group must have left
SYS_IOPRIO_SET, IDLE = 251, 3 << 13  # ioprio_set(2) on x86-64: this process, class idle


def may_start(chosen: bool) -> bool:
    """Tell whether a background merge may be started from here: not in a batch job, and not where its control group has
    little memory left; in a container and under CI only where it was `chosen` by a setting, not by default."""
    from provio import environment, memory_limit

    if environment.job_id() or memory_limit.left() < ROOM:
        return False
    return chosen or not (os.environ.get("CI") or environment.in_container())


def begin(home: Home) -> None:
    """Start the background merge of a `.provio`; one that is there already is told."""
    from provio import background

    background.begin("provio.background_merge", str(home.path))


class Merger:
    """The background merge of one `.provio`, as long as it is there."""

    def __init__(self, home: Home) -> None:
        """Take the address; raises OSError where another process has it."""
        import socket
        import threading

        self.home, self.address = home, merger_address(home.path)
        if not self.address:
            raise FileNotFoundError(home.path)
        self.bell = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.bell.bind(self.address)
        self.bell.settimeout(LOOK)
        self.last_end = time.monotonic()
        self.at_work = False
        self.tried: set[str] = set()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        """Hear of ends; begin again where another process wants the store, end where `.provio` is gone. What is not
        published yet is merged again then."""
        path = b""
        while merger_address(self.home.path) == self.address:
            message, _, said = self._heard().partition(b" ")
            path = said or path
            if message == RUN:
                self.last_end = time.monotonic()
            elif message == YIELD and self.at_work:
                _begin_again(str(self.home.path))
        if path and path != os.fsencode(self.home.path):
            _begin_again(os.fsdecode(path))  # it was moved, and a run has ended there
        _stop()
        os._exit(0)

    def _heard(self) -> bytes:
        with contextlib.suppress(TimeoutError):
            return self.bell.recv(4200)
        return b""

    def wait(self) -> None:
        """Wait until no run has ended for a while."""
        begun = time.monotonic()
        while time.monotonic() - self.last_end < QUIET and time.monotonic() - begun < LONGEST:
            time.sleep(QUIET / 10)

    def pending(self) -> list[Path]:
        """The runs that ended and are to be merged, but for those that were tried in vain."""
        from provio import config_layers, going
        from provio import home as homes
        from provio.store import pending
        from provio.trace import read_head

        self.settings = config_layers.load(homes.project_folders(self.home.project), forgive=lambda _: None)
        started, found = going.watched(), []
        for folder in pending(self.home, self.settings):
            if folder.name not in self.tried and not going.going(folder, read_head(folder), started=started):
                found.append(folder)
        return found

    def merge(self, folders: list[Path]) -> None:
        """Merge runs, and do what follows: hashes that are wanted, packing."""
        from provio import hashing, packing
        from provio.merge import merge
        from provio.store import served

        lock = Lock(self.home, wait=False)
        self.at_work = True
        try:
            merge(self.home, folders, lock=lock, wait=False, settings=self.settings, between=PUBLISH)
        finally:
            self.at_work = False
        self.tried |= {folder.name for folder in folders}
        hashing.begin(self.home)
        if self.settings.pack and packing.crowded(served(self.home, self.settings), time.time()):
            packing.begin(self.home)


def _begin_again(path: str) -> None:
    """Become a new background merge, which has nothing open."""
    _stop()
    os.execv(sys.executable, [sys.executable, "-P", "-m", "provio.background_merge", path])  # noqa: S606 (without a shell)


def _stop() -> None:
    """End what this process started."""
    from provio.store import loading

    loading.stop()


def main() -> None:
    """Merge what is pending of the `.provio` that is named, unless another process is there for it."""
    from provio import memory_limit
    from provio.errors import Busy, ProvioError

    home = Home(Path(sys.argv[1]))
    os.chdir("/")
    try:
        merger = Merger(home)
    except OSError:
        tell_merger(home.path, RUN + b" " + os.fsencode(home.path))
        return
    _give_way()  # but for the thread that listens
    while memory_limit.left() >= ROOM:
        merger.wait()
        folders = merger.pending()
        if not folders:
            return
        try:
            merger.merge(folders)
        except Busy:  # whoever merges may leave some
            merger.last_end = time.monotonic()
        except (OSError, ProvioError):
            return  # the next question says what is wrong


def _give_way() -> None:
    """Leave processor, disk and memory to all others."""
    import ctypes

    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, 19)
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    ctypes.CDLL(None).syscall(SYS_IOPRIO_SET, 1, 0, IDLE)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


if __name__ == "__main__":
    main()
