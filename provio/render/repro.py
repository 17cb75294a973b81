"""The reproducibility of runs (`provio.compare.repro`) as text, JSON, or the rows of one part."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from provio.base.table import align, filled
from provio.base.text import binary, cut_end, moment, plural, printable
from provio.compare.repro import PARTS, Reproducibility
from provio.compare.verdicts import DEVIATES, DIFFERS, IDENTICAL, UNKNOWN, WITHIN
from provio.render import records
from provio.render.json import dumped
from provio.stats import formatting, spread
from provio.system import installation

WORST_FIRST = (DIFFERS, DEVIATES, UNKNOWN, WITHIN, IDENTICAL)
MOST = 20  # rows of a table
LONGEST = 60  # columns of a command line
RUN_SHOWN = 13  # characters of a run's id
RESULTS = ("name", "runs", "contents", "verdict", "reason", "bound", "values", "mean", "largest", "p", "ks", "ks_p")
SCHEDULE = ("run", "aligned", "alone", "tau", "moved", "steals", "transfers", "bytes", "recomputed")
TABLES = {part: "repro" if part == "results" else f"repro --only {part}" for part in PARTS}


def as_text(found: Reproducibility, part: str = "", *, width: int | None, unicode: bool) -> str:
    """Return all parts for people, or one of `PARTS` with all groups of the performance."""
    made: dict[str, Callable[[], str]] = {
        "results": lambda: _results(found, width, unicode),
        "performance": lambda: _performance(found, bool(part), width, unicode),
        "schedule": lambda: _schedule(found, width, unicode),
        "io": lambda: _io(found, width, unicode),
    }
    texts = (
        [made[part]()] if part else [head(found, unicode), *(one() for one in made.values()), _notes(found, unicode)]
    )
    return "\n".join(text for text in texts if text)


def as_rows(found: Reproducibility, part: str, form: str) -> str:
    """Return the rows of one of `PARTS` as JSON, CSV or TSV."""
    return records.render(TABLES[part], cells(found, part, form == "json"), form)


def as_json(found: Reproducibility) -> str:
    """Return everything as one object."""
    return dumped(document(found))


def document(found: Reproducibility) -> dict[str, Any]:
    """Return everything as one object for JSON."""
    parts = {
        part: [dict(zip(records.TABLES[TABLES[part]].names, row, strict=True)) for row in cells(found, part, True)]
        for part in PARTS
    }
    return {
        "date": found.made.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "versions": versions(),
        "runs": [{"run": run, "start": start} for run, start in zip(found.runs, found.starts, strict=True)],
        "command": found.command,
        "reproducible": found.is_reproducible,
        "verdicts": found.counts,
        "results": parts["results"],
        "performance": parts["performance"],
        "outliers": found.outliers,
        "schedule": parts["schedule"],
        "io": parts["io"],
        "notes": found.notes,
    }


def versions() -> dict[str, str]:
    """Return the versions of the programs that computed the figures."""
    ours = installation.distribution()
    known = {"provio": ours.version if ours else "", "python": platform.python_version()}
    return known | {name: metadata.version(name) for name in ("numpy", "scipy") if find_spec(name)}


def cells(found: Reproducibility, part: str, objects: bool = True) -> Iterator[list[Any]]:
    """Yield the rows of one of `PARTS`; `objects`: a value may be a dictionary."""
    if part == "results":
        yield from ([getattr(one, name) for name in RESULTS] for one in found.results)
    elif part == "schedule":
        for one in found.schedule:
            row = [getattr(one, name) for name in SCHEDULE]
            row[3] = None if one.tau is None else round(one.tau, 6)
            yield row
    elif part == "io":
        for two in found.io:
            values = dict(two.values) if objects else ", ".join(f"{run} {value}" for run, value in two.values.items())
            yield [two.activity, two.measure, two.least, two.most, values, two.iri]
    else:
        for way, groups in found.performance.items():
            for row_ in spread.rows(groups, (way,)):
                yield [way, row_[way], *list(row_.values())[len(spread.names((way,))) :]]


def head(found: Reproducibility, unicode: bool) -> str:
    """Return the runs, their times and their command, and the number of results by verdict."""
    known = sorted(filter(None, found.starts))
    times = f", {moment(known[0])} to {moment(known[-1])}" if known else ""
    counts = ", ".join(f"{count:,} {verdict}" for verdict, count in found.counts.items()) or "none"
    lines = [
        f"{plural(len(found.runs), 'run')}{times}",
        f"command: {cut_end(found.command, 200)}",
        f"results: {counts}",
    ]
    return "".join(printable(line, unicode) + "\n" for line in lines)


def result_cells(found: Reproducibility) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of the results, in the order of their verdicts."""
    rows = [
        [one.verdict, one.name, f"{one.runs:,}", f"{one.contents:,}" if one.contents else "", one.reason]
        for one in sorted(found.results, key=lambda one: (WORST_FIRST.index(one.verdict), one.name))
    ]
    return ["verdict", "result", "runs", "contents", "reason"], rows


def _results(found: Reproducibility, width: int | None, unicode: bool) -> str:
    return _table(*filled(*result_cells(found), {"verdict"}), width, unicode, {"runs", "contents"})


def _performance(found: Reproducibility, every: bool, width: int | None, unicode: bool) -> str:
    ways = found.performance if every else ("phase", "prefix")
    texts = [
        formatting.across(found.performance[way], (way,), MOST, width, unicode, None)
        for way in ways
        if found.performance[way]
    ]
    apart = "".join(f"outlier: run {run[:RUN_SHOWN]}: {', '.join(names)}\n" for run, names in outliers(found, every))
    return "\n".join(filter(None, (*texts, printable_lines(apart, unicode))))


def outliers(found: Reproducibility, every: bool = False) -> Iterator[tuple[str, list[str]]]:
    """Yield the runs that are outliers, with the first places in which they are."""
    for run, names in found.outliers.items():
        some = names if every else names[:3]
        yield run, [*some, *([f"{len(names) - len(some)} more"] if len(some) < len(names) else [])]


def printable_lines(text: str, unicode: bool) -> str:
    """Return lines without characters that a terminal would interpret."""
    return "".join(printable(line, unicode) + "\n" for line in text.splitlines())


def schedule_cells(found: Reproducibility) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of the schedule, without columns that are zero in all runs."""
    rows = [
        [
            one.run[:RUN_SHOWN], f"{one.aligned:,}", f"{one.alone:,}" if one.alone else "",
            "" if one.tau is None else f"{one.tau:.3f}",
            *(f"{n:,}" if n else "" for n in (one.moved, one.steals, one.transfers)),
            binary(one.bytes) if one.bytes else "", f"{one.recomputed:,}" if one.recomputed else "",
        ]
        for one in found.schedule
    ]  # fmt: skip
    header = ["run", "aligned", "alone", "tau", "moved", "steals", "transfers", "bytes", "recomputed"]
    return filled(header, rows, {"run", "aligned"})


def _schedule(found: Reproducibility, width: int | None, unicode: bool) -> str:
    header, rows = schedule_cells(found)
    return _table(header, rows, width, unicode, {*header} - {"run"})


def io_cells(found: Reproducibility) -> list[list[str]]:
    """Return the rows of activity, measure, least and most."""
    return [[one.activity, one.measure.replace("_", " "), *(_amount(one.measure, n) for n in (one.least, one.most))]
            for one in found.io]  # fmt: skip


def _amount(measure: str, value: int) -> str:
    return binary(value) if measure.startswith("bytes") else f"{value:,}"


def _io(found: Reproducibility, width: int | None, unicode: bool) -> str:
    rows = [[cut_end(name, LONGEST, unicode), *more] for name, *more in io_cells(found)]
    return (
        _table(["I/O of activity", "measure", "least", "most"], rows, width, unicode, {"least", "most"}) if rows else ""
    )


def _table(
    header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None, unicode: bool, right: set[str]
) -> str:
    if not rows:
        return ""
    text = align(header, rows[:MOST], width=width, unicode=unicode, right=right)
    return text + (f"and {plural(len(rows) - MOST, 'other')}: --as json lists them\n" if len(rows) > MOST else "")


def _notes(found: Reproducibility, unicode: bool) -> str:
    return "".join(printable(f"! {line}", unicode) + "\n" for line in found.notes)
