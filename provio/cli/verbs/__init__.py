"""Verbs: one module each, which holds `command`, a click command with the module's name; their help; the call of one.

A verb reads its options, queries, and passes the result to `terminal`. It imports modules that only it needs inside
functions, so that other verbs start faster.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import Any, cast

import click

from provio import __version__
from provio.base import terminal
from provio.cli import words

EVERY_VERB = "provio.every_verb"  # in a context: its help lists all verbs


@cache
def names() -> list[str]:
    """Return the names of the verbs, sorted."""
    files = (file for folder in __path__ for file in os.listdir(folder))
    return sorted({file.removesuffix(".py") for file in files if file.endswith(".py") and file[0] != "_"})


def load(name: str) -> click.Command:
    """Return the command of a verb."""
    return cast(click.Command, import_module(f"{__name__}.{name}").command)


class Formatter(click.HelpFormatter):
    """The layout of help, with bold headings if the terminal shows colours."""

    def write_heading(self, heading: str) -> None:
        """Write a heading."""
        self.write(f"{'':>{self.current_indent}}{terminal.bold(heading + ':')}\n")

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the usage line."""
        super().write_usage(prog, args, terminal.bold("Usage:") + " " if prefix is None else prefix)


class Context(click.Context):
    """The call of one verb, with help in this layout."""

    formatter_class = Formatter


class Verbs(click.Group):
    """The verbs in `verbs/`; only the called one is loaded."""

    context_class = Context

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all verbs."""
        return names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load a verb, by its name or an alias; return None if there is no such verb."""
        name = words.ALIASES.get(cmd_name, cmd_name)
        if name not in names():
            return None
        command = load(name)
        command.context_class = Context
        if "_PROVIO_COMPLETE" in os.environ:
            from provio.cli import completion

            completion.add_completers(command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Return the called verb; raise UsageError with a suggestion if there is none."""
        name = args[0]
        known = name.startswith("-") or name in names() or name in words.ALIASES
        if not known and not ctx.resilient_parsing:
            raise click.UsageError(f"{name!r} is no verb{words.suggestion_for(name, args[1:], names())}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs of every day, or, for `help --all`, all verbs in their groups."""
        width = max(map(len, names()))
        for title, found in words.groups(names()):
            if title != words.EVERY_DAY and not ctx.meta.get(EVERY_VERB):
                continue
            with formatter.section(title):
                formatter.write_dl([(f"{name:{width}}", load(name).get_short_help_str(72)) for name in found])


@click.group(
    cls=Verbs,
    subcommand_metavar="VERB ...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`provio help VERB` explains a verb, with examples. `provio help --all` lists all verbs.",
)
@click.version_option(__version__, "-V", "--version", message="provio %(version)s")
def cli() -> None:
    """Where did this data come from, and which data was made from it?

    \b
      provio run -- python3 decimate.py in.h5 out.h5     record a command
      provio lineage out.h5                              where did it come from?
      provio lineage --forward in.h5                     which data came from it?
    """


def call(arguments: list[str]) -> Any:
    """Execute a call and return its exit code; report errors in the call itself."""
    try:
        return cli.main(args=arguments, standalone_mode=False)
    except click.exceptions.Abort:
        return 130
    except RuntimeError:
        from provio.store import undamaged

        with undamaged():
            raise
    except click.ClickException as error:
        from provio.cli import wrong_call
        from provio.cli.option_types import Form

        terminal.complain(*wrong_call.explained(error, arguments, hidden=Form.ALIASES))
        return 125 if _starts_command(arguments) else error.exit_code


def _starts_command(arguments: list[str]) -> bool:
    """Return whether a call starts a command, which may itself exit with 2."""
    from provio.containers.runtimes import MODES

    return arguments[:1] == ["run"] or (arguments[:1] == ["container"] and arguments[1:2] in [[mode] for mode in MODES])
