"""`provio run` of a rank, or with `PROVIO_RUN`, if it cannot simply join the run of others: this process becomes the
command.

The first rank makes the run, which stays pending, and publishes the parameters for the other ranks
(`provio.system.ranks`). No process waits: the launcher ends as its ranks do, and the files of a rank are complete at
every instant.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from provio.base import terminal, turtle
from provio.base.errors import CannotRecord, ProvioError
from provio.base.records import replace
from provio.interceptors.python.shared_tables import LAUNCHERS, STEPS
from provio.record import driver, implicit_run, not_started, run
from provio.settings import home as homes
from provio.settings import load
from provio.settings.home import Home
from provio.system import node_local, proc, ranks
from provio.system.ranks import Contradiction, Shared
from provio.trace import content_requests, environment, failed_start, run_source
from provio.trace.recording import SHIM, Recording, host_folder, write_run

if TYPE_CHECKING:
    from provio.record.options import Call
    from provio.settings.schema import Config


def run_command(call: Call) -> int:
    """Become the command of a rank; pass any other call to `provio.record.driver`."""
    try:
        code = _start_rank(call)
        if code is not None:
            return code
        ranks.step_aside()
        return driver.run_command(_for_rank(call))
    except CannotRecord as error:
        if ranks.reports_problems(os.environ):
            raise
        return error.exit_code


def _for_rank(call: Call) -> Call:
    """Return the call, quiet unless this is the first rank of the host, which reports for all."""
    return call if ranks.reports_problems(os.environ) else replace(call, quiet=True)


def _start_rank(call: Call) -> int | None:
    """Become the command, in the run of its parallel program or in the surrounding run. Return 126 or 127 if it cannot
    be started, and None if this is not a rank and no run is named, or it cannot be recorded so."""
    try:
        if ranks.of(os.environ) is None and not os.environ.get("PROVIO_RUN"):
            return None
        changes = {} if _inside() else _joined(call)
        if changes:
            _capture_machine(changes[b"PROVIO_TRACE"])
        return None if changes is None else _become(call.command, changes)
    except Contradiction as error:
        if _is_first_to_report():
            _reporter(call)(f"{error}: recorded as a separate run; unset the variables of another launcher")
    except Exception as error:  # the caller then records it as a separate run, which reports any error
        if call.strict:
            raise CannotRecord(str(error)) from error
    return None


def _capture_machine(parameters: bytes) -> None:
    """Write the facts of this machine into the run of these parameters of the shim, for the first rank of a host."""
    from provio.record import machine_facts

    _, detail, _, _, _, home, place = (unquote_to_bytes(field) for field in parameters.split(b";")[:7])
    if b"-environment" not in detail.split(b","):
        machine_facts.capture(Home(Path(os.fsdecode(home))), Path(os.fsdecode(place)))


def _is_first_to_report() -> bool:
    """Return whether no other rank of the same launcher on this host has reported a contradiction: the variables of the
    first rank may agree by chance."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    step = "".join(os.environ.get(name, "") for name in STEPS)
    try:
        launcher, known = ranks.launcher()
        if not known:
            return ranks.reports_problems(os.environ)
        folder = ranks.joined(str(homes.find_or_make().path))
        os.close(os.open(os.path.join(folder, ranks.file_name(f"said.{launcher}.{step}")), flags, 0o600))
    except FileExistsError:
        return False
    except (OSError, ValueError, ProvioError):  # `/proc` may hide the parent process
        return ranks.reports_problems(os.environ)
    return True


def _reporter(call: Call) -> Callable[[str], None]:
    return (lambda _: None) if call.quiet else terminal.warn


def _inside() -> bool:
    """Return whether the launcher is recorded: then its ranks are, too."""
    return "PROVIO_TRACE" in os.environ and SHIM.name in os.environ.get("LD_PRELOAD", "")


def _joined(call: Call) -> dict[bytes, bytes] | None:
    """Return the environment variables for the command, in the run that all ranks share. Return None for a call that
    differs from the first rank's, if only a variable identifies this process as a rank."""
    problems: list[str] = []
    settings = load.load(homes.project_folders(), driver.flags(call), None if call.strict else problems.append)
    wide = homes.warning(homes.recording())
    if wide:
        _reporter(call)(wide)
    home = homes.find_or_make()
    with home.closed():
        shared = ranks.turn(str(home.path))
    known = shared.known()
    while known:
        if known[2 : 2 + int(known[1])] != ranks.words_of(_options(), call.command[0]) and not ranks.by_a_launcher(
            os.environ
        ):
            return None
        try:
            return _for_other_program(home, ranks.for_here(known[0]), call, settings)
        except FileNotFoundError:  # the run was removed
            _report_archived(home, known[0], _reporter(_for_rank(call)))
            known = shared.known(known)
    changes = _make_run(home, shared, call, settings)
    for line in problems:
        _reporter(call)(line)
    return changes


def _report_archived(home: Home, trace: bytes, say: Callable[[str], None]) -> None:
    run_id = os.fsdecode(trace.split(b";")[3])
    if run_source.exists(home.runs / run_id):
        say(f"run {run_id} is already finished and packed: this becomes another run (use a new PROVIO_RUN each time)")


def _for_other_program(home: Home, trace: bytes, call: Call, settings: Config) -> dict[bytes, bytes]:
    """Return the variables for a program or an environment that differs from the first rank's."""
    fields = [os.fsdecode(ranks.plain(field)) for field in trace.split(b";")]
    recording = Recording(home, fields[3], (), None, 0, Path(fields[6]).parent)
    recording.hdf5, recording.recognise = settings.hdf5, settings.recognise
    changes = run.tracing_variables(recording, _words(call.command))
    return changes | ({b"PROVIO_TRACE": trace} if b"PROVIO_TRACE" in changes else {})


def _make_run(home: Home, shared: Shared, call: Call, settings: Config) -> dict[bytes, bytes]:
    """Make the run, as the first of the ranks, and return the variables."""
    implicit_run.remove_old_marks(home.path / ranks.JOINED)
    recording = driver.prepared(_words(call.command), settings, shared=True)
    with failed_start.removed_on_failure(recording):  # the other ranks wait, and do not know of the run yet
        return _publish(recording, shared, call, settings)


def _publish(recording: Recording, shared: Shared, call: Call, settings: Config) -> dict[bytes, bytes]:
    recording.facts.append(("unattended", "true"))
    write_run(recording, None)
    say = _reporter(call)
    if warning := _nested_launcher(call.command[0]):
        say(warning)
    setting = _mark_host(recording, settings, say)
    changes = run.tracing_variables(recording, _words(call.command), say)
    try:
        content_requests.request(recording.home, recording.run_id, settings)
    except OSError as error:  # on a full disk, the contents of the run's files are not read
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
    homes.share(recording.home, recording.folder)
    trace = run.trace_variable(recording)
    for_others = trace.split(b";")
    for_others[6:7] = [b"~" + node_local.encoded(setting)] if setting else for_others[6:7]
    # Before the run is published: from then on other ranks use it.
    (recording.folder / ranks.UNBEGUN).unlink(missing_ok=True)
    shared.leave(ranks.fields_of(b";".join(for_others), _options(), call.command[0], changes))
    return changes


def _nested_launcher(program: str) -> str:
    """Return the warning about a rank that starts ranks itself: its rank variable may come from another launcher, and
    contradict those of its own ranks."""
    name = next((name for _, name, _ in LAUNCHERS if name in os.environ), "")
    if not name or os.path.basename(program) not in (*ranks.LAUNCHER_PROGRAMS, "srun"):
        return ""
    return f"{name} makes this a rank, and {program} starts ranks: unset {name} if it comes from another launcher"


def _mark_host(recording: Recording, settings: Config, say: Callable[[str], None]) -> str:
    """Write the mark of this host; return the folder in which each host captures live files, or an empty string."""
    elsewhere = recording.trace_folder != recording.folder
    shared = str(run_source.shared_memory().parent) if elsewhere else ""
    home, run_id, host = str(recording.home.path), recording.run_id, turtle.segment(environment.host())
    for setting in filter(None, (settings.capture_dir, shared)):
        if driver.capture(recording, setting, say):
            node_local.take_part(home, run_id, host, setting)
            return setting
    node_local.mark(str(host_folder(recording)), run_id, host)
    return ""


def _options() -> list[str]:
    words = sys.argv[2:]
    return words[: words.index("--")] if "--" in words else []


def _words(command: Sequence[str]) -> list[bytes]:
    return [os.fsencode(word) for word in command]


def _become(command: Sequence[str], changes: dict[bytes, bytes]) -> int:
    """Become the command; a file without `#!` is run by the shell, as shells do."""
    env = dict(os.environb) | changes
    script = None
    try:
        ranks.become(list(command), env)
    except OSError as error:
        script = not_started.as_script(_words(command)) if error.errno == errno.ENOEXEC else None
        if script is None:
            _note_unstarted(command[0], changes.get(b"PROVIO_TRACE", b""), error)
            return run.not_started(_words(command), error).exit_code or 0
    if script:
        ranks.become([os.fsdecode(word) for word in script], env)
    return 126


def _note_unstarted(program: str, trace: bytes, error: OSError) -> None:
    """Add the gap that this rank's command was not started to the run, which other ranks may use. The shim does so if
    it cannot write a file."""
    reason = f"the command was not started ({not_started.failure(os.fsencode(program), error)[0]})"
    with contextlib.suppress(OSError, IndexError):
        tick = proc.start_tick()
        place = os.fsdecode(ranks.plain(trace.split(b";")[6]))
        os.symlink(
            reason.encode("utf-8", "replace"), os.fsencode(f"{place}/{os.getpid()}.{tick}.0.0{run_source.GAP_ENDING}")
        )
