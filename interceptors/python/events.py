"""Append events of this process to its event file (`docs/trace-format.md`, "Event files").

In: events of a parallel framework (transitions, transfers, results of tasks). Out: rows of a few bytes in a file that
is mapped shared: an event that was added survives a `kill -9` of the process. No function raises into the program; if
the file cannot grow, the process adds no more events, and a Gap states the reason.
"""

from __future__ import annotations

import json
import os
from _thread import allocate_lock
from struct import Struct
from time import time

from .guard import reraise_from_program
from .writer import environment
from .writer.live import Chunk, reason_for

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

MAGIC = b"provio events 1\n"
FIRST_CHUNK, LARGEST_CHUNK = 4096, 64 * 1024  # bytes; each chunk is twice as large as the one before it
LONGEST_TEXT = 4096  # bytes
LONGEST_CLOCK = 1 << 32  # microseconds
LONGEST_WAIT, SHORT_WAIT = 1.0, 0.01  # s
LEAST_START = 8  # bytes that texts have in common
MOST_LISTED = 200  # keys in one row
RING = 1 << 16  # numbers of stimuli
TEXT, STIMULUS, STATES, TRANSITION, DEPENDENCIES, RESULT, ARGUMENTS, TRANSFER, KEYS, OBJECT, CLOCK = b"NSPTDEAXGJC"
LEVEL, ORDERED, RESTRICTIONS, SUBMITTED, SIMILAR = b"LORUF"
# The formats of the rows; each starts with its letter. Times are seconds since 1970.
TEXT_ROW = Struct("<BH")  # bytes of the text that follows; texts are numbered from 0
SIMILAR_ROW = Struct("<BHH")  # bytes that the last text starts with, too; bytes of the rest, which follows
STIMULUS_ROW = Struct("<BId")  # text before its time (2**32 - 1: the last text is the whole stimulus), time
STATES_ROW = Struct("<BIII")  # texts: state before, state that was recommended, state after
CLOCK_ROW = Struct("<Bd")  # the time that the times of the following transitions count from
TRANSITION_ROW = Struct("<BBHII")  # states, stimulus (modulo RING), key, microseconds since the last CLOCK_ROW
DEPENDENCIES_ROW = Struct("<BIIH")  # key, number of the stimulus of its graph, number of keys that follow
LEVEL_ROW = Struct("<Bdd")  # priority of the following tasks: that of the user, negative; generation
ORDERED_ROW = Struct("<BIIiH")  # as DEPENDENCIES_ROW, with the place in the graph's order before the number
RESTRICTIONS_ROW = Struct("<BII")  # key, JSON text
SUBMITTED_ROW = Struct("<BI")  # text: the place in the program that submitted the next graph of this client
RESULT_ROW = Struct("<BIiqI")  # Task, number of the attempt, bytes of the result, its type
ARGUMENTS_ROW = Struct("<BIH")  # Task, bytes of the JSON text that follows
TRANSFER_ROW = Struct("<BddQIH")  # start, stop, bytes, sender, number of pairs (key, bytes) that follow
KEYS_ROW = Struct("<BBIdH")  # role, Task, time, number of digests of keys that follow
OBJECT_ROW = Struct("<BH")  # bytes of the JSON text that follows
PAIR, NUMBER = Struct("<Iq"), Struct("<I")
NAN = float("nan")
NO_TEXT = (1 << 32) - 1
OF_LOGS = frozenset({"line", "error"})  # rare events with texts of logs
# Roles of keys: those of a client of Dask, and those of the calls of a pool (`pool_calls.py`).
GATHERED, SCATTERED, SUBMITTED, SUBMITTED_LAZILY, RAN, RAN_WITH_DATA, HANDED, RECEIVED, DEPENDS = range(1, 10)


_files: list[EventFile] = []  # of this process


class _Lock:
    """A lock that is not waited for without end: a signal handler may interrupt the thread that holds it, or raise in
    it. `late` is called the first time; later calls wait for a shorter time."""

    def __init__(self, late: Callable[[str], None]) -> None:
        self.lock, self.late, self.longest = allocate_lock(), late, LONGEST_WAIT

    def __enter__(self) -> None:
        if not self.lock.acquire(True, self.longest):
            if self.longest == LONGEST_WAIT:
                self.longest = SHORT_WAIT
                self.late("a signal handler interrupted their recorder")
            raise TimeoutError

    def __exit__(self, *_: object) -> None:
        self.lock.release()


class EventFile:
    """The event file of a process; all functions may be called by several threads at once."""

    def __init__(self, folder: bytes, off: frozenset[str] = frozenset()) -> None:
        self.off = off  # classes that are not recorded (the setting `record`)
        self.folder, self.silent = folder, False
        self.path, self.size, self.next = b"", 0, FIRST_CHUNK
        self.chunk: Chunk | None = None
        self.at = self.end = 0
        self.lock = _Lock(self._gap)
        self.waiting: list[tuple[str, dict[str, Any]]] = []
        self.texts: dict[Any, int] = {}
        self.states: dict[tuple[str, str, str], int] = {}
        self.stimuli: dict[str, int] = {}
        self.text_count = self.stimulus_count = 0
        self.start = b""  # of the last text: all but its last part, such as a task's number
        self.clock = 0.0
        self.level = (NAN, NAN)
        self.shared: dict[str, int] = {}  # texts of restrictions, and of places in the program
        self.stated: set[Any] = set()  # rare facts that are stated once

    # ---- rows

    def transition(self, key: Any, before: str, recommended: str, after: str, stimulus: str, at: float) -> None:
        """Add the change of a task's state; `at` is the time of the framework's own log."""
        if self.waiting:
            self._add_waiting()
        lock = self.lock.lock  # as `with self.lock`, without its two calls: this is done several times for each task
        if not lock.acquire(False):
            self.lock.__enter__()
        try:
            number = self.texts.get(key)
            if number is None:
                number = self._text(key)
            states = self.states.get((before, recommended, after))
            if states is None:
                states = self._states(before, recommended, after)
            cause = self.stimuli.get(stimulus)
            if cause is None or self.stimulus_count - cause >= RING:
                cause = self._stimulus(stimulus)
            since = round((at - self.clock) * 1e6)
            if not 0 <= since < LONGEST_CLOCK:
                self._add(CLOCK_ROW.pack(CLOCK, at))
                self.clock, since = at, 0
            place = self.at
            if place + 12 > self.end:
                place = self._place(12)
            if place >= 0:
                TRANSITION_ROW.pack_into(self.memory, place, 0, states, cause % RING, number, since)
                self.memory[place] = TRANSITION
                self.at = place + 12
        finally:
            lock.release()

    def dependencies(self, key: Any, stimulus: str, keys: Sequence[Any], priority: Any = None) -> None:
        """Add a task of a graph, the tasks whose results it needs, and its priority (three numbers) if it is known;
        long lists take several rows."""
        with self.lock:
            cause = self.stimuli.get(stimulus)
            cause = self._stimulus(stimulus) if cause is None else cause
            own = self._number(key)
            numbers = [self._number(one) for one in keys]
            some = numbers[:MOST_LISTED]
            if type(priority) is tuple and len(priority) == 3:
                if priority[:2] != self.level:
                    self.level = priority[:2]
                    self._add(LEVEL_ROW.pack(LEVEL, *self.level))
                row = ORDERED_ROW.pack(ORDERED, own, cause, priority[2], len(some))
            else:
                row = DEPENDENCIES_ROW.pack(DEPENDENCIES, own, cause, len(some))
            self._add(row + b"".join(map(NUMBER.pack, some)))
            for first in range(MOST_LISTED, len(numbers), MOST_LISTED):
                some = numbers[first : first + MOST_LISTED]
                row = DEPENDENCIES_ROW.pack(DEPENDENCIES, own, cause, len(some))
                self._add(row + b"".join(map(NUMBER.pack, some)))

    def restrictions(self, key: Any, facts: Mapping[str, Any]) -> None:
        """Add where a task may run and similar conditions; equal ones of many tasks are one text."""
        text = json.dumps(facts, default=type_name)
        if len(text) > LONGEST_TEXT:
            text = json.dumps({**facts, "annotations": {"size": len(text)}}, default=type_name)
        with self.lock:
            number = self._shared(text)
            self._add(RESTRICTIONS_ROW.pack(RESTRICTIONS, self._number(key), number))

    def submitted(self, place: str) -> None:
        """Add the place in the program that submitted a graph."""
        with self.lock:
            self._add(SUBMITTED_ROW.pack(SUBMITTED, self._shared(place)))

    def result(self, task: int, attempt: int, size: int, kind: type) -> None:
        """Add the result of a Task: its bytes (-1: unknown) and its type."""
        with self.lock:
            number = self.texts.get(kind)
            number = self._text(kind, type_name(kind)) if number is None else number
            self._add(RESULT_ROW.pack(RESULT, task, attempt, size, number))

    def arguments(self, task: int, text: str) -> None:
        """Add the description of a task's arguments, as JSON."""
        if "argument" in self.off:
            return
        data = text.encode("utf-8", "backslashreplace")[:LONGEST_TEXT]
        with self.lock:
            self._add(ARGUMENTS_ROW.pack(ARGUMENTS, task, len(data)) + data)

    def transfer(self, sender: str, start: float, stop: float, size: int, keys: Iterable[tuple[Any, int]]) -> None:
        """Add results that this process received from another."""
        with self.lock:
            pairs = [PAIR.pack(self._number(key), part) for key, part in keys]
            for first in range(0, len(pairs), MOST_LISTED):
                some = pairs[first : first + MOST_LISTED]
                row = TRANSFER_ROW.pack(TRANSFER, start, stop, 0 if first else size, self._number(sender), len(some))
                self._add(row + b"".join(some))

    def keys(self, role: int, task: int, keys: Sequence[Any], at: float) -> None:
        """Add keys in their role in a Task, such as those whose results a client received (GATHERED)."""
        with self.lock:
            digests = [digest(key_text(key)) for key in keys]
            for first in range(0, len(digests), MOST_LISTED):
                some = digests[first : first + MOST_LISTED]
                self._add(KEYS_ROW.pack(KEYS, role, task, at, len(some)) + b"".join(some))

    def object(self, what: str, **facts: Any) -> None:
        """Add a rare event: its name and facts, as JSON. A text longer than LONGEST_TEXT is cut."""
        if what in OF_LOGS and "line" in self.off:
            return
        facts = {"what": what, "at": time(), **facts}
        data = json.dumps(facts, default=type_name).encode()
        if len(data) > LONGEST_TEXT:
            room = LONGEST_TEXT // (6 * len(facts) + 6)
            cut = {name: value[:room] if isinstance(value, str) else value for name, value in facts.items()}
            data = json.dumps(cut, default=type_name).encode()
        if len(data) <= LONGEST_TEXT:
            with self.lock:
                self._add(OBJECT_ROW.pack(OBJECT, len(data)) + data)

    def later(self, what: str, **facts: Any) -> None:
        """Add a rare event with the next transition: a garbage collection may come while the lock is held."""
        self.waiting.append((what, {"at": time(), **facts}))

    def _add_waiting(self) -> None:
        while self.waiting:
            what, facts = self.waiting.pop(0)
            self.object(what, **facts)

    def forget(self, key: Any) -> None:
        """Forget a key that the framework has forgotten, so that a long run needs no more memory."""
        self.texts.pop(key, None)

    # ---- tables

    def _number(self, key: Any) -> int:
        number = self.texts.get(key)
        return self._text(key) if number is None else number

    def _text(self, key: Any, text: str | None = None) -> int:
        number = self.texts[key] = self._unnamed(key_text(key) if text is None else text)
        return number

    def _shared(self, text: str) -> int:
        number = self.shared.get(text)
        if number is None:
            number = self.shared[text] = self._unnamed(text)
        return number

    def _unnamed(self, text: str) -> int:
        data = text.encode("utf-8", "backslashreplace")[:LONGEST_TEXT]
        start = self.start
        if len(start) >= LEAST_START and data.startswith(start):
            rest = data[len(start) :]
            self._add(SIMILAR_ROW.pack(SIMILAR, len(start), len(rest)) + rest)
        else:
            start = data[: max(data.rfind(b"-"), data.rfind(b",")) + 1]
            self._add(TEXT_ROW.pack(TEXT, len(data)) + data)
            self.start = start  # no call after the row: a signal handler may raise in it
        self.text_count += 1
        return self.text_count - 1

    def _states(self, before: str, recommended: str, after: str) -> int:
        numbers = map(self._number, (before, recommended, after))
        self._add(STATES_ROW.pack(STATES, *numbers))
        number = self.states[before, recommended, after] = len(self.states) & 0xFF
        return number

    def _stimulus(self, stimulus: str) -> int:
        """Add a stimulus, as the text before its time and the time, if these give the text again."""
        name, _, moment = stimulus.rpartition("-")
        try:
            at = float(moment)
            exact = repr(at) == moment
        except ValueError:
            exact = False
        if len(self.stimuli) >= RING:
            self.stimuli.clear()
        row = (self._number(name), at) if exact else (self._whole(stimulus), 0.0)
        self._add(STIMULUS_ROW.pack(STIMULUS, *row))
        number = self.stimuli[stimulus] = self.stimulus_count
        self.stimulus_count += 1
        return number

    def _whole(self, stimulus: str) -> int:
        self._unnamed(stimulus)
        return NO_TEXT

    # ---- the file

    def _add(self, row: bytes) -> None:
        """Write a row; its first byte comes last, so that a kill leaves no part of a row."""
        place = self._place(len(row))
        if place >= 0:
            self.memory[place + 1 : place + len(row)] = row[1:]
            self.memory[place] = row[0]
            self.at = place + len(row)

    def _place(self, room: int) -> int:
        """Return where a row of `room` bytes fits; -1 if nothing is written any more."""
        while self.at + room > self.end:
            if self.silent or not self._grow():
                return -1
        return self.at

    def _grow(self) -> bool:
        try:
            fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC) if self.path else self._create()
            try:
                self._fill(fd)
                self.chunk = Chunk(fd, self.next, self.size)
            finally:
                os.close(fd)
        except (OSError, MemoryError) as error:
            self.silent, self.end = True, 0  # also shorter rows: they may refer to this one
            self._gap(reason_for(error) if isinstance(error, OSError) else "no memory was left to map the trace")
            return False
        self.memory, self.at, self.end = self.chunk.memory, 0, self.next
        if self.size == 0:
            self.memory[: len(MAGIC)] = MAGIC
            self.at = len(MAGIC)
        self.size += self.next
        self.next = min(2 * self.next, LARGEST_CHUNK)
        return True

    def _fill(self, fd: int) -> None:
        """Write zeros for the next chunk: a store into a hole could end the process if the disk is full."""
        try:
            done = 0
            while done < self.next:  # the call after a partial one raises the error
                done += os.pwrite(fd, bytes(self.next - done), self.size + done)
        except OSError:
            os.ftruncate(fd, self.size)
            raise

    def _create(self) -> int:
        pid, tick, _ = environment.identity()
        for number in range(1000):
            path = os.path.join(self.folder, b"%d.%d.%d.events" % (pid, tick, number))
            try:
                fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                continue
            self.path = path
            return fd
        raise FileExistsError

    def _gap(self, reason: str) -> None:
        """State in a symbolic link, which needs no space, that events are missing."""
        pid, tick, _ = environment.identity()
        for number in range(1000):
            path = os.path.join(self.folder, b"%d.%d.0.%d.gap" % (pid, tick, number))
            try:
                os.symlink(f"events of tasks: {reason}".encode(), path)
            except FileExistsError:
                continue
            except OSError:
                pass
            return


def digest(text: str) -> bytes:
    """Return eight bytes that stand for a key: a scheduler's file has its text."""
    from hashlib import blake2b

    return blake2b(text.encode("utf-8", "backslashreplace"), digest_size=8).digest()


def key_text(key: Any) -> str:
    """Return a key as text. Keys are texts, numbers and tuples of these; of anything else, only the type is used."""
    if type(key) is str:
        return key
    if type(key) is tuple:
        inner = ", ".join(repr(one) if type(one) in (str, int, float, bytes, bool) else key_text(one) for one in key)
        return f"({inner},)" if len(key) == 1 else f"({inner})"
    return repr(key) if type(key) in (int, float, bytes, bool) else type_name(key)


def type_name(value: Any) -> str:
    """Return the name of a value's type, with its module."""
    kind = value if isinstance(value, type) else type(value)
    module = getattr(kind, "__module__", "")
    name = str(getattr(kind, "__qualname__", "?"))
    return name if module in ("builtins", "") else f"{module}.{name}"


def begin() -> EventFile | None:
    """Return a new event file, for one part of a framework in this process; None if nothing records the process."""
    try:
        settings = environment.trace_settings(dict(os.environ))
        if settings is None or "task" in settings.off:
            return None
        _files.append(EventFile(settings.folder, settings.off))
        return _files[-1]
    except Exception as error:
        reraise_from_program(error)
        return None


def _forked() -> None:
    """Leave the files of the parent alone in a forked child."""
    for file in _files:
        file.silent, file.at, file.end, file.lock = True, 0, 0, _Lock(file._gap)


os.register_at_fork(after_in_child=_forked)
