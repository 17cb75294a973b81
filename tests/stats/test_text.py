"""The text of hand-made figures: whole summaries, tables, histograms and findings, as in `texts.txt`.

To write that file again: `cd tests/stats && ../../.venv/bin/python test_text.py`. Check each changed line against
`docs/statistics.md`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from test_rules import RUN, P, Q, did, recorded, sized

from provio.base.records import replace
from provio.render import records
from provio.stats import Figures, formatting, spread, tally
from provio.stats.activity import Activity, File, Recorded, Run
from provio.stats.spread import Spread
from provio.stats.timeline import Latency

EXPECTED = Path(__file__).parent / "texts.txt"
SECOND = RUN[:-1] + "2"
ONE = Run(RUN, "ada", "2026-11-20T12:00:00Z", "2026-11-20T12:00:02.5Z")
TWO = Run(SECOND, "ada", "2026-11-20T11:00:00Z", "2026-11-20T11:00:01Z")
BARE = Run(SECOND)
FILES = {
    "va": File("/data/a"), "vb": File("/data/" + "long" * 10), "vs": File("/lib/s", True), "vt": File("/lib/t", True),
}  # fmt: skip
CALLS = [
    did("Read", count=1500, bytes=3 << 20, elapsed=2_000_000, jumped=1 << 20, sizes=sized(1500, 2)),
    did("Read", count=20, bytes=1, elapsed=1, sizes=sized(20, 0)),
    did("Write", "write", count=None, bytes=9, elapsed=None, target="vb", process=Q, thread=f"{Q}0/"),
    did("Write", "write", count=500, bytes=9, elapsed=30, target="vb", process=Q, thread=f"{Q}0/", sizes=sized(500, 2)),
    did("Open", "open", count=3, elapsed=400, target="vs"),
    did("Open", "open", count=4, elapsed=500, target="vt"),
    did("Stat", "stat", errors=1200, target=None, thread=None, process=None),
    did("Write", "write", count=None, bytes=None, elapsed=None, target="https://w3id.org/provio/pipe/x"),
    did("Write", "send", count=1, bytes=0, elapsed=0, target="https://w3id.org/provio/socket/x"),
    replace(did("Read", target="va#/x", count=8, bytes=5, elapsed=None, sizes=sized(8, 9)), api=None),  # of HDF5
]
SYNCS = [did("Open", "open", count=100 + number, elapsed=9, target=name) for number, name in enumerate(("va", "vb"))]
SYNCS += [did("Fsync", "fsync", count=100, elapsed=10)]
# Reads of two ranks in six runs: of the first five times, one differs; in the last run there is no rank 1.
REPEATED = [
    replace(CALLS[0], count=count, bytes=10 * count, elapsed=elapsed, process=process, run=f"{RUN[:-1]}{number}")
    for number, (count, elapsed) in enumerate([(10, 1000), (11, 1001), (10, 1002), (12, 1003), (50, 2000), (10, None)])
    for process, count, elapsed in ((P, count, elapsed), (Q, 10, 100 + number))[: 2 - number // 5]
]
SPREADS = [
    Spread((0,), "POSIX", "calls", 4, 1234.5, 10.25, 0.0083, 1000, 2000, []),
    Spread((0,), "POSIX", "bytes", 4, 2048, 1024, 0.5, 0, 4096, ["01a1fe26-0000-7000", "01a1fe27-0000-7000"]),
    Spread((0,), "HDF5", "nanoseconds", 1, 5000, None, None, 5000, 5000, []),
    Spread((None,), "POSIX", "bytes_per_second", 2, 1 << 20, 0.0, 0.0, 1 << 20, 1 << 20, ["01a1fe26-0000-7000"]),
]
LATENCIES = [
    Latency("pread", "POSIX", 1500, 10, 2000, 3_000_000, 4_000_000_000, 0.5, 0.254, 0.246),
    Latency(None, "HDF5", 1, None, None, None, None, None, None, None),
]


def of(*calls: Activity, runs: list[Run] | None = None) -> Figures:
    """The figures of some calls in some runs."""
    return Figures(recorded(*calls, files=FILES, runs={run.iri: run for run in runs or [ONE]}))


def by(figures: Figures, *ways: str, limit: int = 20, width: int | None = None, folder: str | None = None) -> str:
    """A table."""
    return formatting.table(figures.by(*ways), ways, limit, figures.totals(), width, True, folder)


def rows(figures: Figures, *ways: str, sort: str = "time") -> str:
    """The rows as text with tabs."""
    names = tally.columns(ways)
    return records.render(names, ([row[name] for name in names] for row in tally.rows(figures, ways, sort)), "tsv")


def differences(figures: Figures, *ways: str) -> str:
    """The differences between runs as text with tabs."""
    names = spread.columns(ways)
    return records.render(
        names, ([row[name] for name in names] for row in spread.rows(figures.across(*ways), ways)), "tsv"
    )


def texts() -> dict[str, str]:
    """All texts, by title."""
    found = of(*CALLS)
    posix = of(*CALLS[:6])
    failed = [replace(CALLS[6], errors=1), replace(CALLS[7], api="H5Dwrite", elapsed=5)]
    shown = {
        "all of one run": str(found),
        "without Unicode": formatting.overview(found, unicode=False),
        "two runs": formatting.head(of(CALLS[0], runs=[ONE, TWO]), True),
        "two runs, the times of one": formatting.head(of(CALLS[0], runs=[BARE, ONE]), True),
        "without times": formatting.overview(of(did("Read", count=None), runs=[BARE])),
        "only failed calls": formatting.head(of(failed[0]), True),
        "failed calls and others": formatting.head(of(*failed, did("Write", "write", errors=2)), True),
        "failed calls and one without a number": formatting.head(of(failed[0], did("Read", elapsed=None)), True),
        "no calls": formatting.overview(of()),
        "no processes": formatting.head(Figures(Recorded([failed[0]], {RUN: ONE})), False),
        "by file": by(found, "file", folder="/data"),
        "by file, the first three": by(found, "file", limit=3),
        "by file, the first five": by(found, "file", limit=5, folder="/elsewhere"),
        "by process": by(found, "process"),
        "by thread": by(found, "thread"),
        "by layer": by(found, "layer"),
        "by rank, of one": by(of(CALLS[0]), "rank"),
        "latencies": formatting.latencies(LATENCIES, None, True),
        "latencies, narrow": formatting.latencies(LATENCIES, 70, False),
        "sizes": formatting.sizes(found, None, True),
        "sizes, narrow": formatting.sizes(found, 60, False),
        "sizes, too narrow": formatting.sizes(found, 20, True),
        "no sizes": formatting.sizes(of(did("Read", count=1, bytes=1)), None, True),
        "bottlenecks": formatting.bottlenecks(of(*SYNCS), 20, True),
        "bottlenecks, the first": formatting.bottlenecks(of(*SYNCS), 1, False),
        "bottlenecks, one of a rule": formatting.bottlenecks(of(*SYNCS), 20, True, 1),
        "across": formatting.across(SPREADS, ["rank"], 20, None, True, None),
        "across, the first group": formatting.across(SPREADS[2:], ["rank"], 1, None, True, None),
        "across, of one layer": formatting.across(SPREADS[:2], ["rank"], 1, 70, True, None),
    }
    repeated = of(*REPEATED, runs=[Run(f"{RUN[:-1]}{number}") for number in range(6)])
    shown |= {f"rows by {way}": rows(found, way) for way in ("api", "file", "process", "size")}
    shown |= {f"rows by rank and operation, sorted by {sort}": rows(found, "rank", "operation", sort=sort)
              for sort in (*tally.SORTS, "name")}  # fmt: skip
    shown |= {
        "rows of bottlenecks": rows(of(*SYNCS), "bottleneck"),
        "no rows of sizes": rows(of(did("Read", count=1, bytes=1)), "size"),
        "rows of differences": differences(repeated, "rank"),
        "rows of differences of all": differences(repeated),
        "rows of differences of files": differences(of(*CALLS, runs=[ONE, TWO]), "file"),
    }
    shown |= {f"by operation and file, {width} wide": by(found, "operation", "file", width=width)
              for width in (113, 112, 95, 94)}  # fmt: skip
    shown |= {f"of one layer, {width} wide": by(posix, "operation", width=width) for width in (78, 77, 71, 70)}
    shown |= {f"across, {width} wide": formatting.across(SPREADS, ["rank"], 20, width, True, None)
              for width in (101, 100, 79, 78)}  # fmt: skip
    return shown


def document() -> str:
    """All texts, each below its title."""
    return "".join(f"== {title}\n{text}" for title, text in texts().items())


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ((1, 1, 9), []),
        ((100, 100, 100, 110), []),
        ((100, 100, 100, 111), ["3"]),
        ((100, 100, 100, 89), ["3"]),
        ((10_000, 8_651, 11_349, 17_000), []),
        ((10_000, 8_651, 11_349, 17_001, 10_000), ["3"]),
        ((10_000, 8_651, 11_349, 3_000, 10_000), []),
        ((10_000, 8_651, 11_349, 2_999, 10_000, 17_001), ["3", "5"]),
        ((0, 0, 0, 0, 1), ["4"]),
    ],
)
def test_runs_that_stand_out(values: tuple[int, ...], found: list[str]) -> None:
    """Of four or more, those far from the median; where most are equal, those that differ by more than a tenth."""
    assert spread.outliers({str(number): value for number, value in enumerate(values)}) == found


def test_messages_about_unknown_figures() -> None:
    """Each states of how many runs it is true."""
    runs = [replace(ONE, in_progress=True), replace(TWO, detail="file,-duration"), Run(f"{RUN}0", detail="op,-link")]
    found = of(runs=runs)
    found.recorded.gaps.update({RUN: 2, SECOND: 3})
    assert found.unknown() == [
        "in progress of 1 of 3 runs: the figures include only the calls so far",
        "5 gaps of 2 of 3 runs: the figures omit unobserved calls",
        "calls, bytes and times of 1 of 3 runs were not recorded (--detail file)",
        "not recorded of 1 of 3 runs: durations of calls (--no-record duration)",
    ]
    alone = of(runs=[replace(ONE, detail="call,-api")])
    alone.recorded.gaps[RUN] = 1
    assert alone.unknown() == [
        "1 gap: the figures omit unobserved calls",
        "not recorded: names of functions (--no-record api)",
    ]
    assert of(runs=[ONE]).unknown() == []


def test_all_texts() -> None:
    """Numbers with units, unknown values, omitted columns and rows, cut names, totals of each layer."""
    assert document() == EXPECTED.read_text()


if __name__ == "__main__":
    EXPECTED.write_text(document())
