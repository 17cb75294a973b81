"""Record Tasks as the shim does: calls of a thread belong to the Task that the thread is in."""

from __future__ import annotations

import functools
import itertools
import threading
from os import getpid
from typing import Any

from . import environment, literals
from .objects import Objects, quiet
from .thread import Thread

LETTERS = "tgmce"  # Tasks, configurations, metrics, checkpoints, entities
LETTER = 56  # of a handle: the bits below it are the number
INHERITED = 1 << 63  # of a Task to go back to: only until that Task ends
HANDED = 1 << 62  # PROVIO_HANDED: the thread stays in the Task even if another thread ends it
LONGEST_SOURCE = 1 << 20


def numbered(function: Any) -> Any:
    """Let no exception of provio reach the program; return 0 instead."""
    return quiet(function, 0)


class Numbers:
    """The numbers of one kind of records, with the last number that the parent gave before the fork."""

    def __init__(self) -> None:
        self.count = itertools.count(1)
        self.last: dict[int, int] = {}  # by thread: each changes only its own
        self.parents = 0

    def new(self) -> int:
        """Return a new number."""
        number = self.last[threading.get_ident()] = next(self.count)
        return number

    def latest(self) -> int:
        """Return the last number."""
        return max(list(self.last.values()), default=0)


class Tasks(Objects):
    """The functions of `provio.h` about Tasks."""

    def __init__(self, settings: environment.TraceSettings) -> None:
        super().__init__(settings)
        self.numbering = {letter: Numbers() for letter in LETTERS}
        self.in_progress: set[int] = set()  # Tasks that have not ended, for threads that inherited one

    def forked(self) -> None:
        """Begin again in a forked child: records of the parent are not its own."""
        super().forked()
        for numbers in self.numbering.values():
            numbers.parents = numbers.latest()

    # ---- handles: a Task's number, or a letter in the highest byte and a number

    def new(self, letter: str) -> int:
        """Return the handle of a new record."""
        number = self.numbering[letter].new()
        return number if letter == "t" else ord(letter) << LETTER | number

    def is_own(self, handle: int) -> bool:
        """Whether a handle is that of a record of this process."""
        letter = chr(handle >> LETTER & 0xFF) if handle >> LETTER else "t"
        numbers = self.numbering.get(letter)
        return numbers is not None and numbers.parents < handle & (1 << LETTER) - 1 <= numbers.latest()

    # ---- Tasks

    def _begin(self, thread: Thread, name: Any, kind: Any, more: bytes = b"") -> int:
        within, task = thread.scope.now(), self.numbering["t"].new()
        part = b" ; :partOf <../t%d>" % within if within else b""
        block = b"%b%b%b%b ." % (part, literals.word("name", name), literals.word("kind", kind), more)
        if thread.write(b" <../t%d> a :Task ; :startedNs %d%b" % (task, thread.now(), block), 0) is None:
            return 0
        self.in_progress.add(task)
        propagate_to_threads(self)
        return task

    @numbered
    def begin(self, thread: Thread, name: Any = None, kind: Any = None, source: Any = None, number: int = 0) -> int:
        """Begin a Task as a part of the thread's Task, without entering it; return its number."""
        more = literals.word("sourceText", source, LONGEST_SOURCE)
        return self._begin(thread, name, kind, more + (literals.number("number", number) if number else b""))

    @numbered
    def task_enter(self, thread: Thread, task: int) -> int:
        """Enter a Task in this thread (0: leave the current one); return the previous Task."""
        return self._enter(thread, task)

    def _enter(self, thread: Thread, task: int) -> int:
        before = thread.scope.now()
        if before and thread.scope.in_progress is not None:
            before |= INHERITED
        inherited, task = task & INHERITED, task & ~(INHERITED | HANDED)
        own = task != 0 and self._is_task(task)
        thread.scope.task = task if own else 0
        thread.scope.in_progress = self.in_progress if own and inherited else None
        return before

    def _is_task(self, task: int) -> bool:
        """Whether a handle is that of a Task of this process."""
        in_progress = task in self.in_progress and self.numbering["t"].parents < task  # of most that are looked up
        return in_progress or (not task >> LETTER and self.is_own(task))

    def task_now(self) -> int:
        """Return the Task of this thread; 0: none."""
        try:
            return int(self.local.held.scope.now()) if self.process.pid == getpid() else 0
        except AttributeError:  # it has recorded nothing yet
            return 0

    @quiet
    def task_end(self, thread: Thread, task: int, status: Any = None) -> None:
        """End a Task; threads that inherited it leave it."""
        self._end(thread, task, status)

    def _end(self, thread: Thread, task: int, status: Any) -> None:
        if not self._is_task(task):
            return
        self.in_progress.discard(task)
        status_text = literals.word("status", status, encoded="status")
        thread.write(b" <../t%d> :endedNs %d%b ." % (task, thread.now(), status_text), 0)

    @numbered
    def task_in(self, thread: Thread, name: Any = None, kind: Any = None) -> int:
        """Begin a Task and enter it."""
        task = self._begin(thread, name, kind)
        if task:
            thread.scope.task, thread.scope.in_progress = task, None
        return task

    @quiet
    def task_out(self, thread: Thread, task: int, before: int, status: Any = None) -> None:
        """Enter the previous Task of the thread, and end a Task."""
        self._enter(thread, before)
        self._end(thread, task, status)

    @quiet
    def inherit(self, thread: Thread, task: int) -> None:
        """Enter a Task until it ends, in a thread that was started in it."""
        thread.scope.task, thread.scope.in_progress = task, self.in_progress


def propagate_to_threads(tasks: Tasks) -> None:
    """Let threads that Python starts inherit their Task until it ends, as the shim does."""
    thread = threading.Thread
    start, begin = thread.start, getattr(thread, "_bootstrap_inner", None)
    if begin is None or hasattr(start, "provio"):
        return

    @functools.wraps(start)
    def start_within(self: Any) -> Any:
        self._provio_task = tasks.task_now()
        return start(self)

    @functools.wraps(begin)
    def begin_within(self: Any) -> Any:
        task = self.__dict__.pop("_provio_task", 0)
        if task:
            tasks.inherit(task)
        return begin(self)

    start_within.provio = True  # type: ignore[attr-defined]
    thread.start, thread._bootstrap_inner = start_within, begin_within  # type: ignore[method-assign,attr-defined]
