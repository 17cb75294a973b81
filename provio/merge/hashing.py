"""Execute the requests for hashes that the background merge left, after the runs and without delaying them.

In: requests, one file for each run in `.provio/hashing/`. Out: `hashes.ttl` in the run.

The background merge hashes within the limits of `hash = auto` while it makes a run's graph. Left are the requests for
all files, and those of runs that a query or the run itself merged, because no process waits for hashes. `begin` starts
the only process for a `.provio` that executes them, with the lowest priority and independent of its parent. After a
kill the next merge starts it again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from provio.base.errors import ProvioError
from provio.merge.contents import reader_of
from provio.merge.job import FAULTS, Job, read
from provio.merge.runs import merge
from provio.settings import home as homes
from provio.settings import load, schema
from provio.settings.home import Home
from provio.system import child
from provio.trace import environment, liveness
from provio.trace.content_requests import FOLDER, is_limited, place, requested
from provio.trace.read import read_head
from provio.trace.run_source import start_time

MOMENT = 1.0  # seconds
TRIED = 24 * 3600  # seconds for which a request is repeated after disk errors


def begin(home: Home, *, then_merge: bool = True) -> None:
    """Start a process that executes the requests, unless one is running or this is a batch job; return at once."""
    if not requested(home) or environment.job_id() or not os.access(home.path / FOLDER, os.W_OK):
        return
    try:
        with _lock(home, wait=False):
            pass
    except OSError:
        return  # the running process checks for new requests before it ends
    child.begin("provio.merge.hashing", str(home.path), *(() if then_merge else ("--no-merge",)))


def finish(home: Home, settings: schema.Config, note: Callable[[str], None] = lambda _: None) -> list[str]:
    """Execute the requests for all files in this process, after a process that already does; return the ids of the
    completed runs."""
    if all(is_limited(home, run) for run in requested(home)) or not os.access(home.path / FOLDER, os.W_OK):
        return []
    with home.closed(), _lock(home, wait=True):
        return _execute(home, settings, note, limited=False)


def main() -> None:
    """Execute the requests of the `.provio` in the arguments until none is left, or another process does it."""
    home, then_merge = Home(Path(sys.argv[1])), "--no-merge" not in sys.argv[2:]
    child.give_way()
    settings = load.load(homes.project_folders(home.project), forgive=lambda _: None)
    os.chdir("/")
    tried: set[str] = set()
    while _has_more(home, tried):
        try:
            with home.closed(), _lock(home, wait=False):
                tried |= set(_ended(home))
                done = _execute(home, settings)
        except BlockingIOError:
            return
        if done and then_merge:
            merge(home, [home.runs / run for run in done], settings=settings)


def _has_more(home: Home, tried: set[str]) -> bool:
    """Return whether ended runs have requests that were not tried. A run that ends at this moment did not start a
    process, because this one holds the lock: its lock as a run in progress is free a moment later."""
    if set(_ended(home)) - tried:
        return True
    if set(requested(home)) - tried:
        time.sleep(MOMENT)
    return bool(set(_ended(home)) - tried)


def _ended(home: Home) -> list[str]:
    """Return the ids of the runs with requests that are not in progress, oldest first: a run that ends starts the
    process again, or it is found by the process that is running."""
    return [run for run in requested(home) if not _in_progress(home.runs / run)]


def _in_progress(folder: Path) -> bool:
    try:
        return folder.is_dir() and liveness.seems_in_progress(folder, read_head(folder))
    except (OSError, ProvioError):
        return False  # `_execute` decides


@contextlib.contextmanager
def _lock(home: Home, wait: bool) -> Iterator[None]:
    """Hold the lock for hashing in a `.provio`; raises BlockingIOError if another process holds it, unless `wait`."""
    with home.closed():
        fd = os.open(home.path / FOLDER / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(fd)


def _execute(
    home: Home, settings: schema.Config, note: Callable[[str], None] = lambda _: None, limited: bool = True
) -> list[str]:
    done = []
    for run_id in _ended(home):
        if not limited and is_limited(home, run_id):
            continue
        folder, request = home.runs / run_id, place(home, run_id)
        with contextlib.suppress(OSError):  # for example a full disk: the request stays
            try:
                if folder.is_dir():
                    _hash_run(home, folder, settings, note)
                    done.append(run_id)
            except OSError:
                if time.time() - start_time(run_id) < TRIED:
                    raise
            except (ProvioError, *FAULTS):
                pass  # an invalid run would fail again
            request.unlink(missing_ok=True)
    return done


def _hash_run(home: Home, folder: Path, settings: schema.Config, note: Callable[[str], None]) -> None:
    """Compute the hashes of a run: make its graph for that, and drop the graph."""
    contents = reader_of(home, folder, settings, note=note)
    if contents is None:
        return
    found = read(Job(folder, 0, None), home, settings, kept=False, contents=contents)
    if found.fault:
        raise ProvioError(found.fault)
    deque(found.prepared.pieces if found.prepared else (), maxlen=0)


if __name__ == "__main__":
    main()
