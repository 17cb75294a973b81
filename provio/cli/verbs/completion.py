"""`provio completion`: the name of a shell in, the function by which it completes provio's words out."""

from __future__ import annotations

import click

from provio.base import terminal
from provio.cli.verbs import Choice


@click.command("completion", short_help="Let the Tab key complete.")
@click.argument("shell", type=Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print what makes SHELL complete verbs, options, runs, names, questions and files. In its settings file:

    \b
    Example: provio completion fish | source       ~/.config/fish/config.fish
             eval "$(provio completion bash)"      ~/.bashrc
             eval "$(provio completion zsh)"       ~/.zshrc, after compinit
    """
    from provio.cli import completion

    terminal.out(completion.script(context.find_root().command, shell))
    return 0
