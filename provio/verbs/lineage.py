"""`provio lineage`: files in, where they came from or what they were made into out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from provio import asking, terminal
from provio.verbs import VIA

if TYPE_CHECKING:
    from provio.document import LineageDocument


@click.command("lineage", short_help="Where did a file come from, what is it in?")
@click.argument("path")
@click.option("--forward", is_flag=True, help="What was made from it, instead of where it came from.")
@click.option("--depth", type=click.IntRange(min=1), help="At most so many steps from file to file.")
@click.option("--via", type=VIA, default="carried", show_default=True, help="Show what is tied at least this strongly.")
@click.option("--all", "everything", is_flag=True, help="Show system files too.")
@click.option(
    "--as", "form", type=click.Choice(["tree", "table", "json", "dot", "ttl"]), default="tree", show_default=True
)
def command(path: str, forward: bool, depth: int | None, via: Any, everything: bool, form: str) -> int:
    """Where did PATH come from, and (with --forward) what was it made into?

    PATH is asked as the content it has now. Example: provio lineage results/fig3.h5
    """
    from provio.ancestry import lineage
    from provio.target import find_target

    reader = asking.reader(path)
    target = find_target(reader, path)
    document = lineage(reader, target, forward=forward, depth=depth, via=via, everything=everything)
    if target.changed and form not in ("tree", "json"):
        terminal.complain(f"{path}: {target.changed}")
    terminal.out(_shown(document, form))
    return 0


def _shown(document: LineageDocument, form: str) -> str:
    width = terminal.width()
    if form == "tree":
        from provio.reports import tree

        return tree.render(
            document, width=width, color=terminal.color(), unicode=terminal.unicode(), folder=terminal.folder()
        )
    if form == "table":
        from provio.reports import table

        return table.render(document, width=width, unicode=terminal.unicode())
    from provio.reports import document_json, dot, ttl

    plain = {"json": document_json.render, "dot": dot.render, "ttl": ttl.render}
    return plain[form](document)
