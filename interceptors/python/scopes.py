"""Tasks, as `interceptors/posix/task.c` records them: what a thread does belongs to the Task that it is in."""

from __future__ import annotations

import functools
import itertools
import threading
from typing import Any

from . import surroundings, text
from .record import Objects, quiet
from .thread import Thread

LETTERS = "tgmce"  # Tasks, configurations, metrics, checkpoints, entities
LETTER = 56  # of a handle: the bits below it are the number
INHERITED = 1 << 63  # of what to go back to: only as long as that Task goes on
LONGEST_SOURCE = 1 << 20


def numbered(function: Any) -> Any:
    """Let nothing that goes wrong reach the program: the number is 0 then."""
    heard = quiet(function)

    @functools.wraps(function)
    def given(self: Any, *arguments: Any, **named: Any) -> int:
        return int(heard(self, *arguments, **named) or 0)

    return given


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

    @numbered
    def begin(self, thread: Thread, name: Any = None, kind: Any = None, source: Any = None, number: int = 0) -> int:
        """Begin a Task within the one that the thread is in; return its number. It is not entered yet."""
        within, task = thread.scope(), self.new("t")
        said = b" <../t%d> a :Task" % task + text.number("startedNs", thread.now())
        said += b" ; :partOf <../t%d>" % within if within else b""
        said += text.word("name", name) + text.word("kind", kind) + text.word("sourceText", source, LONGEST_SOURCE)
        said += text.number("number", number) if number else b""
        if thread.write(said + b" .", 0) is None:
            return 0
        self.going.add(task)
        follow_threads(self)
        return task

    @numbered
    def task_enter(self, thread: Thread, task: int) -> int:
        """Have what the thread does belong to a Task (0: to none); return what it was in."""
        before = thread.scope()
        if before and thread.within.going is not None:
            before |= INHERITED
        inherited, task = task & INHERITED, task & ~INHERITED
        own = not task >> LETTER and self.is_own(task)
        thread.within.task, thread.within.going = task if own else 0, self.going if own and inherited else None
        return before

    @numbered
    def task_now(self, thread: Thread) -> int:
        """Return the Task that the thread is in; 0: none."""
        return thread.scope()

    @quiet
    def task_end(self, thread: Thread, task: int, status: Any = None) -> None:
        """Say that a Task is over. Who inherited it is in none from then on."""
        if task >> LETTER or not self.is_own(task):
            return
        self.going.discard(task)
        said = b" <../t%d> :endedNs %d" % (task, thread.now())
        thread.write(said + text.word("status", status, encoded="status") + b" .", 0)

    def task_in(self, name: Any = None, kind: Any = None) -> int:
        """Begin a Task and enter it."""
        task: int = self.begin(name, kind)
        if task:
            self.task_enter(task)
        return task

    def task_out(self, task: int, before: int, status: Any = None) -> None:
        """Enter what the thread was in before, and end a Task."""
        self.task_enter(before)
        self.task_end(task, status)

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
