"""Hosts with clocks that differ by less than the measured error: lineage between events within that error includes all
possible inputs, with a gap; for other events it is as with one clock. Traces are made with one clock, then shifted."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Project
from synthetic_traces import HOST, STEP, File, Process, Run

from provio.lineage.clocks import Clocks
from provio.merge import job
from provio.merge.runs import merge
from provio.settings.home import Home
from provio.store.embedded.reader import StoreReader
from provio.system import node_local
from provio.trace import hosts

ANCESTORS = """PREFIX provio: <https://w3id.org/provio/ns#> PREFIX prov: <http://www.w3.org/ns/prov#>
SELECT DISTINCT ?path { ?out prov:specializationOf/provio:path "/data/out" . FILTER(STRENDS(STR(?out), "%s"))
  ?out (prov:wasGeneratedBy|prov:used|prov:wasRevisionOf)+/prov:specializationOf/provio:path ?path }"""
GAPS = "SELECT ?reason { ?gap a <https://w3id.org/provio/ns#Gap> ; <https://w3id.org/provio/ns#reason> ?reason }"
WITHIN = 5 * STEP  # ns
OUT, FAR = "/data/out", 100  # acts


class Hosts:
    """A run with a process on this host and one on another."""

    def __init__(self, folder: Path, pause: int) -> None:
        self.home, self.pause = Home(folder / ".provio"), pause
        self.home.path.mkdir(mode=0o700)
        self.run = Run(self.home, 1)
        self.out = File(OUT)
        self.here, self.other = self.run.process("here"), self.run.process("other")

    def wait(self) -> None:
        """Let time pass between the actions of the hosts."""
        for _ in range(self.pause):
            self.run.tick()

    def told(self, ahead: int, within: int = WITHIN) -> tuple[set[str], list[str]]:
        """Return the inputs of the output, and the gaps, with the other host's clock ahead."""
        self.run.write()
        place = self.run.folder / "other"
        place.mkdir()
        file = self.run.folder / HOST / f"{self.other.pid}.1.0.0.ttl"
        (place / file.name).write_text(_put_ahead(file.read_text(), ahead))
        file.unlink()
        for host in (HOST, "other"):
            mark = self.run.folder / host / node_local.MARK
            node_local.mark(str(mark.parent), self.run.id, host)
            said = re.sub(r"Offset \S+ ; :clockWithin \S+", f"Offset 0 ; :clockWithin {within}", mark.read_text())
            mark.write_text(said)
        assert merge(self.home).damages == []
        reader = StoreReader(self.home)
        found = {row["path"].strip('"') for row in reader.rows(ANCESTORS % f".{self.out.mtime}.{self.out.size}")}
        return found - {OUT}, sorted(row["reason"] for row in reader.rows(GAPS))


def _put_ahead(text: str, ahead: int) -> str:
    moved = re.sub(
        f" :({'|'.join(hosts.MOMENTS)}) ([1-9][0-9]+)", lambda found: f" :{found[1]} {int(found[2]) + ahead}", text
    )
    return moved.replace(f"/{HOST}/", "/other/").replace(f'"{HOST}"', '"other"')


def reads(process: Process, name: str) -> None:
    process.plain(File(f"/data/{name}")).read()


def written_on(run: Hosts) -> set[str]:
    """One process truncates and writes a file, the other appends before further writes: the file comes from both."""
    shared = run.out
    reads(run.here, "a")
    reads(run.other, "b")
    first = run.other.plain(shared, "w")
    run.wait()
    run.here.plain(shared, "r+").write().close()
    run.wait()
    first.write().close()
    return {"/data/a", "/data/b"}


def overwritten(run: Hosts) -> set[str]:
    """One process wrote, then the other truncated the file and wrote: it comes only from the second."""
    shared = run.out
    reads(run.here, "a")
    reads(run.other, "b")
    run.here.plain(shared, "w").write().close()
    run.wait()
    run.other.plain(shared, "w").write().close()
    return {"/data/b"}


def read_at_work(run: Hosts) -> set[str]:
    """One process reads the file of the other, which then reads and writes more."""
    shared = File("/data/x")
    reads(run.here, "a")
    written = run.here.plain(shared, "w").write()
    run.wait()
    run.other.plain(shared).read().close()
    run.wait()
    reads(run.here, "b")
    written.write().close()
    run.other.plain(run.out, "w").write().close()
    return {"/data/x", "/data/a"}


def read_later(run: Hosts) -> set[str]:
    """The same, but the writer had read more by then."""
    shared = File("/data/x")
    reads(run.here, "a")
    written = run.here.plain(shared, "w").write()
    run.wait()
    reads(run.here, "b")
    written.write()
    run.wait()
    run.other.plain(shared).read().close()
    run.wait()
    written.write().close()
    run.other.plain(run.out, "w").write().close()
    return {"/data/x", "/data/a", "/data/b"}


def opened_before(run: Hosts) -> set[str]:
    """One process opened the file before the other rewrote it, and read it afterwards."""
    shared = File("/data/x")
    found = run.other.plain(shared)
    reads(run.here, "a")
    run.wait()
    run.here.plain(shared, "w").write().close()
    run.wait()
    found.read().close()
    run.other.plain(run.out, "w").write().close()
    return {"/data/x", "/data/a"}


STORIES = (written_on, overwritten, read_at_work, read_later, opened_before)


@pytest.mark.parametrize("ahead", [-2 * WITHIN + STEP, 0, 2 * WITHIN - STEP])
@pytest.mark.parametrize("story", STORIES)
def test_no_true_input_is_missing(tmp_path: Path, story: object, ahead: int) -> None:
    """For every difference of the clocks within their errors."""
    run = Hosts(tmp_path, 0)
    true = story(run)  # type: ignore[operator]
    found, gaps = run.told(ahead)
    assert true <= found
    assert (found == true) or gaps
    assert all("whichever came first, both ways are followed" in reason for reason in gaps)


@pytest.mark.parametrize("story", STORIES)
def test_events_outside_of_the_error_are_in_order(tmp_path: Path, story: object) -> None:
    """And there is no gap about clocks."""
    run = Hosts(tmp_path, FAR)
    true = story(run)  # type: ignore[operator]
    assert run.told(2 * WITHIN - STEP) == (true, [])


def test_the_measured_error_decides(tmp_path: Path) -> None:
    """If the marks state that the clocks agree, their order is used, even if it is wrong."""
    run = Hosts(tmp_path, 0)
    true = opened_before(run)
    assert not true <= run.told(-2 * WITHIN + STEP, within=0)[0]


def test_the_same_for_a_run_in_partitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of the clocks is one of the whole run."""
    found = []
    for large in (False, True):
        monkeypatch.setattr(job, "is_large", lambda _, large=large: large)
        (tmp_path / str(large)).mkdir()
        run = Hosts(tmp_path / str(large), 0)
        true = opened_before(run)
        found.append(run.told(-2 * WITHIN + STEP))
        assert true <= found[-1][0]
    assert found[0] == found[1]


def test_the_uncertainty_of_clocks() -> None:
    """The sum of the measurement's error and the difference that was not corrected, for two hosts."""
    marks = {
        "a": {"clockOffset": "-4", "clockWithin": "5"},
        "b": {"clockOffset": "100", "clockWithin": "7"},
        "c": {"clockOffset": "0", "clockWithin": "1"},
    }
    assert hosts.clock_uncertainty(marks) == (5 + 4) + 7
    assert hosts.clock_uncertainty({"a": marks["a"]}) == 0


@pytest.mark.parametrize(("apart", "said"), [(200_000, "1 ms"), (10_000_000, "10 ms"), (2_000_000_001, "2001 ms")])
def test_an_error_below_a_millisecond_is_not_shown_as_zero(apart: int, said: str) -> None:
    clocks = Clocks(apart)
    clocks.doubt("v", "b", "a")
    what = f"what a and b did to this file lies within {said}, by which their clocks may differ"
    assert list(clocks.gaps()) == [("v~clocks", "v", f"{what}: whichever came first, both ways are followed")]


@pytest.mark.integration
@pytest.mark.parametrize("clock", ["-1d", "+10d", "2020-01-01 00:00:00", "@2020-01-01 00:00:00 x10"])
def test_programs_with_a_clock_of_their_own(project: Project, needs: Callable[..., None], clock: str) -> None:
    """Each reads the output of the one before, with that clock and with the machine's in turns: the lineage is true,
    and the record has the machine's times."""
    needs("faketime")
    project.sh("echo 1 > a; echo 2 > other")
    began = time.time_ns()
    project.run(f"cp a b; faketime -f '{clock}' cp b c; cp c d; faketime -f '{clock}' sh -c 'date; cp d e; sort e > f'")
    project.run("sort f > g; cat other > f")
    assert {path for path in project.data("g") if not path.startswith("../")} == {"a", "b", "c", "d", "e", "f"}
    assert project.data("f") == {"other"}
    times = [int(said) for path in project.trace_files() for said in re.findall(r":epochNs (\d+)", path.read_text())]
    assert all(began <= told <= time.time_ns() for told in times)
