"""A run that was made and could not begin: its recording and why in; nothing of it, or a gap that says so, out.

Nobody has part in it yet, so it is taken away. Where a merge is under way, which may be reading it, or the store has it
already, it stays and says what it is.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from provio import turtle
from provio.errors import Busy, ProvioError
from provio.lock import Lock
from provio.recording import Recording, write_run
from provio.vocab import RUN_BASE


@contextlib.contextmanager
def begun_or_gone(recording: Recording) -> Iterator[None]:
    """Take a run away again, whatever keeps it from beginning."""
    try:
        yield
    except BaseException as error:
        take_back(recording, str(error) or type(error).__name__)
        raise


def take_back(recording: Recording, why: str) -> None:
    """Take a run away that nobody has part in, or keep in it why it did not begin; raises nothing."""
    if recording.held >= 0:
        os.close(recording.held)
        recording.held = -1
    lock = None
    with contextlib.suppress(OSError):
        try:
            lock = Lock(recording.home, wait=False)
            known = _is_merged(recording)
        except ProvioError as error:
            known = isinstance(error, Busy)  # else nobody merges here
        _keep(recording, why) if known else _take_away(recording)
    if lock:
        lock.close()


def _is_merged(recording: Recording) -> bool:
    marks = (recording.home.marks, *recording.home.path.glob("servers/*/merged"))
    return any((mark / recording.run_id).exists() for mark in marks)


def _keep(recording: Recording, why: str) -> None:
    run = f"<{RUN_BASE}{recording.run_id}>"
    reason = turtle.literal(f"its command was not recorded in it: {why}")
    recording.around += f"<{RUN_BASE}{recording.run_id}/unbegun> a :Gap ; :about {run} ; :reason {reason} .\n"
    write_run(recording, None)


def _take_away(recording: Recording) -> None:
    """The folder first: who collects lets go of what is of no run."""
    import shutil  # dear to load, and each run loads this module

    from provio import collect

    shutil.rmtree(recording.folder, ignore_errors=True)
    collect.drop(recording.home, recording.run_id)
    shutil.rmtree(recording.trace_folder, ignore_errors=True)
    (recording.home.path / "hashing" / recording.run_id).unlink(missing_ok=True)
