"""The snapshot that is served: a record in, whoever answers from its newest snapshot out.

A snapshot is held, with Oxigraph's server and provio's own workers over it, for as long as anybody is being answered
from it. When a merge has published another, that one takes its place for all who ask from then on.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from provio.errors import ProvioError
from provio.home import Home
from provio.serve.binary import Binary
from provio.serve.worker import KINDS, Worker
from provio.store import snapshots

LOOKS = 0.5  # seconds between two looks for a newer snapshot
BEGUN = ("found", "lineage")  # before anybody asks: reading all names takes a second or two
EASE = 5  # so many times as long as making ready took, no newer one is looked for


class Served:
    """A snapshot that is held, and who answers from it. `executor` is the thread that processes end with."""

    def __init__(self, home: Home, seconds: float, executor: ThreadPoolExecutor) -> None:
        held = snapshots.hold(home)
        if held is None:
            raise ProvioError(f"nothing is published in {home.path}: provio merge says why")
        self.home, (self.name, self.fd) = home, held
        self.seconds, self.executor = seconds, executor
        self.users = 0
        self.lock = threading.Lock()
        self.workers = {kind: Worker(kind, str(home.path), executor) for kind in KINDS}
        try:
            self.server = self._started()
            for kind in BEGUN:
                self.workers[kind].begin()
        except BaseException:
            self.close()
            raise

    def ready(self, seconds: float) -> bool:
        """Whether who was begun answers at once; waits so many seconds, for each."""
        return all(self.workers[kind].ready(seconds) for kind in BEGUN)

    def _started(self) -> Binary:
        """A folder's name may be no UTF-8; that of its descriptor is."""
        return self.executor.submit(Binary, f"/proc/{os.getpid()}/fd/{self.fd}", self.seconds).result()

    def binary(self) -> Binary:
        """Return Oxigraph's server, started anew where it has ended."""
        with self.lock:
            if not self.server.alive:
                self.server.close()
                self.server = self._started()
            return self.server

    def close(self) -> None:
        """End all processes, and let the snapshot go."""
        if hasattr(self, "server"):
            self.server.close()
        for worker in self.workers.values():
            worker.close()
        snapshots.let_go(self.home, self.name, self.fd)


class Keeper:
    """Keeps what is served up to date, in a thread of its own."""

    def __init__(self, home: Home, seconds: float) -> None:
        self.home, self.seconds = home, seconds
        self.executor = ThreadPoolExecutor(1)  # its one thread lives as long as this process
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.old: list[Served] = []
        self.wait = LOOKS
        self.now = self._new()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    @contextlib.contextmanager
    def served(self) -> Iterator[Served]:
        """What is served now; it stays for as long as it is asked."""
        with self.lock:
            served = self.now
            served.users += 1
        try:
            yield served
        finally:
            with self.lock:
                served.users -= 1

    def close(self) -> None:
        """End all that was started."""
        self.ended.set()
        self.thread.join()
        for served in (self.now, *self.old):
            served.close()
        self.executor.shutdown()

    def _new(self) -> Served:
        begun = time.monotonic()
        served = Served(self.home, self.seconds, self.executor)
        self.wait = max(LOOKS, EASE * (time.monotonic() - begun))
        return served

    def _look(self) -> None:
        while not self.ended.wait(self.wait):
            with contextlib.suppress(ProvioError, OSError):  # the one that is served goes on
                if self._published() not in ("", self.now.name):
                    new = self._new()
                    self._await(new)
                    with self.lock:
                        self.old.append(self.now)
                        self.now = new
            self._let_go()

    def _await(self, new: Served) -> None:
        """Let who asks meanwhile be answered from what was there: from what is new, he would wait until it is read."""
        begun = time.monotonic()
        while not self.ended.is_set() and not new.ready(LOOKS):
            pass
        self.wait = max(self.wait, EASE * (time.monotonic() - begun))

    def _published(self) -> str:
        try:
            return os.readlink(self.home.snapshots / "current")
        except OSError:
            return ""

    def _let_go(self) -> None:
        with self.lock:
            unused = [served for served in self.old if not served.users]
            self.old = [served for served in self.old if served.users]
        for served in unused:
            served.close()
