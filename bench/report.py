"""Results as a page of Markdown: docs/cost.md, between its two marks."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import cost_page
from case import LEVELS, Unit
from machine_load import HEAD
from measure import Result, Spread
from measurement import Figure
from variants import PASS

BEGIN, END = "<!-- written by `make bench` from here", "to here -->"

INTRODUCTION = """# The cost of recording

Each benchmark runs bare, under a preload library that only passes every call on (`bench/passthrough.c`: the cost of
any preload library), and under provio at each level of detail: `file` (the files of each process), `op` (the default:
counters for each file that a thread uses), `call` (in addition every single call). The variants take turns. A figure
is the median, over the rounds, of the difference from the bare run of the same round, or of the ratio to it. The range
from the lower to the upper quartile follows it. Programs time themselves, the fastest of ten batches. The Python of
`provio run` itself starts once for each run and has a line of its own.

![the cost of each level, and its bound](cost.svg)

The cost of queries is measured in synthetic stores (`bench/synthetic_store.py`: the code of the merge makes them,
without the I/O activities), in processor time; compared variants take turns.

`make bench` repeats all measurements and writes this page. `make bench CASES=b1,tar ROUNDS=9` runs a part and only
prints; with `WRITE=1` it replaces the rows of that part here, and the others stay. Each row has the date of its
measurement, and the number of cores that other processes kept busy: if these are many, wall time means little. A bound
is a limit that provio must keep: "missed" (a bug) if the median does not keep it, "held" if the upper quartile keeps
it too, "not shown" if only the median does.
"""


def machine() -> str:
    """Return where and when this was measured, in a line."""
    cpu = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.machine(),
    )
    cores = sum(line.startswith("processor") for line in Path("/proc/cpuinfo").read_text().splitlines())
    compiler = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    libc = " ".join(platform.libc_ver())
    return f"{day} · {cpu}, {cores} cores · Linux {platform.release()} · {libc} · {compiler}"


def number(value: float, unit: Unit, signed: bool = True) -> str:
    """Return a figure as short as it may be."""
    if unit is Unit.RATIO:
        return f"{value:.3f}"
    digits = 1 if unit is Unit.NS else 2
    return f"{value:{'+' if signed else ''}.{digits}f}"


def _figure(spread: Spread, unit: Unit) -> str:
    low, high = number(spread.low, unit), number(spread.high, unit)
    return f"{number(spread.median, unit)} ({low} to {high})"


def _judged(result: Result, level: str) -> str:
    figure = _figure(result.cost(level), result.case.unit)
    verdict = result.verdict(level)
    if not verdict:
        return figure
    bound = number(result.case.bounds[level], result.case.unit)
    return f"{figure}; bound {bound}: {verdict}"


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join([_row(head), "|" + "---|" * len(head), *map(_row, rows)]) + "\n"


def _added(results: Sequence[Result], measured: Mapping[str, str]) -> str:
    rows = [
        (
            result.case.title,
            f"{number(result.bare(), result.case.unit, signed=False)} {result.case.unit.sign}",
            number(result.cost(PASS).median, result.case.unit),
            *(_judged(result, level) for level in LEVELS),
            measured[result.case.key],
        )
        for result in results
    ]
    head = ("cost of one call", "bare", "passes through", *(f"`{level}`" for level in LEVELS), HEAD)
    return _table(head, rows)


def _ratios(results: Sequence[Result], measured: Mapping[str, str]) -> str:
    rows = []
    for result in results:
        rows.append(
            (
                result.case.title,
                f"{result.bare():.2f} s",
                number(result.cost(PASS).median, Unit.RATIO),
                *(_judged(result, level) for level in LEVELS),
                measured[result.case.key],
            )
        )
        processor = (number(result.cost(variant, "processor").median, Unit.RATIO) for variant in (PASS, *LEVELS))
        rows.append(("its processor time, system included", "", *processor, ""))
    head = ("wall time, times the bare command's", "bare", "passes through", *(f"`{x}`" for x in LEVELS), HEAD)
    return _table(head, rows)


def _notes(notes: Mapping[str, Mapping[str, str]]) -> str:
    return _table(
        ("content of the trace", *(f"`{level}`" for level in LEVELS)),
        [(title, *(held.get(level, "") for level in LEVELS)) for title, held in notes.items()],
    )


def text(
    results: Sequence[Result],
    figures: Sequence[tuple[Figure, str]],
    killed: Mapping[str, str],
    lines: Sequence[str],
    counts: str,
    measured: Mapping[str, str],
) -> str:
    """Return all measurements as Markdown; `measured` has the conditions of each case, `figures` those of each
    figure."""
    added = [result for result in results if result.case.unit is not Unit.RATIO]
    ratios = [result for result in results if result.case.unit is Unit.RATIO]
    notes = {result.case.title: result.notes for result in results if result.notes}
    if killed:
        notes["after SIGKILL"] = killed
    parts = [machine() + "\n"]
    parts += [_added(added, measured)] if added else []
    parts += [_ratios(ratios, measured)] if ratios else []
    parts += [_notes(notes)] if notes else []
    rows = [(*one.cells(), when) for one, when in figures]
    parts += [_table(("cost of queries", "measured", "bound", "", HEAD), rows)] if rows else []
    parts += ["\n".join(lines) + "\n"] if lines else []
    parts += [counts] if counts else []
    return "\n".join(parts)


def write(path: Path, content: str, *, part: bool = False, begin: str = BEGIN) -> str:
    """Replace the text between the marks of a page, or a `part` of it; create the page if it is missing. Return the new
    text."""
    page = path.read_text(encoding="utf-8") if path.exists() else f"{INTRODUCTION}\n{BEGIN} {END}\n"
    before, rest = page.split(begin, 1)
    old, after = rest.split(END, 1)
    if part:
        content = cost_page.together(old.strip().removeprefix("-->").removesuffix("<!--"), content)
    content = cost_page.with_share(content) if begin == BEGIN else content
    path.write_text(f"{before}{begin} -->\n\n{content}\n<!-- {END}{after}", encoding="utf-8")
    return content
