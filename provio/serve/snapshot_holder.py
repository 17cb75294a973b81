"""The snapshot that is served: a record in, whoever answers from its newest snapshot out.

A snapshot is held, with Oxigraph's server and provio's own workers over it, for as long as anybody is being answered
from it. When a merge has published another, that one takes its place for all who ask from then on. So does, before a
question is answered, the snapshot with all that runs have recorded since which are not in it.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from provio.ask import live
from provio.ask.live import Overlay
from provio.base.errors import ProvioError
from provio.serve.oxigraph import Binary
from provio.serve.worker import KINDS, Worker
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.store.embedded import snapshots

Unmerged = tuple[list[Path], list[Path], str]  # runs that go on, runs that ended, what to say of others
LOOKS = 0.5  # seconds between two looks for a newer snapshot
FRESH = 0.25  # seconds for which an answer needs no new look at the runs that are not in it
BEGUN = ("found", "lineage")  # before anybody asks: reading all names takes a second or two
EASE = 5  # so many times as long as making ready took, no newer one is looked for


class Served:
    """A snapshot that is held, with more runs where it is an `overlay`, and who answers from it. `executor` is the
    thread that processes end with."""

    def __init__(self, home: Home, seconds: float, executor: ThreadPoolExecutor, overlay: Overlay | None) -> None:
        self.home, self.overlay = overlay.home if overlay else home, overlay
        held = snapshots.hold(self.home)
        if held is None:
            raise ProvioError(f"nothing is published in {home.path}: provio merge says why")
        self.name, self.fd = held
        self.seconds, self.executor = seconds, executor
        self.users = 0
        self.as_of = self.missing = ""
        self.going = frozenset[str]()
        self.lock = threading.Lock()
        self.workers = {kind: Worker(kind, str(self.home.path), executor) for kind in KINDS}
        self.server: Binary | None = None
        try:
            for kind in () if overlay else BEGUN:  # what changes again and again is made ready for who asks alone
                self.workers[kind].begin()
        except BaseException:
            self.close()
            raise

    def _started(self) -> Binary:
        """A folder's name may be no UTF-8; that of its descriptor is."""
        return self.executor.submit(Binary, f"/proc/{os.getpid()}/fd/{self.fd}", self.seconds).result()

    def binary(self) -> Binary:
        """Return Oxigraph's server, started anew where it has ended."""
        with self.lock:
            if self.server is None or not self.server.alive:
                if self.server:
                    self.server.close()
                self.server = self._started()
            return self.server

    def beside(self) -> str:
        """Return what is to be said beside an answer: its moment, while runs go on, and what is not in it."""
        return "; ".join(filter(None, (self.as_of, self.missing)))

    def close(self) -> None:
        """End all processes, and let the snapshot go."""
        if self.server:
            self.server.close()
        for worker in self.workers.values():
            worker.close()
        snapshots.release(self.home, self.name, self.fd)
        if self.overlay:
            self.overlay.close()


class Keeper:
    """Keeps what is served up to date, in a thread of its own and before each answer; `unmerged` tells the runs that
    are to be in answers and are not in the store."""

    def __init__(self, home: Home, seconds: float, settings: Config, unmerged: Callable[[], Unmerged]) -> None:
        self.home, self.seconds, self.settings, self.unmerged = home, seconds, settings, unmerged
        self.executor = ThreadPoolExecutor(1)  # its one thread lives as long as this process
        self.lock, self.renewing = threading.Lock(), threading.Lock()
        self.ended = threading.Event()
        self.old: list[Served] = []
        self.wait, self.looked = LOOKS, 0.0
        self.state = self.base = ""
        self.now: Served | None = None
        self._renew()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    @contextlib.contextmanager
    def served(self) -> Iterator[Served]:
        """What is served now; it stays for as long as it is asked."""
        asked = time.monotonic()
        with self.renewing:
            if asked - self.looked > FRESH:
                with contextlib.suppress(ProvioError, OSError):  # the one that is served goes on
                    self._renew()
        with self.lock:
            served = self.now
            assert served  # noqa: S101 - it was renewed
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
            if served:
                served.close()
        self.executor.shutdown()

    def _renew(self) -> None:
        """Have what is served hold all that is recorded by now."""
        begun = time.monotonic()
        goes_on, ended, missing = self.unmerged()
        runs, said = goes_on + ended, live.said(goes_on)
        state = live.state_of(self.home, runs, self.settings)
        if state != self.state:
            base = snapshots.published(self.home) or ""
            overlay = live.overlaid(self.home, runs, self.settings) if runs else None
            new = Served(self.home, self.seconds, self.executor, overlay)
            with self.lock:
                self.old += [self.now] if self.now else []
                self.now, self.state, self.base = new, state, base
            self.wait = max(LOOKS, EASE * (time.monotonic() - begun))
        if self.now:
            (self.now.as_of, self.now.going), self.now.missing = said, missing
        self.looked = begun

    def _look(self) -> None:
        while not self.ended.wait(self.wait):
            if self.renewing.acquire(blocking=False):  # else somebody does it already
                try:
                    with contextlib.suppress(ProvioError, OSError):  # the one that is served goes on
                        if snapshots.published(self.home) not in (None, self.base):
                            self._renew()
                finally:
                    self.renewing.release()
            self._let_go()

    def _let_go(self) -> None:
        with self.lock:
            unused = [served for served in self.old if not served.users]
            self.old = [served for served in self.old if served.users]
        for served in unused:
            served.close()
