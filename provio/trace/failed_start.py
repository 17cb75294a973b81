"""A run that was made and could not begin: its recording and why in; nothing of it, or a gap that says so, out.

Where the rank that makes it is killed, it has a sign (`ranks.UNBEGUN`) still and nobody holds it: the next merge on its
host finds it so.

Nobody has part in it yet, so it is taken away. Where a merge is under way, which may be reading it, or the store has it
already, it stays and says what it is.
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

KILLED = "the rank that made it was killed before its command began"


@contextlib.contextmanager
def removed_on_failure(recording: Recording) -> Iterator[None]:
    """Take a run away again, whatever keeps it from beginning."""
    try:
        yield
    except BaseException as error:
        withdraw(recording, str(error) or type(error).__name__)
        raise


def withdraw(recording: Recording, why: str) -> None:
    """Take a run away that nobody has part in, or keep in it why it did not begin; raises nothing."""
    if recording.lock_fd >= 0:
        os.close(recording.lock_fd)
        recording.lock_fd = -1
    lock = None
    with contextlib.suppress(OSError):
        try:
            lock = Lock(recording.home, wait=False)
            known = _is_merged(recording.home, recording.run_id)
        except ProvioError as error:
            known = isinstance(error, Busy)  # else nobody merges here
        _keep(recording, why) if known else _take_away(recording.home, recording.run_id)
    if lock:
        lock.close()


def without_failed(home: Home, folders: Iterable[Path]) -> list[Path]:
    """Take away which of these runs a rank left that was killed while it made them, and return the others. The lock
    must be held."""
    found = []
    for folder in folders:
        if folder.parent != home.runs or not _was_left(folder):  # another record's are its own merge's
            found.append(folder)
        elif _is_merged(home, folder.name):
            found.append(folder)
            with home.closed(), contextlib.suppress(OSError):
                said = (folder / run_source.HEAD).read_text(encoding="utf-8")
                run_source.put(folder / run_source.HEAD, said + _gap(folder.name, KILLED))
                (folder / ranks.UNBEGUN).unlink()
        else:
            _take_away(home, folder.name)
    return found


def _was_left(folder: Path) -> bool:
    """Whether a run's maker, of this host, is gone: on another its lock may not be seen."""
    if not os.path.exists(folder / ranks.UNBEGUN):  # or nobody else may look
        return False
    from provio.trace import read  # slow to import, and seldom wanted

    try:
        left = liveness.began_here(read.read_head(folder)) and not liveness.is_locked(folder)
        return left and os.path.exists(folder / ranks.UNBEGUN)  # it may have begun meanwhile
    except (ProvioError, OSError):
        return False


def _is_merged(home: Home, run_id: str) -> bool:
    return any((mark / run_id).exists() for mark in (home.marks, *home.path.glob("servers/*/merged")))


def _keep(recording: Recording, why: str) -> None:
    recording.statements += _gap(recording.run_id, why)
    write_run(recording, None)
    (recording.folder / ranks.UNBEGUN).unlink(missing_ok=True)


def _gap(run_id: str, why: str) -> str:
    run, reason = f"<{RUN_BASE}{run_id}", turtle.literal(f"its command was not recorded in it: {why}")
    return f"{run}/unbegun> a :Gap ; :about {run}> ; :reason {reason} .\n"


def _take_away(home: Home, run_id: str) -> None:
    """The folder first: who collects lets go of what is of no run."""
    import shutil  # slow to import, and each run loads this module

    from provio.trace import collect

    shutil.rmtree(home.runs / run_id, ignore_errors=True)
    collect.drop(home, run_id)
    shutil.rmtree(run_source.shared_memory() / run_id, ignore_errors=True)
    (home.path / "hashing" / run_id).unlink(missing_ok=True)
