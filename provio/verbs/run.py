"""`provio run`: a command in, its own output and end out, and a recorded run left behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from provio import terminal
from provio.errors import CannotRecord
from provio.reports.text import plural

if TYPE_CHECKING:
    from provio.config import Config


@click.command(
    "run",
    short_help="Watch a command.",
    context_settings={"allow_interspersed_args": False},
)
@click.option("--name", help="Name the run, to find it again.")
@click.option("--campaign", help="The campaign that the run belongs to.")
@click.option(
    "--detail",
    type=click.Choice(["file", "op", "call"]),
    help="Who touched what; counters for each function (op, the default); every single call.",
)
@click.option(
    "--record",
    multiple=True,
    type=click.Choice(["stat", "list"]),
    help="Record this class too: looks at a file's facts, or listings of folders.",
)
@click.option("--hash/--no-hash", "hashed", default=None, help="SHA-256 of what it wrote, computed after it (no wait).")
@click.option("--quiet", is_flag=True, help="Say nothing on stderr.")
@click.option("--no-merge", is_flag=True, help="Leave the run pending; the next question merges it.")
@click.option("--strict", is_flag=True, help="Do not start the command (125) where it cannot be recorded.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
def command(
    name: str | None,
    campaign: str | None,
    detail: str | None,
    record: tuple[str, ...],
    hashed: bool | None,
    quiet: bool,
    no_merge: bool,
    strict: bool,
    command: tuple[str, ...],
) -> int:
    """Watch COMMAND: record which files its processes read and wrote.

    Its output, exit code and signals are its own. What provio.toml sets, the options are over. Example: provio run --
    make -j4
    """
    from provio import config, run
    from provio import home as homes
    from provio.redact import Redaction

    arguments = [os.fsencode(argument) for argument in command]
    flags = {"name": name, "campaign": campaign, "detail": detail, "record": record or None, "hash": hashed}
    forgive = None if strict else (lambda _: None) if quiet else terminal.complain
    try:
        settings = config.load(homes.project_folders(), flags, forgive)
        detailed = run.Detail(settings.detail, frozenset(settings.record))
        redaction = Redaction(settings.redact_add, settings.redact_keep)
        recording = run.prepare(arguments, settings.name or None, detailed, settings.campaign or None, redaction)
    except Exception as error:
        if strict:
            raise CannotRecord(str(error)) from error
        if not quiet:
            terminal.complain(f"not recording: {error}")
        recording, settings = None, config.Config()
    end = run.watch(arguments, recording, (lambda _: None) if quiet else terminal.complain)
    if recording:
        _apart(lambda: _after(recording, end, no_merge, settings), quiet, recording.run_id)
    return run.end_as(end)


def _apart(work: Callable[[], str], quiet: bool, run_id: str) -> None:
    """Do what comes after the command in a process of its own: however it ends, the command's end is passed on."""
    child = os.fork()
    if child == 0:
        try:
            word = work()
        except BaseException as error:
            word = f"run {run_id} is kept, but: {str(error) or type(error).__name__}"
        if not quiet:
            terminal.complain(word)
        os._exit(0)
    try:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except KeyboardInterrupt:
        status = 130
    if status and not quiet:
        terminal.complain(f"run {run_id} is kept; merging it failed (it ended with {status}): provio merge tries again")


def _after(recording: Any, end: Any, no_merge: bool, settings: Config) -> str:
    """Finish a run, and have what it wrote hashed by a process that nobody waits for; return the line to say of it."""
    from provio import environment, hashing

    if settings.hash:
        hashing.ask(recording.home, recording.run_id)
    try:
        return _finish(recording, end, no_merge, settings) + ("; hashes follow" if settings.hash else "")
    finally:
        hashing.begin(recording.home, then_merge=not (no_merge or environment.job_id()))


def _finish(recording: Any, end: Any, no_merge: bool, settings: Config) -> str:
    """Settle and merge a run that ended; return the line to say of it."""
    from provio import environment, run, settle, turtle
    from provio.home import share
    from provio.merge import merge
    from provio.store import Busy
    from provio.trace import content_hash, read_run

    run.write_run(recording, end)
    trace = read_run(recording.folder)
    with recording.home.closed():
        settle.settle(trace, turtle.segment(environment.system_facts()["host"]))
    share(recording.home, recording.folder)
    trace.content_hash = content_hash(trace.folder, trace.run)
    count = f"{plural(len(trace.processes), 'process', 'processes')}, {plural(_files(trace), 'file')}"
    if not trace.processes:
        count = "no process that read or wrote a file"
    what = f"run {recording.run_id}: {count}"
    if no_merge or environment.job_id():
        return f"{what}, pending in {recording.home.path}"
    try:
        outcome = merge(recording.home, [recording.folder], wait=False, settings=settings)
    except Busy:
        return f"{what}, pending in {recording.home.path} (the store is busy)"
    damaged = f"; {outcome.damages[0]}" if outcome.damages else ""
    return f"{what}, recorded in {recording.home.path}{damaged}"


def _files(trace: Any) -> int:
    return len({o.path for o in trace.openings() if o.kind == "FileVersion" and o.path})
