"""`provio lineage`: files in, where they came from or what they were made into out."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from provio import asking, terminal
from provio.verbs import Choice, fold_option, level_option, stoppable, store_option, walk_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from provio.ancestry import Scope
    from provio.document import LineageDocument
    from provio.until import Until

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
    which = asking.Which(*(options.pop(name) for name in ("at", "run", "campaign", "name")))
    asked = asking.files(paths, which)
    document = answer(asked, options, roots=roots, stale=stale)
    if ways:
        from provio.paths import with_paths

        document = with_paths(document, most)
    for text, target in zip(asked.texts, asked.targets, strict=True):
        if target.changed and form not in ("tree", "json"):
            terminal.complain(f"{text}: {target.changed}")
    terminal.out(_shown(document, form, fold))
    return asked.unknown.exit_code if asked.unknown else 0


def answer(asked: asking.Asked, options: dict[str, Any], *, roots: bool, stale: bool) -> LineageDocument:
    """Return the document that answers; what matched no pattern is said."""
    from provio.ancestry import Scope, lineage

    until = _until(asked, options.pop("until"))
    asked, inside = leveled(asked, options.pop("level"))
    scope = Scope(**options, until=until, inside=inside)
    document = lineage(asked.reader, asked.targets, scope, _earlier(asked, scope) if stale else ())
    if asked.reader.as_of:
        document["asOf"] = asked.reader.as_of
    for pattern in until.unmatched if until else ():
        terminal.complain(f"--until {pattern}: no file on the way matches (a pattern with a slash is the whole path's)")
    if roots:
        from provio.roots import only_roots

        return only_roots(asked.reader, document)
    if stale:
        from provio.contraction import contracted
        from provio.stale import only_stale

        return only_stale(asked.reader, contracted(asked.reader, document) if inside else document)
    return document


def leveled(asked: asking.Asked, level: str | None) -> tuple[asking.Asked, bool]:
    """Return what is asked at a level, and whether that is of objects inside files; without a word, where one is."""
    from provio.describe import is_member
    from provio.target_members import is_group, parts, whole

    if level == "file":
        return replace(asked, targets=[whole(target) for target in asked.targets]), False
    inside = level == "dataset" or any(is_member(target.iri) for target in asked.targets)
    pairs = [
        (text, part)
        for text, target in zip(asked.texts, asked.targets, strict=True)
        for part in (
            parts(asked.reader, target)
            if is_group(asked.reader, target.iri) or (inside and not is_member(target.iri))
            else [target]
        )
    ]
    return replace(asked, texts=[text for text, _ in pairs], targets=[part for _, part in pairs]), inside


def _until(asked: asking.Asked, patterns: tuple[str, ...]) -> Until | None:
    if not patterns:
        return None
    from provio.until import Until

    return Until(asked.reader, patterns, os.getcwd())


def _earlier(asked: asking.Asked, scope: Scope) -> list[str]:
    """What was made from an earlier version of a file is stale, and asked about with it."""
    from provio.earlier import all_versions

    if not scope.forward:
        return []
    pairs = zip(asked.texts, asked.targets, strict=True)
    return [iri for text, target in pairs for iri in all_versions(asked.reader, text, target)]


def _shown(document: LineageDocument, form: str, fold: bool) -> str | Iterator[str]:
    if "paths" in document and form in ("tree", "table"):
        return _ways(document, form)
    width, unicode = terminal.width(), terminal.unicode()
    if form == "tree":
        from provio.reports import tree

        color, folder = terminal.color(), terminal.folder()
        return tree.render(document, width=width, color=color, unicode=unicode, folder=folder, fold=fold)
    if form == "table":
        from provio.reports import table

        return table.render(document, width=width, unicode=unicode)
    if form in ("csv", "tsv"):
        from provio.reports import records, table

        return records.render("lineage", table.cells(document), form)
    from provio.reports import document_json, dot, ttl

    if form == "json":
        return document_json.pieces(document)
    return {"dot": dot.render, "ttl": ttl.render}[form](document)


def _ways(document: LineageDocument, form: str) -> str:
    from provio.reports import ways

    unicode, folder = terminal.unicode(), terminal.folder()
    if form == "tree":
        return ways.render(document, unicode=unicode, folder=folder)
    return ways.table(document, width=terminal.width(), unicode=unicode, folder=folder)
