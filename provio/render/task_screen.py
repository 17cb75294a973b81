"""The screen of `tasks --follow`: events of runs in, lines of text out.

12 done  3 running  1 failed  4.2 MB/s
last event 2026-11-28 08:07:15 UTC

running   run            task
   3.2 s  01a22210-0c1a  load-3
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from provio.base.records import field, plain
from provio.base.text import cut_end, moment, printable, size, span
from provio.follow.task_rows import UNFINISHED, Ended

Event = dict[str, Any]
RECENT = 5.0  # seconds over which the rate is taken
SLOWEST = 5  # ended tasks that are shown
FAILED = frozenset({"error", "failed"})
SHORT = 13  # characters of a run's id


@plain(slots=True)
class TaskScreen:
    """The tasks of some runs, from their events and the rows of those that have ended."""

    done: int = 0
    failed: int = 0
    unfinished: int = 0
    last: str = ""  # time of the last event
    running: dict[str, Event] = field(default_factory=dict)  # the event of the start, by IRI
    slowest: list[tuple[float, str, str]] = field(default_factory=list)  # seconds, run, name
    moved: deque[tuple[float, int]] = field(default_factory=deque)  # times and bytes of files that were closed

    def add(self, event: Event) -> None:
        """Take an event into account."""
        self.last = max(self.last, event["time"])
        if event["type"] == "file":
            self.moved.append((_seconds(event["time"]), event["data"]["bytes_read"] + event["data"]["bytes_written"]))
            self._forget(self.moved[-1][0])
        elif event["type"] == "task" and event["data"]["state"] == "started":
            self.running[event["subject"]] = event

    def end(self, task: Ended) -> None:
        """Take the end of a task into account."""
        self.running.pop(task.iri, None)
        self.failed += task.status in FAILED
        self.unfinished += task.status == UNFINISHED
        self.done += task.status not in FAILED and task.status != UNFINISHED
        if task.seconds is not None:
            self.slowest = sorted([*self.slowest, (task.seconds, task.run, task.name)])[-SLOWEST:]

    def _forget(self, now: float) -> None:
        while self.moved and self.moved[0][0] < now - RECENT:
            self.moved.popleft()

    def lines(self, now: float, width: int, height: int, unicode: bool = True) -> list[str]:
        """Return the screen at a time (seconds since 1970): at most `height` lines of at most `width` columns."""
        self._forget(now)
        rate = sum(count for _, count in self.moved) / RECENT
        counts = f"{self.done} done  {len(self.running)} running  {self.failed} failed"
        counts += f"  {self.unfinished} unfinished" if self.unfinished else ""
        found = [f"{counts}  {size(round(rate))}/s", f"last event {moment(self.last)}" if self.last else "no event yet"]
        if self.running:
            rows = sorted(self.running.values(), key=lambda one: one["time"])
            room = max(1, height - len(found) - 3 - (len(self.slowest) + 2 if self.slowest else 0))
            times = ((now - _seconds(one["time"]), one["run"], one["data"]["name"] or "") for one in rows[:room])
            found += ["", *_table("running", times)]
            found += [f"and {len(rows) - room} more"] if len(rows) > room else []
        if self.slowest:
            found += ["", *_table("slowest", reversed(self.slowest))]
        return [cut_end(printable(line, unicode), width, unicode) for line in found[:height]]


def _table(title: str, rows: Iterable[tuple[float, str, str]]) -> Iterator[str]:
    yield f"{title:>8}  {'run':{SHORT}}  task"
    for seconds, run, name in rows:
        yield f"{span(max(0.0, seconds)):>8}  {run[:SHORT]}  {name}"


def _seconds(time: str) -> float:
    return datetime.fromisoformat(time).timestamp()
