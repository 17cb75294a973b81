"""`provio best`: lists configurations by the best value of a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.base.errors import NothingKnown
from provio.cli.verbs import FORMS, Between, Count, Form, runs_options, stoppable, store_option

if TYPE_CHECKING:
    from provio.ask.experiments import Best

TIME = 2  # its column
LIMIT = 20  # rows of a table
SHOWN = 13  # characters of a run's id


@click.command("best", short_help="List configurations by a metric.")
@click.argument("metric", required=False)
@click.option("--max", "low", flag_value=False, type=bool, default=None, help="The highest value is the best.")
@click.option("--min", "low", flag_value=True, type=bool, help="The lowest value is the best [default of losses].")
@click.option("--limit", type=Count(min=0), help="At most this many rows; 0: all [default: 20 in a table].")
@click.option("--as", "form", cls=Form, type=FORMS, default="table", show_default=True)
@runs_options
@store_option
@stoppable
def command(
    metric: str | None,
    low: bool | None,
    limit: int | None,
    form: str,
    campaign: str | None,
    name: str | None,
    between: Between | None,
) -> int:
    """List configurations by the best value of METRIC with each, the best first: which hyperparameters gave which
    accuracy.

    The highest value is the best, unless the name contains loss or error. Each version of a configuration is a row; the
    table shows the settings in which the rows differ.

    \b
    Example: provio best accuracy
             provio best loss --min --campaign topreco --as json
    """
    from provio.ask import experiments
    from provio.ask.target import Selection, restrict
    from provio.settings.types import among

    store = session.reader(None)
    reader = restrict(store, Selection(campaign=campaign, name=name, between=between))
    if metric is None:
        known = experiments.metric_names(reader)
        if not known:
            raise NothingKnown(experiments.NO_METRIC)
        raise click.UsageError(f"no metric: name one{among('', known, 'provio query metrics-of-run lists')}")
    low = experiments.lowest(metric) if low is None else low
    found = experiments.found(reader, metric, low)
    most = limit if limit is not None else LIMIT if form == "table" else 0
    shown = found[:most] if most else found
    terminal.out(_table(shown) if form == "table" else _rows(shown, form))
    if len(shown) < len(found):
        terminal.note(f"and {len(found) - len(shown)} more: --limit 0 shows all")
    return 0


def _rows(found: list[Best], form: str) -> str:
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


def _table(found: list[Best]) -> str:
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
