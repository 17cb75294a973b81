"""`provio run`: runs a command and records it.

`provio.record.options.read` parses simple calls without click; this module is for the others, and for the help.
"""

from __future__ import annotations

from typing import Any

import click

from provio.cli.verbs import Choice
from provio.record.options import CLASSES, OPTIONS, Call, Option
from provio.settings.record_classes import SEE


def declared(option: Option) -> click.Option:
    """Return an option for click."""
    if not option.takes:
        names = f"{option.written}/{option.off}" if option.off else option.written
        default = None if option.off else False
        return click.Option([names, option.sets], is_flag=True, default=default, help=option.help)
    kind = Choice(option.choices, SEE if option.choices is CLASSES else "") if option.choices else None
    declared = [option.written, option.sets]
    return click.Option(declared, type=kind, multiple=option.many, metavar=option.metavar, help=option.help)


def _carried_out(**given: Any) -> int:
    """Run COMMAND and record the files that its processes read and write.

    Output, exit code and signals are those of COMMAND. Options take precedence over provio.toml. Example: provio run --
    make -j4
    """
    from provio.containers import run
    from provio.record import ranks

    call = Call(**given)
    return run.exec_in(call) if call.container is not None else ranks.run_command(call)


command = click.Command(
    "run",
    short_help="Run and record a command.",
    context_settings={"allow_interspersed_args": False},
    callback=_carried_out,
    help=_carried_out.__doc__,
    params=[
        *map(declared, OPTIONS),
        click.Argument(["command"], nargs=-1, type=click.UNPROCESSED, required=True),
    ],
)
