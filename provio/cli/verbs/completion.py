"""`provio completion`: prints the completion function for a shell."""

from __future__ import annotations

import click

from provio.base import terminal
from provio.cli.option_types import Choice


@click.command("completion", short_help="Set up completion by the Tab key.")
@click.argument("shell", type=Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print code by which SHELL completes verbs, options, runs, names, queries and files. In its settings file:

    \b
    Example: provio completion fish | source       ~/.config/fish/config.fish
             eval "$(provio completion bash)"      ~/.bashrc
             eval "$(provio completion zsh)"       ~/.zshrc, after compinit
    """
    from provio.cli import completion

    terminal.out(completion.script(context.find_root().command, shell))
    return 0
