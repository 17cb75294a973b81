"""`provio help`: prints the help of a verb."""

from __future__ import annotations

import click

from provio.base import terminal


@click.command("help", short_help="Explain a verb.")
@click.argument("verb", required=False)
@click.option("--all", "every", is_flag=True, help="List all verbs, in groups.")
@click.pass_context
def command(context: click.Context, verb: str | None, every: bool) -> int:
    """Explain VERB, or list the verbs of every day, as `--help` does.

    \b
    Example: provio help lineage
             provio help --all
    """
    group = context.find_root()
    if verb is not None and every:
        raise click.UsageError("--all lists the verbs: omit VERB")
    if verb is None:
        from provio.cli.verbs import EVERY_VERB

        group.meta[EVERY_VERB] = every
        terminal.out(group.get_help() + "\n")
        return 0
    _, found, _ = group.command.resolve_command(group, [verb])  # type: ignore[attr-defined]
    with found.make_context(verb, [], parent=group, resilient_parsing=True) as inner:
        terminal.out(inner.get_help() + "\n")
    return 0
