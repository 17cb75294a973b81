"""`provio kernel`: installs, lists and removes Jupyter kernels that provio records."""

from __future__ import annotations

import re
import sys

import click

from provio.base import terminal

NAMED = r"[A-Za-z0-9_][A-Za-z0-9._-]*"  # not `.` or `..`: Jupyter would remove those folders


@click.group("kernel", short_help="Record Jupyter notebooks: install a kernel.")
def command() -> None:
    """Install a Jupyter kernel that provio records: each cell of a notebook is a Task, with its source.

    Choose it in the notebook's list of kernels. Reads and writes of cells are recorded as for any program; `provio
    lineage` names the cell that wrote a file, and `provio why` shows its source.

    \b
    Example: provio kernel install --user
             provio kernel install --user --name mine --python ~/env/bin/python
             provio kernel remove provio
    """


@command.command("install", short_help="Install a recorded kernel.")
@click.option("--user", is_flag=True, help="Only for you [default].")
@click.option("--prefix", metavar="DIR", help="In DIR/share/jupyter/kernels/NAME.")
@click.option("--sys-prefix", is_flag=True, help="In the environment that provio runs in.")
@click.option("--name", default="provio", show_default=True, help="The name of the kernel.")
@click.option("--display-name", metavar="TEXT", help="The title in a notebook's list of kernels.")
@click.option("--python", metavar="EXE", help="The Python that runs the cells; it needs ipykernel [default: this one].")
def install(
    user: bool, prefix: str | None, sys_prefix: bool, name: str, display_name: str | None, python: str | None
) -> int:
    """Install a kernel that starts ipykernel under `provio run`. Example: provio kernel install --user"""
    from provio.record import notebook

    if user + bool(prefix) + sys_prefix > 1:
        raise click.UsageError("--user, --prefix and --sys-prefix exclude each other: give one of them")
    if not re.fullmatch(NAMED, name):  # Jupyter would replace an empty name
        raise click.BadParameter(
            f"{name!r} is no kernel's name (allowed: letters, digits, - . _)", param_hint="'--name'"
        )
    place = sys.prefix if sys_prefix else prefix
    title = display_name or f"Python (provio{'' if name == 'provio' else ': ' + name})"
    made = notebook.install(name, title, python or sys.executable, user=place is None, prefix=place)
    terminal.out(f"{made.name}  {made.folder}\n")
    return 0


@command.command("list", short_help="List the recorded kernels.")
def listed() -> int:
    """List the recorded kernels that are installed: name, Python, folder. Example: provio kernel list"""
    from provio.record import notebook

    terminal.out("".join(f"{one.name}  {one.python}  {one.folder}\n" for one in notebook.installed()))
    return 0


@command.command("remove", short_help="Remove a recorded kernel.")
@click.argument("name")
def remove(name: str) -> int:
    """Remove the recorded kernel NAME. Example: provio kernel remove provio"""
    from provio.record import notebook

    terminal.out(f"removed {notebook.remove(name)}\n")
    return 0
