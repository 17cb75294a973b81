"""`provio mcp`: serves the record to the client of a language model until its input ends."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from provio.base import terminal
from provio.base.errors import ProvioError
from provio.cli.option_types import Seconds
from provio.cli.options import memory_option
from provio.cli.verbs import serve

if TYPE_CHECKING:
    from provio.serve.snapshot_holder import SnapshotHolder


@click.command("mcp", short_help="Serve the record to agents (Model Context Protocol).")
@click.option("--timeout", "longest", type=Seconds(), metavar="SECONDS",
              help="Time limit of an answer; 0: none [default: the setting, or 60].")  # fmt: skip
@memory_option
def command(longest: float | None, max_memory: str | None) -> int:
    """Serve the record over standard input and output to a client of the Model Context Protocol (MCP).

    The client starts this command. It offers tools that read the record; answers are sent to the model that the client
    uses. Needs the Python package mcp.

    \b
    Example: provio mcp --timeout 20
    """
    from provio.serve import agents
    from provio.settings import home as homes

    homes.find()
    if sys.stdin is None or sys.stdout is None:
        raise ProvioError("standard input or output is closed: let a client of the protocol start provio mcp")
    if sys.stdin.isatty():
        terminal.note("this command is for a client of the Model Context Protocol (docs/agents.md); Ctrl-D ends it")

    def opened() -> SnapshotHolder:
        return serve.merged(longest, max_memory)[1]()

    agents.serve(opened)
    return 0
