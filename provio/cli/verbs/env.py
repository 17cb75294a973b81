"""`provio env`: prints commands that a shell evaluates to start or end its recording."""

from __future__ import annotations

import sys
from typing import Any

import click

from provio.base import terminal
from provio.cli.option_types import Choice


@click.command("env", short_help="Record a shell from now on.")
@click.option(
    "--shell", "kind", type=Choice(["sh", "csh", "fish"]), help="The kind of shell [default: the calling shell]."
)
@click.option("--end", "ends", is_flag=True, help="End the recording.")
@click.option("--name", help="Name the run, to find it again.")
@click.option("--campaign", help="The campaign that the run belongs to.")
@click.option("--detail", type=Choice(["file", "op", "call"]), help="How much is recorded: see provio run.")
@click.option("--quiet", is_flag=True, help="Print nothing on stderr.")
def command(kind: str | None, ends: bool, quiet: bool, **flags: Any) -> int:
    """Print commands for a shell: after it evaluates them, all programs that it starts are recorded as one run. This is
    for scripts that `provio run` cannot start.

    The run ends with --end, or when the shell and all programs that it started have ended; the next query merges it.
    The shell's own reads and writes (built-in commands) are not observed, and a gap states this. `provio run bash`
    records a new shell, with its built-in commands.

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
    forgive = (lambda _: None) if ends else None  # wrong settings do not prevent the end of a recording
    settings = load.load(homes.project_folders(), flags, forgive, shown=ends)
    if sys.stdout.isatty():
        raise click.UsageError(f"the output is for a shell to evaluate: {_evaluated(kind, ends)}")
    if ends:
        over = shell.run_has_ended()
        run, text = shell.end_script(kind, settings)
        word = f"run {run}: " + ("had already ended, or was removed" if over else "ended; the next query merges it")
    elif shell.current_run() and not shell.run_has_ended():
        text, word = b"", f"this shell is already recorded, as run {(shell.current_run() or ('',))[0]}: nothing to do"
    else:
        from provio.base.errors import CannotRecord, NotAllowed, NothingKnown
        from provio.record.driver import prepared

        try:
            wide = homes.warning(homes.recording())
            if wide and not quiet:
                terminal.warn(wide)
            recording = prepared(shell.caller(), settings)
        except (CannotRecord, NothingKnown) as error:  # the exit code 125 means that a command was not started
            raise NotAllowed(str(error)) from error
        text = shell.start_script(recording, kind)
        word = f"run {recording.run_id}: recording until this shell ends, or {_evaluated(kind, True)}"
    terminal.out(text)
    if not quiet:
        terminal.remark(word)
    return 0


def _evaluated(kind: str, ends: bool) -> str:
    call = "provio env --end" if ends else "provio env"
    how = {"sh": 'eval "$(%s)"', "csh": "eval `%s --shell csh`", "fish": "%s --shell fish | source"}
    return how[kind] % call
