"""Thread files that are read while they grow: each record once, at any moment of a look."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from provio.follow.thread_tail import Row, ThreadTail

BASE = "https://w3id.org/provio/run/01a22131-b2c3-783c-a8d3-1e2744f255f5/vm/7.8.0/"
HEAD = (
    "#" * 16 + "0" * 16 + "#" * 15 + "\n"
    "@prefix prov: <http://www.w3.org/ns/prov#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
    f"@prefix : <https://w3id.org/provio/ns#> . @base <{BASE}0/> . <> a :Thread ; :tid 7 ; :epochNs 1000 .\n"
)
FILE = ' <../o{n}> a :FileVersion ; :path "/f{n}" ; :opening "0 {at} 577 openat 12 - write 5 = = 259:1 {n} 0" .'
END = ' <../o{n}> :closing "{at} 6 = 10 1" ; :writing "write 1 1 10 2 - 4 4" .'
LINES = [one.format(n=n, at=2000 + 10 * n) for n in range(1, 40) for one in (FILE, END)]


class GrowingFile:
    """A thread file of a chunk, filled with `#`, in which lines are committed."""

    def __init__(self, path: Path) -> None:
        self.path, self.end, self.count = path, len(HEAD), 0
        path.write_bytes(HEAD.encode() + b"#" * 8191 + b"\n")

    def store(self, place: int, data: bytes) -> None:
        with self.path.open("r+b") as file:
            file.seek(place)
            file.write(data)

    def reserve(self, line: str) -> int:
        """Write a line without its first byte, and return its place."""
        place = self.end
        self.end += len(line) + 1
        self.store(place, b"#" + line[1:].encode() + b"\n")
        return place

    def commit(self, place: int) -> None:
        self.store(place, b" ")
        self.count += 1
        self.store(16, b"%016d" % self.count)


def subjects(rows: list[Row]) -> list[str]:
    return [row.iri.removeprefix(BASE) + " end" * ("closing" in row.record) for row in rows]


@pytest.mark.parametrize("seed", range(5))
def test_each_record_is_read_once(tmp_path: Path, seed: int) -> None:
    """Looks at random moments, also while a line is half written, find all records in their order."""
    file, chance = GrowingFile(tmp_path / "7.8.0.0.ttl"), random.Random(seed)
    tail, found = ThreadTail(file.path), list[Row]()
    for line in LINES:
        place = file.reserve(line)
        if chance.random() < 0.3:
            found += tail.rows()
        file.commit(place)
        if chance.random() < 0.3:
            assert tail.has_changed()
            found += tail.rows()
            assert not tail.has_changed()
    found += tail.rows()
    once = list(ThreadTail(file.path).rows())
    assert found == once
    assert len(subjects(found)) == 1 + len(LINES)
    assert [row.time for row in found] == sorted(row.time for row in found)


def test_a_line_that_is_committed_after_later_ones(tmp_path: Path) -> None:
    """The interrupted code of a signal handler's thread commits its line after that of the handler."""
    file = GrowingFile(tmp_path / "7.8.0.0.ttl")
    tail = ThreadTail(file.path)
    outer, inner = file.reserve(LINES[0]), file.reserve(LINES[2])
    file.commit(inner)
    assert subjects(list(tail.rows())) == ["0/", "o2"]
    file.commit(outer)
    file.commit(file.reserve(LINES[1]))
    assert subjects(list(tail.rows())) == ["o1", "o1 end"]


def test_a_line_of_two_megabytes(tmp_path: Path) -> None:
    """It is longer than the part that is read at once."""
    path = tmp_path / "7.8.0.0.ttl"
    long = LINES[0].replace("/f1", "/" + "f" * 2_000_000)
    path.write_text(HEAD + long + "\n" + LINES[2] + "\n" + "#" * 100 + "\n")
    tail = ThreadTail(path)
    assert subjects(list(tail.rows())) == ["0/", "o1", "o2"]
    assert list(tail.rows()) == []


def test_files_of_other_tools(tmp_path: Path) -> None:
    """A damaged line costs itself; a file whose statements have several lines yields nothing."""
    path = tmp_path / "7.8.0.0.ttl"
    path.write_text(HEAD + LINES[0] + '\n <../o9> a :FileVersion ; :path "/x .\n' + LINES[2] + "\n")
    assert subjects(list(ThreadTail(path).rows())) == ["0/", "o1", "o2"]
    path.write_text("@prefix : <https://w3id.org/provio/ns#> .\n<x>\n  a :Process ;\n  :pid 1 .\n")
    assert list(ThreadTail(path).rows()) == []
