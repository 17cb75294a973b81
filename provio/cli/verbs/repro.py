"""`provio repro`: prints how reproducible several runs are, in results, time, schedule and I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from provio.base import terminal
from provio.cli.option_types import TEXT_FORMS, Bounds, Choice, Form, OutputFile
from provio.cli.options import runs_options, stoppable, store_option

if TYPE_CHECKING:
    from provio.base.times import Between
    from provio.compare.repro import Reproducibility

PARTS = ("results", "performance", "schedule", "io")
CARDS = (".html", ".htm", ".md")


@click.command("repro", short_help="Are runs reproducible: results, time, schedule, I/O?")
@click.argument("names", metavar="[RUN]...", nargs=-1)
@click.option(
    "--bound",
    "bounds",
    type=Bounds(),
    multiple=True,
    metavar="NAME=VALUE",
    help="The numbers of results with this name or pattern may differ by VALUE in the mean.",
)
@click.option("--only", "part", type=Choice(PARTS), help=f"Only this part ({', '.join(PARTS)}).")
@click.option("--as", "form", cls=Form, type=TEXT_FORMS, default="text", show_default=True)
@click.option("-o", "--output", type=OutputFile(), help="Write a score card: FILE.html or FILE.md.")
@runs_options
@store_option
@stoppable
def command(
    names: tuple[str, ...],
    bounds: tuple[tuple[str, float], ...],
    part: str | None,
    form: str,
    output: str | None,
    campaign: str | None,
    name: str | None,
    between: Between | None,
) -> int:
    """Compare several runs of one workflow with the first of them: results, performance, schedule, I/O.

    Each result is identical, within bounds, deviates, differs, or is not compared. Exit code 1 if a result deviates or
    differs. With csv and tsv: the rows of the results, or of --only PART. docs/repro.md defines each figure.

    \b
    Example: provio repro last~2 last~1 last
             provio repro --campaign fit --bound '*.csv=1e-6'
             provio repro --name fit -o card.html
    """
    from provio.ask import session
    from provio.cli.options import chosen_runs
    from provio.compare import repro
    from provio.render import repro as report
    from provio.rerun.outcome import complete_hashes

    if output is not None and (part or form != "text"):
        raise click.UsageError("the card of -o shows everything: omit --only and --as")
    if output is not None and not output.lower().endswith(CARDS):
        raise click.UsageError(f"{output}: a card is a page or Markdown: use a name that ends in .html or .md")
    if not names and campaign is None and name is None and between is None:
        raise click.UsageError("no runs are named: name two or more, or use --campaign or --name")
    home, settings = session.project(None)
    complete_hashes(home, settings)
    store = session.reader(None)
    ids = chosen_runs(store, names, campaign, name, between) or []
    if len(ids) < 2:
        raise click.UsageError(repro.ONE_RUN)
    found = repro.of_runs(store, home, ids, dict(bounds))
    if output is not None:
        _write(found, output)
    elif form == "text":
        terminal.out(report.as_text(found, part or "", width=terminal.width(), unicode=terminal.unicode()))
    elif form == "json" and not part:
        terminal.out(report.as_json(found))
    else:
        terminal.out(report.as_rows(found, part or "results", form))
        for line in found.notes:
            terminal.note(line)
    return int(not found.is_reproducible)


def _write(found: Reproducibility, output: str) -> None:
    from provio.render import repro_card

    text = repro_card.markdown(found) if output.lower().endswith(".md") else repro_card.page(found)
    terminal.write(output, text.encode())
    counts = ", ".join(f"{count} {verdict}" for verdict, count in found.counts.items()) or "no results"
    terminal.note(f"{output}: {counts}")
