"""Carries out a call of `provio run`: records the command, and has the run merged."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from provio.base import terminal, turtle
from provio.base.errors import CannotRecord, ConfigError, ProvioError
from provio.base.records import replace, values
from provio.base.vocab import RUN_BASE
from provio.record import after_run, run
from provio.record.after_run import ASK, BACKGROUND, WAIT
from provio.settings import home as homes
from provio.settings import load, record_classes, schema
from provio.trace import content_requests, environment, failed_start, output
from provio.trace.recording import Detail, host_folder, note_end, prepare, write_run
from provio.trace.redact import Redaction

if TYPE_CHECKING:
    from provio.record.options import Call
    from provio.settings.home import Home
    from provio.settings.schema import Config
    from provio.system.signals import Signals
    from provio.trace.recording import End, Recording


def run_command(call: Call) -> int:
    """Record a command, have its run merged, and return its exit code (or end by its signal).

    Raises CannotRecord with `--strict` if it cannot be recorded.
    """
    arguments = [os.fsencode(argument) for argument in call.command]
    recording, settings, folders = _start_recording(call, arguments)
    say = (lambda _: None) if call.quiet else terminal.warn

    def lasts(signals: Signals, pid: int) -> None:
        if recording:
            from provio.record.waiter.start import become_waiter

            _capture_machine(recording)
            become_waiter(recording, signals, pid, *_waiter_arguments(recording, call, settings, folders))

    end = run.watch(arguments, recording, say, lasts)
    if recording:
        _capture_machine(recording)
        from provio.record.waiter.start import PYTHON, become_waiter_at_end

        arguments_of_waiter = _waiter_arguments(recording, call, settings, folders)
        if arguments_of_waiter[0] != PYTHON:
            become_waiter_at_end(recording, end, *arguments_of_waiter)
        finish(recording, end, call, settings)
    return run.end_as(end)


def _capture_machine(recording: Recording) -> None:
    """Write the facts of this machine into a run."""
    from provio.record import machine_facts  # the command has started, or has ended: nothing waits for this import

    machine_facts.capture_of(recording)
    if recording.changes is not None:
        from provio.record import git_diff

        git_diff.write(recording)


def finish(recording: Recording, end: End, call: Call, settings: Config) -> None:
    """Finish the run of a command that ended, and have it merged."""
    _capture_machine(recording)
    _finish(recording, end, call, settings, lambda: write_run(recording, end))


def _start_recording(call: Call, arguments: list[bytes]) -> tuple[Recording | None, Config, list[Path]]:
    """Return the run of a call (None if it cannot be recorded), the settings, and the folders of project settings."""
    forgive = None if call.strict else (lambda _: None) if call.quiet else terminal.warn
    try:
        folders = homes.project_folders()
        settings = load.load(folders, flags(call), forgive)
        wide = homes.warning(homes.recording())
        if wide and not call.quiet:
            terminal.warn(wide)
        recording = prepared(arguments, settings)
        annotate(recording, call, settings)
        if settings.capture_dir:
            say = (lambda _: None) if call.quiet else terminal.warn
            with failed_start.removed_on_failure(recording):
                if capture(recording, settings.capture_dir, say) and environment.job_id():
                    _start_collector(recording)
        if settings.record_git_diff:
            from provio.record import git_diff  # most runs do not keep it

            git_diff.ask(recording)
        return recording, settings, folders
    except Exception as error:
        if call.strict:
            raise CannotRecord(str(error)) from error
        if not call.quiet:
            terminal.warn(f"not recording: {error}")
        return None, schema.Config(), []


def annotate(recording: Recording, call: Call, settings: Config) -> None:
    """Write the note of a call; an invalid one is reported, and does not prevent the recording."""
    if call.note is not None:
        from provio.trace import notes  # most calls have none

        try:
            text = notes.cleaned(os.fsencode(call.note))
            notes.write(recording.home, recording.run_id, RUN_BASE + recording.run_id, text, settings)
        except ProvioError as error:
            if call.strict:
                raise
            if not call.quiet:
                terminal.warn(f"--note: {error}")


def capture(recording: Recording, setting: str, say: Callable[[str], None]) -> bool:
    """Put the live files into the folder of `capture_dir`, until they are collected; if that fails, report it to `say`
    and return False."""
    from provio.system import node_local

    home, host = str(recording.home.path), turtle.segment(environment.host())
    before = host_folder(recording)
    if recording.trace_folder != recording.folder:  # otherwise the existing folder would count as started
        before.rmdir()
    try:
        with recording.home.closed():
            place = node_local.begin(home, recording.run_id, host, setting)
    except (OSError, ValueError) as error:
        before.mkdir(0o700, exist_ok=True)
        why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else error
        say(f"capture_dir: {why}: traces are written into the run folder (name a folder on the node's own disk)")
        return False
    if recording.trace_folder not in (recording.folder, Path(place)):
        recording.trace_folder.rmdir()
    recording.trace_folder = Path(place)
    return True


def _start_collector(recording: Recording) -> None:
    """In a batch job, which may be killed as a whole, start a process that collects the files: on a signal to end, and
    when all processes have ended."""
    from provio.system import node_local

    node_local.leave_collector(str(recording.home.path), recording.run_id, str(recording.trace_folder))


def _collect(recording: Recording, quiet: bool) -> str:
    """Collect captured files into the run folder; return the reason if that fails, else an empty string. Announce it in
    a batch job, which waits for it."""
    if recording.trace_folder == recording.folder:
        return ""
    from provio.system import node_local
    from provio.trace import collect

    here = recording.folder / turtle.segment(environment.host())
    if not (here / node_local.MARK).exists():  # in shared memory, which every reader of runs looks at
        return ""
    if environment.job_id() and not quiet:
        terminal.remark(f"run {recording.run_id}: collecting the records in {recording.trace_folder}")
    word = collect.collect(recording.home, recording.run_id, recording.trace_folder, wait=True)
    if here.is_dir():
        recording.trace_folder = recording.folder
    return word


def flags(call: Call) -> dict[str, object]:
    """Return the settings that a call sets."""
    record = [*call.on, *(f"-{word}" for word in call.off)] or None
    name = call.name or _notebook(call.command)
    found: dict[str, object] = {"name": name, "campaign": call.campaign, "detail": call.detail}
    found |= {"record": record, "hash": call.hashed}
    return found | {"include": call.include or None, "exclude": call.exclude or None}


def _notebook(command: tuple[str, ...]) -> str | None:
    """Return the name of the notebook of a recorded kernel, if Jupyter states it."""
    is_kernel = any(word.endswith("provio/interceptors/kernel.py") for word in command)
    return os.path.basename(os.environ.get("JPY_SESSION_NAME", "")) or None if is_kernel else None


def when_merged(call: Call, settings: Config) -> str:
    """Return when a run is merged: at its end (`wait`), in the `background`, or by the next query (`ask`)."""
    if call.no_merge or environment.job_id():
        return ASK
    if settings.merge != BACKGROUND:
        return settings.merge
    from provio.merge import background

    return BACKGROUND if background.may_start(settings.source("merge") != "default") else ASK


def _waiter_arguments(
    recording: Recording, call: Call, settings: Config, folders: list[Path]
) -> tuple[bytes, str, tuple[Any, list[str]]]:
    """Return the waiter's action at the end of a run, its message, and the data for `run_end`."""
    from provio.record.waiter import start

    when = when_merged(call, settings)
    collects = settings.capture_dir and when != BACKGROUND
    needs_python = when == WAIT or settings.hash == content_requests.ALL or recording.home.shared or collects
    mode = start.PYTHON if needs_python else start.MERGE if when == BACKGROUND else start.LEAVE
    word = "" if call.quiet else terminal.message_line(after_run.pending(recording, when))
    return mode, word, (values(replace(call, note=None)), [str(folder) for folder in folders])


def finish_after_waiter(recording: Recording, end: End, call: Call, folders: list[Path]) -> None:
    """Finish a run that the waiter waited for."""
    settings = load.load(folders, flags(call), lambda _: None)
    _finish(recording, end, call, settings, lambda: note_end(recording, end))


def _finish(recording: Recording, end: End, call: Call, settings: Config, note: Callable[[], None]) -> None:
    """Finish a run after its command; errors are reported, and do not change the command's exit code."""
    words = []
    try:
        when = when_merged(call, settings)
        words.append((terminal.warn, _recreate_folder(recording, end)))
        if when != BACKGROUND:
            words.append((terminal.warn, _collect(recording, call.quiet)))  # reported even if the rest fails
        if not words[0][1] or recording.folder.is_dir():
            words.append((terminal.remark, after_run.begin(recording, settings, when, note)))
    except Exception as error:
        words.append((terminal.warn, after_run.kept(recording.run_id, error)))
    for report, word in words if not call.quiet else ():
        if word:
            report(word)


def _recreate_folder(recording: Recording, end: End) -> str:
    """Re-create the run folder if it was removed; return the message about it, else an empty string."""
    if os.path.exists(recording.folder / "run.ttl"):
        return ""
    from provio.record import crashed_run  # rarely needed

    return crashed_run.recreate(recording, end)


def prepared(arguments: list[bytes], settings: Config, home: Home | None = None, shared: bool = False) -> Recording:
    """Return a new run for a command line, recorded by the settings, in `home` or the `.provio` found from the current
    folder; a run `shared` by ranks starts when it is announced to them, with its request for hashes."""
    detailed = Detail(settings.detail, record_classes.changes(settings.record), _limits(settings))
    redaction = Redaction(settings.redact_add, settings.redact_keep)
    names = settings.name or None, detailed, settings.campaign or None
    recording = prepare(
        arguments, *names, redaction, settings.hdf5, settings.domains, home, settings.recognise, shared,
        settings.record_variables,
    )  # fmt: skip
    recording.libraries = settings.record_packages and not detailed.leaves_out("program")
    if not shared:
        recording.output = output.request(settings)
        recording.value_files = tuple(dict.fromkeys((*settings.record_parameter_files, *settings.record_metric_files)))
        with suppress(OSError):  # a full disk: the run has no hashes
            content_requests.request(recording.home, recording.run_id, settings)
    return recording


def _limits(settings: Config) -> tuple[str, ...]:
    """Return the limits of `include` and `exclude`, relative to the project's folder."""
    if not (settings.include or settings.exclude):
        return ()
    return recorded_paths(settings.include, settings.exclude, homes.find_or_make().project)


MOST = 64  # paths, as in filter.c
LONGEST = 32_768  # bytes of all paths: they are passed in an environment variable
WILD = re.compile(r"[*?[]")


def recorded_paths(include: Iterable[str], exclude: Iterable[str], project: Path) -> tuple[str, ...]:
    """Return the shim's parameters for `include` and `exclude`; raises ConfigError above its limits."""
    found = [f"{sign}{path}" for sign, paths in (("-", exclude), ("+", include)) for path in _all(paths, project)]
    found = list(dict.fromkeys(found))
    size = sum(len(os.fsencode(one)) for one in found)
    if len(found) > MOST or size > LONGEST:
        raise ConfigError(
            f"include and exclude name {len(found)} folders and globs of {size} bytes in total, above the limit of "
            f"{MOST} and {LONGEST} bytes: name a parent folder, or one glob for several"
        )
    return tuple(found)


def _all(paths: Iterable[str], project: Path) -> Iterator[str]:
    for path in paths:
        fixed = WILD.search(path)
        if fixed is None:
            whole = os.path.normpath(project / path)
            yield from (whole, os.path.realpath(whole))
            continue
        folder, _, rest = path[: fixed.start()].rpartition("/")
        rest += path[fixed.start() :].rstrip("/")
        if path.startswith("/"):
            above = [folder, os.path.realpath(folder or "/").rstrip("/")]
        else:
            above = [os.path.normpath(project / folder), os.path.realpath(project / folder)]
        yield from (f"{_escaped(one.rstrip('/'))}/{rest}" for one in above)


def _escaped(folder: str) -> str:
    return WILD.sub(r"[\g<0>]", folder)
