"""Holds the served snapshot, with Oxigraph's server and provio's workers that read it.

A snapshot is held while a request uses it. When a merge publishes another one, later requests use that. Before each
request, the records of runs that are not in the snapshot are added to it as an overlay.
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
from provio.serve.oxigraph import OxigraphServer
from provio.serve.worker import KINDS, Worker
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.store.embedded import snapshots

Unmerged = tuple[list[Path], list[Path], str]  # runs in progress, ended runs, a note about others
LOOKS = 0.5  # seconds between two checks for a newer snapshot
FRESH = 0.25  # seconds after a check of the runs that are not in the snapshot during which it need not be repeated
EARLY = ("found", "lineage")  # workers that start before the first request: reading all names takes a second or two
EASE = 5  # the next check waits this many times the duration of the last renewal


class Served:
    """A held snapshot, perhaps with an `overlay` of more runs, and the processes that read it. They end with the thread
    of `executor`."""

    def __init__(
        self, home: Home, seconds: float, memory: int, executor: ThreadPoolExecutor, overlay: Overlay | None
    ) -> None:
        self.home, self.overlay = overlay.home if overlay else home, overlay
        held = snapshots.hold(self.home)
        if held is None:
            raise ProvioError(f"nothing is published in {home.path}: run provio merge, which prints the reason")
        self.name, self.fd = held
        self.seconds, self.memory, self.executor = seconds, memory, executor
        self.users = 0
        self.as_of = self.missing = ""
        self.in_progress = frozenset[str]()
        self.lock = threading.Lock()
        self.workers = {kind: Worker(kind, str(self.home.path), executor, memory) for kind in KINDS}
        self.server: OxigraphServer | None = None
        try:
            for kind in () if overlay else EARLY:  # an overlay changes often: its workers start with the first request
                self.workers[kind].start()
        except BaseException:
            self.close()
            raise

    def _started(self) -> OxigraphServer:
        """Start the server in the folder of the descriptor: the folder's own name may be invalid UTF-8."""
        folder = f"/proc/{os.getpid()}/fd/{self.fd}"
        return self.executor.submit(OxigraphServer, folder, self.seconds, memory=self.memory).result()

    def oxigraph(self) -> OxigraphServer:
        """Return Oxigraph's server; start it if it is not running."""
        with self.lock:
            if self.server is None or not self.server.alive:
                if self.server:
                    self.server.close()
                self.server = self._started()
            return self.server

    def note(self) -> str:
        """Return a note on the result: its time, if runs are in progress, and the runs that are missing in it."""
        return "; ".join(filter(None, (self.as_of, self.missing)))

    def close(self) -> None:
        """End all processes, and release the snapshot."""
        if self.server:
            self.server.close()
        for worker in self.workers.values():
            worker.close()
        snapshots.release(self.home, self.name, self.fd)
        if self.overlay:
            self.overlay.close()


class SnapshotHolder:
    """Keeps the served snapshot up to date, in a thread and before each request; `unmerged` returns the runs that
    results must include and that are not in the store. `seconds` and `memory` (bytes) are the limits of queries."""

    def __init__(
        self, home: Home, seconds: float, memory: int, settings: Config, unmerged: Callable[[], Unmerged]
    ) -> None:
        self.home, self.seconds, self.memory, self.settings, self.unmerged = home, seconds, memory, settings, unmerged
        self.executor = ThreadPoolExecutor(1)  # its one thread lives as long as this process
        self.lock, self.renewing = threading.Lock(), threading.Lock()
        self.ended = threading.Event()
        self.old: list[Served] = []
        self.wait, self.checked = LOOKS, 0.0
        self.state = self.base = ""
        self.now: Served | None = None
        self._renew()
        self.thread = threading.Thread(target=self._look, daemon=True)
        self.thread.start()

    @contextlib.contextmanager
    def served(self) -> Iterator[Served]:
        """Yield the current snapshot and hold it during the block."""
        now = time.monotonic()
        with self.renewing:
            if now - self.checked > FRESH:
                with contextlib.suppress(ProvioError, OSError):  # the current one stays
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
        """End all processes and the thread."""
        self.ended.set()
        self.thread.join()
        for served in (self.now, *self.old):
            if served:
                served.close()
        self.executor.shutdown()

    def _renew(self) -> None:
        """Serve a snapshot with everything that is recorded now, if it differs from the current one."""
        start = time.monotonic()
        in_progress, ended, missing = self.unmerged()
        runs, as_of = in_progress + ended, live.progress_note(in_progress)
        state = live.state_of(self.home, runs, self.settings)
        if state != self.state:
            base = snapshots.published(self.home) or ""
            overlay = live.open_overlay(self.home, runs, self.settings) if runs else None
            new = Served(self.home, self.seconds, self.memory, self.executor, overlay)
            with self.lock:
                self.old += [self.now] if self.now else []
                self.now, self.state, self.base = new, state, base
            self.wait = max(LOOKS, EASE * (time.monotonic() - start))
        if self.now:
            (self.now.as_of, self.now.in_progress), self.now.missing = as_of, missing
        self.checked = start

    def _look(self) -> None:
        while not self.ended.wait(self.wait):
            if self.renewing.acquire(blocking=False):  # otherwise a request is renewing it
                try:
                    with contextlib.suppress(ProvioError, OSError):  # the current one stays
                        if snapshots.published(self.home) not in (None, self.base):
                            self._renew()
                finally:
                    self.renewing.release()
            self._close_unused()

    def _close_unused(self) -> None:
        with self.lock:
            unused = [served for served in self.old if not served.users]
            self.old = [served for served in self.old if served.users]
        for served in unused:
            served.close()
