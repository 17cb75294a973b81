"""Runs: the store in; the list of runs, or a run found by name out."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import cast

import click

from provio.ask.document import command_line
from provio.ask.incomplete import Rows
from provio.base.errors import NothingKnown
from provio.base.text import cut_path, moment, plural, seconds
from provio.base.times import Between
from provio.store import Reader

LISTING = """SELECT ?run ?start ?end ?exit ?signal ?name ?campaign ?argv WHERE {
    ?bundle provio:ofRun ?iri . OPTIONAL { ?iri provio:commandLine ?argv }
    OPTIONAL { ?iri prov:startedAtTime ?start } OPTIONAL { ?iri prov:endedAtTime ?end }
    OPTIONAL { ?iri provio:exitCode ?exit } OPTIONAL { ?iri provio:signal ?signal }
    OPTIONAL { ?iri provio:name ?name } OPTIONAL { ?iri provio:campaign ?campaign }
    BIND(STRAFTER(STR(?iri), "/run/") AS ?run) } ORDER BY ?run"""


def chosen(
    reader: Reader, campaign: str | None, name: str | None, between: Between | None = None, run: str | None = None
) -> list[str] | None:
    """Return the ids of the runs of a campaign, of a name, that started between two times, or of all of these; None
    for all runs if nothing is given. Seconds in `between` count from the start of `run`.

    Raises NothingKnown if there is no such run.
    """
    wanted = {key: value for key, value in (("campaign", campaign), ("name", name)) if value is not None}
    if not wanted and not between:
        return None
    every = list(reader.rows(LISTING))
    period = _period(every, between, run) if between else None
    found = [row for row in every if all(row.get(key) == value for key, value in wanted.items())]
    if not found:
        words = " and ".join(f"{key} {value!r}" for key, value in wanted.items())
        raise NothingKnown(f"no run has the {words} (provio runs lists them)")
    if period:
        found = [row for row in found if _started(row, *period)]
    if not found and period:
        first, last = (moment(time.isoformat()) for time in period)
        raise NothingKnown(f"no such run started between {first} and {last}")
    return [row["run"] for row in found]


def _period(rows: Iterable[dict[str, str]], between: Between, run: str | None) -> tuple[datetime, datetime]:
    """Return two times, of which some may be seconds from the start of a run."""
    if not any(isinstance(end, timedelta) for end in between):
        return cast("tuple[datetime, datetime]", between)
    if run is None:
        raise click.UsageError(
            "seconds in --between count from the start of a run: name it with --run, for a FILE, or give times"
        )
    start = next((row["start"] for row in rows if row["run"] == run and "start" in row), None)
    if start is None:
        raise NothingKnown(f"the start of run {run} is not recorded: give times to --between")
    began = datetime.fromisoformat(start)
    try:
        first, last = (began + end if isinstance(end, timedelta) else end for end in between)
    except OverflowError as error:
        raise click.UsageError("--between: so many seconds from the start of the run are no time") from error
    return first, last


def _started(row: dict[str, str], first: datetime, last: datetime) -> bool:
    return "start" in row and first <= datetime.fromisoformat(row["start"]) <= last


def listing(
    reader: Reader,
    only: Collection[str] | None = None,
    extent: Callable[[str], tuple[int, int] | None] = lambda _: None,
) -> list[dict[str, str | int | float | None]]:
    """Return the list of runs (`only` these ids), oldest first, each by the columns of the table `runs`.

    `end` is an exit code or a signal; `extent` returns the bytes and the number of files of a run, or None if its
    data was removed.
    """
    found = []
    for row in reader.rows(LISTING):
        if only is not None and row["run"] not in only:
            continue
        taken = extent(row["run"]) or (None, None)
        cells: dict[str, str | int | float | None] = {
            "run": row["run"],
            "start": row.get("start"),
            "seconds": seconds(row["start"], row["end"]) if "start" in row and "end" in row else None,
            "end": end(row, reader),
            "name": row.get("name"),
            "campaign": row.get("campaign"),
            "size": taken[0],
            "files": taken[1],
            "command": command_line({"iri": "", "type": "Run", "label": "", "argv": row.get("argv", "")}),
        }
        found.append(cells)
    return found


def shortest(reader: Reader) -> int:
    """Return the number of characters of a run's id that distinguish all runs: a table shows so many."""
    ids = [row["run"] for row in reader.rows(LISTING)]
    return next((n for n in (13, 18, 23) if len({run[:n] for run in ids}) == len(ids)), 36)


def end(row: dict[str, str], reader: Reader) -> str:
    """Return how a run ended, for a row of the list (`exit 0`, `signal 9`, `ended`, `not seen`), or `in progress`."""
    if row["run"] in reader.in_progress:
        return "in progress"
    if "signal" in row:
        return f"signal {row['signal']}"
    return f"exit {row['exit']}" if "exit" in row else "ended" if "end" in row else "not seen"


def title(reader: Reader, run: str) -> str:
    """Return the title of a run: its name, if it has one, its command and its start time."""
    row = next(row for row in reader.rows(LISTING) if row["run"] == run)
    command = command_line({"iri": "", "type": "Run", "label": "", "argv": row.get("argv", "")})
    words = f"{cut_path(command, 80)} – {moment(row['start'])}" if "start" in row else command or run
    return f"{row['name']}: {words}" if "name" in row else words


LAST = re.compile(r"last(?:~(\d{1,6}))?")


def counted_back(name: str, ids: Sequence[str]) -> str | None:
    """Return the run that `last`, or `last~N` (the run N before it), means among ids, oldest first; None if there are
    none.

    Raises NothingKnown if there are fewer runs.
    """
    found = LAST.fullmatch(name)
    back = int((found and found[1]) or 0)
    if back and back >= len(ids):
        raise NothingKnown(f"there is no {name}: {plural(len(ids), 'run')} recorded (provio runs lists them)")
    return ids[-1 - back] if ids else None


def find(reader: Rows, name: str, start: bool = True) -> str | None:
    """Return the id of the run that `name` refers to: `last`, `last~1`, an id, a prefix of one (unless not `start`),
    or the name of a run (the newest)."""
    rows = list(reader.rows(LISTING))
    if not name:
        return None
    if LAST.fullmatch(name):
        return counted_back(name, [row["run"] for row in rows])
    named = [row["run"] for row in rows if row.get("name") == name or row["run"] == name]
    starting = [row["run"] for row in rows if start and row["run"].startswith(name)]
    if not named and len(starting) > 1:
        raise NothingKnown(f"several runs start with {name!r}: give more of the id ({', '.join(starting[:2])} …)")
    return (named or starting)[-1] if named or starting else None
