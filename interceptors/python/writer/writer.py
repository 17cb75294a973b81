"""The recorder of a process without the shim: the functions of `provio.h` and `layer.h`, the same blocks as the shim.

In: Python values (names as str or bytes, times in ns since 1970). Out: records in the run folder. No function raises,
prints or keeps a descriptor; after an error the writer records nothing more.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ..guard import reraise_from_program
from . import environment, literals
from .counters import COUNTED, COUNTER, READING, WRITING, Counters, counted
from .declarations import Declarations
from .live import Block
from .objects import Object, quiet
from .thread import Thread, name_room, text_facts

FEW = 64  # counters of a thread before those of released objects are removed


def found(variables: dict[str, str] | None = None) -> Writer | None:
    """Return the writer, one for all layers of a process; None if no run is recorded."""
    try:
        settings = environment.trace_settings(dict(os.environ) if variables is None else variables)
        if settings is None:
            return None
        return _writers.get(settings) or _writers.setdefault(settings, _resumed(settings) or Writer(settings))
    except Exception as error:
        reraise_from_program(error)
        return None


def _resumed(settings: environment.TraceSettings) -> Writer | None:
    """Return the writer of an earlier run of this process, recording in another run: layers refer to it."""
    for earlier, writer in list(_writers.items()):
        if writer.stopped:
            del _writers[earlier]
            writer.resume(settings)
            return writer
    return None


class Writer(Declarations):
    """All functions of `provio.h` and `layer.h` without their prefix."""

    # ---- counters

    def _counters(
        self, thread: Thread, key: Any, object_: Object | None, make: Callable[[], Counters | None]
    ) -> Counters | None:
        """Return the counters of a key; create them at first use."""
        key = (*key, thread.scope.now())
        counters = thread.counters.get(key)
        if counters is None:
            counters = make()
            if counters is None:
                return None
            if len(thread.counters) >= thread.most:
                in_use = {k: c for k, c in thread.counters.items() if c.about is None or c.about.serial == k[0]}
                thread.counters, thread.most = in_use, max(FEW, 2 * len(in_use))
            counters.about = object_
            thread.counters[key] = counters
        return counters

    def _head(self, thread: Thread, number: int, serial: int, property_: bytes = b"object") -> bytes:
        block = b" <a%d> a :Access ; :%s <../o%d>" % (number, property_, serial)
        return block + self._when(thread)

    def _when(self, thread: Thread) -> bytes:
        who = b"" if "thread" in self.settings.off else b" ; prov:wasAssociatedWith <>"
        when = b' ; prov:startedAtTime "%s"^^xsd:dateTime' % literals.date(thread.now())
        return who + when + literals.task(thread.scope.now())

    def _access(self, thread: Thread, serial: int, side: str, function: int) -> Counters | None:
        number = next(thread.accesses)
        words = counted(READING if side == "read" else WRITING, self.settings.off)
        first = words.index("firstRead" if side == "read" else "firstWrite")
        shown = words if self.settings.detail != "file" else words[first : first + 1]
        head = literals.aligned(self._head(thread, number, serial) + self.api(side + "Api", function))
        block = thread.write(head + literals.counters(shown) + b" .", 0)
        at = len(head) - (0 if shown is words else first * COUNTER)
        return Counters(side, "a", number, block, at, words) if block else None

    def _transferred(self, thread: Thread, object_: Any, side: str, function: int, size: int, started: int) -> None:
        serial = self.serial(thread, object_)
        if not serial or not self.known(function):
            return
        whole = self.settings.detail != "file"
        key = (serial, side if whole else side.upper(), function if whole and self.named else -1)
        counters = self._counters(thread, key, object_, lambda: self._access(thread, serial, side, function))
        if counters is None:
            return
        ended = thread.now()
        started = thread.began(started, ended)
        if not whole:
            if not counters.count:
                counters.count = 1
                counters.store(counters.first_place, (ended if side == "read" else started) - thread.epoch)
            return
        count = counters.add(thread, size, started, ended)
        if self.settings.detail == "call":
            counters.line(thread, count, size, started, ended - started)

    @quiet
    def read(self, thread: Thread, object_: Object | None, function: int, size: int, started: int) -> None:
        """Count a read of `size` bytes."""
        self._transferred(thread, object_, "read", function, size, started)

    @quiet
    def write(self, thread: Thread, object_: Object | None, function: int, size: int, started: int) -> None:
        """Count a write of `size` bytes."""
        self._transferred(thread, object_, "write", function, size, started)

    def _operation(
        self, thread: Thread, object_: Object, function: int, started: int, source: int, *, within: bool = False
    ) -> None:
        """Count a call of another class; `source` is the number of the copied object, or 0. `within`: on any object
        of the file."""
        serial = object_.serial
        term = self.functions[function][1]

        def make() -> Counters | None:
            number = next(thread.accesses)
            if source:
                head = b" <a%d> a :Copy ; :source <../o%d> ; :object <../o%d>" % (number, source, serial)
                head += literals.task(thread.scope.now())
            else:
                head = self._head(thread, number, serial, b"inFile" if within else b"object")
                head += b" ; :operation :%s" % term.encode()
            words = counted(COUNTED, self.settings.off)
            head = literals.aligned(head + self.api("api", function))
            block = thread.write(head + literals.counters(words) + b" .", 0)
            return Counters("", "a", number, block, len(head), words) if block else None

        key = (serial, "within" if within else source, function if self.named else term)
        counters = self._counters(thread, key, object_, make)
        if counters is None:
            return
        ended = thread.now()
        count = counters.add(thread, 0, started, ended)
        if self.settings.detail == "call":
            counters.line(thread, count, 0, started, ended - started)

    @quiet
    def counted(self, thread: Thread, object_: Object | None, function: int, started: int) -> None:
        """Count a call, with the class with which the function was registered."""
        if object_ is None or not self.known(function) or not self.serial(thread, object_):
            return
        if self.settings.detail == "file":
            return
        closes = self.functions[function][1] == "Close" and self.settings.detail != "call"
        file = object_.file if closes else None  # counted once for all objects of the file
        started = thread.began(started, thread.now())
        self._operation(thread, file or object_, function, started, 0, within=file is not None)

    @quiet
    def copied(self, thread: Thread, source: Object | None, made: Object | None, function: int, started: int) -> None:
        """Count a copy of one object to another."""
        of, serial = self.serial(thread, source), self.serial(thread, made)
        if of and serial and made is not None and self.known(function):
            self._operation(thread, made, function, thread.began(started, thread.now()), of)

    @quiet
    def failed(self, thread: Thread, object_: Object | None, function: int, error: int, started: int) -> None:
        """Count a call that failed; `error` is errno, or 0."""
        if not self.known(function) or self.settings.detail == "file":
            return
        serial, error = self.serial(thread, object_), max(0, error)
        started = thread.began(started, thread.now())

        def make() -> Counters | None:
            return self._failure(thread, serial, function, error)

        about = object_ if serial else None
        which = function if self.named else self.functions[function][1]
        counters = self._counters(thread, (serial, ("error", error), which), about, make)
        if counters is not None:
            count = counters.one_more()
            if self.settings.detail == "call":
                counters.line(thread, count, 0, started, thread.now() - started, error)

    def _failure(self, thread: Thread, serial: int, function: int, error: int) -> Counters | None:
        number = next(thread.failures)
        term = self.functions[function][1]
        head = b" <f%d> a :Failure" % number + (b" ; :object <../o%d>" % serial if serial else b"")
        head += self._when(thread) + b" ; :operation :%s" % term.encode() + self.api("api", function)
        head = literals.aligned(head + literals.number("errno", error))
        block: Block | None = thread.write(head + literals.counters(["count"]) + b" .", 320 + 2 * COUNTER)
        return Counters("", "f", number, block, len(head), ["count"]) if block else None

    # ---- files that Python itself opens, and programs that it starts

    @quiet
    def moved(
        self, thread: Thread, function: int, source: bytes, to: bytes, facts: environment.FileFacts, started: int
    ) -> None:
        """Record that a file has a new name, or with `os.link` another one."""
        if not self.ignored(source) or not self.ignored(to):
            names = [("from", source, "fromEncoded"), ("to", to, "toEncoded")]
            self._event(thread, self.functions[function][1], text_facts(facts), function, started, names)

    @quiet
    def removed(
        self, thread: Thread, function: int, path: bytes, facts: environment.FileFacts, links: int, started: int
    ) -> None:
        """Record that a name of a file was removed: its facts before, and the number of names left."""
        if not self.ignored(path):
            about = text_facts(facts) + literals.number("links", links)
            self._event(thread, "Delete", about, function, started, [("path", path, "pathEncoded")])

    @quiet
    def started_child(self, thread: Thread, api: str, pid: int, tick: int, started: int) -> None:
        """Record that this process started another."""
        number = self.numbers.setdefault(api.encode(), len(self.functions))
        if number == len(self.functions):
            self.functions.append((api.encode(), "Fork"))
        about = literals.number("childPid", pid) + literals.number("childTick", tick)
        self._event(thread, "Fork", about, number, started, [])

    # ---- events

    def _event(self, thread: Thread, term: str, about: bytes, function: int, started: int, names: Any) -> None:
        """Write a block for one call; `names` are: property, value, property if the value is not UTF-8."""
        if not self.known(function):
            return
        ended = thread.now()
        started = thread.began(started, ended)
        block = b" <e%d> a :%s" % (next(thread.events), term.encode()) + literals.number("at", started - thread.epoch)
        block += b"" if "duration" in self.settings.off else literals.number("elapsed", ended - started)
        block += self.api("api", function) + literals.task(thread.scope.now()) + about
        room = 192 + 64
        for word, value, encoded in names:
            if value is not None:
                data = literals.to_bytes(value)
                block += literals.name(word, data, encoded)
                room += name_room(data)
        thread.write(block + b" .", room)

    @quiet
    def resized(self, thread: Thread, object_: Object | None, function: int, shape: Any, started: int) -> None:
        """Record that the extent of a dataset was changed."""
        serial = self.serial(thread, object_)
        if serial:
            self._event(thread, "Resize", b" ; :object <../o%d>" % serial, function, started, [("shape", shape, None)])

    @quiet
    def renamed(
        self, thread: Thread, file: Object | None, function: int, path: Any, source: Any, to: Any, started: int
    ) -> None:
        """Record that a link was renamed, or an attribute of the object at `path`."""
        serial = self.serial(thread, file)
        if serial:
            names = [("path", path, "pathEncoded"), ("from", source, "fromEncoded"), ("to", to, "toEncoded")]
            self._event(thread, "Rename", b" ; :inFile <../o%d>" % serial, function, started, names)

    @quiet
    def deleted(self, thread: Thread, file: Object | None, function: int, path: Any, name: Any, started: int) -> None:
        """Record that a link was deleted, or an attribute (`name`) of the object at `path`."""
        serial = self.serial(thread, file)
        if serial:
            names = [("path", path, "pathEncoded"), ("name", name, "nameEncoded")]
            self._event(thread, "Delete", b" ; :inFile <../o%d>" % serial, function, started, names)


_writers: dict[environment.TraceSettings, Writer] = {}
