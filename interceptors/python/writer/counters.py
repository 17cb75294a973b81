"""The counters of one (thread, object, function), which each call updates in place in the live file.

The same as the shim's access counters, with the sizes of calls and the turns between reading and writing.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from . import literals
from .live import Block
from .thread import Thread

LIMITS = (100, 1024, 10240, 102400, 1048576, 4194304, 10485760, 104857600, 1073741824)
SIZES = [*(f"size{number}" for number in range(1, 11)), "jumpedBytes"]
READING = ["reads", "readBytes", "readElapsed", "lastRead", "firstRead", "readLongest", "emptyReads"]
WRITING = ["writes", "writeBytes", "writeElapsed", "lastWrite", "firstWrite", "writeLongest"]
COUNTED = ["count", "bytes", "elapsed", "last", "first", "longest"]
MOST = 10**16 - 1
MOST_TURNS = 1000
COUNTER = 32  # a label of 16 bytes and 16 digits


def counted(words: list[str], off: frozenset[str]) -> list[str]:
    """Return the counters that are written: without durations if these are switched off."""
    durations = ("elapsed", "longest") if "duration" in off else ()
    return [word for word in words if not word.lower().endswith(durations)] if durations else words


def place_of(words: list[str], ending: str) -> int:
    """Return the index of the counter whose name ends or begins with a text; -1: there is none."""
    return next((i for i, word in enumerate(words) if word.lower().endswith(ending) or word.startswith(ending)), -1)


class Counters:
    """Counters of one direction of an access, of an operation, or of a failure."""

    def __init__(self, kind: str, letter: str, number: int, block: Block, at: int, words: Any) -> None:
        self.kind = kind  # "read", "write", or empty
        self.name = f"{letter}{number}"
        self.about: Any = None
        self.chunk = block.chunk
        self.digits = block.start + 1 + at + 16  # offset of the first counter's digits
        self.last_place = place_of(words, "last")
        shown = words[1 : self.last_place + 1]
        self.form = b"".join(b"%%016d%-16b" % (b"; :" + word.encode()) for word in shown) + b"%016d"
        self.first_place, self.longest_place = place_of(words, "first"), place_of(words, "longest")
        self.empty_place = place_of(words, "empty")
        self.count = self.bytes = self.elapsed = self.longest = self.empty = 0
        self.last = 0
        self.low = self.width = self.usual = 0  # the range of sizes without a counter; `usual`: see _turn_follow
        self.sizes: Counters | None = None
        self.amounts = [0] * 11
        self.turn = self.turn_last = self.turn_bytes = self.turns = 0

    def store(self, place: int, value: int) -> None:
        """Replace one counter."""
        at = self.digits + COUNTER * place
        self.chunk.memory[at : at + 16] = b"%016d" % value

    def one_more(self) -> int:
        """Count a call, without bytes and times."""
        self.count += 1
        self.store(0, self.count)
        return self.count

    def add(self, thread: Thread, size: int, started: int, ended: int) -> int:
        """Count a call; return its number. The first read is the time at which the first read returned."""
        first = ended if self.kind == "read" else started
        if not self.count:
            self._begin(thread, size, first)
        self.count += 1
        self.bytes += min(size, MOST - self.bytes)
        self.elapsed += ended - started
        self.last = ended - thread.epoch
        timed = (self.elapsed,) if self.longest_place > 0 else ()
        block = self.form % (self.count, self.bytes, *timed, self.last)
        self.chunk.memory[self.digits : self.digits + len(block)] = block
        if ended - started > self.longest and self.longest_place > 0:
            self.longest = ended - started
            self.store(self.longest_place, self.longest)
        if self.kind and not self.low <= size < self.low + self.width:
            self._unusual(thread, size, first)
        return self.count

    def _begin(self, thread: Thread, size: int, first: int) -> None:
        self.store(self.first_place, first - thread.epoch)
        if self.kind:
            self._usual(size)
            thread.process.turn_to(self.kind == "write")

    # ---- the sizes of calls whose size class differs from that of the first call

    def _usual(self, size: int) -> None:
        place = bisect_left(LIMITS, size)
        if size == 0 and self.kind == "read":  # the end of a file
            return
        self.low = LIMITS[place - 1] + 1 if place else int(self.kind == "read")
        self.width = (LIMITS[place] if place < len(LIMITS) else 2**64 - 1) - self.low + 1

    def _unusual(self, thread: Thread, size: int, first: int) -> None:
        if size == 0 and self.kind == "read":
            self.empty += 1
            self.store(self.empty_place, self.empty)
            self._turn_end(thread, first)
            return
        followed = self.turn != 0
        if self.width + self.usual == 0:
            self._usual(size)
        if followed:
            self._turn_follow(thread)
            self._turn_look(thread, first)
        if self.low <= size < self.low + self.width + self.usual:
            return
        if self.sizes is None:
            self.sizes = self._sizes(thread)
        if self.sizes is not None:
            place = bisect_left(LIMITS, size)
            self.amounts[place] += 1
            self.sizes.store(place, self.amounts[place])

    def _sizes(self, thread: Thread) -> Counters | None:
        head = f" <{self.name}/{self.kind}> a :AccessSizes".encode()
        head = literals.aligned(head + literals.number("usualSize", bisect_left(LIMITS, self.low) + 1))
        block = thread.write(head + literals.counters(SIZES) + b" .", 96 + 11 * COUNTER)
        return Counters("", "", 0, block, len(head), SIZES) if block else None

    # ---- turns: reading continues after the process wrote, or writing after it read

    def _turn_keep(self, thread: Thread) -> None:
        self.turn = thread.process.turn
        self.turn_last, self.turn_bytes = self.last, self.bytes

    def _turn_follow(self, thread: Thread) -> None:
        if self.width:
            self.usual = self.width
        self.width = 0
        if not self.turn:
            self._turn_keep(thread)

    def _turn_write(self, thread: Thread, first: int) -> None:
        if self.turns == MOST_TURNS:
            return
        block = f" <{self.name}/{self.kind}/{self.turns + 1}> a :Turn".encode()
        block += literals.number("last", self.turn_last) + literals.number("bytes", self.turn_bytes)
        if thread.write(block + literals.number("first", first - thread.epoch) + b" .", 160):
            self.turns += 1

    def _turn_look(self, thread: Thread, first: int) -> None:
        thread.process.turn_to(self.kind == "write")
        if thread.process.turn != self.turn:
            self._turn_write(thread, first)
        self._turn_keep(thread)

    def _turn_end(self, thread: Thread, first: int) -> None:
        known = self.turn > 1 and self.turn_bytes > 0
        self._turn_follow(thread)
        if known:
            self._turn_write(thread, first)
        self.turn = 1  # the last read was empty

    # ---- detail `call`

    def line(self, thread: Thread, count: int, size: int, started: int, elapsed: int, error: int = 0) -> None:
        """Write the line of one call."""
        kind = "c" if not self.kind else self.kind[0]
        block = f" <{self.name}/{kind}{count}> :offset 0;:bytes {size};:at {started - thread.epoch}"
        block += "" if "duration" in thread.process.settings.off else f";:elapsed {elapsed}"
        thread.line((block + (f";:errno {error}" if error else "") + " .").encode())
