"""Which process wrote a growing file, and which writes a reader had read: from generated traces."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import product
from pathlib import Path
from random import Random

import pytest
from synthetic_traces import File, Run

from provio.lineage import reads, spans
from provio.lineage.model import Span
from provio.lineage.reads import Courses
from provio.merge.runs import merge
from provio.settings.home import Home
from provio.store.embedded.reader import StoreReader
from provio.system.statx import Facts
from provio.trace.facts import Opening, Stretch
from provio.trace.read import read_run
from provio.trace.run_facts import Trace

ANCESTORS = """PREFIX provio: <https://w3id.org/provio/ns#> PREFIX prov: <http://www.w3.org/ns/prov#>
SELECT DISTINCT ?path { ?out prov:specializationOf/provio:path "/data/out" .
  ?out (prov:wasGeneratedBy|prov:used|prov:wasRevisionOf|provio:carriedFrom)+/prov:specializationOf ?file .
  ?file provio:path ?path }"""


@pytest.mark.parametrize("lag", [0, 5_500_000])
def test_a_write_that_has_the_time_of_a_tick_before(tmp_path: Path, lag: int) -> None:
    """A write after a read is no ancestor of the reader's outputs, even if the clock of the kernel dates it before the
    read."""
    home, first, later, growing = Home(tmp_path / ".provio"), File("/data/a"), File("/data/c"), File("/data/x")
    home.path.mkdir(mode=0o700)
    run = Run(home, 1)
    producer, consumer = run.process("producer"), run.process("consumer")
    written = producer.plain(growing, "w")
    read = consumer.plain(growing)
    producer.plain(first).read()
    written.write()
    read.read()
    consumer.plain(File("/data/out"), "w").write()
    producer.plain(later).read()
    written.write()
    growing.mtime -= lag
    run.write()
    assert merge(home).damages == []
    found = {row["path"].strip('"') for row in StoreReader(home).rows(ANCESTORS)}
    assert {"/data/a", "/data/x"} <= found
    assert "/data/c" not in found


@pytest.mark.parametrize("lag", [0, 5_500_000])
def test_a_reader_who_closes_after_a_write_that_has_the_time_of_a_tick_before(tmp_path: Path, lag: int) -> None:
    """A read before the start of a write returned the older content, even if the kernel's clock dates the write
    before."""
    home, first, later, growing = Home(tmp_path / ".provio"), File("/data/a"), File("/data/c"), File("/data/x")
    home.path.mkdir(mode=0o700)
    run = Run(home, 1)
    producer, consumer = run.process("producer"), run.process("consumer")
    written = producer.plain(growing, "w")
    producer.plain(first).read()
    written.write()
    for _ in range(10):
        run.tick()
    consumer.plain(growing).read()
    consumer.plain(File("/data/out"), "w").write()
    producer.plain(later).read()
    written.write()
    growing.mtime -= lag
    run.write()
    assert merge(home).damages == []
    assert {row["path"].strip('"') for row in StoreReader(home).rows(ANCESTORS)} == {"/data/a", "/data/x"}


MAKER = """PREFIX provio: <https://w3id.org/provio/ns#> PREFIX prov: <http://www.w3.org/ns/prov#>
SELECT DISTINCT ?argv { ?version prov:specializationOf/provio:path "/data/x" ; prov:wasGeneratedBy ?phase .
  ?phase provio:partOf/provio:argv ?argv . FILTER NOT EXISTS { ?later prov:wasRevisionOf ?version } }"""


@pytest.mark.parametrize("lag", [0, 5_500_000])
def test_the_last_of_two_whose_first_write_has_a_time_before_it(tmp_path: Path, lag: int) -> None:
    """Two processes keep a file open, and only the close of the first is recorded: its facts are those of the second's
    last write, even if the kernel's clock dates them before the start of the second."""
    home, shared = Home(tmp_path / ".provio"), File("/data/x")
    home.path.mkdir(mode=0o700)
    run = Run(home, 1)
    first, second = run.process("first").plain(shared, "w"), run.process("second").plain(shared, "r+")
    first.write()
    for _ in range(10):
        run.tick()
    second.write()
    shared.mtime -= lag
    first.close()
    second.leave()
    run.write()
    assert merge(home).damages == []
    assert {row["argv"].strip('"') for row in StoreReader(home).rows(MAKER)} == {"second"}


def test_intervals_are_found_as_by_a_full_scan() -> None:
    """The latest value of all that started by one time and had not ended by another, or None."""
    random = Random(7)
    for size in (0, 1, 2, 7, 8, 100):
        courses = [
            (begin, begin + random.randrange(30), random.randrange(50)) for begin in random.choices(range(50), k=size)
        ]
        found = Courses(courses)
        for since, until in product(range(-1, 82, 3), range(-1, 52, 2)):
            in_progress = [value for begin, end, value in courses if begin <= until and end >= since]
            assert found.latest(since, until) == max(in_progress, default=None)


def test_many_readers_and_writers_of_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With four times as many readers and writers of one file, the function calls grow far less than sixteenfold."""
    calls: Counter[int] = Counter()
    found: dict[int, int] = {}

    def counted(trace: Trace, written: list[Span]) -> list[tuple[Opening, Stretch, Facts]]:
        def count(*_: object) -> None:
            calls[len(written)] += 1

        sys.setprofile(count)
        try:
            met = list(reads.read_on_the_way(trace, written))
        finally:
            sys.setprofile(None)
        found[len(written)] = len(met)
        return met

    monkeypatch.setattr(spans, "read_on_the_way", counted)
    for number in (50, 200):
        crowd(Home(tmp_path / f"{number}" / ".provio"), number)
    assert found == {50: 50, 200: 200}
    assert calls[200] < 8 * calls[50]


def crowd(home: Home, number: int) -> None:
    """A number of processes append to one file, and each of a number of others reads it, in turn."""
    home.path.mkdir(mode=0o700, parents=True)
    run, shared = Run(home, 1), File("/data/x", size=256)
    writers = [run.process(f"writer{place}").plain(shared, "r+") for place in range(number)]
    readers = [run.process(f"reader{place}").plain(shared) for place in range(number)]
    for written, read in zip(writers, readers, strict=True):
        written.write()
        read.read()
    writers[0].write()
    run.write()
    assert merge(home, known=read_run(run.folder)).damages == []  # in this process
