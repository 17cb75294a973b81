"""`provio config`: shows and changes settings."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from provio.base import terminal
from provio.base.errors import ConfigError
from provio.cli.option_types import Choice, Form
from provio.cli.options import form_option
from provio.settings import edit, load
from provio.settings import home as homes


def _scope(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--user` and `--project` (the default), which select the settings file."""
    project = click.option("--project", "user", flag_value=False, default=False, help="The project's file (default).")
    return click.option("--user", "user", flag_value=True, type=bool, help="Your own file, for every project.")(
        project(verb)
    )


class Settings(click.Group):
    """The verb's own verbs; for a setting in place of one, the error is the call that reads or sets it."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Return the called verb; raise UsageError for a setting."""
        key, _, value = args[0].partition("=")
        with contextlib.suppress(ConfigError):
            if args[0] not in self.commands and edit.named(key):
                words = [key, *filter(None, [value]), *args[1:]]
                call = f"{ctx.command_path} {'get' if len(words) == 1 else 'set'} {shlex.join(words)}"
                raise click.UsageError(f"{args[0]!r} is a setting: did you mean {call}?", ctx)
        return super().resolve_command(ctx, args)


@click.group("config", cls=Settings, short_help="Show and change settings.", invoke_without_command=True)
@form_option
@click.pass_context
def command(context: click.Context, form: str) -> int:
    """Show every setting, its value and its source: a file and line, a variable, or the default.

    An error in a file is reported and the setting ignored (exit code 2).
    Example: provio config set record.environment false --user
    """
    if context.invoked_subcommand:
        return 0
    wrong: list[str] = []
    found = load.load(homes.project_folders(), forgive=wrong.append, shown=True)
    terminal.out(_rendered(edit.settings(found), form))
    for line in wrong:
        terminal.warn(line)
    return 2 if wrong else 0


def _rendered(rows: list[edit.Setting], form: str) -> str:
    from provio.render import records

    if form != "json":
        rows = [row._replace(value=edit.shown(row.value)) for row in rows]
    return records.render("config", rows, form, width=terminal.width(), unicode=terminal.unicode())


@command.command("get", short_help="Print one value.")
@click.argument("key")
@click.option("--as", "form", cls=Form, type=Choice(["text", "json"]), default="text", show_default=True)
def get(key: str, form: str) -> int:
    """Print the value of KEY: one line for each item of a list or entry of a table.

    Example: provio config get record.stat
    """
    known, part = edit.named(key)
    key = f"{known.name}.{part}" if part else key
    rows = edit.settings(load.load(homes.project_folders()))
    found = [row for row in rows if row.key == key or (not part and row.key.startswith(key + "."))]
    if part and not found:
        raise ConfigError(f"{key} is not set: provio config lists the settings")
    if form == "json":
        whole = {row.key.removeprefix(key + "."): row.value for row in found}
        value: Any = found[0].value if [row.key for row in found] == [key] or part else whole
        terminal.out(json.dumps(value, ensure_ascii=False) + "\n")
        return 0
    lines: list[str] = []
    for row in found:
        text = row.value if isinstance(row.value, str) else edit.shown(row.value)
        if row.key != key and not part:
            lines.append(f"{row.key.removeprefix(key + '.')} = {edit.shown(row.value)}")
        elif isinstance(row.value, list):
            lines += [str(item) for item in row.value]
        elif row.value not in ("", {}):
            lines.append(text)
    terminal.out("".join(line + "\n" for line in lines))
    return 0


@command.command("set", short_help="Set one value in a file.")
@click.argument("key")
@click.argument("value")
@_scope
def change(key: str, value: str, user: bool) -> int:
    """Set KEY to VALUE, in the syntax of variables or files; comments and layout of the file stay.

    Example: provio config set noise.add /data/software:/opt/site --user
    """
    path = edit.place(user, homes.project_folders())
    edit.change(path, user, key, value)
    terminal.note(f"{key} is set in {path}" + _over(key, path))
    return 0


@command.command("unset", short_help="Remove one value from a file.")
@click.argument("key")
@_scope
def unset(key: str, user: bool) -> int:
    """Remove KEY from a file, so that a file of lower precedence or the default applies.

    Example: provio config unset noise.add --user
    """
    path = edit.place(user, homes.project_folders())
    edit.remove(path, user, key)
    terminal.note(f"{key} is no longer set in {path}" + _over(key, path))
    return 0


def _over(key: str, path: Path) -> str:
    """Return a clause that names another source if it takes precedence over the file."""
    source = load.load(homes.project_folders(), forgive=lambda _: None, shown=True).source(key)
    return "" if source == "default" or source.startswith(f"{path}:") else f"; but {source} takes precedence"


@command.command("path", short_help="Print the names of the settings files.")
@click.option("--user", "which", flag_value="user", help="Only your own file.")
@click.option("--project", "which", flag_value="project", help="Only the project's file.")
def where(which: str | None) -> int:
    """Print the names of the settings files, your own and the project's, whether or not they exist.

    Example: provio config path --project
    """
    for scope in ("user", "project"):
        if which in (None, scope):
            path = edit.place(scope == "user", homes.project_folders())
            terminal.out(f"{path}\n" if which else f"{scope:<8}{path}{'' if path.exists() else ' (missing)'}\n")
    return 0


@command.command("init", short_help="Write a file that explains every key.")
@_scope
def init(user: bool) -> int:
    """Write a settings file with every key as a comment that explains it.

    Example: provio config init --user
    """
    path = edit.place(user, homes.project_folders())
    edit.begin(path, user)
    terminal.note(f"wrote {path}: remove the # from the keys that you set")
    return 0
