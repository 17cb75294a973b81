"""`provio metrics`: lists the last value of each metric of runs, or configurations by the best value of one."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

from provio.ask import session
from provio.base import terminal
from provio.base.errors import NothingKnown
from provio.cli.option_types import Choice, Count
from provio.cli.options import (
    Verb,
    chosen_runs,
    follow_option,
    form_option,
    run_names,
    runs_options,
    stoppable,
    store_option,
)

if TYPE_CHECKING:
    from provio.ask.experiments import Best
    from provio.ask.run_metrics import Last

MOST = 100  # runs on a terminal
LIMIT = 20  # rows of configurations
TIME = 2  # its column
SHOWN = 13  # characters of a run's id
SORTS: dict[str, Callable[[Last], Any]] = {
    "metric": lambda one: one.name, "step": lambda one: (one.step is not None, one.step or 0),
    "time": lambda one: one.order, "count": lambda one: one.count,
}  # fmt: skip


def best_options(verb: Verb) -> Verb:
    """Add `--max` and `--min`; the verb receives `low`, which is None without them."""
    text = "The best value is the lowest [default of losses, errors, times …]."
    lowest = click.option("--min", "low", flag_value=True, type=bool, help=text)
    highest = click.option(
        "--max", "low", flag_value=False, type=bool, default=None, help="The best value is the highest."
    )
    return highest(lowest(verb))


@click.command("metrics", short_help="List the last values of metrics, or the best of one.")
@click.option("--best", metavar="METRIC", help="List configurations by the best value of this metric.")
@best_options
@follow_option
@click.option("--sort", type=Choice([*SORTS, "value"]), help="Sort by this column, the largest value last.")
@click.option("--limit", type=Count(min=0), help="At most this many rows; 0: all [default: 20 with --best; 100 runs].")
@form_option
@run_names
@runs_options
@store_option
@stoppable
def command(
    names: tuple[str, ...],
    best: str | None,
    low: bool | None,
    follow: bool,
    sort: str | None,
    limit: int | None,
    form: str,
    **chosen: Any,
) -> int:
    """List the last value of each metric of RUNs, or of all runs. The table has a row for each run; of a single run,
    and with --sort, a row for each metric, with its step, time and number of values, like the other forms.

    With --best, list configurations by the best value of a metric with each, the best first. The highest value is the
    best, unless a word of the name is one of a loss, an error or a cost: loss, error, rmse, chi2, misfit, residual,
    nll, aic, cost, time, perplexity … A line states which.

    --follow prints the last values, then each new one, until no chosen run is in progress (docs/live.md).

    \b
    Example: provio metrics last
             provio metrics --best accuracy --campaign topreco
             provio metrics last --follow
    """
    if best is None and low is not None:
        raise click.UsageError("--max and --min choose the best value: name a metric with --best")
    if best is not None and (follow or sort):
        raise click.UsageError("--best has an order of its own, and does not follow: leave out --follow and --sort")
    if follow and form != "table":
        raise click.UsageError("--follow prints lines for people: leave out --as")
    if best is not None:
        return best_values(best, low, limit, form, names, **chosen)
    store = session.reader(None)
    ids = chosen_runs(store, names, **chosen)
    if follow:
        return _follow(store, ids)
    from provio.ask import run_metrics, runs

    found = run_metrics.of_runs(store, ids)
    if sort:
        found = sorted(found, key=SORTS.get(sort, _by_value))
    every = list(dict.fromkeys(one.run for one in found))
    by_run = form == "table" and len(every) > 1 and not sort
    many = len(every) if by_run else len(found)
    most = limit or (MOST if by_run and limit is None and terminal.width() else many)
    if by_run:
        kept = set(every[-most:])
        _table_by_run([one for one in found if one.run in kept], runs.shortest(store), store)
    else:
        _table_of_one(found[-most:], form, runs.shortest(store))
    if many > most:
        terminal.note(f"{many - most} {'runs' if by_run else 'rows'} not shown: --limit 0 shows all")
    if left_out := run_metrics.left_out(store, ids, found):
        terminal.note(left_out)
    return 0


def _by_value(one: Last) -> tuple[bool, float, str]:
    from provio.ask.comparison import rank

    return *rank(one.value), str(one.value)


def _table_by_run(found: list[Last], enough: int, store: Any) -> None:
    from provio.ask import runs
    from provio.ask.comparison import text
    from provio.base.text import moment
    from provio.render import by_run

    values: dict[str, dict[str, str]] = {}
    for one in found:
        rounded = f"{one.value:.6g}" if isinstance(one.value, float) and isfinite(one.value) else text(one.value)
        values.setdefault(one.run, {})[one.name] = rounded
    known = {row["run"]: row for row in store.rows(runs.LISTING) if row["run"] in values}
    starts = [known.get(run, {}).get("start") for run in values]
    facts = {
        "run": [run[:enough] for run in values],
        "start": [moment(start)[:16] if start else "" for start in starts],
        "name": [known.get(run, {}).get("name", "") for run in values],
    }
    keys = sorted({one.name for one in found})
    shown = terminal.width(), terminal.unicode()
    answer, left_out = by_run.render("metric", facts, keys, list(values.values()), *shown)
    terminal.out(answer)
    if left_out:
        terminal.note(f"{left_out:,} more metrics are left out: --as csv or --as json has all")


def _table_of_one(found: list[Last], form: str, enough: int) -> None:
    from provio.ask.comparison import plain, text
    from provio.base import table
    from provio.base.text import moment
    from provio.render import records

    if form != "table":
        rows = ([one.run, one.name, plain(one.value), one.step, one.at, one.count] for one in found)
        terminal.out(records.render("metrics", rows, form))
        return
    several = len({one.run for one in found}) > 1
    lines = [
        [one.run[:enough] if several else "", one.name, text(one.value), text(one.step), moment(one.at), str(one.count)]
        for one in found
    ]
    header, cells = table.filled(["run", "metric", "value", "step", "time", "values"], lines, {"metric", "value"})
    right = frozenset({"value", "step", "values"})
    terminal.out(table.align(header, cells, width=terminal.width(), unicode=terminal.unicode(), right=right))


def _follow(store: Any, ids: list[str] | None) -> int:
    """Print the last values of the chosen runs, then each new one until none of them is in progress; the order is that
    of time."""
    from datetime import datetime

    from provio.ask import run_metrics, unknown_values
    from provio.cli import following
    from provio.trace.run_facts import METRICS

    in_progress = following.here(store.in_progress if ids is None else store.in_progress.intersection(ids))
    found: list[Last] = []
    try:
        found = run_metrics.of_runs(store, ids)
    except NothingKnown:
        if not in_progress:
            raise
    for one in sorted(found, key=lambda one: one.order):
        _print_value(one.at, one.run, one.name, one.value, one.step)
    printed = {(one.run, one.name): (datetime.fromisoformat(one.at), *one.order[1:]) for one in found}
    runs = {one.run for one in found}
    for event in following.of_runs(in_progress) if in_progress else ():
        if event and event["type"] == "metric":
            run, subject, data = event["run"], event["subject"], event["data"]
            last = printed.get((run, data["name"]))
            if last is None or (datetime.fromisoformat(event["time"]), len(subject), subject) > last:
                _print_value(event["time"], run, data["name"], data["value"], data["step"])
            runs.add(run)
    if in_progress:
        store = session.reader(None, notices=False, as_of=False)
    if left_out := unknown_values.line(store, METRICS, ids, runs):
        terminal.note(left_out)
    return 0


def _print_value(at: str, run: str, name: str, value: Any, step: int | None) -> None:
    from provio.ask.comparison import text
    from provio.base.text import moment, printable

    line = f"{moment(at)}  {run[:SHOWN]}  {name} = {text(value)}{'' if step is None else f'  step {step}'}"
    terminal.out(printable(line, terminal.unicode()) + "\n")


# Configurations by the best value of a metric: the answer of `metrics --best` and of `best`.


def best_values(
    metric: str | None,
    low: bool | None,
    limit: int | None,
    form: str,
    names: tuple[str, ...] = (),
    **chosen: Any,
) -> int:
    """Print the best value of a metric with each set of configurations, the best first."""
    from provio.ask import experiments, unknown_values
    from provio.ask.target import of_graphs
    from provio.base.vocab import RUN_BASE
    from provio.graph.lines import bundle_iri
    from provio.settings.types import among
    from provio.trace.run_facts import METRICS, PARAMETERS

    store = session.reader(None)
    ids = chosen_runs(store, names, **chosen)
    reader = of_graphs(store, None if ids is None else [bundle_iri(RUN_BASE + run) for run in ids])
    if not metric:
        known = experiments.metric_names(reader)
        if not known:
            raise unknown_values.nothing(reader, METRICS, ids, experiments.NO_METRIC)
        raise click.UsageError(f"no metric: name one{among('', known, 'provio query metrics-of-run lists')}")
    low = experiments.lowest(metric) if low is None else low
    found, runs = experiments.found(reader, metric, low)
    most = limit if limit is not None else LIMIT if form == "table" else 0
    shown = found[:most] if most else found
    terminal.out(_best_table(shown) if form == "table" else _best_rows(shown, form))
    if len(shown) < len(found):
        terminal.note(f"and {len(found) - len(shown)} more: --limit 0 shows all")
    if form == "table":
        terminal.note("lowest first: --max for the highest" if low else "highest first: --min for the lowest")
    without = "with settings that are not known"
    for line in (
        unknown_values.line(reader, METRICS, ids, runs),
        unknown_values.line(reader, PARAMETERS, runs, (), (without, "")),
    ):
        if line:
            terminal.note(line)
    return 0


def _best_rows(found: list[Best], form: str) -> str:
    from provio.ask import comparison
    from provio.ask.experiments import labels
    from provio.render import records

    rows = []
    for one in found:
        settings = {key: comparison.plain(value) for each in one.configurations for key, value in each.settings.items()}
        rows.append(
            [comparison.plain(one.metric.value), one.metric.step, one.metric.at, one.metric.run,
             labels(one.configurations), settings if form == "json" else comparison.listed(settings), one.checkpoint]
        )  # fmt: skip
    return records.render("best", rows, form)


def _best_table(found: list[Best]) -> str:
    from provio.ask import comparison
    from provio.ask.experiments import labels
    from provio.base import table
    from provio.base.text import columns, moment, shorter_path

    every = [{key: value for each in one.configurations for key, value in each.settings.items()} for one in found]
    differ = comparison.varying(every)
    lines = [
        [comparison.text(one.metric.value), comparison.text(one.metric.step), moment(one.metric.at),
         one.metric.run[:SHOWN],
         labels(one.configurations), comparison.listed({key: own[key] for key in differ if key in own}),
         shorter_path(one.checkpoint, terminal.folder()) if one.checkpoint else ""]
        for one, own in zip(found, every, strict=True)
    ]  # fmt: skip
    header = ["value", "step", "time", "run", "configuration", "settings", "checkpoint"]
    right, unicode, width = frozenset({"value", "step"}), terminal.unicode(), terminal.width()
    whole = table.align(*table.filled(header, lines, {"value"}), unicode=unicode, right=right)
    if width is None or max(map(columns, whole.splitlines())) <= width:
        return whole
    del header[TIME]  # a cut time is useless, and `provio show` prints it; the settings are more important
    for line in lines:
        del line[TIME]
    fold = frozenset({"configuration", "settings"})
    return table.align(*table.filled(header, lines, {"value"}), width=width, unicode=unicode, right=right, fold=fold)
