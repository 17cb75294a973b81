"""`provio stats`: prints calls, bytes, times and bottlenecks of runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.base.errors import NothingKnown
from provio.base.times import Between
from provio.cli.option_types import Choice, Count, OutputFile
from provio.cli.options import form_option, runs_options, stoppable, store_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from provio.stats import Figures
    from provio.stats.timeline import Call, Latency
    from provio.store import Store

ALONE = ("size", "bottleneck", "latency")
WAYS = ["operation", "layer", "api", "file", "process", "thread", "task", "rank", "host", "program", "user", "run"]
OF_RUNS = ("phase", "prefix")  # only with --across
LIMIT, OF_A_RULE = 20, 2  # rows of a table, findings of one rule


@click.command("stats", short_help="Summarize I/O: calls, bytes, time, bottlenecks.")
@click.argument("names", metavar="[RUN]...", nargs=-1)
@click.option(
    "--by",
    "ways",
    type=Choice([*WAYS, *ALONE, *OF_RUNS]),
    multiple=True,
    metavar="KEY",
    help=f"Group by this; several: each combination ({', '.join([*WAYS, *ALONE, *OF_RUNS])}).",
)
@click.option("--sort", type=Choice(["time", "calls", "bytes", "errors", "name"]), default="time",
              show_default=True, help="Sort by this.")  # fmt: skip
@click.option("--limit", type=Count(min=0), help="At most this many rows; 0: all [default: 20 in a table].")
@click.option("--all", "every", is_flag=True, help="All runs together, instead of the last.")
@click.option("--across", "across", is_flag=True, help="Compare these runs: mean, spread, outliers (see repro).")
@click.option("-o", "--output", type=OutputFile(), help="Write an HTML page, with a time line.")
@form_option
@runs_options
@store_option
@stoppable
def command(
    names: tuple[str, ...],
    ways: tuple[str, ...],
    sort: str,
    limit: int | None,
    every: bool,
    across: bool,
    output: str | None,
    form: str,
    campaign: str | None,
    name: str | None,
    between: Between | None,
) -> int:
    """Summarize the I/O of each RUN (default: the last run): calls, bytes, time, sizes, bottlenecks.

    A RUN is `last`, an id, the start of an id, or a name. Calls of HDF5 contain calls of the C library, so layers are
    never added up. Time is the time in calls, summed over threads. docs/statistics.md defines each figure.

    \b
    Example: provio stats
             provio stats last --by file --sort bytes
             provio stats --campaign das-2026 --across --by program
             provio stats last -o report.html
             provio stats --campaign das --by rank --by api --as csv > ranks.csv
    """
    from provio.ask import runs
    from provio.settings import home as homes
    from provio.stats import figures
    from provio.store import Confined

    if len(ways) > 1 and not {*ALONE, *OF_RUNS}.isdisjoint(ways):
        raise click.UsageError(f"--by {', '.join((*ALONE, *OF_RUNS))} cannot be combined: give one alone")
    if not across and not {*OF_RUNS}.isdisjoint(ways):
        raise click.UsageError("--by phase and --by prefix compare runs: add --across")
    if output is not None and (ways or across or form != "table"):
        raise click.UsageError("the page of -o shows everything: omit --by, --across and --as")
    if across and not {*ALONE, "run"}.isdisjoint(ways):
        raise click.UsageError("--across compares runs: omit --by run, size, bottleneck and latency")
    store = session.reader(None)
    chosen = _runs(store, names, every, runs.chosen(store, campaign, name, between))
    if across and len(chosen) < 2:
        raise click.UsageError("--across needs several runs: name them, or use --campaign, --name or --all")
    found = figures(Confined(store, chosen), times=output is not None, home=homes.find())
    if output is not None:
        _page(store, found, output)
        return 0
    most = LIMIT if limit is None else limit or sys.maxsize
    if across:
        terminal.out(_across(store, found, ways, most if form == "table" else limit or None, form))
    elif form == "table":
        terminal.out(_text(found, ways, sort, most, "" if ways else _workflow(store, found)))
    else:
        terminal.out(_rows(found, ways or ("operation",), sort, limit or None, form))
    for line in found.unknown() if form != "table" else ():
        terminal.note(line)
    return 0


def _runs(store: Store, names: tuple[str, ...], every: bool, chosen: list[str] | None) -> list[str]:
    """Return the graphs of the runs that are named, or `chosen` by an option."""
    from provio.ask import runs
    from provio.base.vocab import RUN_BASE
    from provio.graph.lines import bundle_iri

    if names and (every or chosen is not None):
        raise click.UsageError("RUN already selects the runs: omit --all, --campaign, --name and --between")
    if names:
        chosen = list(dict.fromkeys(session.run_id(store, one) for one in names))
    elif every and chosen is None:
        chosen = [row["run"] for row in store.rows(runs.LISTING)]
    elif chosen is None:
        last = runs.find(store, "last")
        chosen = [last] if last else []
    if not chosen:
        raise NothingKnown("no run is recorded: record one first (provio run -- COMMAND)")
    return [bundle_iri(RUN_BASE + run) for run in chosen]


def _page(store: Store, found: Figures, output: str) -> None:
    from provio.ask import runs
    from provio.base.text import plural
    from provio.render.page import statistics
    from provio.stats import timeline

    ids = [run.id for run in found.recorded.runs.values()]
    title = runs.title(store, ids[0]) if len(ids) == 1 else plural(len(ids), "run")
    every = list(_calls(found))
    single = timeline.spans(found.recorded, every)
    spans = single or timeline.of_activities(found.recorded)
    terminal.write(output, statistics.render(found, spans, title, timeline.latencies(found.recorded, every)).encode())
    terminal.note(f"{output}: {plural(len(spans), 'span')} of {plural(len(found.recorded.threads), 'thread')}")


def _calls(found: Figures) -> Iterator[Call]:
    """Yield the single calls of the runs that recorded them and whose run folders are in this `.provio`."""
    from provio.settings import home as homes
    from provio.stats import timeline

    home = homes.find()
    for run in found.recorded.runs.values():
        if run.detail.split(",")[0] == "call":
            yield from timeline.of_run(home.runs / run.id)


def _latencies(found: Figures) -> list[Latency]:
    from provio.stats import timeline

    latencies = timeline.latencies(found.recorded, _calls(found))
    if not latencies:
        raise NothingKnown(
            "single calls of these runs are not recorded here: record them with provio run --detail call"
        )
    return latencies


def _rows(found: Figures, ways: tuple[str, ...], sort: str, limit: int | None, form: str) -> str:
    from provio.render import records
    from provio.stats import tally

    names = tally.columns(ways)
    if ways == ("latency",):
        rows = [{name: getattr(one, name) for name in names} for one in _latencies(found)]
    else:
        rows = tally.rows(found, ways, sort)
    return records.render(names, ([row[name] for name in names] for row in rows[:limit]), form)


def _across(store: Store, found: Figures, ways: tuple[str, ...], limit: int | None, form: str) -> str:
    """Return the differences between runs, as the performance part of `provio repro`."""
    from provio.render import records
    from provio.settings import home as homes
    from provio.stats import formatting, spread
    from provio.stats.phases import Workload

    of_times = ways and ways[0] in OF_RUNS
    spreads = Workload(store, homes.find(), found).spreads(ways[0]) if of_times else found.across(*ways)
    if form != "table":
        return records.render(
            spread.columns(ways), ([*row.values()] for row in spread.rows(spreads[:limit], ways)), form
        )
    width, unicode = terminal.width(), terminal.unicode()
    table = formatting.across(spreads, ways, limit or sys.maxsize, width, unicode, terminal.folder())
    return "\n".join((formatting.head(found, unicode), table)) + "".join(f"! {line}\n" for line in found.unknown())


def _workflow(store: Store, found: Figures) -> str:
    """Return the characteristics of workflows of tasks; empty without any."""
    from provio.ask import workflow
    from provio.settings import home as homes

    known = workflow.of_runs(store, homes.find(), [run.id for run in found.recorded.runs.values()])
    return f"workflow: {known}\n" if known else ""


def _text(found: Figures, ways: tuple[str, ...], sort: str, limit: int, workflow: str) -> str:
    from provio.stats import formatting
    from provio.stats.tally import sorted_groups

    width, unicode = terminal.width(), terminal.unicode()
    parts = [] if ways else [formatting.head(found, unicode) + workflow]
    if (ways or found.totals()) and not {*ALONE}.intersection(ways):
        chosen = ways or ("operation",)
        parts.append(
            formatting.table(
                sorted_groups(found.by(*chosen), sort), chosen, limit, found.totals(), width, unicode, terminal.folder()
            )
        )
    if ways in ((), ("size",)):
        parts.append(formatting.sizes(found, width, unicode))
    if ways in ((), ("bottleneck",)):
        parts.append(formatting.bottlenecks(found, limit, unicode, None if ways else OF_A_RULE))
    if ways == ("latency",):
        parts.append(formatting.latencies(_latencies(found), width, unicode))
    parts.append("".join(f"! {line}\n" for line in found.unknown()))
    return "\n".join(part for part in parts if part)
