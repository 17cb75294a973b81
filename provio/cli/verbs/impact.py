"""`provio impact`: files in, what would have to be made again if they changed out."""

from __future__ import annotations

from typing import Any

import click

from provio.ask import session
from provio.base import terminal
from provio.cli.verbs import FORMS, fold_option, runs_options, stoppable, store_option


@click.command("impact", short_help="What would have to be made again?")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@runs_options
@click.option("--as", "form", type=FORMS, default="table", show_default=True)
@fold_option
@store_option
@stoppable
def command(files: tuple[str, ...], form: str, fold: bool, **which: Any) -> int:
    """List what would have to be made again if FILE changed, in an order in which it can be, and by which commands.

    That is all that is there still and was made from FILE, whichever version of it, by data or carried. What is gone or
    was overwritten is left out, but for files that a later one was made from.

    \b
    Example: provio impact WestSac.h5
             provio impact WestSac.h5#/DataTimeChannel
    """
    from provio.ask.earlier import all_versions
    from provio.ask.filters import contracted
    from provio.ask.impact import impact
    from provio.ask.lineage import Scope, lineage
    from provio.ask.nodes import is_member
    from provio.render import impact as report

    asked = session.files(files, session.Which(**which))
    pairs = zip(asked.texts, asked.targets, strict=True)
    starts = [iri for text, target in pairs for iri in all_versions(asked.reader, text, target)]
    inside = any(is_member(target.iri) for target in asked.targets)
    document = lineage(asked.reader, asked.targets, Scope(forward=True, inside=inside), starts)
    if inside:
        document = contracted(asked.reader, document)
        starts = [iri.partition("#")[0] for iri in starts]
    answer = impact(asked.reader, document, {target.iri.partition("#")[0] for target in asked.targets} | set(starts))
    if form == "json":
        terminal.out(report.as_json(answer))
    elif form in ("csv", "tsv"):
        terminal.out(report.for_programs(answer, form))
    else:
        width, unicode = terminal.width(), terminal.unicode()
        terminal.out(report.render(answer, width=width, unicode=unicode, folder=terminal.folder(), fold=fold))
    return asked.unknown.exit_code if asked.unknown else 0
