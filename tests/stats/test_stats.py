"""`provio stats`: its totals are the kernel's own, its bottlenecks those of real programs, its words fit a terminal."""

from __future__ import annotations

import csv
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import pyoxigraph as ox
import pytest
from concurrent_runs import start, wait_for
from conftest import Project, new_project
from io_patterns import PAIRS
from workers import made_once

from provio.ask.runs import LISTING
from provio.base.text import binary, elapsed
from provio.base.vocab import RUN_BASE
from provio.graph.lines import bundle_iri
from provio.settings.home import Home
from provio.stats import BY, Figures, bottlenecks, figures
from provio.stats.activity import SIZES, Activity, File, Recorded
from provio.stats.tally import Tally
from provio.store import Confined
from provio.store.embedded import reader as one_graph
from provio.store.embedded.reader import StoreReader

ROOT = Path(__file__).parent.parent.parent
DATA = 1 << 20


def table(project: Project, *options: str) -> list[dict[str, str]]:
    """The rows of `provio stats`."""
    return list(csv.DictReader(project.provio("stats", *options, "--as", "csv").stdout.splitlines()))


def of_run(project: Project, name: str) -> Figures:
    """The figures of the one run of a name."""
    reader = StoreReader(Home(project.path / ".provio"))
    runs = [row["run"] for row in reader.rows(LISTING) if row.get("name") == name]
    return figures(Confined(reader, [bundle_iri(RUN_BASE + run) for run in runs]))


@pytest.mark.integration
def test_names_with_commas_and_quotes_are_names(project: Project) -> None:
    """With IRIs that contain commas, the cell boundaries in CSV are ambiguous."""
    (project.path / "x,y").mkdir()
    project.run("""echo 1 > a,b.csv; cat a,b.csv > x,y/c,d; cat x,y/c,d > 'q,"uo'""")
    found = {row["file"]: row["bytes_written"] for row in table(project, "--by", "file")}
    assert {name: found[str(project.path / name)] for name in ("a,b.csv", "x,y/c,d", 'q,"uo')} == dict.fromkeys(
        ("a,b.csv", "x,y/c,d", 'q,"uo'), "2"
    )
    reader = StoreReader(Home(project.path / ".provio"))
    sparql = "SELECT ?s ?p ?o ?none { ?s ?p ?o OPTIONAL { ?s <urn:none> ?none } }"
    assert sorted(reader.table(sparql)) == sorted(
        [row["s"], row["p"], row["o"], row.get("none", "")] for row in reader.rows(sparql)
    )


@pytest.mark.parametrize("piece", [0, 1, 7, 1000])
def test_an_answer_that_is_cut_in_pieces_is_whole(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row once, in order, for any size of a piece of the text; none for an answer without rows."""
    monkeypatch.setattr(one_graph, "PIECE", piece)
    store = ox.Store()
    store.load("".join(f"<urn:{'s' * (n % 5)}{n}> <urn:p> {n} .\n" for n in range(50)), format=ox.RdfFormat.TURTLE)
    for most in (0, 1, 50):
        found = store.query(f"SELECT ?s ?none ?o {{ ?s <urn:p> ?o }} ORDER BY ?o LIMIT {most}")
        assert isinstance(found, ox.QuerySolutions)
        rows = one_graph.cells(found)
        assert rows is not None
        assert [*rows] == [[f"urn:{'s' * (n % 5)}{n}", "", str(n)] for n in range(most)]


# --- totals ---------------------------------------------------------------------------------------------------------

KERNEL = """
import os
account = os.open("/proc/self/io", os.O_RDONLY)
def counts(): return [int(line.split()[1]) for line in os.pread(account, 4096, 0).split(b"\\n")[:4]]
traces = [one.path for one in os.scandir(os.environ["PROVIO_TRACE"].split(";")[6])]
def traced(): return sum(os.stat(one).st_size for one in traces)
traced()  # the first time, it is recorded itself
recorded, before = traced(), counts()
file = os.open("in", os.O_RDONLY)
out = os.open("out", os.O_WRONLY | os.O_CREAT)
while block := os.read(file, 3000): os.write(out, block)
for place in range(7): os.pread(file, 10, place * 100)
os.writev(out, [b"x" * 5, b"y" * 6])
print(*(after - first for first, after in zip(before, counts())), traced() - recorded)
"""


@pytest.mark.integration
def test_totals_are_the_kernels_own(project: Project) -> None:
    """Bytes and calls of reading and writing, as `/proc/self/io` counts them."""
    (project.path / "in").write_bytes(b"x" * 100_000)
    read, written, reads, writes, recorded = map(int, project.watch(sys.executable, "-S", "-c", KERNEL).split())
    own = [row for row in table(project, "--by", "file") if row["file"].startswith(str(project.path))]
    account = len(Path("/proc/self/io").read_bytes())
    assert sum(int(row["reads"]) for row in own) == reads - 1  # the first look at the account is in it
    assert abs(sum(int(row["bytes_read"]) for row in own) - (read - account)) < 50  # whose figures may have grown
    # The recorder extends its own file by one call if the file is full.
    assert sum(int(row["writes"]) for row in own) == writes - (recorded > 0)
    assert sum(int(row["bytes_written"]) for row in own) == written - recorded
    assert {row["kind"] for row in own} == {"file"}


@pytest.mark.integration
def test_calls_are_those_that_strace_sees(project: Project, needs) -> None:
    """Of each function on each file: calls, bytes, and how large they were."""
    needs("strace")
    (project.path / "in").write_bytes(b"x" * 100_000)
    command = ["dd", "if=in", "of=out", "bs=3000", "status=none"]
    log = project.path / "strace.log"
    subprocess.run(["strace", "-y", "-e", "trace=read,write", "-o", log, *command], cwd=project.path, check=True)
    seen: dict[tuple[str, str], list[int]] = {}
    for api, path, moved in re.findall(r"(read|write)\(\d+<([^>]*)>.* = (\d+)$", log.read_text(), re.MULTILINE):
        if path.startswith(str(project.path)):
            seen.setdefault((api, path), []).append(int(moved))
    project.watch(*command)
    rows = {(row["api"], row["file"]): row for row in table(project, "--by", "api", "--by", "file")}
    for key, moved in seen.items():
        row = rows[key]
        assert (int(row["calls"]), int(row["bytes_read"]) + int(row["bytes_written"])) == (len(moved), sum(moved))
        assert row["consecutive"] in ("1", "1.0")
    sizes = [row for row in table(project, "--by", "size") if row["up_to"] == "10 KiB"]
    assert int(sizes[0]["writes"]) == sum(1024 < size <= 10240 for size in seen["write", str(project.path / "out")])


@pytest.mark.integration
def test_what_the_kernel_copies_is_one_call(project: Project) -> None:
    """It moves the bytes twice, from one file and into the other, in one call; by file each side has it."""
    (project.path / "in").write_bytes(b"x" * 5000)
    source = "import os; os.copy_file_range(os.open('in', 0), os.open('out', os.O_WRONLY | os.O_CREAT), 5000)"
    project.watch(sys.executable, "-c", source)
    row = next(row for row in table(project, "--by", "api") if row["api"] == "copy_file_range")
    assert [row[name] for name in ("calls", "bytes_read", "bytes_written")] == ["1", "5000", "5000"]
    sides = [row for row in table(project, "--by", "api", "--by", "file") if row["api"] == "copy_file_range"]
    assert sorted((Path(row["file"]).name, row["calls"]) for row in sides) == [("in", "1"), ("out", "1")]
    calls = {re.search(r"^total +POSIX +(\d+)", project.provio("stats", "--by", way).stdout, re.MULTILINE)[1]
             for way in ("api", "file", "operation")}  # fmt: skip
    assert calls == {next(row["calls"] for row in table(project, "--by", "layer"))}


@pytest.mark.integration
def test_layers_are_apart(project: Project) -> None:
    """The bytes that HDF5 was called to write are not added to those that it wrote through the C library."""
    pytest.importorskip("h5py")
    source = "import h5py, numpy; h5py.File('out.h5', 'w').create_dataset('x', data=numpy.zeros(1000)).file.close()"
    project.watch(sys.executable, "-c", source)
    rows = {row["layer"]: row for row in table(project, "--by", "layer")}
    assert rows["HDF5"]["bytes_written"] == "8000"
    assert int(rows["POSIX"]["bytes_written"]) > 8000
    shown = project.provio("stats").stdout
    assert re.search(r"^total +POSIX", shown, re.MULTILINE)
    assert re.search(r"^total +HDF5", shown, re.MULTILINE)


@pytest.mark.integration
def test_what_non_blocking_mpi_io_hands_over_is_summed_up() -> None:
    """It does not count as moved during the calls; for the C library, `aio_return` records it."""
    moved = Activity("a", "Write", "MPI_File_write_at", 1, 8, 1000, jumped=8, sizes=(1, *[0] * (SIZES - 1)))
    later = [
        Activity("b", "SubmitWrite", "MPI_File_iwrite_at", 2, 16, 10),
        Activity("c", "SubmitRead", "MPI_File_iread", 1, 4, 10),
    ]
    sums = Tally([moved, *later, Activity("d", "SubmitWrite", "aio_write", 1, 32, 10)])
    assert (sums.of("bytes_written"), sums.of("bytes_read"), sums.of("calls")) == (24, 4, 5)
    assert (sums.bandwidth, sums.mean_size, sums.consecutive) == (8_000_000, 8, 0)
    assert Tally(later).bandwidth is None


def test_of_many_files_those_that_little_was_done_to_are_left_out() -> None:
    """The calls on one file count together, for all its versions; its other activities count too."""
    recorded = Recorded()
    for number in range(300):
        recorded.files[f"v{number}"] = File("/often" if number % 3 else f"/once/{number}")
        recorded.activities.append(Activity(f"a{number}", "Read", "read", 1, 8, 50, target=f"v{number}"))
    recorded.activities.append(Activity("b", "Write", "write", 2, 16, 50, sizes=(2, *[0] * (SIZES - 1)), target="v1"))
    recorded.activities.append(Activity("c", "Read", "read", errors=100, target="v0"))
    found = {(key[0], key[2], one.calls, one.bytes) for (key, _), one in bottlenecks.calls_by_key(recorded).items()}
    assert found == {("/often", "Read", 200, 1600), ("/often", "Write", 2, 16)}
    assert [group.tally.of("calls") for group in Figures(recorded).by("operation")] == [300, 2]
    assert {group.key[0]: group.tally.errors for group in Figures(recorded).by("file") if group.tally.errors} == {
        "/once/0": 100
    }


def test_a_run_without_any_says_so(project: Project) -> None:
    """In words, without an empty table; in the other forms no row."""
    project.watch("true")
    shown = project.provio("stats").stdout.splitlines()
    assert len(shown) == 2 and shown[1] == "no reads or writes were recorded"
    assert table(project) == []


@pytest.mark.integration
def test_what_was_not_recorded_is_no_zero(project: Project) -> None:
    """At detail `file` nothing is counted: unknown in words, empty in CSV."""
    project.sh("echo told > in")
    project.provio("run", "--quiet", "--detail", "file", "--", "cat", "in")
    row = next(row for row in table(project) if row["operation"] == "read")
    assert [row[name] for name in ("calls", "reads", "bytes_read", "nanoseconds", "longest")] == [""] * 5
    shown = project.provio("stats").stdout
    assert re.search(r"^read +POSIX +\? ", shown, re.MULTILINE)
    assert "! calls, bytes and times were not recorded (--detail file)" in shown


@pytest.mark.integration
def test_of_failed_calls_alone_no_time_is_told(project: Project) -> None:
    """They are counted; nothing took 0 ns."""
    project.provio("run", "--quiet", "--no-record", "duration", "--", "cat", "gone", code=1)
    assert "1 process, 1 thread with I/O: POSIX 1 failed call\n" in project.provio("stats").stdout


@pytest.mark.integration
def test_a_run_that_goes_on_is_told(project: Project) -> None:
    """Its figures include the calls so far; the note disappears when it has ended."""
    going = "! in progress: the figures include only the calls so far\n"
    project.sh("echo 1 > a; mkfifo held")
    running = start(project, "sh", "-c", "cat a > b; read line < held")
    wait_for(project.path / "b", b"1")
    assert going in project.provio("stats").stdout
    assert going[2:] in project.provio("stats", "--as", "csv").stderr
    (project.path / "held").write_text("\n")
    assert running.wait(60) == 0
    assert going not in project.provio("stats").stdout


@pytest.mark.integration
def test_what_was_switched_off_is_said(project: Project) -> None:
    """Without durations there is no time, in words or figures, and all else stays; so with other classes."""
    (project.path / "in").write_bytes(b"x" * 1_000_000)
    for off in ("duration", "api", "thread", "process", "program", "user"):
        switched = ["run", "--quiet", "--no-merge", "--name", off, "--no-record", off]
        project.provio(*switched, "--", "dd", "if=in", "of=out", "bs=500", "status=none")
    row = next(row for row in table(project, "duration") if row["operation"] == "write")
    figures_of_writes = [row[name] for name in ("calls", "bytes_written", "nanoseconds", "bytes_per_second")]
    assert figures_of_writes == ["2000", "1000000", "", ""]
    assert [row["writes"] for row in table(project, "duration", "--by", "size") if row["up_to"] == "1 KiB"] == ["2000"]
    shown = project.provio("stats", "duration").stdout
    assert "2,000 of 2,000 writes moved 1 KiB or less, 500 B in the mean\n" in shown
    assert "! not recorded: durations of calls (--no-record duration)" in shown
    for off in ("api", "thread", "program", "user"):
        names = table(project, off, "--by", off)
        assert {row["program" if off == "thread" else off] for row in names} <= {"", "dd"}
        assert f"(--no-record {off})" in project.provio("stats", off).stdout
    assert {row["command"] for row in table(project, "process", "--by", "process")} == {""}


# --- which runs -----------------------------------------------------------------------------------------------------


@pytest.mark.integration
def test_which_runs_are_summed_up(project: Project) -> None:
    """The last run; named runs; those of a campaign; all. Missing runs, and contradictions, are reported."""
    project.sh("head -c 5000 /dev/zero > in")
    for name, campaign in (("one", "c"), ("two", "c"), ("three", "d")):
        project.provio("run", "--quiet", "--name", name, "--campaign", campaign, "--", "cat", "in")

    def read(*options: str) -> int:
        return sum(int(row["bytes_read"] or 0) for row in table(project, *options, "--by", "file")
                   if row["file"] == str(project.path / "in"))  # fmt: skip

    chosen = [(), ("one",), ("one", "two", "one"), ("--campaign", "c"), ("--name", "three"), ("--all",)]
    assert [read(*options) for options in chosen] == [5000, 5000, 10000, 10000, 5000, 15000]
    assert len(table(project, "--all", "--by", "run")) == 3
    assert "no run 'four'" in project.provio("stats", "four", code=3).stderr
    assert "omit --all" in project.provio("stats", "one", "--all", code=2).stderr
    assert "give one alone" in project.provio("stats", "--by", "size", "--by", "api", code=2).stderr


@pytest.mark.integration
def test_order_and_limit(project: Project) -> None:
    """Sorted as requested; a table reports the number of omitted rows, and its total is that of all."""
    for number in range(30):
        (project.path / f"f{number:02}").write_bytes(b"x" * (number + 1))
    project.run("cat f*")
    names = [Path(row["file"]).name for row in table(project, "--by", "file", "--sort", "bytes")]
    own = [name for name in names if re.fullmatch(r"f\d\d", name)]
    assert own == sorted(own, reverse=True)
    by_name = [row["file"] for row in table(project, "--by", "file", "--sort", "name") if row["file"]]
    assert by_name == sorted(by_name)
    short = project.provio("stats", "--by", "file", "--limit", "3").stdout
    total = re.search(r"^total .*$", short, re.MULTILINE)
    assert total
    assert re.search(r"^and \d+ others: --limit 0 shows all$", short, re.MULTILINE)
    assert total[0].split() == next(
        line.split() for line in project.provio("stats", "--by", "file", "--limit", "0").stdout.splitlines()
        if line.startswith("total"))  # fmt: skip
    assert len(table(project, "--by", "file", "--limit", "3")) == 3


@pytest.mark.integration
def test_how_runs_differ(project: Project) -> None:
    """Mean, deviation and coefficient of variation, as anybody reckons them; the run that is unlike the others."""
    reader = "import os; f = os.open('in', 0)\nfor _ in range({}): os.pread(f, 100, 0)"
    (project.path / "in").write_bytes(b"x" * 5000)
    for number, times in enumerate((10, 11, 12, 10, 50)):
        arguments = ["--no-merge", "--quiet", "--name", f"run{number}", "--", sys.executable, "-S", "-c"]
        project.provio("run", *arguments, reader.format(times))
    rows = table(project, "--all", "--across", "--by", "api", "--by", "file")
    row = next(
        row for row in rows if (row["api"][:5], row["measure"]) == ("pread", "bytes") and row["file"].endswith("/in")
    )
    values = [1000, 1100, 1200, 1000, 5000]
    assert [float(row[name]) for name in ("runs", "mean", "least", "most")] == [5, 1860, 1000, 5000]
    assert float(row["deviation"]) == pytest.approx(statistics.stdev(values), abs=1e-3)
    assert float(row["variation"]) == pytest.approx(statistics.stdev(values) / 1860, abs=1e-4)
    last = table(project, "run4", "--by", "run")[0]["run"]
    assert row["apart"] == last
    shown = project.provio("stats", "--all", "--across").stdout
    assert re.search(r"^POSIX +calls +5 ", shown, re.MULTILINE)
    assert "needs several runs" in project.provio("stats", "--across", code=2).stderr


# --- bottlenecks ----------------------------------------------------------------------------------------------------


def watch_all(folder: Path) -> None:
    """Run every program of the pairs, each as a run of its own."""
    project = new_project(folder)
    (project.path / "name").touch()
    for number in range(2):
        (project.path / f"files{number}").mkdir()
    for rule, programs in PAIRS.items():
        for source, shows in zip(programs, ("shows", "not"), strict=True):
            (project.path / "data").write_bytes(b"x" * DATA)
            command = ["run", "--quiet", "--no-merge", "--name", f"{rule}: {shows}", "--", sys.executable, "-S", "-c"]
            project.provio(*command, source)
            for left in (*project.path.glob("files*/*"), *project.path.glob("of*")):
                left.unlink()
    project.provio("merge")


@pytest.fixture(scope="module")
def watched(shim: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    return new_project(made_once(tmp_path_factory, "bottlenecks", watch_all))


@pytest.mark.parametrize("rule", PAIRS)
@pytest.mark.slow
def test_each_bottleneck_is_said_of_what_shows_it(watched: Project, rule: str) -> None:
    """And not of a program that does the same work without it."""
    shown, not_shown = (of_run(watched, f"{rule}: {which}").bottlenecks() for which in ("shows", "not"))
    assert rule in {one.rule for one in shown}
    assert rule not in {one.rule for one in not_shown}
    found = next(one for one in shown if one.rule == rule)
    assert found.evidence
    assert found.remedy
    printed = watched.provio("stats", f"{rule}: shows", "--by", "bottleneck").stdout
    assert f"{rule}: {found.where}\n    {found.evidence}\n" in printed


def test_every_rule_has_its_programs_and_its_line_in_the_docs() -> None:
    page = (ROOT / "docs" / "statistics.md").read_text()
    assert set(re.findall(r"^\| \*\*(.*?)\*\* \|", page, re.MULTILINE)) == set(PAIRS)
    assert len(PAIRS) == len(bottlenecks.PATTERN_RULES) + len(bottlenecks.PROGRAM_RULES)
    for rule in (*bottlenecks.PATTERN_RULES, *bottlenecks.PROGRAM_RULES):
        assert rule.__doc__
    assert bottlenecks.find.__doc__


@pytest.mark.integration
def test_no_grouping_loses_a_call(watched: Project) -> None:
    """Every grouping sums up to the same."""
    found = of_run(watched, "slow rank: shows")
    names = ("calls", "bytes_read", "nanoseconds")
    sums = {way: [sum(group.tally.of(name) or 0 for group in found.by(way)) for name in names] for way in BY}
    assert {tuple(total) for total in sums.values()} == {tuple(sums["layer"])}
    assert {group.key for group in found.by("rank")} == {(None,), (0,), (1,), (2,)}


# --- its text -------------------------------------------------------------------------------------------------------


@pytest.mark.integration
def test_figures_fit_a_terminal(watched: Project) -> None:
    """80 columns: no line of any grouping is wider, for any names."""
    for way in ("operation", "file", "process", "size"):
        script = f"stty cols 80; {shutil.which('provio')} stats 'slow rank: shows' --by {way} 2>/dev/null"
        done = subprocess.run(
            ["script", "-qec", script, "/dev/null"], cwd=watched.path, env=watched.env, capture_output=True, check=True
        )
        lines = done.stdout.decode().replace("\r", "").splitlines()
        assert max(map(len, lines)) <= 80
        assert all("…" not in "  ".join(re.split(r"  +", line)[3:]) for line in lines[2:])  # a number is never cut


def test_units_are_those_that_people_read() -> None:
    assert [binary(n) for n in (0, 1023, 1024, 1536, 1 << 20, 5 << 40)] == [
        "0 B", "1023 B", "1.0 KiB", "1.5 KiB", "1.0 MiB", "5.0 TiB"]  # fmt: skip
    assert [elapsed(n) for n in (0, 999, 1000, 12_345_678, 3_200_000_000, 3_720_000_000_000)] == [
        "0 ns", "999 ns", "1.0 µs", "12.3 ms", "3.2 s", "1 h 2 min"]  # fmt: skip
