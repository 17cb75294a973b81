"""Follows the events of runs for a verb with `--follow`: its options in, events out.

Named runs are followed from their starts until all have ended; without names, all runs from now on. A verb that follows
runs in no child process, so that Ctrl-C closes the files of the events, and prints at once.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import stat
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from provio.base import terminal
from provio.base.errors import NothingKnown, ProvioError

if TYPE_CHECKING:
    from pathlib import Path

    from provio.base.times import Between
    from provio.settings.home import Home

Event = dict[str, Any]
Cell = Any
PATIENCE = 60  # seconds for which another process is awaited that keeps the events of a run


def refuse(**options: object) -> None:
    """Raise UsageError for an option that does not work with `--follow`, if it is given."""
    for name, value in options.items():
        if value:
            raise click.UsageError(f"--{name} needs all rows, and --follow prints them as they come: leave one out")


def events(
    names: Sequence[str], campaign: str | None, name: str | None, between: Between | None = None
) -> Iterator[Event | None]:
    """Yield the events of the runs that a verb's options select, in order; None when there are no more for now.

    Raises UsageError for `between`, which selects among recorded runs, NothingKnown for a run that is not recorded.
    """
    from provio.ask import session
    from provio.cli.options import chosen_runs

    if between:
        raise click.UsageError("--between selects among recorded runs, and --follow new ones: name RUNs instead")
    home, _ = session.project(None)
    runs = None
    if names:
        runs = chosen_runs(session.reader(None, notices=False, as_of=False), names, campaign, name, None)
    selects = _Selection(home, campaign, name)
    return (one for one in of_runs(runs) if one is None or runs is not None or selects(one["run"]))


def of_runs(runs: Sequence[str] | None, after: int | None = None, follow: bool = True) -> Generator[Event | None]:
    """Yield the events of these runs (None: of all) after a number; None when there are no more for now. End when all
    given runs have ended, or, unless `follow`, then. Raises BrokenPipeError when the reader has closed the pipe."""
    from provio.ask import session
    from provio.base.turtle import instant_text
    from provio.follow.stream import PAUSE, Stream

    home, settings = session.project(None)
    begun, latest = instant_text(time.time_ns()), time.time_ns() + PATIENCE * 1_000_000_000
    stream = Stream(home, settings, _with_files(home, runs), after)
    if runs is None and after:  # runs of which no events are kept yet have theirs after those that are
        kept = set(stream.journal.runs())
        stream.journal.watch(folder.name for folder in home.run_folders() if folder.name not in kept)
    if stream.journal.own:  # a temporary folder, which is removed at the end
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler)
    try:
        while True:
            is_more = False  # events from before this call: a look does not find all of a long run
            for event in stream.new():
                is_more |= event["time"] < begun
                yield event
            yield None
            if stream.runs is not None and not stream.open:
                return
            if not (follow or is_more):
                if not stream.is_behind():
                    return
                if time.time_ns() > latest:
                    terminal.warn(
                        f"another process keeps the events of runs, and has not kept the last ones for {PATIENCE} s: "
                        "they are left out"
                    )
                    return
            _pause(0 if is_more else PAUSE)
    finally:
        stream.close()


def here(runs: Iterable[str]) -> list[str]:
    """Return those of some runs that this record has; events of other records are not followed."""
    from provio.ask import session
    from provio.trace import run_source

    home, _ = session.project(None)
    return sorted(run for run in runs if run_source.exists(home.runs / run))


def first_of(runs: Sequence[str] | None) -> Iterator[int]:
    """Yield the number of the first kept event of each run (None: of all). Raises ProvioError if none are kept."""
    from provio.ask import session
    from provio.follow.journal import Journal

    journal = Journal(*session.project(None))
    if journal.own:
        raise ProvioError(
            f"{journal.home.path} keeps no order of events (it is shared, or not writable), so a stream could get them "
            "twice: export a record of your own, or without --to"
        )
    try:
        yield from journal.first(journal.runs() if runs is None else runs)
    finally:
        journal.close()


@contextlib.contextmanager
def sink(output: str | None) -> Iterator[Callable[[str], None]]:
    """Yield the function that writes text at once: to a file, or to stdout."""
    if output is None:
        yield terminal.out
        return
    terminal.write(output, b"")
    with open(output, "a", encoding="utf-8") as file:

        def write(text: str) -> None:
            file.write(text)
            file.flush()

        yield write


def _with_files(home: Home, runs: Sequence[str] | None) -> Sequence[str] | None:
    """Return runs of which each has files, or kept events; raises NothingKnown for another one."""
    from provio.trace import run_source

    for run in runs or ():
        if not run_source.exists(home.runs / run):
            raise NothingKnown(f"run {run} has no files in {home.runs} any more: events come from them; name another")
    return runs


class _Selection:
    """Whether a run has this campaign and name, as far as they are given."""

    def __init__(self, home: Home, campaign: str | None, name: str | None) -> None:
        self.runs: Path = home.runs
        self.wanted = {key: value for key, value in (("campaign", campaign), ("name", name)) if value is not None}
        self.known: dict[str, bool] = {}

    def __call__(self, run: str) -> bool:
        if not self.wanted:
            return True
        if run not in self.known:
            from provio.trace.read import read_head

            head = read_head(self.runs / run)
            self.known[run] = all(head.get(key) == value for key, value in self.wanted.items())
        return self.known[run]


def _pause(seconds: float) -> None:
    """Wait. Raises BrokenPipeError if the reader of stdout has closed it: the next event may come much later."""
    if not sys.stdout.isatty() and stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode):
        pipe = select.poll()
        pipe.register(sys.stdout.fileno(), 0)
        if pipe.poll(seconds * 1000):
            raise BrokenPipeError
    else:
        time.sleep(seconds)


def show_rows(table: str, rows: Iterable[Sequence[Cell] | None], form: str, layout: Layout) -> None:
    """Print each row of a table of `records.TABLES` as it comes: as text in the columns of `layout`, or in one of the
    forms of `records.lines`. None is no row."""
    if form == "table":
        terminal.out(layout.header())
    else:
        from provio.render import records

        terminal.out(records.header(table, form))
    for row in rows:
        if row is not None:
            terminal.out(layout.line(row) if form == "table" else records.line(table, row, form))


class Layout:
    """Columns of fixed widths for rows that come one by one: for each the place of its cell, its title, its width
    (negative: aligned to the right) and the text of a cell. The last column is cut at the width of the terminal."""

    def __init__(self, *columns: tuple[int, str, int, Callable[[Any], str]]) -> None:
        self.columns = columns

    def header(self) -> str:
        """Return the line of titles."""
        return self._joined([title for _, title, _, _ in self.columns])

    def line(self, row: Sequence[Cell]) -> str:
        """Return the line of a row."""
        return self._joined(["" if row[place] is None else text(row[place]) for place, _, _, text in self.columns])

    def _joined(self, cells: Sequence[str]) -> str:
        from provio.base.text import columns, cut_end, printable

        unicode, line = terminal.unicode(), ""
        for cell, (_, _, width, _) in zip(cells, self.columns, strict=True):
            shown = printable(cell, unicode)
            space = " " * (abs(width) - columns(shown))
            line += (space + shown if width < 0 else shown + space) + "  "
        line, room = line.rstrip(), terminal.width()
        return (line if room is None else cut_end(line, room, unicode)) + "\n"


def has_screen() -> bool:
    """Return whether lines of stdout can be written again in place."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class Screen:
    """Lines of a terminal that are written again in place. The terminal keeps its modes, so that it needs no repair
    after a kill."""

    def __init__(self) -> None:
        self.rows = 0

    def show(self, lines: Sequence[str]) -> None:
        """Replace the lines by others."""
        up = f"\x1b[{self.rows}A" if self.rows else ""
        sys.stdout.write(f"\r{up}" + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
        sys.stdout.flush()
        self.rows = len(lines)
