"""Help of the command line: verbs in groups, and suggestions for a word that is not a verb."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import click

from provio import __version__
from provio.base import terminal
from provio.cli import verbs

# In the order in which users need them; a verb in no group is listed in the last one.
GROUPS = {
    "Record": ("run", "container", "env", "kernel"),
    "Query": (
        "lineage",
        "why",
        "impact",
        "runs",
        "show",
        "query",
        "stats",
        "best",
        "checkpoint",
        "diff",
        "view",
        "serve",
        "export",
    ),
    "Maintain": ("verify", "validate", "merge", "backup", "prune", "rm"),
    "Set up": ("init", "config", "vocab", "doctor", "batch", "include", "completion", "help"),
}


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


def groups(known: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the title of each group and its verbs among `known`."""
    rest = set(known)
    for title, names in GROUPS.items():
        found = [name for name in names if name in rest]
        rest -= set(found)
        yield title, found + (sorted(rest) if title == "Set up" else [])


class Verbs(click.Group):
    """The verbs in `verbs/`; only the called one is loaded."""

    context_class = Context

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all verbs."""
        return verbs.names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Load a verb; return None if there is no verb with this name."""
        if cmd_name not in verbs.names():
            return None
        command = verbs.load(cmd_name)
        command.context_class = Context
        if "_PROVIO_COMPLETE" in os.environ:
            from provio.cli import completion

            completion.add_completers(command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Return the called verb; raise UsageError with a suggestion if there is none."""
        name = args[0]
        if not name.startswith("-") and name not in verbs.names() and not ctx.resilient_parsing:
            raise click.UsageError(f"{name!r} is no verb{suggestion_for(name, args[1:])}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the verbs in their groups."""
        width = max(map(len, verbs.names()))
        for title, names in groups(verbs.names()):
            with formatter.section(title):
                formatter.write_dl([(f"{name:{width}}", verbs.load(name).get_short_help_str(72)) for name in names])


def suggestion_for(name: str, rest: list[str]) -> str:
    """Return a clause with the call that a word in place of a verb probably means, or an empty string."""
    import shlex
    import shutil

    from provio.settings.types import suggestion

    near = suggestion(name, verbs.names())
    if near:
        return near
    if os.path.isfile(name) and not (os.access(name, os.X_OK) and "/" in name):
        return f": did you mean provio lineage {shlex.quote(name)}?"
    if shutil.which(name):
        words = [name, *rest] if len(rest) < 4 else [name, *rest[:3], "…"]
        return f": did you mean provio run -- {' '.join(shlex.quote(word) if word != '…' else word for word in words)}?"
    return ""


@click.group(
    cls=Verbs,
    subcommand_metavar="VERB ...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="`provio help VERB` explains a verb, with examples.",
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
    except click.ClickException as error:
        terminal.complain(*_message(error))
        return 125 if _starts_command(arguments) else error.exit_code


def _starts_command(arguments: list[str]) -> bool:
    """Return whether a call starts a command, which may itself exit with 2."""
    from provio.containers.runtimes import MODES

    return arguments[:1] == ["run"] or (arguments[:1] == ["container"] and arguments[1:2] in [[mode] for mode in MODES])


def _message(error: click.ClickException) -> tuple[str, str]:
    """Return the error in a call, and a hint to its help."""
    context: click.Context | None = getattr(error, "ctx", None)
    hint = f" (see {context.command_path} --help)" if context else ""
    if context and type(error).__name__ == "NoArgsIsHelpError" and isinstance(context.command, click.Group):
        return f"{context.command_path}: add {', or '.join(context.command.list_commands(context))}", hint
    return error.format_message(), hint
