"""Record files and their objects, as reported by a layer above the C library, as `interceptors/posix/layer.c` does."""

from __future__ import annotations

import functools
import itertools
import os
import threading
from os import getpid
from typing import Any

from ..guard import reraise_from_program
from . import environment, literals
from .thread import FACTS_ROOM, Process, Scope, Thread, name_room, text_facts

TERMS = frozenset(
    "Read Write Create Open Close Flush Fsync List Stat Copy Link Delete Rename Truncate Allocate Resize".split()
)
# Each with its word in the setting `record`.
KINDS = {
    "Dataset": "dataset",
    "Attribute": "attribute",
    "Group": "group",
    "Datatype": "datatype",
    "NamedLink": "link",
}
# The facts of a member, in order: parameter, property, and the property if the value is not UTF-8.
MEMBER_FACTS = (
    ("path", "path", "pathEncoded"),
    ("name", "name", "nameEncoded"),
    ("target", "target", "targetEncoded"),
    ("target_file", "targetFile", "targetFileEncoded"),
    ("shape", "shape", "shape"),
    ("max_shape", "maxShape", "maxShape"),
    ("datatype", "datatype", "datatype"),
    ("chunks", "chunks", "chunks"),
    ("filters", "filters", "filters"),
    ("token", "token", "token"),
)
NO_FILE = 1 << 30
LONGEST_TYPE, LONGEST_NAME, LONGEST_PATH, MOST_FUNCTIONS = 2048, 61, 8191, 256
MOST_HANDLERS = 32  # nested signal handlers


class Object:
    """An opening of a file, or an object in it."""

    __slots__ = (
        "facts", "file", "flags", "format", "inherited", "kind", "process", "replaced", "serial", "text", "unlinked",
    )  # fmt: skip

    def __init__(self, kind: str, file: Object | None, text: bytes, format: bytes = b"HDF5") -> None:  # noqa: A002
        self.kind = kind
        self.format = format  # of a file: the layer that reports it; empty for files that Python itself opens
        self.file = file  # None: this is a file
        self.text = text  # the path of a file; the facts of a member as Turtle
        self.facts: environment.FileFacts | None = None
        self.flags = self.serial = 0  # serial 0: released
        self.inherited = self.unlinked = self.replaced = False
        self.process: Process | None = None


def quiet(function: Any, otherwise: Any = None) -> Any:
    """Pass the calling thread to a method, and let no exception of provio reach the program. A signal handler that
    interrupts the method gets a thread of its own."""

    @functools.wraps(function)
    def wrapped(self: Objects, *arguments: Any, **keywords: Any) -> Any:
        try:
            thread = self.thread()
            thread.busy = True
            try:
                return function(self, thread, *arguments, **keywords)
            finally:
                thread.busy = False
        except Exception as error:
            reraise_from_program(error)
            return otherwise

    return wrapped


class Held:
    """The writer's threads of one Python thread: one, and another for each signal handler that runs in it."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.threads: list[Thread] = []
        self.first: Thread | None = None  # the one that is used nearly always
        self.scope = Scope()

    def free(self) -> Thread:
        """Return a thread that is not busy."""
        for thread in self.threads:
            if not thread.busy:
                return thread
        if len(self.threads) == MOST_HANDLERS:
            raise RecursionError
        try:
            thread = self.process.idle.pop()
            thread.begin()
        except IndexError:
            thread = Thread(self.process)
        self.threads.append(thread)
        thread.scope = self.scope
        self.first = self.threads[0]
        return thread

    def __del__(self) -> None:
        for thread in self.threads:
            if not thread.busy:
                thread.counters.clear()
                self.process.idle.append(thread)


class Stopped(Exception):
    """The run has ended, and the process has not."""


def _stopped() -> Thread:
    raise Stopped


class Objects:
    """The functions of `layer.h` about functions, files and their objects."""

    def __init__(self, settings: environment.TraceSettings) -> None:
        self.settings = settings
        self.named = "api" not in settings.off
        self.process = Process(settings, False)
        self.local = threading.local()
        self.serials = itertools.count(1)
        self.numbers: dict[bytes, int] = {}
        self.functions: list[tuple[bytes, str]] = []
        self.stopped = False
        self.looked: dict[bytes, environment.FileFacts] = {}  # facts of files that are about to be opened

    def thread(self) -> Thread:
        """Return the writer's thread for the calling thread."""
        if self.process.pid != getpid():
            self.forked()
        try:
            held: Held = self.local.held
        except AttributeError:
            held = self.local.held = Held(self.process)
        first = held.first
        return held.free() if first is None or first.busy else first

    def forked(self) -> None:
        """Begin again in a forked child."""
        self.process = Process(self.settings, True)
        self.local = threading.local()

    def stop(self) -> None:
        """Record nothing more until `resume`; layers keep their reference to this object."""
        self.stopped = True
        self.thread = _stopped  # type: ignore[method-assign]

    def resume(self, settings: environment.TraceSettings) -> None:
        """Record again, in another run: the process and its files are new there."""
        self.settings = settings
        self.forked()
        self.process.forked = False
        self.stopped = False
        self.__dict__.pop("thread", None)

    @quiet
    def _recording(self, _: Thread) -> bool:
        return True

    def recording(self) -> int:
        """Return 1 if calls are recorded, else 0."""
        return int(self._recording() or 0)

    @quiet
    def _now(self, thread: Thread) -> int:
        return thread.now()

    def now(self) -> int:
        """Return the time in ns since 1970, by the thread's clock; 0 if nothing is recorded."""
        return self._now() or 0

    def function(self, name: Any, term: Any) -> int:
        """Return a number for a function; `term` is the ontology class of its calls. -1: it cannot be recorded."""
        data, word = literals.to_bytes(name), literals.to_bytes(term).decode("ascii", "replace")
        if word not in TERMS or not 0 < len(data) <= LONGEST_NAME or not literals.is_plain(data):
            return -1
        number = self.numbers.get(data, len(self.functions))
        if data not in self.numbers:
            if number == MOST_FUNCTIONS:
                return -1
            self.functions.append((data, word))
            self.numbers[data] = number
        return number

    def api(self, word: str, function: int) -> bytes:
        """Return the name of a function as Turtle, unless names are switched off."""
        return b"" if "api" in self.settings.off else b' ; :%s "%s"' % (word.encode(), self.functions[function][0])

    def known(self, function: int) -> bool:
        """Whether a number belongs to a function."""
        return 0 <= function < len(self.functions)

    # ---- files and their objects

    def serial(self, thread: Thread, object_: Object | None) -> int:
        """Return an object's number; an object of the parent is recorded again in a child, at its first use there."""
        if object_ is None or not object_.serial:
            return 0
        if object_.process is not self.process:
            file = self.serial(thread, object_.file)
            object_.serial, object_.process = next(self.serials), self.process
            object_.inherited, object_.replaced = True, False
            if object_.file is None:
                self._announce_file(thread, object_, -1, thread.now(), 0)
            else:
                self._announce_member(thread, object_, file, False)
        return object_.serial

    def _announce_file(self, thread: Thread, file: Object, function: int, started: int, elapsed: int) -> None:
        block = b" <../o%d> a :FileVersion" % file.serial
        if file.text:
            block += literals.name("path", file.text, "pathEncoded")
        block += b' ; :format "%s"' % file.format if file.format else b""
        if file.facts is not None:
            block += text_facts(file.facts)
        block += literals.number("flags", file.flags) + literals.number("openedNs", started)
        if function >= 0:
            block += self.api("openApi", function)
            block += b"" if "duration" in self.settings.off else literals.number("openElapsed", elapsed)
        thread.write(block + _origin(file), 512 + FACTS_ROOM + name_room(file.text))

    def _announce_member(self, thread: Thread, member: Object, file: int, created: bool) -> None:
        block = b" <../o%d> a :%s ; :inFile <../o%d>" % (member.serial, member.kind.encode(), file) + member.text
        block += b" ; :created true" if created else b""
        thread.write(block + _origin(member), 0)

    def _file_new(
        self, thread: Thread, function: int, path: bytes, flags: int, facts: environment.FileFacts | None,
        started: int, ended: int, format: bytes = b"HDF5",  # noqa: A002
    ) -> Object:  # fmt: skip
        file = Object("FileVersion", None, path, format)
        file.facts, file.flags = facts, flags & ~NO_FILE
        started = thread.began(started, ended)
        file.serial, file.process = next(self.serials), self.process
        file.unlinked = facts is not None and facts.links == 0
        self._announce_file(thread, file, function, started, ended - started)
        return file

    def ignored(self, path: bytes) -> bool:
        """Whether a file must not be recorded."""
        folders = (self.settings.home, self.settings.folder)
        own = any(path == folder or path.startswith(folder + b"/") for folder in folders)
        if own or "file" in self.settings.off or not self.settings.limits:
            return own or "file" in self.settings.off
        resolved = os.path.realpath(path)
        return self.settings.leaves_out(*([resolved] if b"/.." in path else [path, resolved]))

    @quiet
    def look(self, thread: Thread, path: Any) -> None:
        """Keep the facts of a file before it is opened: HDF5 changes it while it opens it for writing."""
        whole = environment.absolute(literals.to_bytes(path))
        facts = environment.statx(whole) if whole else None
        if len(self.looked) > 100:
            self.looked.clear()
        if facts is not None:
            self.looked[whole] = facts

    @quiet
    def file(self, thread: Thread, function: int, path: Any, flags: int, started: int) -> Object | None:
        """Record that a file was opened or created, with the flags of open(2)."""
        ended, whole = thread.now(), environment.absolute(literals.to_bytes(path))
        if not self.known(function) or not whole or len(whole) > LONGEST_PATH or self.ignored(whole):
            return None
        facts, before = None if flags & NO_FILE else environment.statx(whole), self.looked.pop(whole, None)
        if facts is not None and before is not None and before.same_file(facts):
            facts = before
        return self._file_new(thread, function, whole, flags, facts, started, ended)

    @quiet
    def file_of(self, thread: Thread, function: int, fd: int, flags: int, started: int) -> Object | None:
        """Do the same for the file behind a descriptor."""
        ended, facts = thread.now(), environment.statx(b"", fd)
        path = environment.link(f"/proc/self/fd/{fd}")
        if facts is None or not self.known(function) or self.ignored(path):
            return None
        path = path if path.startswith(b"/") else b""
        if not facts.links and path.endswith(b" (deleted)"):
            path = path[: -len(b" (deleted)")]
        return self._file_new(thread, function, path, flags, facts, started, ended)

    @quiet
    def plain_file(
        self, thread: Thread, function: int, path: bytes, flags: int, facts: environment.FileFacts, started: int
    ) -> Object | None:
        """Record that Python itself opened a file: an absolute path, and the facts of the file at that time."""
        if self.ignored(path):
            return None
        return self._file_new(thread, function, path, flags, facts, started, thread.now(), b"")

    @quiet
    def file_closed(self, thread: Thread, file: Object | None, time: int) -> None:
        """Record that the last handle of a file was closed."""
        serial = self.serial(thread, file)
        if not serial or file is None:
            return
        now = environment.statx(file.text) if file.facts is not None and file.text else None
        block = b" <../o%d> :closedNs %d" % (serial, thread.began(time, thread.now()))
        if now is not None and file.facts is not None and now.same_file(file.facts):
            words = ("closedMtimeNs", "closedCtimeNs", "closedSize", "closedLinks")
            block += b"".join(map(literals.number, words, (now.modified, now.changed, now.size, now.links)))
        thread.write(block + b" .", 256)

    @quiet
    def member(self, thread: Thread, file: Object | None, **facts: Any) -> Object | None:
        """Record an object of a file; `facts` are the fields of `struct provio_member`."""
        serial, kind = self.serial(thread, file), literals.to_bytes(facts.get("kind") or "").decode("ascii", "replace")
        if not serial or kind not in KINDS or KINDS[kind] in self.settings.off or facts.get("path") is None:
            return None
        member = Object(kind, file, b"".join(_member_facts(facts)))
        member.serial, member.process = next(self.serials), self.process
        self._announce_member(thread, member, serial, bool(facts.get("created")))
        return member

    def release(self, object_: Object | None) -> None:
        """Release an object that will not be reported any more."""
        if object_ is not None:
            object_.serial = 0

    @quiet
    def virtual(self, thread: Thread, dataset: Object | None, source: Object | None) -> None:
        """Record that a virtual dataset shows elements of another."""
        serial, of = self.serial(thread, dataset), self.serial(thread, source)
        if serial and of:
            block = b" <../o%d/o%d> :object <../o%d> ; :virtualSource <../o%d> ." % (serial, of, serial, of)
            thread.write(block, 160)

    @quiet
    def replaced(self, thread: Thread, object_: Object | None, time: int) -> None:
        """Record the first write that replaced the whole content of an object."""
        serial = self.serial(thread, object_)
        if serial and object_ is not None and not object_.replaced:
            object_.replaced = True
            block = b" <../o%d> :replacedNs %d ." % (serial, thread.began(time, thread.now()))
            thread.write(block, 96)


def _origin(object_: Object) -> bytes:
    block = b" ; :inherited true" if object_.inherited else b""
    return block + (b" ; :unlinked true" if object_.unlinked else b"") + b" ."


def _member_facts(facts: dict[str, Any]) -> Any:
    for parameter, word, encoded in MEMBER_FACTS:
        value = None if facts.get(parameter) is None else literals.to_bytes(facts[parameter])
        if value is not None and not (parameter == "datatype" and len(value) > LONGEST_TYPE):
            yield literals.name(word, value, encoded)
    if facts.get("element_size"):
        yield literals.number("elementSize", facts["element_size"])
