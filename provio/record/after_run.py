"""Has a run merged after its command: now, in the background, or by the next query. Out: the message about it."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from provio.base.errors import Busy, ProvioError, remedy
from provio.settings import home as homes
from provio.settings.home import share
from provio.settings.lock import Lock
from provio.system import ranks
from provio.trace import content_requests
from provio.trace.recording import host_folder

if TYPE_CHECKING:
    from provio.settings.schema import Config
    from provio.trace.recording import Recording
    from provio.trace.run_facts import Trace

BACKGROUND, WAIT, ASK = "background", "wait", "ask"  # when a run is merged (the setting `merge`)
GAPS = slice(24, 28)  # the bytes of the list `unclosed` that contain the number of gaps
MANY = 500  # runs from which on some may be archived


def begin(recording: Recording, settings: Config, when: str, note: Callable[[], None]) -> str:
    """Note the end of a run by `note`, and have it merged, unless another process is merging; return the message."""
    try:
        note()
        lock = Lock(recording.home, wait=False) if when == WAIT else None
    except Busy:
        return _leave_pending(recording, settings, WAIT)
    except (OSError, ProvioError) as error:
        return kept(recording.run_id, error)
    if lock is None:
        return _leave_pending(recording, settings, when)
    return _in_child(lambda: _merge(recording, lock, settings), lock, recording.run_id)


def kept(run_id: str, error: BaseException) -> str:
    """Return the message about a run that stays pending because of an error."""
    advice = remedy(error, "") if isinstance(error, OSError) else ""
    return f"run {run_id} is recorded, but not merged: {str(error) or type(error).__name__}" + (
        f": {advice}" if advice else ""
    )


def pending(recording: Recording, when: str) -> str:
    """Return the message about a run that is not merged yet; `wait` means that another process is merging."""
    where = "recorded" if when == BACKGROUND else "pending"
    return f"run {recording.run_id}: {where} in {recording.home.path}" + " (the store is busy)" * (when == WAIT)


def _gaps(recording: Recording) -> str:
    """Return the number of gaps that the traces of this host state, as the end of a message; empty for none."""
    from provio.trace.run_source import HEAD, UNCLOSED

    count = 0
    with suppress(OSError):
        count += b"/unwatched> a :Gap " in (recording.folder / HEAD).read_bytes()  # the command itself
    with suppress(OSError), open(host_folder(recording) / UNCLOSED, "rb") as file:
        count += int.from_bytes(file.read(GAPS.stop)[GAPS], sys.byteorder)
    return f", {count} gap{'s' * (count > 1)}: provio show last" if count else ""


def _leave_pending(recording: Recording, settings: Config, when: str) -> str:
    """Leave a run to a later merge, after the inspection of files that must be done now."""
    from provio.record.waiter import start

    start.postprocess(recording)
    share(recording.home, recording.folder)
    follow = _hashed(recording, settings, when)
    if when == BACKGROUND:
        from provio.merge import background

        background.begin(recording.home, homes.project_folders())
    return pending(recording, when) + _gaps(recording) + follow


def _in_child(work: Callable[[], str], lock: Lock | None, run_id: str) -> str:
    """Call `work` in a child process, and return its message: if it crashes, the command's end is passed on anyway."""
    result, output = os.pipe()
    child = os.fork()
    if child == 0:
        gc.disable()  # the process is short
        try:
            word = work()
        except BaseException as error:
            word = kept(run_id, error)
        os.write(output, os.fsencode(word[:4000]))  # fits into the pipe without blocking
        os._exit(0)
    os.close(output)
    if lock:
        lock.close()
    try:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except KeyboardInterrupt:
        status = 130
    if status:
        return f"run {run_id} is recorded, but not merged: the merge ended with {status}: provio merge tries again"
    return os.fsdecode(os.read(result, 1 << 16))


def _merge(recording: Recording, lock: Lock, settings: Config) -> str:
    """Merge a run that ended; return the message about it."""
    from provio.merge import job
    from provio.merge.runs import merge
    from provio.store import served
    from provio.trace.post_run import postprocess
    from provio.trace.read import read_run

    with recording.home.closed():
        large = job.is_large(recording.folder)  # merge reads it in partitions
        lone = None if large else job.lone_of(recording.folder, recording.home)
        trace = None if large else postprocess(read_run(recording.folder, lone))
    share(recording.home, recording.folder)
    count = _counted(trace) if trace else "many processes"
    try:
        runs = [recording.folder]
        outcome = merge(recording.home, runs, known=trace, lock=lock, wait=False, settings=settings, own=runs[0])
    finally:
        follow = _hashed(recording, settings, WAIT)
    if settings.pack and len(os.listdir(recording.home.runs)) > MANY:
        from provio.merge import archive_runs  # slow to import, and rarely needed

        if archive_runs.has_too_many_folders(served(recording.home, settings), time.time()):
            archive_runs.begin(recording.home)
    damaged = f"; {outcome.damages[0]}" if outcome.damages else ""
    damaged += _rank_contradictions(trace) if trace else ""
    return f"run {recording.run_id}: {count}, recorded in {recording.home.path}{_gaps(recording)}{damaged}{follow}"


def _rank_contradictions(trace: Trace) -> str:
    """Return the message about contradictory variables of launchers, unless it was printed at the start."""
    from provio.trace.processes import RANKS

    try:
        ranks.of(os.environ)
    except ranks.Contradiction:
        return ""
    return "".join(f"; {reason}" for iri, _, reason in trace.gaps if iri == trace.iri + RANKS)


def _hashed(recording: Recording, settings: Config, when: str) -> str:
    """Start the hashing of a run's files in the background; return the message about it."""
    wants_all = settings.hash == content_requests.ALL
    # The background merge also hashes; a run that is left to a query is hashed after it. Each merge reads values.
    if (when == WAIT or (when == ASK and wants_all)) and content_requests.more_than_values(recording.home):
        from provio.merge import hashing

        hashing.begin(recording.home, then_merge=when == WAIT)
    return "; hashes follow" if wants_all else ""


def _counted(trace: Trace) -> str:
    """Return the numbers of processes and files of a run, as text."""
    from provio.base.text import plural

    if not trace.processes:
        return "no process that read or wrote a file"
    return f"{plural(len(trace.processes), 'process', 'processes')}, {plural(_files(trace), 'file')}"


def _files(trace: Trace) -> int:
    lone = len(trace.lone) if trace.lone else 0
    return lone + len({o.path for o in trace.openings() if o.kind == "FileVersion" and o.path})
