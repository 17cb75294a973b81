"""Sums of I/O activities: activities in, figures out, each of which is None where nothing of it was recorded."""

from __future__ import annotations

from collections.abc import Iterable

from provio.stats.activity import SIZES, Activity

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
        self.errors = self.opens = self.jumped = self.activities = 0
        for activity in activities:
            self.add(activity)

    def add(self, activity: Activity, mirrored: bool = False) -> None:
        """Add what one activity counted. Of a copy within the kernel the writing side adds its bytes alone, unless
        `mirrored`: where the two sides are told apart, each has the calls and the time."""
        self.activities += 1
        self.errors += activity.errors
        if activity.errors:
            return
        own = mirrored or not activity.mirror
        if own:
            self._sum("calls", activity.count)
            self._sum("nanoseconds", activity.elapsed)
            self.opens += (activity.count or 0) if activity.kind == "Open" else 0
        if activity.moves:
            self._move(activity, own)
        elif activity.hands_over:
            self._sum("bytes_read" if activity.kind == "SubmitRead" else "bytes_written", activity.bytes)
            self._sum("bytes_later", activity.bytes)

    def _move(self, activity: Activity, own: bool) -> None:
        read = activity.kind == "Read"
        self._sum("bytes_read" if read else "bytes_written", activity.bytes)
        self._sum("reads" if read else "writes", activity.count)
        if own:
            self._sum("moving", activity.elapsed)
        self.jumped += activity.jumped
        for place, number in enumerate(activity.sizes or ()):
            self.sizes[activity.kind][place] += number
        if activity.longest is not None:
            self.longest = max(self.longest or 0, activity.longest)

    def _sum(self, name: str, value: int | None) -> None:
        if value is None:
            self._lacks.add(name)
        else:
            self._sums[name] = self._sums.get(name, 0) + value

    def join(self, other: Tally) -> None:
        """Add another tally."""
        for name, value in other._sums.items():
            self._sum(name, value)
        self._lacks |= other._lacks
        self.activities, self.errors = self.activities + other.activities, self.errors + other.errors
        self.opens, self.jumped = self.opens + other.opens, self.jumped + other.jumped
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
