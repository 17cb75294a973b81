"""Sends the events of runs to clients as server-sent events (HTML Living Standard, section 9.2).

One thread looks for new events of all runs, for all clients. Each client has a place in the events, so one that reads
slowly delays no other and keeps nothing in memory: the events are in files.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from provio.base.errors import ProvioError
from provio.follow.journal import Event
from provio.follow.stream import PAUSE, Stream

if TYPE_CHECKING:
    from provio.settings.home import Home
    from provio.settings.schema import Config

MOST = 64  # clients at the same time
ALIVE = 3.0  # seconds without an event after which a comment shows that the connection works
BATCH = 100  # events that are sent at once
RETRY = 1000  # milliseconds after which a client connects again


class TooMany(ProvioError):
    """So many clients follow events that no further one can."""


class EventFeed:
    """The events of the runs in a `.provio`, for clients; nothing is read while there are none."""

    def __init__(self, home: Home, settings: Config) -> None:
        self.home, self.settings = home, settings
        self.lock, self.changed = threading.Lock(), threading.Condition()
        self.stream: Stream | None = None
        self.clients = 0
        self.last: str | None = None  # the time of the last event that a client received
        self.ended = threading.Event()

    def follow(self, after: int | None, runs: Sequence[str] | None, types: Sequence[str]) -> Iterator[bytes]:
        """Yield the events after a number (None: those to come, or of given `runs` all), of some types or of all; of
        given runs until they have ended. Raises TooMany."""
        with self.lock:
            if self.clients >= MOST:
                raise TooMany(f"{MOST} clients follow the events already: try again later")
            self.stream = self.stream or self._started()
            watched = Stream(self.home, self.settings, runs, after, self.stream.journal)
            self.clients += 1
        events = self._sent(watched, frozenset(types))
        next(events)  # only a generator that was started notices its close
        return events

    def is_over(self, after: int, runs: Sequence[str]) -> bool:
        """Return whether given runs have ended, and an event is the last one of them."""
        with self.lock:
            self.stream = self.stream or self._started()
            return not Stream(self.home, self.settings, runs, after, self.stream.journal).open

    def end(self) -> None:
        """End all clients and the thread."""
        self.ended.set()
        with self.changed:
            self.changed.notify_all()

    def close(self) -> None:
        """End, and let other processes keep the events."""
        self.end()
        with self.lock:
            if self.stream:
                self.stream.close()

    def _started(self) -> Stream:
        threading.Thread(target=self._look, daemon=True).start()
        return Stream(self.home, self.settings, after=None)

    def _look(self) -> None:
        """Look for new events until no client follows any."""
        has_more = False
        while not self.ended.wait(0 if has_more else PAUSE):
            with self.lock:
                if not self.clients and self.stream and not self.stream.journal.own:
                    self.stream.close()  # a temporary journal stays: another one would have other numbers
                    self.stream = None
                if self.stream is None:
                    return
                with contextlib.suppress(
                    OSError, ValueError, ProvioError
                ):  # for example no space: the next look tries again
                    has_more = self.stream.look()
            with self.changed:
                self.changed.notify_all()

    def _sent(self, watched: Stream, types: frozenset[str]) -> Iterator[bytes]:
        """Yield the events as they come; first nothing, then a line, so that the client sees an answer at once."""
        try:
            yield b""
            yield f"retry: {RETRY}\n\n".encode()
            sent = time.monotonic()
            while not self.ended.is_set():
                for part in _parts(self._noted(watched.new()), types):
                    yield part
                    sent = time.monotonic()
                if watched.runs is not None and not watched.open:
                    return
                with self.changed:
                    self.changed.wait(1)
                if time.monotonic() > sent + ALIVE:
                    yield b": no event\n\n"
                    sent = time.monotonic()
        finally:
            with self.lock:
                self.clients -= 1

    def _noted(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            self.last = event["time"]
            yield event


def _parts(events: Iterable[Event], types: frozenset[str]) -> Iterator[bytes]:
    """Yield events of some types, or of all, as server-sent events, many together."""
    text: list[str] = []
    for event in events:
        if not types or event["type"] in types:
            text.append(f"id: {event['id']}\ndata: {json.dumps(event)}\n\n")
        if len(text) == BATCH:
            yield "".join(text).encode()
            text = []
    if text:
        yield "".join(text).encode()
