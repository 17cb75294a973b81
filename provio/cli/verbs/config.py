"""`provio config`: what is set, where, and how to set it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from provio.base import terminal
from provio.base.errors import ConfigError
from provio.cli.verbs import FORMS, Choice
from provio.settings import edit, load
from provio.settings import home as homes


def _scope(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Offer the choice of the file: `--user` and `--project`, the default."""
    project = click.option("--project", "user", flag_value=False, default=False, help="The project's file (default).")
    return click.option("--user", "user", flag_value=True, type=bool, help="Your own file, for every project.")(
        project(verb)
    )


@click.group("config", short_help="Show and change what is set.", invoke_without_command=True)
@click.option("--as", "form", type=FORMS, default="table", show_default=True)
@click.pass_context
def command(context: click.Context, form: str) -> int:
    """Show every setting, its value, and where that came from: a file and line, a variable, or the default.

    What is wrong in a file is said, and counts as not set (exit code 2).
    Example: provio config set record.environment false --user
    """
    if context.invoked_subcommand:
        return 0
    wrong: list[str] = []
    found = load.load(homes.project_folders(), forgive=wrong.append, shown=True)
    terminal.out(_rendered(edit.settings(found), form))
    for line in wrong:
        terminal.complain(line)
    return 2 if wrong else 0


def _rendered(rows: list[edit.Setting], form: str) -> str:
    from provio.render import records

    if form != "json":
        rows = [row._replace(value=edit.shown(row.value)) for row in rows]
    return records.render("config", rows, form, width=terminal.width(), unicode=terminal.unicode())


@command.command("get", short_help="Print one value.")
@click.argument("key")
@click.option("--as", "form", type=Choice(["text", "json"]), default="text", show_default=True)
def get(key: str, form: str) -> int:
    """Print the value of KEY: of a list a line for each item, of a table for each entry.

    Example: provio config get record.stat
    """
    known, part = edit.named(key)
    key = f"{known.name}.{part}" if part else key
    rows = edit.settings(load.load(homes.project_folders()))
    found = [row for row in rows if row.key == key or (not part and row.key.startswith(key + "."))]
    if part and not found:
        raise ConfigError(f"{key} is not set: provio config shows what is")
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
    """Set KEY to VALUE, as a variable or a file would have it; comments and layout of the file stay.

    Example: provio config set noise.add /data/software:/opt/site --user
    """
    path = edit.place(user, homes.project_folders())
    edit.change(path, user, key, value)
    terminal.note(f"{key} is set in {path}" + _over(key, path))
    return 0


@command.command("unset", short_help="Take one value out of a file.")
@click.argument("key")
@_scope
def unset(key: str, user: bool) -> int:
    """Take KEY out of a file, so that what is below it counts, or the default.

    Example: provio config unset noise.add --user
    """
    path = edit.place(user, homes.project_folders())
    edit.remove(path, user, key)
    terminal.note(f"{key} is no longer set in {path}" + _over(key, path))
    return 0


def _over(key: str, path: Path) -> str:
    """What else sets a key, and counts."""
    source = load.load(homes.project_folders(), forgive=lambda _: None, shown=True).source(key)
    return "" if source == "default" or source.startswith(f"{path}:") else f"; what counts is what {source} sets"


@command.command("path", short_help="Print where the files are.")
@click.option("--user", "which", flag_value="user", help="Your own file alone.")
@click.option("--project", "which", flag_value="project", help="The project's file alone.")
def where(which: str | None) -> int:
    """Print the files of settings, your own and the project's, there or not.

    Example: provio config path --project
    """
    for scope in ("user", "project"):
        if which in (None, scope):
            path = edit.place(scope == "user", homes.project_folders())
            terminal.out(f"{path}\n" if which else f"{scope:<8}{path}{'' if path.exists() else ' (not there)'}\n")
    return 0


@command.command("init", short_help="Write a file that tells every key.")
@_scope
def init(user: bool) -> int:
    """Write a settings file with every key in it, each of them a comment that tells what it may be.

    Example: provio config init --user
    """
    path = edit.place(user, homes.project_folders())
    edit.begin(path, user)
    terminal.note(f"wrote {path}: take the # from what you set")
    return 0
