"""`provio help`: prints the help of a verb."""

from __future__ import annotations

import click

from provio.base import terminal


@click.command("help", short_help="Explain a verb.")
@click.argument("verb", required=False)
@click.pass_context
def command(context: click.Context, verb: str | None) -> int:
    """Explain VERB, or list all verbs, as `--help` does.

    Example: provio help lineage
    """
    group = context.find_root()
    if verb is None:
        terminal.out(group.get_help() + "\n")
        return 0
    _, found, _ = group.command.resolve_command(group, [verb])  # type: ignore[attr-defined]
    with found.make_context(verb, [], parent=group, resilient_parsing=True) as inner:
        terminal.out(inner.get_help() + "\n")
    return 0
