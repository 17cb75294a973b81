"""`provio lineage`: shows the sources of files, or the files made from them."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import click

from provio.base import terminal
from provio.cli.option_types import Choice, Count, Form
from provio.cli.options import (
    code_option,
    fold_option,
    follow_option,
    level_option,
    stoppable,
    store_option,
    walk_options,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from provio.ask.document import LineageDocument

MOST_PATHS = 100
PAUSE = 1.0  # seconds between two answers of --follow
FOLLOWED = ("tree", "table", "json")
LINEAGE_FORMS = Choice(["tree", "table", "json", "csv", "tsv", "dot", "ttl"])


@click.command("lineage", short_help="Where did a file come from, which files were made from it?")
@click.argument("paths", metavar="FILE...", nargs=-1, required=True)
@walk_options
@level_option
@click.option("--steps", type=Choice(["task", "process"]), default="task", show_default=True,
              help="The tasks of a program each, or all tasks of a process as one.")  # fmt: skip
@code_option
@click.option("--paths", "ways", is_flag=True, help="Each path from the file to a source, one per line.")
@click.option("--most", type=Count(min=1), default=MOST_PATHS, show_default=True, help="At most this many --paths.")
@click.option("--as", "form", cls=Form, type=LINEAGE_FORMS, default="tree", show_default=True)
@follow_option
@fold_option
@store_option
@stoppable
def command(
    paths: tuple[str, ...],
    form: str,
    fold: bool,
    follow: bool,
    roots: bool,
    stale: bool,
    ways: bool,
    most: int,
    steps: str,
    no_code: bool,
    **options: Any,
) -> int:
    """Show the sources of FILE or, with --forward, the files that were made from it.

    The query is about the present content of the file; --at and --run select an earlier version. Several files give one
    result. FILE#/group/dataset selects a dataset inside the file, FILE#/group/dataset@name an attribute.

    --follow prints the answer, then again whenever it has changed: after events about one of its files, and of runs
    that used one (docs/live.md).

    \b
    Example: provio lineage results/fig3.h5
             provio lineage fig3.h5 --at yesterday --until 'raw/*'
             provio lineage fig3.h5 --code
             provio lineage fig3.h5#/stack
             provio lineage fig3.h5 --level dataset
             provio lineage fig3.h5 --level folder
             provio lineage fig3.h5 --steps process
             provio lineage fig3.h5 --roots --via data
             provio lineage --forward WestSac.h5 --stale
             provio lineage --forward WestSac.h5 --follow
    """
    if roots + stale + ways > 1:
        raise click.UsageError("--roots, --stale and --paths exclude each other: give one of them")
    if ways and options["level"] == "folder":
        raise click.UsageError("--paths lead from file to file: omit --level folder")
    if ways and steps == "process":
        raise click.UsageError("--paths lead from file to file: omit --steps process")
    if roots and options["forward"]:
        raise click.UsageError("--roots shows the sources of a file: omit --forward")
    if follow and form not in FOLLOWED:
        raise click.UsageError("--follow prints answers one after the other: use --as tree, table or json")
    if follow and (options["at"] or options["run"] or options["between"]):
        raise click.UsageError(
            "--at, --run, --between select recorded versions, --follow shows new ones: leave one out"
        )

    def ask() -> tuple[str | Iterator[str], int, LineageDocument]:
        own = {**options}
        return _answered(
            paths, own, form, fold, roots=roots, stale=stale, ways=ways, most=most, steps=steps, no_code=no_code
        )

    if follow:
        return _follow(ask, paths)
    answer, code, _ = ask()
    terminal.out(answer)
    return code


def _answered(
    paths: tuple[str, ...],
    options: dict[str, Any],
    form: str,
    fold: bool,
    *,
    roots: bool,
    stale: bool,
    ways: bool,
    most: int,
    steps: str,
    no_code: bool,
) -> tuple[str | Iterator[str], int, LineageDocument]:
    """Return the answer, its exit code, and its document."""
    from provio.ask.target import Selection, find_targets

    which = Selection(*(options.pop(name) for name in ("at", "run", "campaign", "name", "between")))
    request = find_targets(paths, which)
    plain = not options["everything"]
    from provio.ask.lineage import answer

    document = answer(request, options, roots=roots, stale=stale, no_code=no_code)
    if steps == "process":
        from provio.ask.merged_tasks import merged

        document = merged(document)
    if ways:
        from provio.ask.paths import with_paths

        document = with_paths(document, most)
    for text, target in zip(request.texts, request.targets, strict=True):
        if target.changed and form not in ("tree", "json"):
            terminal.warn(f"{text}: {target.changed}")
    return _shown(document, form, fold, plain), request.unknown.exit_code if request.unknown else 0, document


def _follow(ask: Callable[[], tuple[str | Iterator[str], int, LineageDocument]], paths: tuple[str, ...]) -> int:
    """Print the answer, and again when it has changed, until Ctrl-C."""
    from provio.base.errors import NothingKnown
    from provio.cli import following

    events = following.of_runs(None)
    next(events)  # events from now on, before the answer
    printed, code, document = _text(ask())
    terminal.out(printed)
    named = {os.path.realpath(path.partition("#")[0]) for path in paths}
    files, runs, is_due, earliest = named | _paths(document), set[str](), False, 0.0
    for event in events:
        if event:
            data = event["data"]
            if event["type"] == "file" and data["path"] in files:
                runs.add(event["run"])
            is_due |= event["run"] in runs and event["type"] in ("file", "run")
        elif is_due and time.monotonic() >= earliest:
            is_due, earliest = False, time.monotonic() + PAUSE
            try:
                found, code, document = _text(ask())
            except NothingKnown as error:
                terminal.warn(str(error))
                continue
            files |= _paths(document)
            if found != printed:
                terminal.out("\n" + found)
                printed = found
    return code


def _text(answer: tuple[str | Iterator[str], int, LineageDocument]) -> tuple[str, int, LineageDocument]:
    return "".join(answer[0]), answer[1], answer[2]


def _paths(document: LineageDocument) -> set[str]:
    return {node["path"] for node in document["nodes"] if "path" in node}


def _shown(document: LineageDocument, form: str, fold: bool, plain: bool) -> str | Iterator[str]:
    if "paths" in document and form in ("tree", "table"):
        return _ways(document, form, plain)
    if plain and form in ("table", "dot"):
        from provio.ask.works import drawn

        document = drawn(document)
    width, color, unicode, folder = terminal.width(), terminal.color(), terminal.unicode(), terminal.folder()
    if form == "tree":
        from provio.render import tree

        return tree.render(document, width=width, color=color, unicode=unicode, folder=folder, fold=fold, plain=plain)
    if form == "table":
        from provio.render import table

        return table.render(document, width=width, unicode=unicode)
    if form in ("csv", "tsv"):
        from provio.render import records, table

        return records.render("lineage", table.cells(document), form)
    from provio.exchange import dot_text as dot
    from provio.render import json, ttl

    if form == "json":
        return json.pieces(document)
    return {"dot": dot.render, "ttl": ttl.render}[form](document)


def _ways(document: LineageDocument, form: str, plain: bool) -> str:
    from provio.render import paths as ways

    unicode, folder = terminal.unicode(), terminal.folder()
    if form == "tree":
        return ways.render(document, unicode=unicode, folder=folder, plain=plain)
    return ways.table(document, width=terminal.width(), unicode=unicode, folder=folder, plain=plain)
