"""Keeps the order in which the events of a record's runs were found: each has a number, which grows.

In: a `.provio`. Out: events with their number (`id`), in that order, also later and for other readers.

`.provio/events/RUN.log` has the events of a run in frames: a length (4 bytes, little-endian), then so many bytes of
rows of JSON, compressed by zlib. One process at a time adds to such a file and holds a lock on it; all others read.
`.provio/events/last` has the number of the last event, and is locked while frames with higher numbers are added. The
files may be deleted while no process follows runs: they are made again, in the order of time.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import heapq
import json
import os
import tempfile
import time
import zlib
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from operator import itemgetter
from pathlib import Path
from struct import pack, unpack
from typing import TYPE_CHECKING, Any

from provio.follow.run_events import RunEvents
from provio.settings.home import Home
from provio.trace import run_source
from provio.trace.read import read_head

if TYPE_CHECKING:
    from provio.settings.schema import Config

Event = dict[str, Any]
Temporary = tempfile.TemporaryDirectory[str]
NUMBER, LOG = "last", ".log"
LENGTH = 4  # bytes
MOST, IN_TURN = 1000, 4000  # events in a frame; of a run that are added before those of others
KEY = "key"  # of an event in its file
LAST = "end run"
MARGIN = 10_000_000_000  # ns by which the time of a file may be earlier than the numbers of its events


class Journal:
    """The events of a `.provio`: `watch` names the runs whose events are looked for, `update` looks, `events` reads."""

    def __init__(self, home: Home, settings: Config) -> None:
        self.home, self.settings = home, settings
        self.logs: dict[str, _RunLog] = {}
        self.own = None if _usable(home) else tempfile.TemporaryDirectory(prefix="provio-events-")
        self.folder = Path(self.own.name) if self.own else home.events

    def close(self) -> None:
        """Let other processes add to the files."""
        for log in self.logs.values():
            log.close()
        self.logs.clear()
        if self.own:
            self.own.cleanup()

    def watch(self, runs: Iterable[str]) -> None:
        """Look for the events of these runs, too."""
        for run in runs:
            if run not in self.logs:
                self.logs[run] = _RunLog(self.folder / (run + LOG), self.home.runs / run, self.settings)

    def update(self) -> bool:
        """Add new events to the files, of each run at most `IN_TURN`: a large one does not delay the others. Return
        whether a run has more."""
        has_more = False
        for run, log in list(self.logs.items()):
            if log.has_lock():
                count = 0
                while count < IN_TURN and log.take():
                    self._append(log)
                    count += len(log.taken)
                    log.taken = []
                    if log.found is None:  # another look would find only newer events, and could go on without an end
                        break
                has_more |= log.found is not None
            if log.is_whole():
                log.close()
                del self.logs[run]
        return has_more

    def kept_by_others(self) -> list[str]:
        """Return the watched runs whose events another process keeps."""
        return [run for run, log in self.logs.items() if log.fd < 0]

    def _append(self, log: _RunLog) -> None:
        """Add the taken events to a file, with the next numbers: all or, for example without space, none (OSError)."""
        with self.home.closed():
            fd = os.open(self.folder / NUMBER, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            number, size = max(_number(fd) + 1, time.time_ns()), os.fstat(log.fd).st_size
            try:
                log.append([{"id": str(number + place), **row} for place, row in enumerate(log.taken)])
                os.pwrite(fd, pack("<Q", number + len(log.taken) - 1), 0)
            except OSError:
                os.truncate(log.fd, size)
                raise
        finally:
            os.close(fd)

    def last(self) -> int:
        """Return the number of the last event; 0 if there is none."""
        try:
            fd = os.open(self.folder / NUMBER, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return 0
        try:
            return _number(fd)
        finally:
            os.close(fd)

    def has_end(self, run: str, number: int) -> bool:
        """Return whether the end of a run is among the events up to a number."""
        with contextlib.suppress(FileNotFoundError):
            path = self.folder / (run + LOG)
            last = next((event for _, event in reversed([*rows(path, _last_frame(path))])), None)
            return last is not None and last[KEY] == LAST and int(last["id"]) <= number
        return False

    def first(self, runs: Iterable[str]) -> Iterator[int]:
        """Yield the number of the first event of each run that has any."""
        for run in runs:
            with contextlib.suppress(FileNotFoundError):
                yield from (int(event["id"]) for _, event in islice(rows(self.folder / (run + LOG), 0), 1))

    def runs(self) -> list[str]:
        """Return the runs that have events."""
        with contextlib.suppress(FileNotFoundError):
            return sorted(name.removesuffix(LOG) for name in os.listdir(self.folder) if name.endswith(LOG))
        return []


class Cursor:
    """A place in the events of a journal: `new` yields those with a number greater than `after`, of these runs (None:
    of all)."""

    def __init__(self, journal: Journal, after: int = 0, runs: Collection[str] | None = None) -> None:
        self.journal, self.after, self.runs = journal, after, runs
        self._offsets: dict[str, int] = {}

    def new(self) -> Iterator[Event]:
        """Yield the events since the last call; each without its key."""
        last = self.journal.last()  # before the files are read: up to it they are whole
        if last <= self.after:
            return
        runs = self.journal.runs() if self.runs is None else self.runs
        found = (self._of_run(run, self.after, last) for run in runs)
        for number, event, run, end in heapq.merge(*found, key=itemgetter(0)):
            self.after, self._offsets[run] = number, end
            yield event

    def _of_run(self, run: str, after: int, last: int) -> Iterator[tuple[int, Event, str, int]]:
        """Yield events with their number, their run, and the place in its file from which the next ones are read."""
        path = self.journal.folder / (run + LOG)
        start = self._offsets.get(run)
        with contextlib.suppress(FileNotFoundError):
            found = path.stat()
            if start is None and found.st_mtime_ns + MARGIN < after:
                self._offsets[run] = found.st_size  # all its events are earlier
            if found.st_size == self._offsets.get(run, 0):
                return
            for end, event in rows(path, self._offsets.get(run, 0)):
                number = int(event["id"])
                if number > last:
                    return
                if number > after:
                    del event[KEY]
                    yield number, event, run, end
                else:
                    self._offsets[run] = end


class _RunLog:
    """The file of a run's events, and the means to add to it, if no other process does. `places` and `keys` are
    those of the events that the file had then: the run is read from its start once more."""

    def __init__(self, path: Path, folder: Path, settings: Config) -> None:
        self.path, self.folder, self.settings = path, folder, settings
        self.events: RunEvents | None = None
        self.unpacked: Temporary | None = None
        self.places: dict[str, int] = {}  # of the last event of each thread file
        self.keys: set[str] = set()  # of the events without a place
        self.found: Iterator[tuple[str, Event]] | None = None  # of a look that goes on
        self.taken: list[Event] = []  # events that are not in the file yet
        self.fd = -1

    def has_lock(self) -> bool:
        """Return whether this process may add to the file; take the lock if it is free."""
        if self.fd >= 0:
            return True
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        self.fd, whole = fd, 0
        for end, event in rows(self.path, 0):
            whole = end
            self._note(event[KEY])
        os.truncate(fd, whole)  # without a part of a frame, after a kill
        if LAST not in self.keys:
            self.unpacked = _unpacked(self.folder)
            folder = Path(self.unpacked.name) / self.folder.name if self.unpacked else self.folder
            self.events = RunEvents(folder, self.settings)
        return True

    def _note(self, key: str) -> None:
        file, place = _place(key)
        if file:
            self.places[file] = max(self.places.get(file, 0), place)
        else:
            self.keys.add(key)

    def is_whole(self) -> bool:
        """Return whether the run has ended, and the file has all its events."""
        return self.fd >= 0 and (self.events is None or (self.events.ended and not (self.found or self.taken)))

    def take(self) -> bool:
        """Take the next events, unless there are some that could not be added; return whether there are any."""
        self.taken = self.taken or list(islice(self.new(), MOST))
        return bool(self.taken)

    def new(self) -> Iterator[Event]:
        """Yield the events that are not in the file yet; the next call goes on where the caller left off."""
        if self.found is None and self.events:
            self.found = self.events.poll()
        for key, event in self.found or ():
            file, place = _place(key)
            if not (key in self.keys or (file and place <= self.places.get(file, -1))):
                yield {**event, KEY: key}
        self.found = None

    def append(self, events: list[Event]) -> None:
        """Add events to the file."""
        data = zlib.compress("".join(json.dumps(event) + "\n" for event in events).encode())
        frame = len(data).to_bytes(LENGTH, "little") + data
        if os.write(self.fd, frame) < len(frame):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))

    def close(self) -> None:
        """Release the lock."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        if self.unpacked:
            self.unpacked.cleanup()


def rows(path: Path, start: int) -> Iterator[tuple[int, Event]]:
    """Yield the events of a file from a place on, each with the place from which later ones are read: the start of its
    frame, or the end of the frame if it is the last one of it."""
    with path.open("rb") as file:
        file.seek(start)
        while len(head := file.read(LENGTH)) == LENGTH:
            data = file.read(int.from_bytes(head, "little"))
            try:
                events = [json.loads(line) for line in zlib.decompress(data).splitlines()]
            except zlib.error:  # a part of a frame: the following bytes are no frame
                return
            end = start + LENGTH + len(data)
            yield from ((start, event) for event in events[:-1])
            yield end, events[-1]
            start = end


def _last_frame(path: Path) -> int:
    """Return where the last whole frame of a file starts."""
    start, following, size = 0, 0, path.stat().st_size
    with path.open("rb") as file:
        while len(head := file.read(LENGTH)) == LENGTH:
            end = following + LENGTH + int.from_bytes(head, "little")
            if end > size:
                break
            start, following = following, file.seek(end)
    return start


def _place(key: str) -> tuple[str, int]:
    """Return the file and place of an event's record; an empty name for another key."""
    file, _, place = key.rpartition(":")
    return (file, int(place)) if file and place.isdecimal() else ("", 0)


def _number(fd: int) -> int:
    found = os.pread(fd, 8, 0)
    return int(unpack("<Q", found)[0]) if len(found) == 8 else 0


def _usable(home: Home) -> bool:
    """Return whether the files can be kept in a `.provio`: not in a shared one, where other users could read events of
    data that is not theirs."""
    if home.shared:
        return False
    with contextlib.suppress(OSError), home.closed():
        home.events.mkdir(exist_ok=True)
        return os.access(home.events, os.W_OK)
    return False


def _unpacked(folder: Path) -> Temporary | None:
    """Return a folder that contains the run folder of a packed run; None for a run that is not packed. A file that
    cannot be read is left out."""
    if folder.is_dir() or not run_source.exists(folder):
        return None
    source = run_source.of(folder)
    found = tempfile.TemporaryDirectory(prefix="provio-events-")
    run = Path(found.name) / folder.name
    run.mkdir()
    (run / "run.ttl").write_bytes(source.head().load())
    for file in source.files(read_head(folder)):
        if file.gap is None and file.host:
            (run / file.host).mkdir(exist_ok=True)
            with contextlib.suppress(OSError), (run / file.host / file.name).open("wb") as copy:
                for part in file.parts() or [file.load()]:
                    copy.write(part)
    return found
