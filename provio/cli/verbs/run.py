"""`provio run`: runs a command and records it.

`provio.record.options.read` parses simple calls without click; this module is for the others, and for the help.
"""

from __future__ import annotations

from typing import Any

import click

from provio.cli.option_types import Choice
from provio.record.options import CLASSES, OPTIONS, WRITTEN, Call, Option
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


class RecordingCommand(click.Command):
    """A command with the options of `provio run`. click has options either with or without a value: this class accepts
    a value after `=` of those without one that have choices (`--hash=auto`)."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the values after `=`, then the other options; the last one of `--hash`, `--no-hash` decides."""
        options = {name: one for one in self.params if isinstance(one, click.Option) for name in one.opts}
        with_values = {one.written: one for one in OPTIONS if one.choices and not one.takes}
        given: dict[str, str] = {}
        kept: list[str] = []
        at = 0
        while at < len(args) and args[at].startswith("-") and args[at] != "--":
            name, equals, value = args[at].partition("=")
            end = at + (2 if name in options and not options[name].is_flag and not equals else 1)
            if equals and name in with_values:
                given[with_values[name].sets] = Choice(with_values[name].choices).convert(value, options[name], ctx)
            else:
                kept += args[at:end]
                given.pop(WRITTEN[name].sets if name in WRITTEN else "", "")
            at = end
        rest = super().parse_args(ctx, kept + args[at:])
        ctx.params |= given
        return rest


def _carried_out(**given: Any) -> int:
    """Run COMMAND and record the files that its processes read and write.

    Output, exit code and signals are those of COMMAND. Options take precedence over provio.toml. Example: provio run --
    make -j4
    """
    from provio.containers import run
    from provio.record import ranks

    call = Call(**given)
    return run.exec_in(call) if call.container is not None else ranks.run_command(call)


command = RecordingCommand(
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
