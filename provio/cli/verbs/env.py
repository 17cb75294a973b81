"""`provio env`: a shell's kind in, what it evaluates to be recorded from then on, or no more, out."""

from __future__ import annotations

import sys
from typing import Any

import click

from provio.base import terminal
from provio.cli.verbs import Choice


@click.command("env", short_help="Record a shell from here on.")
@click.option("--shell", "kind", type=Choice(["sh", "csh", "fish"]), help="Its kind [default: as who asks].")
@click.option("--end", "ends", is_flag=True, help="End it: nothing more is recorded.")
@click.option("--name", help="Name the run, to find it again.")
@click.option("--campaign", help="The campaign that the run belongs to.")
@click.option("--detail", type=Choice(["file", "op", "call"]), help="How much is recorded: see provio run.")
@click.option("--quiet", is_flag=True, help="Say nothing on stderr.")
def command(kind: str | None, ends: bool, quiet: bool, **flags: Any) -> int:
    """Print the variables by which whatever a shell starts from then on is recorded, as one run: for a script that
    cannot be put behind `provio run`.

    The run goes on until --end, or until the shell and all that it started are gone; the next question merges it. What
    the shell itself reads and writes (its built-in commands) is not seen: a gap says so. `provio run bash` records a
    session that begins with it, shell and all.

    \b
    Example: provio env | source                       fish
             eval "$(provio env --name nightly)"       sh, bash, zsh, ksh
             eval "$(provio env --end)"
             eval `provio env`                         csh, tcsh
    """
    from provio.record import shell
    from provio.settings import home as homes
    from provio.settings import load

    kind = kind or shell.shell()
    forgive = (lambda _: None) if ends else None  # whatever is set, what goes on can be ended
    settings = load.load(homes.project_folders(), flags, forgive, shown=ends)
    if sys.stdout.isatty():
        raise click.UsageError(f"this is for a shell to evaluate: {_evaluated(kind, ends)}")
    if ends:
        over = shell.run_has_ended()
        run, text = shell.end_script(kind, settings)
        word = f"run {run}: " + ("was over, or is removed" if over else "ended; the next question merges it")
    elif shell.current_run() and not shell.run_has_ended():
        text, word = b"", f"this shell is recorded already, as run {(shell.current_run() or ('',))[0]}: nothing to do"
    else:
        from provio.base.errors import CannotRecord, NotAllowed
        from provio.record.driver import prepared

        try:
            recording = prepared(shell.caller(), settings)
        except CannotRecord as error:  # no command was to be started, of which 125 would say that it was not
            raise NotAllowed(str(error)) from error
        text = shell.start_script(recording, kind)
        word = f"run {recording.run_id}: recording until this shell ends, or {_evaluated(kind, True)}"
    terminal.out(text)
    if not quiet:
        terminal.complain(word)
    return 0


def _evaluated(kind: str, ends: bool) -> str:
    call = "provio env --end" if ends else "provio env"
    how = {"sh": 'eval "$(%s)"', "csh": "eval `%s --shell csh`", "fish": "%s --shell fish | source"}
    return how[kind] % call
