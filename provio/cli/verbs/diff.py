"""`provio diff`: lists the differences between the configurations of two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.cli.verbs import FORMS, Form, stoppable, store_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from provio.ask.comparison import Difference
    from provio.ask.experiments import Configuration


@click.command("diff", short_help="Compare the configurations of two runs.")
@click.argument("first", metavar="RUN")
@click.argument("second", metavar="RUN")
@click.option("--as", "form", cls=Form, type=FORMS, default="table", show_default=True)
@store_option
@stoppable
def command(first: str, second: str, form: str) -> int:
    """List the settings in which two runs differ, each as it was at its end, the first RUN's value before the second's.

    A RUN is `last`, an id, the start of an id, or a name. Numbers are compared as numbers: 256 is 256.0. Exit code 1
    on a difference. Example: provio diff baseline last
    """
    from provio.ask import comparison, experiments
    from provio.base.errors import NothingKnown
    from provio.render import records

    store = session.reader(None)
    runs = [session.run_id(store, name) for name in (first, second)]
    sides = [experiments.of_run(store, run) for run in runs]
    for name, side in zip((first, second), sides, strict=True):
        if not side:
            raise NothingKnown(f"no configuration is recorded for run {name}: declare one with provio.configuration(…)")
    found = list(_differences(*sides))
    values = comparison.plain if form == "json" else comparison.text
    rows = [[name, one.key, *(None if side is None else values(side) for side in one[1:])] for name, one in found]
    if rows or form != "table":
        terminal.out(records.render("diff", rows, form, width=terminal.width(), unicode=terminal.unicode()))
    else:
        terminal.out("no setting differs\n")
    return 1 if found else 0


def _differences(first: dict[str, Configuration], second: dict[str, Configuration]) -> Iterator[tuple[str, Difference]]:
    """Yield each difference with the name of its configuration; if each run has one, their names may differ."""
    from provio.ask import comparison

    if len(first) == len(second) == 1:
        (name, one), other = next(iter(first.items())), next(iter(second.values()))
        yield from ((name, found) for found in comparison.differences(one.settings, other.settings))
        return
    for name in sorted(first.keys() | second.keys()):
        sides = [side[name].settings if name in side else {} for side in (first, second)]
        yield from ((name, found) for found in comparison.differences(*sides))
