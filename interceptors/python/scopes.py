"""Tasks, as `interceptors/posix/task.c` records them: what a thread does belongs to the Task that it is in."""

from __future__ import annotations

import functools
import itertools
import threading
from os import getpid
from typing import Any

from . import surroundings, text
from .record import Objects, quiet
from .thread import Thread

LETTERS = "tgmce"  # Tasks, configurations, metrics, checkpoints, entities
LETTER = 56  # of a handle: the bits below it are the number
INHERITED = 1 << 63  # of what to go back to: only as long as that Task goes on
HANDED = 1 << 62  # whoever ends it: here a thread leaves only what it inherited
LONGEST_SOURCE = 1 << 20


def numbered(function: Any) -> Any:
    """Let nothing that goes wrong reach the program: the number is 0 then."""
    return quiet(function, 0)


class Numbers:
    """The numbers of things of one sort: those that a parent gave before the fork are not this process's own."""

    def __init__(self) -> None:
        self.count = itertools.count(1)
        self.last: dict[int, int] = {}  # by thread: each changes its own alone
        self.parents = 0

    def new(self) -> int:
        """Return a number that nothing had."""
        number = self.last[threading.get_ident()] = next(self.count)
        return number

    def latest(self) -> int:
        """Return the last one that was given."""
        return max(list(self.last.values()), default=0)


class Scopes(Objects):
    """The functions of `provio.h` that tell of Tasks."""

    def __init__(self, settings: surroundings.Settings) -> None:
        super().__init__(settings)
        self.given = {letter: Numbers() for letter in LETTERS}
        self.going: set[int] = set()  # Tasks that have not ended: for those who inherited one

    def forked(self) -> None:
        """Go on in a child: nothing that its parent told of is its own."""
        super().forked()
        for numbers in self.given.values():
            numbers.parents = numbers.latest()

    # ---- handles: a Task's number, or a letter in the highest byte and a number

    def new(self, letter: str) -> int:
        """Return the handle of a new thing."""
        number = self.given[letter].new()
        return number if letter == "t" else ord(letter) << LETTER | number

    def is_own(self, handle: int) -> bool:
        """Whether this process told of it."""
        letter = chr(handle >> LETTER & 0xFF) if handle >> LETTER else "t"
        numbers = self.given.get(letter)
        return numbers is not None and numbers.parents < handle & (1 << LETTER) - 1 <= numbers.latest()

    # ---- Tasks

    def _begun(self, thread: Thread, name: Any, kind: Any, more: bytes = b"") -> int:
        within, task = thread.scope(), self.given["t"].new()
        part = b" ; :partOf <../t%d>" % within if within else b""
        said = b"%b%b%b%b ." % (part, text.word("name", name), text.word("kind", kind), more)
        if thread.write(b" <../t%d> a :Task ; :startedNs %d%b" % (task, thread.now(), said), 0) is None:
            return 0
        self.going.add(task)
        follow_threads(self)
        return task

    @numbered
    def begin(self, thread: Thread, name: Any = None, kind: Any = None, source: Any = None, number: int = 0) -> int:
        """Begin a Task within the one that the thread is in; return its number. It is not entered yet."""
        more = text.word("sourceText", source, LONGEST_SOURCE)
        return self._begun(thread, name, kind, more + (text.number("number", number) if number else b""))

    @numbered
    def task_enter(self, thread: Thread, task: int) -> int:
        """Have what the thread does belong to a Task (0: to none); return what it was in."""
        return self._entered(thread, task)

    def _entered(self, thread: Thread, task: int) -> int:
        before = thread.scope()
        if before and thread.within.going is not None:
            before |= INHERITED
        inherited, task = task & INHERITED, task & ~(INHERITED | HANDED)
        own = task != 0 and self._is_task(task)
        thread.within.task, thread.within.going = task if own else 0, self.going if own and inherited else None
        return before

    def _is_task(self, task: int) -> bool:
        """Whether a handle is that of a Task that this process told of: most that are asked about go on."""
        going = task in self.going and self.given["t"].parents < task
        return going or (not task >> LETTER and self.is_own(task))

    def task_now(self) -> int:
        """Return the Task that the thread is in; 0: none."""
        try:
            return int(self.local.held.within.now()) if self.process.pid == getpid() else 0
        except AttributeError:  # it has said nothing yet
            return 0

    @quiet
    def task_end(self, thread: Thread, task: int, status: Any = None) -> None:
        """Say that a Task is over. Who inherited it is in none from then on."""
        self._ended(thread, task, status)

    def _ended(self, thread: Thread, task: int, status: Any) -> None:
        if not self._is_task(task):
            return
        self.going.discard(task)
        how = text.word("status", status, encoded="status")
        thread.write(b" <../t%d> :endedNs %d%b ." % (task, thread.now(), how), 0)

    @numbered
    def task_in(self, thread: Thread, name: Any = None, kind: Any = None) -> int:
        """Begin a Task and enter it."""
        task = self._begun(thread, name, kind)
        if task:
            thread.within.task, thread.within.going = task, None
        return task

    @quiet
    def task_out(self, thread: Thread, task: int, before: int, status: Any = None) -> None:
        """Enter what the thread was in before, and end a Task."""
        self._entered(thread, before)
        self._ended(thread, task, status)

    @quiet
    def inherit(self, thread: Thread, task: int) -> None:
        """Be in a Task until it ends: of a thread that was made within it."""
        thread.within.task, thread.within.going = task, self.going


def follow_threads(scopes: Scopes) -> None:
    """Have threads that Python makes be in the Task that they were made in until it ends, as the shim's are."""
    thread = threading.Thread
    start, begin = thread.start, getattr(thread, "_bootstrap_inner", None)
    if begin is None or hasattr(start, "provio"):
        return

    @functools.wraps(start)
    def start_within(self: Any) -> Any:
        self._provio_task = scopes.task_now()
        return start(self)

    @functools.wraps(begin)
    def begin_within(self: Any) -> Any:
        task = self.__dict__.pop("_provio_task", 0)
        if task:
            scopes.inherit(task)
        return begin(self)

    start_within.provio = True  # type: ignore[attr-defined]
    thread.start, thread._bootstrap_inner = start_within, begin_within  # type: ignore[method-assign,attr-defined]
