"""`provio best METRIC`: the same as `provio metrics --best METRIC`."""

from __future__ import annotations

from typing import Any

import click

from provio.cli.option_types import Count
from provio.cli.options import form_option, runs_options, stoppable, store_option
from provio.cli.verbs.metrics import best_options, best_values


@click.command("best", short_help="The same as metrics --best METRIC.")
@click.argument("metric", required=False)
@best_options
@click.option("--limit", type=Count(min=0), help="At most this many rows; 0: all [default: 20 in a table].")
@form_option
@runs_options
@store_option
@stoppable
def command(metric: str | None, low: bool | None, limit: int | None, form: str, **chosen: Any) -> int:
    """List configurations by the best value of METRIC with each, the best first: which hyperparameters gave which
    accuracy. This is an alias of `provio metrics --best METRIC`.

    The highest value is the best, unless a word of the name is one of a loss, an error or a cost: loss, error, rmse,
    chi2, misfit, residual, nll, aic, cost, time, perplexity … A line states which. Each version of a configuration is a
    row; the table shows the settings in which the rows differ.

    \b
    Example: provio best accuracy
             provio best loss --min --campaign topreco --as json
    """
    return best_values(metric, low, limit, form, **chosen)
