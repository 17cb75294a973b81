"""Removes a run if its command could not be started.

If a merge is in progress, which may be reading the run, or the store already has it, the run stays and gets a gap with
the reason. If the rank that makes a run is killed, the run still has the mark `ranks.UNBEGUN`, and no lock: the next
merge on its host removes it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from provio.base import turtle
from provio.base.errors import Busy, ProvioError
from provio.base.vocab import RUN_BASE
from provio.settings.home import Home
from provio.settings.lock import Lock
from provio.system import ranks
from provio.trace import liveness, run_source
from provio.trace.recording import Recording, write_run

KILLED = "the rank that made it was killed before its command started"


@contextlib.contextmanager
def removed_on_failure(recording: Recording) -> Iterator[None]:
    """Remove a run if the block raises anything."""
    try:
        yield
    except BaseException as error:
        withdraw(recording, str(error) or type(error).__name__)
        raise


def withdraw(recording: Recording, why: str) -> None:
    """Remove a run that no process takes part in, or add the reason to it; raises nothing."""
    if recording.lock_fd >= 0:
        os.close(recording.lock_fd)
        recording.lock_fd = -1
    lock = None
    with contextlib.suppress(OSError):
        try:
            lock = Lock(recording.home, wait=False)
            known = _is_merged(recording.home, recording.run_id)
        except ProvioError as error:
            known = isinstance(error, Busy)  # any other error: no merge is in progress
        _add_gap(recording, why) if known else _remove(recording.home, recording.run_id)
    if lock:
        lock.close()


def without_failed(home: Home, folders: Iterable[Path]) -> list[Path]:
    """Remove the runs that a rank was making when it was killed, and return the others. The caller holds the lock."""
    found = []
    for folder in folders:
        if folder.parent != home.runs or not _is_abandoned(folder):  # each `.provio` removes only its own
            found.append(folder)
        elif _is_merged(home, folder.name):
            found.append(folder)
            with home.closed(), contextlib.suppress(OSError):
                text = (folder / run_source.HEAD).read_text(encoding="utf-8")
                run_source.put(folder / run_source.HEAD, text + _gap(folder.name, KILLED))
                (folder / ranks.UNBEGUN).unlink()
        else:
            _remove(home, folder.name)
    return found


def _is_abandoned(folder: Path) -> bool:
    """Return whether the process of this host that made a run has ended; locks of other hosts may be invisible."""
    if not os.path.exists(folder / ranks.UNBEGUN):  # or this user may not read the folder
        return False
    from provio.trace import read  # slow to import, and rarely needed

    try:
        ended = liveness.began_here(read.read_head(folder)) and not liveness.is_locked(folder)
        return ended and os.path.exists(folder / ranks.UNBEGUN)  # the command may have started in the meantime
    except (ProvioError, OSError):
        return False


def _is_merged(home: Home, run_id: str) -> bool:
    return any((mark / run_id).exists() for mark in (home.marks, *home.path.glob("servers/*/merged")))


def _add_gap(recording: Recording, why: str) -> None:
    recording.statements += _gap(recording.run_id, why)
    write_run(recording, None)
    (recording.folder / ranks.UNBEGUN).unlink(missing_ok=True)


def _gap(run_id: str, why: str) -> str:
    run, reason = f"<{RUN_BASE}{run_id}", turtle.literal(f"its command was not recorded in it: {why}")
    return f"{run}/unbegun> a :Gap ; :about {run}> ; :reason {reason} .\n"


def _remove(home: Home, run_id: str) -> None:
    """Remove the folder first: a collector drops files without a run."""
    import shutil  # slow to import, and each run loads this module

    from provio.trace import collect

    shutil.rmtree(home.runs / run_id, ignore_errors=True)
    collect.drop(home, run_id)
    shutil.rmtree(run_source.shared_memory() / run_id, ignore_errors=True)
    (home.path / "hashing" / run_id).unlink(missing_ok=True)
