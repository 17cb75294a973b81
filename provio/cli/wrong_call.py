"""Explains a wrong call. In: an error of click, and the words of the call. Out: one line, and a hint to the help."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

from provio.settings.types import suggestion

# A message with one of these states the correct call, or all allowed values: the help would add nothing.
REMEDY = re.compile(r"did you mean|\bprovio |(known|allowed): |: (use|omit) ")
# click before 8.4 has no class for this error, and none has one for the other.
NO_COMMAND = re.compile(r"No such command ('.*'|\".*\")", re.DOTALL)
EXTRA = re.compile(r"Got unexpected extra arguments? \((.*)\)", re.DOTALL)


def explained(error: click.ClickException, arguments: Sequence[str], hidden: Sequence[str] = ()) -> tuple[str, str]:
    """Return the message about a wrong call, and a hint to the help unless the message names the remedy.

    `hidden` are the options that are never suggested.
    """
    context: click.Context | None = getattr(error, "ctx", None)
    message = _message(error, context, hidden)
    # click does not know in which verb an option has no value.
    path = context.command_path if context else f"provio {arguments[0]}" if arguments else "provio"
    return message, "" if REMEDY.search(message) else f" (see {path} --help)"


def _message(error: click.ClickException, context: click.Context | None, hidden: Sequence[str]) -> str:
    """Return the message: of an error in an option or a value, or of the call as a whole."""
    if isinstance(error, click.NoSuchOption):
        near = [option for option in error.possibilities or () if option not in hidden]
        return f"no option {error.option_name}{_similar(error.option_name, near)}"
    if isinstance(error, click.BadOptionUsage):
        return _without_value(error)
    if isinstance(error, click.MissingParameter) and error.param:
        choices = getattr(error.param.type, "choices", ())
        known = f" (known: {', '.join(choices)})" if choices else ""
        return f"{_name(error.param)} is missing{known}"
    if isinstance(error, click.BadParameter) and (error.param or error.param_hint):
        name = str(error.param_hint).strip("'") if error.param_hint else error.param and _name(error.param)
        return f"{name}: {error.message}"
    return _of_call(error, context)


def _of_call(error: click.ClickException, context: click.Context | None) -> str:
    if type(error).__name__ == "NoArgsIsHelpError" and context:
        return f"{context.command_path}: add {_subcommands(context, 'or')}"
    if (unknown := NO_COMMAND.match(error.message)) and context:
        return f"{context.command_path} has no {unknown[1]} (known: {_subcommands(context)})"
    extra = EXTRA.match(error.message)
    return f"too many arguments: {extra[1]}" if extra else error.format_message()


def _subcommands(context: click.Context, last: str = "") -> str:
    names = context.command.list_commands(context) if isinstance(context.command, click.Group) else []
    return f"{', '.join(names[:-1])} {last} {names[-1]}" if last and len(names) > 1 else ", ".join(names)


def _similar(option: str, options: Sequence[str]) -> str:
    """Return a clause with the most similar option, compared without their dashes."""
    names = {known.lstrip("-"): known for known in options}
    near = suggestion(option.lstrip("-"), names)
    return re.sub(r"'(.*)'", lambda found: repr(names[found[1]]), near)


def _without_value(error: click.BadOptionUsage) -> str:
    several = re.search(r"requires (\d+) arguments", error.message)
    if several:
        return f"{error.option_name} needs {several[1]} values"
    return f"{error.option_name} {'takes no value' if 'does not take' in error.message else 'needs a value'}"


def _name(parameter: click.Parameter) -> str:
    """Return the name of an option or an argument, as the help spells it."""
    return parameter.opts[0] if isinstance(parameter, click.Option) else parameter.human_readable_name.rstrip(".")
