"""A `provio run` of a rank, or in a run that `PROVIO_RUN` names, that cannot just take part in what others began: its
call in, this process as the command out.

The first rank makes the run, which is left pending, and leaves for the others what they need (`provio.system.ranks`).
There is no process that waits: the launcher ends as its ranks do, and what is recorded of a rank is whole at every
instant.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from provio.base import terminal, turtle
from provio.base.errors import CannotRecord, ProvioError
from provio.base.records import replace
from provio.record import driver, implicit_run, run
from provio.settings import home as homes
from provio.settings import load
from provio.system import node_local, proc, ranks
from provio.system.ranks import Contradiction, Shared
from provio.trace import environment, failed_start, run_source
from provio.trace.recording import SHIM, Recording, host_folder, write_run

if TYPE_CHECKING:
    from provio.record.options import Call
    from provio.settings.home import Home
    from provio.settings.schema import Config


def run_command(call: Call) -> int:
    """Become the command of a rank; of any other call, do what `provio.record.driver` does."""
    try:
        code = _started(call)
        if code is not None:
            return code
        ranks.step_aside()
        return driver.run_command(_of_many(call))
    except CannotRecord as error:
        if ranks.speaks(os.environ):
            raise
        return error.exit_code


def _of_many(call: Call) -> Call:
    """A call that says nothing, where what it would say the first rank of this host says for all."""
    return call if ranks.speaks(os.environ) else replace(call, quiet=True)


def _started(call: Call) -> int | None:
    """Become the command, in the run of its parallel program or in that around it; return 126 or 127 where it does not
    start, None where this is no rank and no run is named, or it cannot be recorded so."""
    try:
        if ranks.of(os.environ) is None and not os.environ.get("PROVIO_RUN"):
            return None
        changes = {} if _inside() else _joined(call)
        return None if changes is None else _become(call.command, changes)
    except Contradiction as error:
        if _finds_it_first():
            _say(call)(f"{error}: this is recorded as a run of its own; unset what is left of another launcher")
    except Exception as error:  # whatever it is, what is recorded otherwise finds it too, and says so
        if call.strict:
            raise CannotRecord(str(error)) from error
    return None


def _finds_it_first() -> bool:
    """Whether no other rank here that the same process started has found a contradiction: a variable that was left may
    agree with what the first rank is."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    step = "".join(os.environ.get(name, "") for name in ranks.STEPS)
    try:
        launcher, known = ranks.launcher()
        if not known:
            return ranks.speaks(os.environ)
        folder = ranks.joined(str(homes.find_or_make().path))
        os.close(os.open(os.path.join(folder, ranks.file_name(f"said.{launcher}.{step}")), flags, 0o600))
    except FileExistsError:
        return False
    except (OSError, ValueError, ProvioError):  # a `/proc` may hide whose process is above
        return ranks.speaks(os.environ)
    return True


def _say(call: Call) -> Callable[[str], None]:
    return (lambda _: None) if call.quiet else terminal.complain


def _inside() -> bool:
    """Whether the launcher is watched itself: then its ranks are."""
    return "PROVIO_TRACE" in os.environ and SHIM.name in os.environ.get("LD_PRELOAD", "")


def _joined(call: Call) -> dict[bytes, bytes] | None:
    """The variables by which the command is watched, in the run that all share; None of another call than the first
    one's where nothing but a variable says that this is a rank."""
    wrong: list[str] = []
    settings = load.load(homes.project_folders(), driver.flags(call), None if call.strict else wrong.append)
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
            return _as_others(home, ranks.for_here(known[0]), call, settings)
        except FileNotFoundError:  # it was removed meanwhile
            _say_packed(home, known[0], _say(_of_many(call)))
            known = shared.known(known)
    changes = _first(home, shared, call, settings)
    for line in wrong:
        _say(call)(line)
    return changes


def _say_packed(home: Home, trace: bytes, say: Callable[[str], None]) -> None:
    run_id = os.fsdecode(trace.split(b";")[3])
    if run_source.exists(home.runs / run_id):
        say(f"run {run_id} is already finished and packed: this is recorded as another run (use a new PROVIO_RUN each time)")


def _as_others(home: Home, trace: bytes, call: Call, settings: Config) -> dict[bytes, bytes]:
    """Of another program, or in another environment, than the first rank's."""
    fields = [os.fsdecode(ranks.plain(field)) for field in trace.split(b";")]
    recording = Recording(home, fields[3], (), None, 0, Path(fields[6]).parent)
    recording.hdf5, recording.recognise = settings.hdf5, settings.recognise
    changes = run.tracing_variables(recording, _encoded(call))
    return changes | ({b"PROVIO_TRACE": trace} if b"PROVIO_TRACE" in changes else {})


def _first(home: Home, shared: Shared, call: Call, settings: Config) -> dict[bytes, bytes]:
    """Of the rank that is there first, whichever it is: it makes the run, and says what is wrong with it."""
    implicit_run.remove_old_marks(home.path / ranks.JOINED)
    recording = driver.prepared(_encoded(call), settings, shared=True)
    with failed_start.removed_on_failure(recording):  # the others wait meanwhile, and know nothing of it
        return _made(recording, shared, call, settings)


def _made(recording: Recording, shared: Shared, call: Call, settings: Config) -> dict[bytes, bytes]:
    recording.facts.append(("unattended", "true"))
    write_run(recording, None)
    say = _say(call)
    if left := _left(call.command[0]):
        say(left)
    setting = _marked(recording, settings, say)
    changes = run.tracing_variables(recording, _encoded(call), say)
    if settings.hash:
        from provio.merge import hashing  # it loads the store

        hashing.request(recording.home, recording.run_id)
    homes.share(recording.home, recording.folder)
    trace = run.trace_variable(recording)
    for_others = trace.split(b";")
    for_others[6:7] = [b"~" + node_local.encoded(setting)] if setting else for_others[6:7]
    (recording.folder / ranks.UNBEGUN).unlink(missing_ok=True)  # before others know: it is theirs as well from there on
    shared.leave(ranks.fields_of(b";".join(for_others), _options(), call.command[0], changes))
    return changes


def _left(program: str) -> str:
    """What is said of a rank that starts ranks itself: the variable by which it is one may be left of another launcher,
    and its own contradict that."""
    name = next((name for _, name, _ in ranks.TABLE if name in os.environ), "")
    if not name or os.path.basename(program) not in (*ranks.LAUNCHERS, "srun"):
        return ""
    return f"by {name} this is a rank, and {program} starts others: unset {name} where it is left of another launcher"


def _marked(recording: Recording, settings: Config, say: Callable[[str], None]) -> str:
    """Leave the mark of this host; return in what folder of each host live files are captured, if in any."""
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


def _encoded(call: Call) -> list[bytes]:
    return [os.fsencode(word) for word in call.command]


def _become(command: Sequence[str], changes: dict[bytes, bytes]) -> int:
    """Become the command; a file without `#!` is run by the shell, as shells do."""
    env = dict(os.environb) | changes
    try:
        ranks.become(list(command), env)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            _note_unstarted(command[0], changes.get(b"PROVIO_TRACE", b""), error)
            return run.not_started(os.fsencode(command[0]), error).exit_code or 0
    ranks.become(["/bin/sh", *command], env)
    return 126


def _note_unstarted(program: str, trace: bytes, error: OSError) -> None:
    """Leave in the run, of which others may be by now, why nothing of this rank's command is in it: as the shim does
    where it can write no file."""
    reason = f"the command was not started ({run.start_failure(os.fsencode(program), error)[0]})"
    with contextlib.suppress(OSError, IndexError):
        tick = proc.start_tick()
        place = os.fsdecode(ranks.plain(trace.split(b";")[6]))
        os.symlink(
            reason.encode("utf-8", "replace"), os.fsencode(f"{place}/{os.getpid()}.{tick}.0.0{run_source.GAP_ENDING}")
        )
