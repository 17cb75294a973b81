"""Figures of hand-made activities: each bottleneck rule at its thresholds, tallies, groups and timelines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from provio.base.records import replace
from provio.base.vocab import RUN_BASE
from provio.stats import bottlenecks, timeline
from provio.stats.activity import SIZES, Activity, File, Process, Recorded, Run
from provio.stats.bottlenecks import Bottleneck, find
from provio.stats.tally import Tally, by
from provio.stats.timeline import Call, Lane, Picture, Span, latencies, percentile, picture

RUN = f"{RUN_BASE}01a1fe26-0000-7000-8000-000000000001"
P = f"{RUN}/node/7.1.0/"
Q = f"{RUN}/node/8.1.0/"


def recorded(*activities: Activity, **more: object) -> Recorded:
    """Two processes of one run and their files `/data/a` (version `va`), `/data/b` (`vb`) and `/lib/s` (`vs`)."""
    processes = {
        P: Process(P, RUN, 7, 0, "node", "tool x", "tool"),
        Q: Process(Q, RUN, 8, 1, "node", "tool y", "tool"),
    }
    files = {"va": File("/data/a"), "vb": File("/data/b"), "vs": File("/lib/s", system=True)}
    threads = {f"{P}0/": 7, f"{P}1/": 70, f"{Q}0/": 8}
    found = Recorded([*activities], processes=processes, files=files, threads=threads)
    for name, value in more.items():
        setattr(found, name, value)
    return found


def sized(number: int, place: int = 0) -> tuple[int, ...]:
    """So many calls of one size."""
    return tuple(number if one == place else 0 for one in range(SIZES))


def did(kind: str, api: str = "pread", **more: object) -> Activity:
    """Calls of the first process on `/data/a`."""
    given = {"process": P, "thread": f"{P}0/", "run": RUN, "target": "va", "elapsed": 0} | more
    return Activity("urn:a", kind, api, **given)  # type: ignore[arg-type]


def rules(found: Recorded) -> list[str]:
    """The rules of the findings."""
    return [one.rule for one in find(found)]


def test_tiny_accesses() -> None:
    """A thousand calls of at most a kilobyte that are half of all; not through a buffer, and not single numbers."""
    found = did("Read", count=2000, bytes=500_000, elapsed=3000, sizes=(600, 400, 1000, *[0] * 7))
    assert find(recorded(found)) == [
        Bottleneck(
            "tiny accesses",
            "/data/a (tool)",
            "1,000 of 2,000 reads moved 1 KiB or less, 250 B in the mean, in 3.0 µs",
            "move more with each call: gather or buffer",
            3000,
        )
    ]
    assert rules(recorded(replace(found, sizes=(600, 399, 1000, *[0] * 7)))) == []
    assert rules(recorded(replace(found, sizes=(600, 400, 1001, *[0] * 7)))) == []
    assert rules(recorded(replace(found, api="fread"))) == []
    assert rules(recorded(replace(found, errors=1))) == []
    of_other = [replace(found, process=None, target=target) for target in
                ("va", "none", "https://w3id.org/provio/pipe/x", "https://w3id.org/provio/socket/x")]  # fmt: skip
    assert [[one.where for one in find(recorded(one))] for one in of_other] == [
        ["/data/a"],
        ["(no name)"],
        ["a pipe"],
        ["a connection"],
    ]
    hdf5 = replace(found, api="H5Dread", bytes=2000, target="va#/x")
    (one,) = find(recorded(hdf5))
    assert (one.rule, one.where, one.remedy) == (
        "tiny accesses",
        "/data/a (tool)",
        "select more of the dataset at once",
    )


def test_unbuffered_accesses() -> None:
    """A thousand accesses of sixteen bytes in the mean, each a call of the kernel: a buffer serves one in few ns."""
    found = did("Write", "write", count=1000, bytes=16_000, elapsed=50_000, sizes=sized(1000))
    assert find(recorded(found)) == [
        Bottleneck(
            "unbuffered",
            "/data/a (tool)",
            "1,000 writes of 16 bytes in the mean, in 50.0 µs",
            "let the stream have its buffer, or read and write blocks",
            50_000,
        )
    ]
    assert rules(recorded(replace(found, bytes=17_000))) == ["tiny accesses"]
    assert rules(recorded(replace(found, sizes=sized(999)))) == []
    assert rules(recorded(replace(found, api="fwrite", elapsed=99_999))) == []
    assert rules(recorded(replace(found, api="fwrite", elapsed=100_000))) == ["unbuffered"]
    interrupted = replace(found, api="fwrite", elapsed=9_099_999, longest=9_000_000)  # another program ran in between
    assert rules(recorded(interrupted)) == []
    assert rules(recorded(replace(interrupted, elapsed=9_100_000))) == ["unbuffered"]
    single = replace(found, api="fwrite", count=1, bytes=16, elapsed=200, longest=200, sizes=sized(1))
    assert rules(recorded(*[single] * 1001)) == ["unbuffered"]  # each call an activity, as detail `call` records them
    assert rules(recorded(replace(found, api="H5Dwrite"))) == ["tiny accesses"]


def test_jumps() -> None:
    """Half of the bytes of a hundred calls do not begin where the call before ended, of a megabyte in the mean."""
    found = did("Read", count=100, bytes=100 << 20, jumped=50 << 20, elapsed=9, sizes=sized(100, 5))
    assert find(recorded(found)) == [
        Bottleneck(
            "seeks",
            "/data/a (tool)",
            "50% of 100.0 MiB read did not begin where the call before ended: 100 calls, in 9 ns",
            "access the file in storage order, or store data next to each other that are used together",
            9,
        )
    ]
    assert rules(recorded(replace(found, jumped=(50 << 20) - 1))) == []
    assert rules(recorded(replace(found, sizes=sized(99, 5), jumped=100 << 20))) == []
    assert rules(recorded(replace(found, bytes=101 << 20, jumped=101 << 20))) == []
    assert rules(recorded(replace(found, api="MPI_File_read_at"))) == []
    split = [replace(found, bytes=50 << 20, jumped=25 << 20, sizes=sized(50, 5), api=api) for api in ("pread", "fread")]
    assert rules(recorded(*split)) == ["seeks"]  # with and without a buffer together
    assert rules(recorded(replace(found, target=f"{RUN}/messages"))) == []  # between processes of a framework


def test_read_again() -> None:
    """Four times all of a file, and four megabytes; the remedy depends on the number of processes."""
    found = did("Read", count=4, bytes=4 << 20, elapsed=9, sizes=sized(4, 5))
    contents = {"read_contents": lambda: {"va": 1 << 20, "vb": 1, "none": 1}}
    assert find(recorded(found, **contents)) == [
        Bottleneck(
            "read again",
            "/data/a",
            "4.0 MiB were read of its 1.0 MiB, 4.0 times all of it, by 1 process, in 9 ns",
            "read it once and keep it",
            9,
        )
    ]
    assert rules(recorded(replace(found, bytes=(4 << 20) - 1), **contents)) == []
    assert rules(recorded(found, read_contents=lambda: {"va": (1 << 20) + 1})) == []
    assert rules(recorded(found)) == []
    assert rules(recorded(replace(found, target="vs"), read_contents=lambda: {"vs": 1})) == []
    halves = [replace(found, bytes=2 << 20), replace(found, bytes=2 << 20, process=Q)]
    (one,) = find(recorded(*halves, **contents))
    assert (one.evidence, one.remedy) == (
        "4.0 MiB were read of its 1.0 MiB, 4.0 times all of it, by 2 processes, in 18 ns",
        "let one process read it and hand it on",
    )


def test_opens_and_syncs() -> None:
    """A hundred of one file; syncs where there is one for ten writes."""
    opened = did("Open", "open", count=100, elapsed=9)
    assert find(recorded(opened)) == [
        Bottleneck("many opens", "/data/a", "it was opened 100 times by 1 process, in 9 ns", "keep it open", 9)
    ]
    assert rules(recorded(replace(opened, count=99))) == []
    assert rules(recorded(replace(opened, target="vs"))) == []
    halves = recorded(replace(opened, count=50), replace(opened, count=50, process=Q))
    assert [one.remedy for one in find(halves)] == ["let fewer processes open it"]
    synced, wrote = (
        did("Fsync", "fsync", count=100, elapsed=9),
        did("Write", "write", count=1000, bytes=50_000_000, sizes=sized(1000, 4)),
    )
    assert find(recorded(synced, wrote)) == [
        Bottleneck(
            "many syncs",
            "/data/a (tool)",
            "100 syncs for 1000 writes, in 9 ns",
            "sync once, after all data that must not be lost are written",
            9,
        )
    ]
    assert rules(recorded(replace(synced, count=99), wrote)) == []
    assert rules(recorded(synced, replace(wrote, count=1001))) == []
    assert [one.evidence for one in find(recorded(synced))] == ["100 syncs for 0 writes, in 9 ns"]
    assert rules(recorded(replace(synced, api="MPI_File_sync"))) == []


def test_metadata_calls() -> None:
    """A thousand opens and other calls about files, failed ones too, that are more than reads and writes."""
    opened = did("Open", "open", count=600, elapsed=9, target=None)
    failed = did("Stat", "stat", errors=400, target=None)
    data = did("Read", count=999, bytes=1, sizes=sized(999, 4), target="vs")
    assert find(recorded(opened, failed, data))[0] == Bottleneck(
        "metadata",
        "tool",
        "1,000 opens and other calls about files (400 failed), 999 that read or wrote, in 9 ns",
        "open fewer files, keep them open, search fewer folders",
        9,
    )
    assert "metadata" not in rules(recorded(opened, failed, replace(data, count=1000)))
    assert "metadata" not in rules(recorded(opened, replace(failed, errors=399)))
    assert "metadata" not in rules(
        recorded(opened, failed, replace(data, count=1001, kind="SubmitWrite", api="aio_write"))
    )
    assert "metadata" not in rules(recorded(opened, replace(failed, process="none")))
    assert "metadata" not in rules(recorded(opened, replace(failed, api="H5Fopen")))


def test_small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many files of one folder, half of them small; each once, however many versions it has."""
    monkeypatch.setattr(bottlenecks, "FILES", 3)
    files = {f"w{number}": File(f"/out/{number % 3}") for number in range(4)} | {"vs": File("/out/s", system=True)}
    wrote = [did("Write", "write", count=1, bytes=1, elapsed=2, sizes=sized(1), target=name) for name in files]
    sizes = {"w1": 64 << 10, "w2": 1 << 20, "w3": 5}
    assert find(recorded(*wrote, files=files, read_contents=lambda: sizes)) == [
        Bottleneck(
            "small files",
            "/out",
            "3 files were written there, half of them of 64.0 KiB or less, in 8 ns",
            "write fewer, larger ones (HDF5, an archive), or spread them over folders",
            8,
        )
    ]
    assert rules(recorded(*wrote, files=files, read_contents=lambda: sizes | {"w1": (64 << 10) + 1})) == []
    assert rules(recorded(*wrote[:2], files=files)) == []


def test_what_was_never_read() -> None:
    """A megabyte that was written and deleted, or replaced by a later version of that path, before it was read."""
    wrote = did("Write", "write", count=1, bytes=1 << 20, elapsed=9, sizes=sized(1, 5))
    deleted = {"deleted": {"va"}}
    expected = Bottleneck(
        "never read",
        "/data/a",
        "1.0 MiB were written, and deleted unread, in 9 ns",
        "do not write it, or keep it in memory",
        9,
    )
    assert find(recorded(wrote, **deleted)) == [expected]
    assert rules(recorded(wrote)) == []
    assert rules(recorded(replace(wrote, bytes=(1 << 20) - 1), **deleted)) == []
    assert rules(recorded(wrote, did("Read", count=1, bytes=1, sizes=sized(1)), **deleted)) == []
    assert rules(recorded(wrote, did("Map", "mmap", count=1), **deleted)) == []
    assert rules(recorded(wrote, kept={"va"}, **deleted)) == []
    assert rules(recorded(replace(wrote, target="vs"), deleted={"vs"})) == []
    files = {"va": File("/data/a", modified="1"), "vb": File("/data/a", modified="2")}
    both = [wrote, replace(wrote, target="vb", bytes=1)]
    assert [one.evidence for one in find(recorded(*both, files=files))] == [
        "1.0 MiB were written, and replaced unread, in 9 ns"
    ]


def test_slow_ranks_and_threads() -> None:
    """One that takes twice as long as the median of those that do a tenth as much, and a tenth of a second longer."""
    slow = did("Read", count=1, bytes=1000, elapsed=200_000_000, sizes=sized(1))
    other = replace(slow, process=Q, thread=f"{Q}0/", elapsed=100_000_000)
    assert find(recorded(slow, other)) == [
        Bottleneck(
            "slow rank",
            "rank 0",
            "its I/O took 200.0 ms for 1000 B; that of 1 other took 100.0 ms for 1000 B (medians)",
            "compare its calls and its node with those of the others",
            100_000_000,
        )
    ]
    assert rules(recorded(slow, replace(other, elapsed=100_000_001))) == []
    assert rules(recorded(replace(slow, elapsed=199_999_999), replace(other, elapsed=99_999_999))) == ["slow rank"]
    assert rules(recorded(slow, replace(other, bytes=99))) == []
    longer = replace(slow, elapsed=1_000_000_000)
    assert rules(recorded(longer, replace(other, elapsed=500_000_000))) == ["slow rank"]
    assert rules(recorded(longer, replace(other, elapsed=500_000_001))) == []
    assert rules(recorded(replace(slow, elapsed=150_000_000), replace(other, elapsed=50_000_001))) == []
    assert [one.remedy for one in find(recorded(replace(slow, bytes=2001), other))] == ["share the work more evenly"]
    assert rules(
        recorded(slow, other, did("Open", "H5Fopen", elapsed=1 << 40), did("Read", errors=1, elapsed=1 << 40))
    ) == ["slow rank"]
    thread = replace(slow, thread=f"{P}1/", elapsed=100_000_000)
    (one,) = find(recorded(slow, thread))
    assert (one.rule, one.where, one.nanoseconds) == ("slow thread", "thread 7 of tool (process 7)", 100_000_000)


def test_findings_are_in_order() -> None:
    """The longest time first, then by rule and place."""
    opened = [did("Open", "open", count=100, elapsed=9, target=name) for name in ("vb", "va")]
    later = did("Fsync", "fsync", count=100, elapsed=10)
    assert [(one.rule, one.where) for one in find(recorded(*opened, later))] == [
        ("many syncs", "/data/a (tool)"),
        ("many opens", "/data/a"),
        ("many opens", "/data/b"),
    ]


def test_a_tally() -> None:
    """Sums, unknown values, the bandwidth of reads and writes alone, and the mean size."""
    read = did("Read", count=3, bytes=300, elapsed=1000, longest=700, jumped=100, sizes=(1, 2, *[0] * 8))
    wrote = did("Write", "write", count=1, bytes=100, elapsed=1000, longest=900, sizes=sized(1, 1))
    opened, failed = did("Open", "open", count=2, elapsed=50), did("Open", "open", errors=5)
    copied = did("Write", "sendfile", count=1, bytes=50, elapsed=500, mirror=True)
    tally = Tally([read, read, wrote, opened, failed, copied])
    names = ("calls", "nanoseconds", "moving", "reads", "writes", "bytes_read", "bytes_written")
    assert {name: tally.of(name) for name in names} == {
        "calls": 9,
        "nanoseconds": 3050,
        "moving": 3000,
        "reads": 6,
        "writes": 2,
        "bytes_read": 600,
        "bytes_written": 150,
    }
    assert (tally.errors, tally.jumped, tally.longest, tally.bytes) == (5, 200, 900, 750)
    assert tally.sizes == {"Read": [2, 4, *[0] * 8], "Write": [0, 1, *[0] * 8]}
    assert (tally.bandwidth, tally.mean_size, tally.consecutive) == (250_000_000, 107, 1 - 200 / 750)
    more = Tally([replace(read, elapsed=None, longest=None), replace(wrote, count=None, bytes=None)])
    assert {name: more.of(name) for name in names} == {
        "calls": 3,
        "nanoseconds": 1000,
        "moving": 1000,
        "reads": 3,
        "writes": None,
        "bytes_read": 300,
        "bytes_written": None,
    }
    assert (more.bandwidth, more.partly("moving"), more.partly("reads"), more.longest) == (None, True, False, 900)
    more.join(tally)
    assert {name: more.of(name) for name in names} == {
        "calls": 12,
        "nanoseconds": 4050,
        "moving": 4000,
        "reads": 9,
        "writes": 2,
        "bytes_read": 900,
        "bytes_written": 150,
    }
    assert (more.errors, more.jumped, more.longest, more.sizes["Read"][:2]) == (5, 300, 900, [3, 6])
    empty = Tally()
    assert (empty.of("calls"), empty.bytes, empty.bandwidth, empty.mean_size, empty.consecutive) == (
        0,
        0,
        None,
        None,
        None,
    )


def test_groups() -> None:
    """By each property: key, layer and calls, the longest time first, then the most bytes."""
    runs = {RUN: Run(RUN, "ada")}
    found = recorded(
        did("Read", count=1, bytes=9, elapsed=10),
        did("Write", "write", count=2, bytes=9, elapsed=30, target="vb", process=Q, thread=f"{Q}0/"),
        did("SetTimes", "utime", count=4, elapsed=30, target="https://w3id.org/provio/pipe/x"),
        did("Read", "H5Dread", count=8, bytes=5, elapsed=20, target="va#/x"),
        runs=runs,
    )
    expected = {
        "operation": [
            (("write",), "POSIX", 2),
            (("set times",), "POSIX", 4),
            (("read",), "HDF5", 8),
            (("read",), "POSIX", 1),
        ],
        "layer": [((), "POSIX", 7), ((), "HDF5", 8)],
        "api": [
            (("write",), "POSIX", 2),
            (("utime",), "POSIX", 4),
            (("H5Dread",), "HDF5", 8),
            (("pread",), "POSIX", 1),
        ],
        "file": [
            (("/data/b", "file"), "POSIX", 2),
            ((None, "pipe"), "POSIX", 4),
            (("/data/a", "file"), "HDF5", 8),
            (("/data/a", "file"), "POSIX", 1),
        ],
        "process": [
            ((P, "node", 7, "tool x"), "POSIX", 5),
            ((Q, "node", 8, "tool y"), "POSIX", 2),
            ((P, "node", 7, "tool x"), "HDF5", 8),
        ],
        "thread": [
            ((f"{P}0/", 7, 7, "tool"), "POSIX", 5),
            ((f"{Q}0/", 8, 8, "tool"), "POSIX", 2),
            ((f"{P}0/", 7, 7, "tool"), "HDF5", 8),
        ],
        "rank": [((0,), "POSIX", 5), ((1,), "POSIX", 2), ((0,), "HDF5", 8)],
        "host": [(("node",), "POSIX", 7), (("node",), "HDF5", 8)],
        "program": [(("tool",), "POSIX", 7), (("tool",), "HDF5", 8)],
        "user": [(("ada",), "POSIX", 7), (("ada",), "HDF5", 8)],
    }
    for way, groups in expected.items():
        assert [(one.key, one.layer, one.tally.of("calls")) for one in by(found, [way])] == groups, way
    assert [(one.key, one.tally.of("calls")) for one in by(found, ["rank", "api"])] == [
        ((1, "write"), 2),
        ((0, "utime"), 4),
        ((0, "H5Dread"), 8),
        ((0, "pread"), 1),
    ]


def span(
    thread: str, start: int, end: int, size: int = 1, write: bool = False, calls: int = 1, file: str = "/x"
) -> Span:
    return Span(thread, start, end, size, write, calls, file)


def test_a_timeline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threads that moved the most, in the order of their first span; spans of one column are one."""
    monkeypatch.setattr(timeline, "LANES", 2)
    monkeypatch.setattr(timeline, "SPANS", 200)
    found = recorded()
    spans = [
        span(f"{P}1/", 200, 1200, 50),
        span(f"{P}0/", 100, 101, 1),
        span(f"{P}0/", 102, 103, 2, calls=3),
        span(f"{P}0/", 102, 103, 4, file="/y"),
        span(f"{P}0/", 104, 105, 8, write=True),
        span(f"{P}0/", 122, 122, 16),
        span("none", 100, 200, 1),
    ]
    assert picture(found, spans) == Picture(
        100,
        1100,
        [
            Lane(
                "rank 0, tool 7",
                [
                    span(f"{P}0/", 100, 103, 7, calls=5, file="several files"),
                    span(f"{P}0/", 104, 105, 8, write=True),
                    span(f"{P}0/", 122, 122, 16),
                ],
                31,
            ),
            Lane("rank 0, tool 7, thread 70", [spans[0]], 50),
        ],
        1,
        2,
    )
    assert picture(found, []) is None
    only = picture(found, [span("none", 5, 5)])
    assert only == Picture(5, 1, [Lane("?", [span("none", 5, 5)], 1)], 0, 0)


def test_spans_are_those_of_reads_and_writes() -> None:
    """Of the C library, whose times are known."""
    times: dict[str, Any] = {"start": 5, "end": 9, "count": 2, "bytes": 3}
    found = recorded(
        did("Read", **times),
        did("Write", "write", thread=None, target="none", start=6, end=7),
        did("Read", **(times | {"start": 0})),
        did("Open", "open", **times),
        did("Read", "H5Dread", **times),
        did("Read", thread=None, process=None, **times),
    )
    assert timeline.of_activities(found) == [
        span(f"{P}0/", 5, 9, 3, calls=2, file="/data/a"),
        span(P, 6, 7, 0, True, 0, ""),
    ]


def test_latencies() -> None:
    """Percentiles by the nearest rank, and the shares of calls that continue, jump forward and jump back."""
    found = recorded(replace(did("Read"), iri="urn:r"), replace(did("Write", "write"), iri="urn:w"))
    calls = [Call("urn:r", offset, 10, number, number) for number, offset in enumerate((0, 10, 20, 40, 5), 1)]
    calls += [Call("urn:w", 0, 1, 1, None), Call("urn:none", 0, 1, 1, 1)]
    thirds = [Call("urn:w", offset, 10, number, None) for number, offset in enumerate((0, 10, 20, 40))]
    (found_thirds,) = latencies(found, thirds)
    assert (found_thirds.consecutive, found_thirds.forward, found_thirds.backward) == (0.6667, 0.3333, 0)
    assert latencies(found, calls) == [
        timeline.Latency("pread", "POSIX", 5, 3, 5, 5, 5, 0.5, 0.25, 0.25),
        timeline.Latency("write", "POSIX", 1, None, None, None, None, None, None, None),
    ]
    assert [percentile([*range(1, 101)], share) for share in (1, 50, 95, 99, 100)] == [1, 50, 95, 99, 100]
    assert [percentile([7, 8, 9], share) for share in (33, 34, 66, 67, 100)] == [7, 8, 8, 9, 9]


def test_spans_of_single_calls() -> None:
    """Of activities of the C library; without a known thread the process stands for it."""
    found = recorded(
        replace(did("Read"), iri="urn:r"),
        replace(did("Write", "write", thread=None, target=None), iri="urn:w"),
        replace(did("Read", "H5Dread"), iri="urn:h"),
        replace(did("Read", thread=None, process=None), iri="urn:nowhere"),
    )
    calls = [Call(f"urn:{name}", 7, 3, 100, took) for name in "rw" for took in (5, None)]
    calls += [Call("urn:h", 7, 3, 100, 5), Call("urn:nowhere", 7, 3, 100, 5), Call("urn:unknown", 7, 3, 100, 5)]
    assert timeline.spans(found, calls) == [
        span(f"{P}0/", 100, 105, 3, file="/data/a"),
        span(f"{P}0/", 100, 100, 3, file="/data/a"),
        span(P, 100, 105, 3, True, file=""),
        span(P, 100, 100, 3, True, file=""),
    ]


@pytest.mark.parametrize("text", [lambda base: base, lambda base: base.replace("42", "x")])
def test_single_calls_of_a_file(text: Callable[[str], str], tmp_path: Path) -> None:
    """Lines of calls, each with the clock of the thread that its base names; other lines are omitted."""
    lines = [
        "@base <urn:t/> .",
        "<a7/r12> :offset 42;:bytes 3;:at 5;:elapsed 6 .",
        "<a7/w1> :offset 1;:bytes 2;:at 7 .",
        "<a7/c1> :offset 1;:bytes 2;:at 7 .",
        "@base <urn:unknown/> .",
        "<a7/r1> :offset 1;:bytes 2;:at 7 .",
    ]
    epochs: dict[str, int] = {}
    text_of = b"@base <urn:t/> . <> :epochNs 100 . :epochNs 200 @base <urn:u/> ."
    timeline._epochs(timeline.BASE.finditer(text_of), epochs)
    assert epochs == {"urn:t/": 100}
    found = list(timeline._lines(timeline.LINE.finditer(text("\n".join(lines)).encode()), epochs))
    expected = [Call("urn:t/a7/read", 42, 3, 105, 6), Call("urn:t/a7/write", 1, 2, 107, None)]
    assert found == [one for one in expected if str(one.offset) in text(f"{one.offset}")]


def test_unknown_times_and_threads() -> None:
    """No time is stated where none is known, and a group of unknown times comes last; a process may be its thread."""
    assert bottlenecks.took(0) == ""
    assert bottlenecks.took(5) == ", in 5 ns"
    other = replace(did("Open", "open", count=50), run="urn:other")
    assert find(recorded(did("Open", "open", count=50), other)) == []
    assert [one.evidence for one in find(recorded(did("Open", "open", count=100)))] == [
        "it was opened 100 times by 1 process"
    ]
    unknown = did("Read", count=1, bytes=1, elapsed=None)
    groups = by(recorded(unknown, did("Write", "write", count=1, bytes=1, elapsed=1)), ["operation"])
    assert [group.key for group in groups] == [("write",), ("read",)]
    found = picture(recorded(), [span(P, 1, 2), span(f"{P}0/", 2, 3), span(f"{P}9/", 3, 4)])
    assert found
    assert [lane.name for lane in found.lanes] == ["rank 0, tool 7"] * 3
