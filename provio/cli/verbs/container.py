"""`provio container`: an image and a command in, the command's own output and end out, and a recorded run left behind.

The three modes of the runtimes of HPC, each of which takes the options of `provio run` that say something of a run.
"""

from __future__ import annotations

from typing import Any

import click

from provio.base import terminal
from provio.cli.verbs.run import declared
from provio.record.options import OPTIONS, Call

SHARED = {"--name", "--campaign", "--detail", "--record", "--no-record", "--include", "--exclude", "--hash", "--quiet",
          "--no-merge"}  # fmt: skip


@click.group("container", short_help="Watch a command in a container.")
def command() -> None:
    """Watch a command in a container: what is inside is recorded as what is outside.

    Between IMAGE and -- stand options for the runtime, as they are. Example: provio container exec image.sif --nv --
    python3 train.py
    """


def _mode(mode: str, short: str, says: str) -> None:
    """Add one of the modes."""

    def carried_out(image: str, rest: tuple[str, ...], runtime: str | None, dry_run: bool, **given: Any) -> int:
        from provio.containers import run
        from provio.containers.plan import Asked

        options, words = run.parted(rest)
        call, asked = Call(words, **given), Asked(mode, image, options, runtime)
        if dry_run:
            terminal.out(run.dry(call, asked) + "\n")
            return 0
        return run.watched(call, asked)

    own = [
        click.Option(["--runtime"], metavar="NAME", help="The runtime, where several are installed."),
        click.Option(["--dry-run"], is_flag=True, help="Print the command line that would be started."),
    ]
    arguments = [
        click.Argument(["image"]),
        click.Argument(["rest"], nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF THE RUNTIME] -- [COMMAND]"),
    ]
    shared = [declared(option) for option in OPTIONS if option.written in SHARED]
    command.add_command(
        click.Command(
            mode,
            short_help=short,
            help=says,
            callback=carried_out,
            params=[*own, *shared, *arguments],
            context_settings={"allow_interspersed_args": False},
        )
    )


_mode("run", "What an image is for.", "Watch what an image is for, with the rest as its arguments.")
_mode("exec", "A command in it.", "Watch a command in a container.")
_mode("shell", "A shell in it.", "Watch a shell in a container, and all that is called in it.")


@command.command("wrap", short_help="Lines for a definition file.")
@click.argument("recipe", required=False, type=click.Path())
def wrap(recipe: str | None) -> int:
    """Print the lines to add to one's own definition file: for RECIPE's kind, or for both kinds.

    With them an image has the folders that are bound. Example: provio container wrap my.def
    """
    from provio.containers import recipes

    terminal.out(recipes.lines(recipe))
    return 0
