"""The process image and its threads as they write: each thread has a file of its own in the run folder."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
from time import time_ns
from typing import Any

from . import environment, literals, rank
from .live import Block, Live, reason_for

PREFIXES = (
    b"@prefix prov: <http://www.w3.org/ns/prov#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
    b"@prefix : <https://w3id.org/provio/ns#> ."
)
PREFIX_ROOM, THREAD_ROOM, FACTS_ROOM = 256, 128, 192  # bytes that the shim reserves too


def text_facts(facts: environment.FileFacts) -> bytes:
    """Return a file's identity and times as Turtle."""
    words = ("inode", "birthNs", "mtimeNs", "ctimeNs", "size")
    return b' ; :device "%s"' % facts.device + b"".join(map(literals.number, words, facts[1:6]))


def name_room(value: bytes) -> int:
    """Return the number of bytes that the shim reserves for a name."""
    return 32 + (len(value) if literals.is_plain(value) else 6 * len(value))


class Process:
    """One process image, from the start of the program or from the fork."""

    def __init__(self, settings: environment.TraceSettings, forked: bool) -> None:
        self.settings = settings
        self.forked = forked
        self.started = time.time_ns()
        self.pid, self.tick, self.parent = environment.identity()
        self.claimed: dict[str, int] = {}  # "number": the number of this image among those of the pid
        self.ordinals = itertools.count(1)
        self.idle: list[Thread] = []
        self.turn = 2  # odd while the process writes, even while it reads

    def turn_to(self, writes: bool) -> None:
        """Note that the process now writes, or reads."""
        if bool(self.turn & 1) != writes:
            self.turn += 1

    # ---- files

    def path(self, number: int, ordinal: int, ending: str) -> bytes:
        """Return the path of a file of the image."""
        name = f"{self.pid}.{self.tick}.{number}.{ordinal}{ending}"
        return os.path.join(self.settings.folder, name.encode())

    def create(self, number: int, ordinal: int, ending: str) -> tuple[bytes, int]:
        """Create a new file; return its path and a descriptor."""
        path = self.path(number, ordinal, ending)
        return path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def claim(self) -> tuple[bytes, int, int]:
        """Create a thread's file; return its path, a descriptor and its ordinal. The first file claims the image's
        number: exclusive creation excludes other images of this pid, `setdefault` other threads."""
        number = 0
        while "number" not in self.claimed:
            try:
                path, fd = self.create(number, 0, ".ttl")
            except FileExistsError:
                number += 1
                continue
            if self.claimed.setdefault("number", number) == number:
                return path, fd, 0
            os.close(fd)
            os.unlink(path)
        ordinal = next(self.ordinals)
        return (*self.create(self.claimed["number"], ordinal, ".ttl"), ordinal)

    def list(self, path: bytes) -> None:
        """Add a thread's file to the list of all, before its first record: readers notice if it is lost later. A file
        that cannot be listed is used all the same."""
        name = os.path.basename(path)[: -len(b".ttl")] + b"\n"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        with contextlib.suppress(OSError):
            fd = os.open(os.path.join(os.path.dirname(path), b"threads"), flags, 0o600)
            try:
                os.write(fd, name)
            finally:
                os.close(fd)

    def gap(self, reason: str) -> None:
        """Record that no file could be created, in a symbolic link, which needs neither a descriptor nor space."""
        for number in range(1000):
            try:
                os.symlink(reason.encode(), self.path(number, 0, ".gap"))
            except FileExistsError:
                continue
            except OSError:
                return
            return

    # ---- its facts

    def base(self, ordinal: int) -> bytes:
        """Return the `@base` of a thread's names."""
        run, host, number = self.settings.run, self.settings.host, self.claimed["number"]
        place = f"{run}/{host}/{self.pid}.{self.tick}.{number}/{ordinal}/"
        return b" @base <https://w3id.org/provio/run/%s> ." % place.encode("utf-8", "surrogateescape")

    def base_room(self) -> int:
        """Return the number of bytes that the shim reserves for it."""
        return len(os.fsencode(self.settings.run)) + len(os.fsencode(self.settings.host)) + 128

    def head(self) -> tuple[bytes, int]:
        """Return the facts of the image in its first file, and the room that the shim reserves for them."""
        arguments = environment.arguments()
        host = os.fsencode(self.settings.host)
        recorded = "process" not in self.settings.off  # else only the facts that connect it to other processes
        block = b" <../> "
        if recorded:
            block += b"a :Process" + literals.number("pid", self.pid) + literals.number("startTick", self.tick) + b" ; "
        block += b":parentPid %d" % self.parent + (literals.name("host", host) if recorded else b"")
        block += b' ; :image "%s"' % (b"fork" if self.forked else b"exec") + literals.number("startedNs", self.started)
        block += rank.facts(self.settings.rank)
        if recorded:
            block += b' ; :argv "%s"' % b" ".join(map(literals.argument, arguments))
        place, room = self.place()
        room += (
            416
            + (rank.ROOM if self.settings.rank else 0)
            + FACTS_ROOM
            + name_room(host)
            + sum(len(literals.argument(one)) + 3 for one in arguments)
        )
        return block + place + b" .", room

    def place(self) -> tuple[bytes, int]:
        """Return the executable and the working directory, and the room for both."""
        executable, facts = environment.link("/proc/self/exe"), environment.statx(b"/proc/self/exe")
        if facts and not facts.links and executable.endswith(b" (deleted)"):
            executable = executable[: -len(b" (deleted)")]
        cwd = environment.working_directory()
        off = self.settings.off
        block = (
            literals.name("executable", executable, "executableEncoded") if executable and "program" not in off else b""
        )
        block += text_facts(facts) if facts and block and "file" not in off else b""
        block += literals.name("cwd", cwd, "cwdEncoded") if cwd and "process" not in off else b""
        return block, name_room(executable) + name_room(cwd)


class Scope:
    """The current Task of a Python thread; if it is inherited, `in_progress` has the Tasks that have not ended."""

    __slots__ = ("in_progress", "task")

    def __init__(self) -> None:
        self.task = 0
        self.in_progress: set[int] | None = None

    def now(self) -> int:
        """Return the Task; 0: none."""
        if self.in_progress is not None and self.task not in self.in_progress:
            self.task, self.in_progress = 0, None
        return self.task


class Thread:
    """A thread that writes, or a signal handler that interrupted one."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.live: Live | None = None
        self.calls: Live | None = None
        self.busy = False
        self.scope = Scope()
        self.begin()

    def begin(self) -> None:
        """Begin as the calling thread, with no file or with the file of a thread that ended."""
        self.ordinal = -1
        self.calls_ordinal = -1
        self.tid = threading.get_native_id()
        self.latest = 0
        self.epoch = self.now() - 1  # so that no time is 0, which means never
        self.accesses, self.events, self.failures = itertools.count(1), itertools.count(1), itertools.count(1)
        self.counters: dict[Any, Any] = {}
        self.most = 64  # counters before those of released objects are removed

    def now(self) -> int:
        """Return the time in ns since 1970; it never decreases."""
        now = time_ns()
        if now > self.latest:  # noqa: PLR1730 (max takes three times as long)
            self.latest = now
        return self.latest

    def began(self, started: int, now: int) -> int:
        """Return the start of a call that is reported now: not before the thread's, nor after now."""
        return min(max(started, self.epoch), now)

    def name(self) -> bytes:
        """Return the facts of the thread."""
        off = self.process.settings.off
        if "thread" in off:
            return b" <> :epochNs %d ." % self.epoch
        block = b" <> a :Thread" + literals.number("tid", self.tid) + literals.number("epochNs", self.epoch)
        return block + (b"" if "program" in off else b" ; prov:actedOnBehalfOf <../program>") + b" ."

    def write(self, block: bytes, room: int) -> Block | None:
        """Write a block into the thread's file; return None if nothing can be written."""
        if self.live is None:
            self.live = self._file()
        if self.ordinal < 0 and not self.live.silent:
            self.ordinal = next(self.process.ordinals)
            self.live.write(self.process.base(self.ordinal) + self.name(), self.process.base_room() + THREAD_ROOM)
        return self.live.write(block, room)

    def _file(self) -> Live:
        process = self.process
        try:
            path, fd, self.ordinal = process.claim()
        except OSError as error:
            live = Live(b"", -1)
            live.silent = reason_for(error)
            process.gap(live.silent)
            return live
        live = Live(path, fd)
        block, room = process.head() if self.ordinal == 0 else (b"", 0)
        block = PREFIXES + process.base(self.ordinal) + self.name() + block
        room += PREFIX_ROOM + process.base_room() + THREAD_ROOM
        if live.reserve(room):
            process.list(path)
        live.write(block, room)
        os.close(fd)
        live.fd = -1
        if live.silent:
            with contextlib.suppress(OSError):
                os.unlink(path)
            process.gap(live.silent)
        return live

    # ---- single calls, at detail `call`

    def line(self, block: bytes) -> None:
        """Write a line into the file of calls, next to the thread's file."""
        if self.live is None or self.live.silent:
            return
        process = self.process
        if self.calls is None:
            self.calls = self._calls(self.live)
        if self.calls_ordinal != self.ordinal:
            self.calls.write(process.base(self.ordinal), process.base_room())
            self.calls_ordinal = self.ordinal
        self.calls.write(block, len(block))

    def _calls(self, live: Live) -> Live:
        path = live.path[: -len(b".ttl")] + b".calls.ttl"
        calls = Live(path, -1, of_calls=True)
        try:
            calls.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            head = PREFIXES + self.process.base(self.ordinal)
            calls.write(head, PREFIX_ROOM + self.process.base_room())
            os.close(calls.fd)
        except OSError as error:
            calls.silent = reason_for(error)
        calls.fd = -1
        if calls.silent:
            live.gap(calls.silent)
        self.calls_ordinal = self.ordinal
        return calls
