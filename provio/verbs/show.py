"""`provio show`: a run, or an object inside a file, in; what is recorded of it out."""

from __future__ import annotations

import click

from provio import asking, terminal
from provio.verbs import TEXT_FORMS, fold_option, stoppable, store_option


@click.command("show", short_help="Show one run, or a dataset.")
@click.argument("run", metavar="RUN|FILE#/DATASET")
@click.option("--as", "form", type=TEXT_FORMS, default="text", show_default=True)
@fold_option
@store_option
@stoppable
def command(run: str, form: str, fold: bool) -> int:
    """Show one RUN (its id, the beginning of it, its name, or `last`): what ran, what it read and wrote. Or a dataset,
    an attribute or a group inside a file: what it is, who made it, and what was done to it.

    \b
    Example: provio show last
             provio show xcorr.h5#/stack
    """
    if "#" in run:
        from provio import show_member as shown

        folded = {}
        asked = asking.files([run])
        reader, what = asked.reader, asked.targets[0]
    else:
        from provio import runs as shown  # type: ignore[no-redef]

        folded = {"fold": fold}
        reader = asking.reader(None)
        what = asking.run_id(reader, run)  # type: ignore[assignment]
    if form == "text":
        terminal.out(shown.show(reader, what, unicode=terminal.unicode(), **folded))
        return 0
    from provio.reports import records

    terminal.out(records.render("show", shown.facts(reader, what), form))
    return 0
