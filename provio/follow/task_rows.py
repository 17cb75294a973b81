"""The Tasks that have ended, from the events of their runs. In: events. Out: a row for each, in the columns of the
table `tasks` as far as events have them.

Reads and writes of a Task include those of Tasks inside it. They are those of the files that were closed before it
ended; None of a Task whose start was not among the events.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from provio.base.records import field, plain

Event = dict[str, Any]
UNFINISHED = "unfinished"


@plain(slots=True)
class Ended:
    """A Task that has ended, or whose process has (`status` is `unfinished`). `read` and `written` are bytes."""

    iri: str
    run: str
    name: str
    kind: str | None
    worker: str
    start: str
    seconds: float | None
    status: str
    read: int | None
    written: int | None


@plain(slots=True)
class _Begun:
    event: Event
    read: int = 0
    written: int = 0


@plain(slots=True)
class TaskRows:
    """The Tasks in progress, by IRI."""

    begun: dict[str, _Begun] = field(default_factory=dict)

    def add(self, event: Event) -> Iterator[Ended]:
        """Take an event into account; yield the Tasks that ended with it."""
        data = event["data"]
        if event["type"] == "file":
            self._add_bytes(data["task"], data["bytes_read"], data["bytes_written"])
        elif event["type"] == "task" and data["state"] == "started":
            self.begun[event["subject"]] = _Begun(event)
        elif event["type"] == "task":
            yield self._ended(event)
        elif event["type"] == "process" and data["state"] == "ended":
            for iri in [iri for iri, one in self.begun.items() if one.event["data"]["process"] == event["subject"]]:
                yield self._ended(self.begun[iri].event)

    def _add_bytes(self, task: str | None, read: int, written: int) -> None:
        if task in self.begun:
            self.begun[task].read += read
            self.begun[task].written += written

    def _ended(self, event: Event) -> Ended:
        data, begun = event["data"], self.begun.pop(event["subject"], None)
        if begun:
            self._add_bytes(data["part_of"], begun.read, begun.written)
        return Ended(
            event["subject"], event["run"], data["name"] or "", data["kind"], _worker(data["process"]), data["start"],
            data.get("seconds"), data.get("status") or UNFINISHED,
            begun.read if begun else None, begun.written if begun else None,
        )  # fmt: skip


def _worker(process: str) -> str:
    """Return PID@HOST of a process, from its IRI (`…/HOST/PID.START.IMAGE/`)."""
    host, _, image = process.rstrip("/").rpartition("/")
    return f"{image.partition('.')[0]}@{host.rpartition('/')[2]}"
