"""Follow the events of runs: of one run until it ends, or of all runs from now on, also after an interruption."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from provio.follow.journal import MARGIN, Cursor, Journal
from provio.settings.home import RUN_ID, Home
from provio.trace import liveness, run_source
from provio.trace.read import read_head

if TYPE_CHECKING:
    from pathlib import Path

    from provio.settings.schema import Config

PAUSE = 0.2  # seconds between two looks


class Stream:
    """The events of some runs, or of all that are in progress or start later. `after` is the number of the last event
    that a reader has: the runs that started or changed since then are followed, too. Streams may share one
    `journal`; then only its owner looks for new events."""

    def __init__(
        self,
        home: Home,
        settings: Config,
        runs: Collection[str] | None = None,
        after: int | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.home, self.runs = home, runs
        self.shared, self.has_more = journal is not None, False
        self.journal = journal or Journal(home, settings)
        self.open = set(runs or ())  # the given runs of which no end was yielded
        self._changed, self._seen = 0, set[str]()
        if runs is None:
            self._start(settings, after)
        else:
            self.journal.watch(sorted(runs))
            self.open -= {run for run in runs if self.journal.has_end(run, after or 0)}
        first = 0 if runs is not None else self.journal.last()
        self.cursor = Cursor(self.journal, first if after is None else after, runs)

    def _start(self, settings: Config, after: int | None) -> None:
        """Watch the runs in progress, and those that started or changed since an event."""
        self._seen = set(_names(self.home))
        pending = run_source.pending(self.home, settings.conclusions)
        runs = {folder.name for folder in pending if self._in_progress(folder)}
        if after is not None:
            runs |= {run for run in self._seen if self._changed_since(run, after)}
        self.journal.watch(sorted(runs))

    def _in_progress(self, folder: Path) -> bool:
        return liveness.seems_in_progress(folder, read_head(folder))

    def _changed_since(self, run: str, number: int) -> bool:
        """Return whether a run may have events after a number: the end of a run changes its files."""
        if run_source.start_time(run) * 1e9 >= number:
            return True
        folder = self.home.runs / run
        with contextlib.suppress(OSError):
            return max(path.stat().st_mtime_ns for path in (folder, *folder.iterdir())) >= number - MARGIN
        return False

    def _find(self) -> None:
        """Watch the runs that have started since the last call."""
        with contextlib.suppress(FileNotFoundError):
            changed = self.home.runs.stat().st_mtime_ns
            if changed != self._changed:
                self._changed, names = changed, set(_names(self.home))
                self.journal.watch(sorted(names - self._seen))
                self._seen |= names

    def look(self) -> bool:
        """Look for new events; return whether a run has more, which the next look finds."""
        if self.runs is None:
            self._find()
        return self.journal.update()

    def new(self) -> Iterator[dict[str, Any]]:
        """Yield the events since the last call."""
        self.has_more = not self.shared and self.look()
        for event in self.cursor.new():
            if event["type"] == "run" and event["data"]["state"] == "ended":
                self.open.discard(event["run"])
            yield event

    def is_behind(self) -> bool:
        """Return whether a run has ended, and another process has still to keep its last events."""
        behind = [run for run in self.journal.kept_by_others() if not self.journal.has_end(run, self.cursor.after)]
        return any(not self._in_progress(self.home.runs / run) for run in behind)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the events of given runs until all have ended; of all runs, without an end."""
        while True:
            yield from self.new()
            if self.runs is not None and not self.open:
                return
            if not self.has_more:
                time.sleep(PAUSE)

    def close(self) -> None:
        """Let other processes keep the events."""
        self.journal.close()


def _names(home: Home) -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        return [name for name in os.listdir(home.runs) if RUN_ID.fullmatch(name)]
    return []
