"""Who writes: the image of the process and its threads, each with a file of its own in the run's folder."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
from time import time_ns
from typing import Any

from . import rank, surroundings, text
from .live import Block, Live, reason_for

PREFIXES = (
    b"@prefix prov: <http://www.w3.org/ns/prov#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
    b"@prefix : <https://w3id.org/provio/ns#> ."
)
PREFIX_ROOM, THREAD_ROOM, FACTS_ROOM = 256, 128, 192  # what the shim reserves for them


def text_facts(facts: surroundings.Facts) -> bytes:
    """Return what is said of a file's identity and times."""
    words = ("inode", "birthNs", "mtimeNs", "ctimeNs", "size")
    return b' ; :device "%s"' % facts.device + b"".join(map(text.number, words, facts[1:6]))


def name_room(value: bytes) -> int:
    """Return what the shim reserves for a name."""
    return 32 + (len(value) if text.is_plain(value) else 6 * len(value))


class Process:
    """This image of a program, from its beginning or from the fork that it came of."""

    def __init__(self, settings: surroundings.Settings, forked: bool) -> None:
        self.settings = settings
        self.forked = forked
        self.started = time.time_ns()
        self.pid, self.tick, self.parent = surroundings.identity()
        self.claimed: dict[str, int] = {}  # "number": that of this image among those of the pid
        self.ordinals = itertools.count(1)
        self.idle: list[Thread] = []
        self.turn = 2  # odd: it writes

    def turn_to(self, writes: bool) -> None:
        """Note that the process reads, or writes."""
        if bool(self.turn & 1) != writes:
            self.turn += 1

    # ---- files

    def path(self, number: int, ordinal: int, ending: str) -> bytes:
        """Return where a file of the image lies."""
        name = f"{self.pid}.{self.tick}.{number}.{ordinal}{ending}"
        return os.path.join(self.settings.folder, name.encode())

    def create(self, number: int, ordinal: int, ending: str) -> tuple[bytes, int]:
        """Make a file that is not there yet; return its path and a descriptor."""
        path = self.path(number, ordinal, ending)
        return path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def claim(self) -> tuple[bytes, int, int]:
        """Make a thread's file; return its path, a descriptor and its ordinal. The first claims the image's number, by
        exclusive creation against other images of this pid, in one step of Python's against other threads."""
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

    def gap(self, reason: str) -> None:
        """Say that there is no file: a symbolic link needs neither a descriptor nor space."""
        for number in range(1000):
            try:
                os.symlink(reason.encode(), self.path(number, 0, ".gap"))
            except FileExistsError:
                continue
            except OSError:
                return
            return

    # ---- what is said of it

    def base(self, ordinal: int) -> bytes:
        """Return the declaration of the base of a thread's names."""
        run, host, number = self.settings.run, self.settings.host, self.claimed["number"]
        place = f"{run}/{host}/{self.pid}.{self.tick}.{number}/{ordinal}/"
        return b" @base <https://w3id.org/provio/run/%s> ." % place.encode("utf-8", "surrogateescape")

    def base_room(self) -> int:
        """Return what the shim reserves for it."""
        return len(os.fsencode(self.settings.run)) + len(os.fsencode(self.settings.host)) + 128

    def head(self) -> tuple[bytes, int]:
        """Return what the image's first file says of it, and the room that the shim reserves for that."""
        arguments = surroundings.arguments()
        host = os.fsencode(self.settings.host)
        told = "process" not in self.settings.off  # else only what ties it to others
        said = b" <../> "
        if told:
            said += b"a :Process" + text.number("pid", self.pid) + text.number("startTick", self.tick) + b" ; "
        said += b":parentPid %d" % self.parent + (text.name("host", host) if told else b"")
        said += b' ; :image "%s"' % (b"fork" if self.forked else b"exec") + text.number("startedNs", self.started)
        said += rank.said(self.settings.rank)
        if told:
            said += b' ; :argv "%s"' % b" ".join(map(text.argument, arguments))
        place, room = self.place()
        room += (
            416
            + (rank.ROOM if self.settings.rank else 0)
            + FACTS_ROOM
            + name_room(host)
            + sum(len(text.argument(one)) + 3 for one in arguments)
        )
        return said + place + b" .", room

    def place(self) -> tuple[bytes, int]:
        """Return what runs and where, and the room for it."""
        executable, facts = surroundings.link("/proc/self/exe"), surroundings.statx(b"/proc/self/exe")
        if facts and not facts.links and executable.endswith(b" (deleted)"):
            executable = executable[: -len(b" (deleted)")]
        cwd = surroundings.working_directory()
        off = self.settings.off
        said = text.name("executable", executable, "executableEncoded") if executable and "program" not in off else b""
        said += text_facts(facts) if facts and said and "file" not in off else b""
        said += text.name("cwd", cwd, "cwdEncoded") if cwd and "process" not in off else b""
        return said, name_room(executable) + name_room(cwd)


class Within:
    """The Task that one of Python's threads is in; of one that it inherited, the Tasks that have not ended yet."""

    __slots__ = ("going", "task")

    def __init__(self) -> None:
        self.task = 0
        self.going: set[int] | None = None

    def now(self) -> int:
        """Return the Task; 0: none."""
        if self.going is not None and self.task not in self.going:
            self.task, self.going = 0, None
        return self.task


class Thread:
    """A thread that writes, or what interrupted it meanwhile: a handler of a signal."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.live: Live | None = None
        self.calls: Live | None = None
        self.busy = False
        self.within = Within()
        self.begin()

    def begin(self) -> None:
        """Be the calling thread's: new, or with the file that one which ended handed on."""
        self.ordinal = -1
        self.calls_ordinal = -1
        self.tid = threading.get_native_id()
        self.latest = 0
        self.epoch = self.now() - 1  # so that no time is 0, which means never
        self.accesses, self.events, self.failures = itertools.count(1), itertools.count(1), itertools.count(1)
        self.counters: dict[Any, Any] = {}
        self.most = 64  # of them, before those of what was released are swept

    def now(self) -> int:
        """Return the time, which never goes back."""
        now = time_ns()
        if now > self.latest:  # noqa: PLR1730 (max takes three times as long)
            self.latest = now
        return self.latest

    def scope(self) -> int:
        """Return the Task that it is in; 0: none."""
        return self.within.now()

    def began(self, started: int, now: int) -> int:
        """Return when a call began that is told of now: not before its thread did, nor later than now."""
        return min(max(started, self.epoch), now)

    def name(self) -> bytes:
        """Return what is said of a thread."""
        off = self.process.settings.off
        if "thread" in off:
            return b" <> :epochNs %d ." % self.epoch
        said = b" <> a :Thread" + text.number("tid", self.tid) + text.number("epochNs", self.epoch)
        return said + (b"" if "program" in off else b" ; prov:actedOnBehalfOf <../program>") + b" ."

    def write(self, said: bytes, room: int) -> Block | None:
        """Write a block into the thread's file; None where nothing can be written."""
        if self.live is None:
            self.live = self._file()
        if self.ordinal < 0 and not self.live.silent:
            self.ordinal = next(self.process.ordinals)
            self.live.write(self.process.base(self.ordinal) + self.name(), self.process.base_room() + THREAD_ROOM)
        return self.live.write(said, room)

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
        said, room = process.head() if self.ordinal == 0 else (b"", 0)
        said = PREFIXES + process.base(self.ordinal) + self.name() + said
        live.write(said, PREFIX_ROOM + process.base_room() + THREAD_ROOM + room)
        os.close(fd)
        live.fd = -1
        if live.silent:
            with contextlib.suppress(OSError):
                os.unlink(path)
            process.gap(live.silent)
        return live

    # ---- single calls, at detail `call`

    def line(self, said: bytes) -> None:
        """Write a line into the file of calls, which lies beside the thread's."""
        if self.live is None or self.live.silent:
            return
        process = self.process
        if self.calls is None:
            self.calls = self._calls(self.live)
        if self.calls_ordinal != self.ordinal:
            self.calls.write(process.base(self.ordinal), process.base_room())
            self.calls_ordinal = self.ordinal
        self.calls.write(said, len(said))

    def _calls(self, beside: Live) -> Live:
        path = beside.path[: -len(b".ttl")] + b".calls.ttl"
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
            beside.gap(calls.silent)
        self.calls_ordinal = self.ordinal
        return calls
