"""`provio container`: runs a command in a container and records it.

It has the three modes of HPC container runtimes, each with those options of `provio run` that describe a run.
"""

from __future__ import annotations

from typing import Any

import click

from provio.base import terminal
from provio.cli.verbs.run import RecordingCommand, declared
from provio.record.options import OPTIONS, Call

SHARED = {"--name", "--campaign", "--detail", "--record", "--no-record", "--include", "--exclude", "--hash", "--quiet",
          "--no-merge"}  # fmt: skip


@click.group("container", short_help="Record a command in a container.")
def command() -> None:
    """Record a command in a container as if it ran outside.

    Options between IMAGE and -- are passed to the runtime. Example: provio container exec image.sif --nv --
    python3 train.py
    """


def _mode(mode: str, short: str, text: str) -> None:
    """Add a mode as a subcommand."""

    def carried_out(image: str, rest: tuple[str, ...], runtime: str | None, dry_run: bool, **given: Any) -> int:
        from provio.containers import run
        from provio.containers.plan import Request

        options, words = run.split_options(rest)
        call, request = Call(words, **given), Request(mode, image, options, runtime)
        if dry_run:
            terminal.out(run.command_line(call, request) + "\n")
            return 0
        return run.record(call, request)

    own = [
        click.Option(["--runtime"], metavar="NAME", help="The runtime, if several are installed."),
        click.Option(["--dry-run"], is_flag=True, help="Print the command line instead of executing it."),
    ]
    arguments = [
        click.Argument(["image"]),
        click.Argument(["rest"], nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF THE RUNTIME] -- [COMMAND]"),
    ]
    shared = [declared(option) for option in OPTIONS if option.written in SHARED]
    command.add_command(
        RecordingCommand(
            mode,
            short_help=short,
            help=text,
            callback=carried_out,
            params=[*own, *shared, *arguments],
            context_settings={"allow_interspersed_args": False},
        )
    )


_mode(
    "run",
    "Record the default command of an image.",
    "Record the default command of an image, with the rest as its arguments.",
)
_mode("exec", "Record a command in a container.", "Record a command in a container.")
_mode("shell", "Record a shell in a container.", "Record a shell in a container, and all commands that it starts.")


@command.command("wrap", short_help="Print lines for a definition file.")
@click.argument("recipe", required=False, type=click.Path())
def wrap(recipe: str | None) -> int:
    """Print the lines to add to your own definition file: for the kind of RECIPE, or for both kinds.

    They create the mount points that provio binds. Example: provio container wrap my.def
    """
    from provio.containers import recipes

    terminal.out(recipes.lines(recipe))
    return 0
