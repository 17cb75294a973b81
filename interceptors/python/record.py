"""Files and their objects, told by a layer above the C library: as `interceptors/posix/record.c` records them."""

from __future__ import annotations

import functools
import itertools
import os
import threading
from os import getpid
from typing import Any

from . import surroundings, text
from .foreign import of_provio
from .thread import FACTS_ROOM, Process, Thread, Within, name_room, text_facts

TERMS = frozenset(
    "Read Write Create Open Close Flush Fsync List Stat Copy Link Delete Rename Truncate Allocate Resize".split()
)
# Each with the word that leaves it out.
KINDS = {
    "Dataset": "dataset",
    "Attribute": "attribute",
    "Group": "group",
    "Datatype": "datatype",
    "NamedLink": "link",
}
# What is said of a member, in order: its parameter, its word, and the word where it is not UTF-8.
SAYINGS = (
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
MOST_HANDLERS = 32  # each in the middle of another


class Object:
    """A file, or an object in one, as one process has it open."""

    __slots__ = ("facts", "file", "flags", "inherited", "kind", "process", "replaced", "said", "serial", "unlinked")

    def __init__(self, kind: str, file: Object | None, said: bytes) -> None:
        self.kind = kind
        self.file = file  # None: it is one
        self.said = said  # of a file its path; of a member what is said of it wherever it is announced
        self.facts: surroundings.Facts | None = None
        self.flags = self.serial = 0  # serial 0: released
        self.inherited = self.unlinked = self.replaced = False
        self.process: Process | None = None


def quiet(function: Any, otherwise: Any = None) -> Any:
    """Let nothing that goes wrong reach the program; what was interrupted meanwhile goes on under its own name."""

    @functools.wraps(function)
    def heard(self: Objects, *arguments: Any, **keywords: Any) -> Any:
        try:
            thread = self.thread()
            thread.busy = True
            try:
                return function(self, thread, *arguments, **keywords)
            finally:
                thread.busy = False
        except Exception as error:
            of_provio(error)
            return otherwise

    return heard


class Held:
    """The threads of the writer that one thread of Python's has in hand: one, and one more for each handler in it."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.threads: list[Thread] = []
        self.first: Thread | None = None  # of them, which is the one nearly always
        self.within = Within()

    def free(self) -> Thread:
        """Return one that nothing interrupted."""
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
        thread.within = self.within
        self.first = self.threads[0]
        return thread

    def __del__(self) -> None:
        for thread in self.threads:
            if not thread.busy:
                thread.counters.clear()
                self.process.idle.append(thread)


class Objects:
    """The functions of `provio.h` that tell of functions, files and their objects."""

    def __init__(self, settings: surroundings.Settings) -> None:
        self.settings = settings
        self.named = "api" not in settings.off
        self.process = Process(settings, False)
        self.local = threading.local()
        self.serials = itertools.count(1)
        self.numbers: dict[bytes, int] = {}
        self.functions: list[tuple[bytes, str]] = []
        self.looked: dict[bytes, surroundings.Facts] = {}  # what files were that are about to be opened

    def thread(self) -> Thread:
        """Return who writes: the calling thread, of this process."""
        if self.process.pid != getpid():
            self.forked()
        try:
            held: Held = self.local.held
        except AttributeError:
            held = self.local.held = Held(self.process)
        first = held.first
        return held.free() if first is None or first.busy else first

    def forked(self) -> None:
        """Go on in a child."""
        self.process = Process(self.settings, True)
        self.local = threading.local()

    @quiet
    def _recording(self, _: Thread) -> bool:
        return True

    def recording(self) -> int:
        """Whether anything is heard."""
        return int(self._recording() or 0)

    @quiet
    def _now(self, thread: Thread) -> int:
        return thread.now()

    def now(self) -> int:
        """Return the time in ns since 1970, by the thread's clock; 0 where nothing is recorded."""
        return self._now() or 0

    def function(self, name: Any, term: Any) -> int:
        """Return a number for a function whose calls are of a class of the ontology; -1 where there is none."""
        data, word = text.to_bytes(name), text.to_bytes(term).decode("ascii", "replace")
        if word not in TERMS or not 0 < len(data) <= LONGEST_NAME or not text.is_plain(data):
            return -1
        number = self.numbers.get(data, len(self.functions))
        if data not in self.numbers:
            if number == MOST_FUNCTIONS:
                return -1
            self.functions.append((data, word))
            self.numbers[data] = number
        return number

    def api(self, word: str, function: int) -> bytes:
        """Return what is said of a function's name."""
        return b"" if "api" in self.settings.off else b' ; :%s "%s"' % (word.encode(), self.functions[function][0])

    def known(self, function: int) -> bool:
        """Whether a number is that of a function."""
        return 0 <= function < len(self.functions)

    # ---- files and their objects

    def serial(self, thread: Thread, object_: Object | None) -> int:
        """Return an object's number; what a parent announced is announced anew in its child, at its first use there."""
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
        said = b" <../o%d> a :FileVersion" % file.serial
        if file.said:
            said += text.name("path", file.said, "pathEncoded")
        said += b' ; :format "HDF5"'
        if file.facts is not None:
            said += text_facts(file.facts)
        said += text.number("flags", file.flags) + text.number("openedNs", started)
        if function >= 0:
            said += self.api("openApi", function)
            said += b"" if "duration" in self.settings.off else text.number("openElapsed", elapsed)
        thread.write(said + _found(file), 512 + FACTS_ROOM + name_room(file.said))

    def _announce_member(self, thread: Thread, member: Object, file: int, created: bool) -> None:
        said = b" <../o%d> a :%s ; :inFile <../o%d>" % (member.serial, member.kind.encode(), file) + member.said
        said += b" ; :created true" if created else b""
        thread.write(said + _found(member), 0)

    def _file_new(
        self, thread: Thread, function: int, path: bytes, flags: int, facts: surroundings.Facts | None,
        started: int, ended: int,
    ) -> Object:  # fmt: skip
        file = Object("FileVersion", None, path)
        file.facts, file.flags = facts, flags & ~NO_FILE
        started = thread.began(started, ended)
        file.serial, file.process = next(self.serials), self.process
        file.unlinked = facts is not None and facts.links == 0
        self._announce_file(thread, file, function, started, ended - started)
        return file

    def ignored(self, path: bytes) -> bool:
        """Whether nothing is to be said of a file."""
        folders = (self.settings.home, self.settings.folder)
        own = any(path == folder or path.startswith(folder + b"/") for folder in folders)
        if own or "file" in self.settings.off or not self.settings.limits:
            return own or "file" in self.settings.off
        really = os.path.realpath(path)
        return self.settings.leaves_out(*([really] if b"/.." in path else [path, really]))

    @quiet
    def look(self, thread: Thread, path: Any) -> None:
        """Keep the facts of a file that is about to be opened for writing: HDF5 marks it while it opens it."""
        whole = surroundings.absolute(text.to_bytes(path))
        facts = surroundings.statx(whole) if whole else None
        if len(self.looked) > 100:
            self.looked.clear()
        if facts is not None:
            self.looked[whole] = facts

    @quiet
    def file(self, thread: Thread, function: int, path: Any, flags: int, started: int) -> Object | None:
        """Say that a file was opened or created, with flags as of open(2)."""
        ended, whole = thread.now(), surroundings.absolute(text.to_bytes(path))
        if not self.known(function) or not whole or len(whole) > LONGEST_PATH or self.ignored(whole):
            return None
        facts, before = None if flags & NO_FILE else surroundings.statx(whole), self.looked.pop(whole, None)
        if facts is not None and before is not None and before.same_file(facts):
            facts = before
        return self._file_new(thread, function, whole, flags, facts, started, ended)

    @quiet
    def file_of(self, thread: Thread, function: int, fd: int, flags: int, started: int) -> Object | None:
        """Say it of the file behind a descriptor."""
        ended, facts = thread.now(), surroundings.statx(b"", fd)
        path = surroundings.link(f"/proc/self/fd/{fd}")
        if facts is None or not self.known(function) or self.ignored(path):
            return None
        path = path if path.startswith(b"/") else b""
        if not facts.links and path.endswith(b" (deleted)"):
            path = path[: -len(b" (deleted)")]
        return self._file_new(thread, function, path, flags, facts, started, ended)

    @quiet
    def file_closed(self, thread: Thread, file: Object | None, time: int) -> None:
        """Say that a file was really closed."""
        serial = self.serial(thread, file)
        if not serial or file is None:
            return
        now = surroundings.statx(file.said) if file.facts is not None and file.said else None
        said = b" <../o%d> :closedNs %d" % (serial, thread.began(time, thread.now()))
        if now is not None and file.facts is not None and now.same_file(file.facts):
            words = ("closedMtimeNs", "closedCtimeNs", "closedSize", "closedLinks")
            said += b"".join(map(text.number, words, (now.modified, now.changed, now.size, now.links)))
        thread.write(said + b" .", 256)

    @quiet
    def member(self, thread: Thread, file: Object | None, **told: Any) -> Object | None:
        """Say what there is to know of an object of a file; the parameters are the fields of `struct provio_member`."""
        serial, kind = self.serial(thread, file), text.to_bytes(told.get("kind") or "").decode("ascii", "replace")
        if not serial or kind not in KINDS or KINDS[kind] in self.settings.off or told.get("path") is None:
            return None
        member = Object(kind, file, b"".join(_sayings(told)))
        member.serial, member.process = next(self.serials), self.process
        self._announce_member(thread, member, serial, bool(told.get("created")))
        return member

    def release(self, object_: Object | None) -> None:
        """Let go of an object of which nothing more will be said."""
        if object_ is not None:
            object_.serial = 0

    @quiet
    def virtual(self, thread: Thread, dataset: Object | None, source: Object | None) -> None:
        """Say that a virtual dataset shows elements of another."""
        serial, of = self.serial(thread, dataset), self.serial(thread, source)
        if serial and of:
            said = b" <../o%d/o%d> :object <../o%d> ; :virtualSource <../o%d> ." % (serial, of, serial, of)
            thread.write(said, 160)

    @quiet
    def replaced(self, thread: Thread, object_: Object | None, time: int) -> None:
        """Say when a write first covered all of what was there before."""
        serial = self.serial(thread, object_)
        if serial and object_ is not None and not object_.replaced:
            object_.replaced = True
            said = b" <../o%d> :replacedNs %d ." % (serial, thread.began(time, thread.now()))
            thread.write(said, 96)


def _found(object_: Object) -> bytes:
    said = b" ; :inherited true" if object_.inherited else b""
    return said + (b" ; :unlinked true" if object_.unlinked else b"") + b" ."


def _sayings(told: dict[str, Any]) -> Any:
    for parameter, word, encoded in SAYINGS:
        value = None if told.get(parameter) is None else text.to_bytes(told[parameter])
        if value is not None and not (parameter == "datatype" and len(value) > LONGEST_TYPE):
            yield text.name(word, value, encoded)
    if told.get("element_size"):
        yield text.number("elementSize", told["element_size"])
