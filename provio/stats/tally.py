"""Sums of I/O activities: activities in, figures out, each of which is None where nothing of it was recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from provio.stats.activity import SIZES, Activity, alike

# The largest access of each of the ten sizes, in words.
SIZE_NAMES = (
    "100 B", "1 KiB", "10 KiB", "100 KiB", "1 MiB", "4 MiB", "10 MiB", "100 MiB", "1 GiB", "more",
)  # fmt: skip


class Tally:
    """What some activities come to. Failed calls are counted apart (`errors`) and nowhere else."""

    def __init__(self, activities: Iterable[Activity] = ()) -> None:
        self._sums: dict[str, int] = {}
        self._lacks: set[str] = set()
        self.longest: int | None = None
        self.sizes = {"Read": [0] * SIZES, "Write": [0] * SIZES}
        self.errors = self.jumped = 0
        for some in alike(activities):
            self.add(some)

    def add(self, some: Sequence[Activity], mirrored: bool = False) -> None:
        """Add what activities counted that are `alike`. Of a copy within the kernel the writing side adds its bytes
        alone, unless `mirrored`: where the two sides are told apart, each has the calls and the time."""
        one = some[0]
        if one.errors:
            self.errors += sum(failed.errors for failed in some)
            return
        own = mirrored or not one.mirror
        if own:
            self._sum(("calls",), [one.count for one in some])
            self._sum(("nanoseconds", "moving") if one.moves else ("nanoseconds",), [one.elapsed for one in some])
        if one.moves:
            self._move(some)
        elif one.hands_over:
            side = "bytes_read" if one.kind == "SubmitRead" else "bytes_written"
            self._sum((side, "bytes_later"), [one.bytes for one in some])

    def _move(self, some: Sequence[Activity]) -> None:
        kind = some[0].kind
        self._sum(("bytes_read" if kind == "Read" else "bytes_written",), [one.bytes for one in some])
        self._sum(("reads" if kind == "Read" else "writes",), [one.count for one in some])
        self.jumped += sum(one.jumped for one in some)
        counted = Counter(one.sizes for one in some) if len(some) > 1 else {some[0].sizes: 1}
        for sizes, times in counted.items():
            for place, number in enumerate(sizes or ()):
                self.sizes[kind][place] += number * times
        longest = [one.longest for one in some if one.longest is not None]
        if longest:
            self.longest = max([self.longest or 0, *longest])

    def _sum(self, names: Sequence[str], values: Sequence[int | None]) -> None:
        known = [value for value in values if value is not None]
        for name in names:
            if len(known) < len(values):
                self._lacks.add(name)
            if known:
                self._sums[name] = self._sums.get(name, 0) + sum(known)

    def join(self, other: Tally) -> None:
        """Add another tally."""
        for name, value in other._sums.items():
            self._sums[name] = self._sums.get(name, 0) + value
        self._lacks |= other._lacks
        self.errors, self.jumped = self.errors + other.errors, self.jumped + other.jumped
        if other.longest is not None:
            self.longest = max(self.longest or 0, other.longest)
        for kind, sizes in other.sizes.items():
            self.sizes[kind] = [one + more for one, more in zip(self.sizes[kind], sizes, strict=True)]

    def of(self, name: str) -> int | None:
        """Return a sum: calls, nanoseconds, reads, writes, bytes_read, bytes_written, moving (nanoseconds of reads and
        writes). None where there was something to add and nothing is known of it."""
        return self._sums.get(name, None if name in self._lacks else 0)

    def partly(self, name: str) -> bool:
        """Whether a sum lacks some of what there was to add."""
        return name in self._lacks

    @property
    def bytes(self) -> int | None:
        """All bytes that were moved."""
        read, written = self.of("bytes_read"), self.of("bytes_written")
        return None if read is None and written is None else (read or 0) + (written or 0)

    @property
    def _bytes_in_calls(self) -> int | None:
        """Of them, those that a call moved before it returned."""
        moved = self.bytes
        return None if moved is None else moved - (self.of("bytes_later") or 0)

    @property
    def bandwidth(self) -> int | None:
        """Bytes moved in a second of the reads and writes themselves, whatever else went on meanwhile."""
        moved, took = self._bytes_in_calls, self.of("moving")
        return moved * 1_000_000_000 // took if moved and took and not self.partly("moving") else None

    @property
    def mean_size(self) -> int | None:
        """Bytes of a read or write that moved any."""
        calls = sum(map(sum, self.sizes.values()))
        moved = self._bytes_in_calls
        return moved // calls if calls and moved is not None else None

    @property
    def consecutive(self) -> float | None:
        """The share of the bytes whose call began where the call before ended."""
        moved = self._bytes_in_calls
        return 1 - self.jumped / moved if moved else None
