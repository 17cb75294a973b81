"""`provio lineage`: files in, where they came from or what they were made into out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from provio.ask import session
from provio.base import terminal
from provio.cli.verbs import Choice, fold_option, level_option, stoppable, store_option, walk_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from provio.ask.document import LineageDocument

MOST_PATHS = 100
LINEAGE_FORMS = Choice(["tree", "table", "json", "csv", "tsv", "dot", "ttl"])


@click.command("lineage", short_help="Where did a file come from, what is it in?")
@click.argument("paths", metavar="FILE...", nargs=-1, required=True)
@walk_options
@level_option
@click.option("--paths", "ways", is_flag=True, help="Each way from the file to its sources, one a line.")
@click.option("--most", type=click.IntRange(min=1), default=MOST_PATHS, show_default=True, help="So many --paths.")
@click.option("--as", "form", type=LINEAGE_FORMS, default="tree", show_default=True)
@fold_option
@store_option
@stoppable
def command(
    paths: tuple[str, ...], form: str, fold: bool, roots: bool, stale: bool, ways: bool, most: int, **options: Any
) -> int:
    """Where did FILE come from, and (with --forward) what was it made into?

    A file is asked as the content it has now; --at and --run ask for an earlier one. Several files are one answer.
    FILE#/group/dataset asks of a dataset inside it, FILE#/group/dataset@name of an attribute.

    \b
    Example: provio lineage results/fig3.h5
             provio lineage fig3.h5 --at yesterday --until 'raw/*'
             provio lineage fig3.h5 --code
             provio lineage fig3.h5#/stack
             provio lineage fig3.h5 --level dataset
             provio lineage fig3.h5 --roots --via data
             provio lineage --forward WestSac.h5 --stale
    """
    if roots + stale + ways > 1:
        raise click.UsageError("--roots, --stale and --paths are three different answers: say one of them")
    if roots and options["forward"]:
        raise click.UsageError("--roots is where a file came from: leave out --forward")
    which = session.Which(*(options.pop(name) for name in ("at", "run", "campaign", "name")))
    asked = session.files(paths, which)
    from provio.ask.lineage import answer

    document = answer(asked, options, roots=roots, stale=stale)
    if ways:
        from provio.ask.paths import with_paths

        document = with_paths(document, most)
    for text, target in zip(asked.texts, asked.targets, strict=True):
        if target.changed and form not in ("tree", "json"):
            terminal.complain(f"{text}: {target.changed}")
    terminal.out(_shown(document, form, fold))
    return asked.unknown.exit_code if asked.unknown else 0


def _shown(document: LineageDocument, form: str, fold: bool) -> str | Iterator[str]:
    if "paths" in document and form in ("tree", "table"):
        return _ways(document, form)
    width, unicode = terminal.width(), terminal.unicode()
    if form == "tree":
        from provio.render import tree

        color, folder = terminal.color(), terminal.folder()
        return tree.render(document, width=width, color=color, unicode=unicode, folder=folder, fold=fold)
    if form == "table":
        from provio.render import table

        return table.render(document, width=width, unicode=unicode)
    if form in ("csv", "tsv"):
        from provio.render import records, table

        return records.render("lineage", table.cells(document), form)
    from provio.render import dot, json, ttl

    if form == "json":
        return json.pieces(document)
    return {"dot": dot.render, "ttl": ttl.render}[form](document)


def _ways(document: LineageDocument, form: str) -> str:
    from provio.render import paths as ways

    unicode, folder = terminal.unicode(), terminal.folder()
    if form == "tree":
        return ways.render(document, unicode=unicode, folder=folder)
    return ways.table(document, width=terminal.width(), unicode=unicode, folder=folder)
