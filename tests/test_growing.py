"""Who wrote a growing file, and what a reader of it had read, from traces that are told."""

from __future__ import annotations

from pathlib import Path

import pytest
from told import File, Run

from provio.home import Home
from provio.merge import merge
from provio.store.embedded import StoreReader

ANCESTORS = """PREFIX provio: <https://w3id.org/provio/ns#> PREFIX prov: <http://www.w3.org/ns/prov#>
SELECT DISTINCT ?path { ?out prov:specializationOf/provio:path "/data/out" .
  ?out (prov:wasGeneratedBy|prov:used|prov:wasRevisionOf|provio:carriedFrom)+/prov:specializationOf ?file .
  ?file provio:path ?path }"""


@pytest.mark.parametrize("lag", [0, 5_500_000])
def test_a_write_that_has_the_time_of_a_tick_before(tmp_path: Path, lag: int) -> None:
    """What was written after a read is no ancestor of what came of it, also where the kernel's clock says it was there
    before."""
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
    """What it read before that write began is what it found, also where the kernel says it was written by then."""
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
    """Two keep a file open, and only the close of the first is seen: what it is then is what the second wrote last,
    also where the kernel's clock says that was before the second had begun."""
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
