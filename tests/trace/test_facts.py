"""Counters of an access: stretches, sizes and sums, from hand-made records."""

from __future__ import annotations

from typing import cast

import pytest

from provio.system.statx import Facts
from provio.trace.facts import Access, Opening, Process, Stretch, Thread
from provio.trace.fast.compact_record import Packed

THREAD = Thread("urn:p/0/", Process("urn:p/", "node", 7, 70, "0"), 7, 1000)


def access(turns: dict[str, list[tuple[int, int, int]]] | None = None, **counts: int) -> Access:
    """An access with these counters; moments are relative to the thread's start at 1000."""
    record = {name: f"{value:016}" for name, value in counts.items()}
    found = Access("a1", THREAD, cast(Opening, None), Packed(record), turns=turns)
    return found.timed(record)


def test_moments_and_stretches() -> None:
    """A stretch lasts until the process did the opposite; the rest of the bytes is in the last one."""
    plain = access(firstRead=5, lastRead=9, readBytes=30, reads=3)
    assert (plain.first_read, plain.last_read, plain.first_write, plain.last_write) == (1005, 1009, 0, 0)
    assert (plain.stretches("read"), plain.stretches("write")) == ([Stretch(1005, 1009, 30)], [])
    turned = access({"read": [(1020, 25, 1030), (1006, 10, 1015)]}, firstRead=5, lastRead=40, readBytes=30, reads=3)
    assert turned.stretches("read") == [Stretch(1005, 1006, 10), Stretch(1015, 1020, 15), Stretch(1030, 1040, 5)]
    ended = access({"read": [(1006, 30, 1015)]}, firstRead=5, lastRead=40, readBytes=30, reads=3)
    assert ended.stretches("read") == [Stretch(1005, 1006, 30)]
    empty = access({"read": [(1006, 10, 1015), (1016, 10, 1020)]}, firstRead=5, lastRead=40, readBytes=30, reads=3)
    assert empty.stretches("read") == [Stretch(1005, 1006, 10), Stretch(1020, 1040, 20)]
    assert access(firstRead=5, lastRead=9, reads=1).stretches("read") == [Stretch(1005, 1009, 0)]


@pytest.mark.parametrize(
    ("size", "place"), [(100, 0), (101, 1), (1024, 1), (1025, 2), (1 << 30, 8), ((1 << 30) + 1, 9)]
)
def test_sizes(size: int, place: int) -> None:
    """Calls without a counter of their own have the mean size, or the usual one."""
    usual = access(reads=5, emptyReads=1, readBytes=4 * size)
    assert usual.sizes("read") == [4 if one == place else 0 for one in range(10)]
    assert usual.moved("read") == 4
    usual.unusual = {"read": {"usualSize": "3", "size1": "1", "size10": "2", "jumpedBytes": "40"}}
    assert usual.sizes("read") == [1, 0, 1, 0, 0, 0, 0, 0, 0, 2]
    assert (usual.consecutive("read"), usual.consecutive("write")) == (4 * size - 40, 0)
    assert access(writes=2, writeBytes=0).sizes("write") == [2, *[0] * 9]


def test_operations() -> None:
    """Their class, their moments, and the Task of the thread."""
    found = access(first=5, last=9)
    assert (found.moments(), found.operation, found.task, found.count("first"), found.count("none")) == (
        (1005, 1009), "", "", 5, 0,
    )  # fmt: skip
    assert found.iri == "urn:p/0/a1"


@pytest.mark.parametrize(("image", "ended"), [("exec", 1300), ("task", 1200)])
def test_the_end_of_a_process(image: str, ended: int) -> None:
    """Its last known activity; a Task does not close the files of its process."""
    process = Process("urn:p/", "node", 7, 70, "0", {"image": image, "startedNs": "900", "endedNs": "950"})
    opening = Opening("o1", process, "FileVersion", b"/x", Facts.of({}), 0, 1100, False, False, None, 0, closed=1300)
    opening.accesses = [access(firstRead=5, lastRead=200), access(firstWrite=6, lastWrite=150)]
    process.openings.append(opening)
    assert (process.started, process.ended) == (900, ended)
