"""Implicit runs: of a program that uses provio's API (`provio.activity` …) and was not started by `provio run`.

Makes a run folder, with the gap in `run.ttl` that the program's files are not observed, and returns the value of
`PROVIO_TRACE` for the process and its children, so that all of their declarations belong to that run. Processes of one
group (ranks of a parallel program, workers of a pool) share a run: the first makes it, and leaves a mark with its name
in `.provio/joined`. Such a run stays pending.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from provio.base import turtle
from provio.base.vocab import RUN_BASE
from provio.record import driver
from provio.record.run import trace_variable
from provio.settings import home as homes
from provio.settings import load
from provio.settings.home import Home
from provio.system import proc, ranks, statx
from provio.system.executable import Unwatchable
from provio.trace import failed_start, run_source
from provio.trace.recording import Recording, note_unwatched, with_end, write_run

UNSEEN = "was not started by `provio run --`"
JOBS = ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PALS_APID", "PMI_JOBID")
MOST_JOINED, KEPT = 100, 30 * 24 * 3600  # seconds


class Unmasked(Home):
    """A `.provio` that never sets the umask, which would affect all threads of the program."""

    @contextlib.contextmanager
    def closed(self) -> Iterator[None]:
        """Leave the umask as it is."""
        yield


def begin(loaded: int) -> str | None:
    """Start a run, or join the run of this process's group; return the value of PROVIO_TRACE, or None if the settings
    switch such runs off. `loaded` is the id of the process that loaded provio.

    Raises ProvioError or OSError if that fails.
    """
    settings = load.load(homes.project_folders(), {}, lambda _: None)
    if not settings.own_runs:
        return None
    home = _home()
    root, group = _group(loaded)
    mark = home.path / ranks.JOINED / group
    found = _joined(mark)
    if found is None:
        recording = driver.prepared(_arguments(), settings, home)
        with failed_start.removed_on_failure(recording):
            found = _published(recording, mark)
        own = found == trace_variable(recording)
    else:
        own = False
    if own or root == os.getpid():
        atexit.register(note_end, os.getpid(), folder_of(found))
    return found.decode("utf-8", "surrogateescape")


def _home() -> Home:
    found = homes.recording().path
    if found.is_dir() and not os.environ.get("PROVIO_HOME"):
        homes.above(found.parent)  # checks the owner
    home = Unmasked(found)
    homes.make(home)
    return home


def _arguments() -> list[bytes]:
    """The command line of this process."""
    return Path("/proc/self/cmdline").read_bytes().split(b"\0")[:-1] or [os.fsencode(sys.executable)]


def _group(loaded: int) -> tuple[int, str]:
    """Return the first process of this process's group (0 if it is unknown), and the name of the group."""
    rank = _job(os.environ)
    if rank:
        return 0, quote(rank, safe="")
    root = loaded
    above = sys.modules.get("multiprocessing.process")
    parent = above.parent_process() if above and loaded == os.getpid() else None
    if parent is not None:
        root = int(parent.pid)
    return root, quote(_identity(root) or _identity(os.getpid()), safe="")


def _job(env: Mapping[str, str]) -> str:
    """Return the name of the parallel program that this process is a rank of; empty if it is no rank."""
    from provio.interceptors.python.writer.rank import rank

    if rank(dict(env)) is None:
        return ""
    named = [env[name] for name in JOBS if env.get(name)]
    steps = [env[name] for name in ("SLURM_JOB_ID", "SLURM_STEP_ID") if env.get(name)]
    return ".".join(named[:1] or steps) or _identity(os.getppid())


def _identity(pid: int) -> str:
    """Return a unique name of a process: boot id, process id and start tick; empty if it does not exist."""
    try:
        tick = proc.start_tick(pid)
    except OSError:
        return ""
    return f"{statx.boot_id()}.{pid}.{tick}"


def _joined(mark: Path) -> bytes | None:
    """Return PROVIO_TRACE, for this host, of the run that a mark names; None if there is none that can be joined."""
    try:
        found = os.readlink(os.fsencode(mark))
    except OSError:
        return None
    try:
        return ranks.for_here(found)
    except FileNotFoundError:
        mark.unlink(missing_ok=True)  # the run was removed
    except (OSError, ValueError):  # it is not reachable or not shared: this process gets its own run
        pass
    return None


def begin_notebook(name: str | None, gap: str) -> Recording:
    """Start a run of this process, a notebook's kernel, and return it; the caller records its files and notes its end.
    `gap` is the reason of a gap about the whole run.

    Raises ProvioError or OSError if that fails.
    """
    settings = load.load(homes.project_folders(), {"name": name} if name else {}, lambda _: None)
    recording = driver.prepared(_arguments(), settings, _home())
    with failed_start.removed_on_failure(recording):
        _without_lock(recording)
        recording.gap = [("about", f"<{RUN_BASE}{recording.run_id}>"), ("reason", turtle.literal(gap))]
        write_run(recording, None)
    return recording


def _without_lock(recording: Recording) -> None:
    """Close the run's lock, whose descriptor the program might use: its thread files show that it is in progress."""
    if recording.lock_fd >= 0:
        os.close(recording.lock_fd)
        recording.lock_fd = -1
    os.chmod(recording.folder, 0o700)
    homes.share(recording.home, recording.folder)


def _published(recording: Recording, mark: Path) -> bytes:
    """Announce a run to the group, and return its PROVIO_TRACE. If another process was faster, remove the run, and
    return that process's value."""
    _without_lock(recording)
    executable = os.readlink(b"/proc/self/exe")
    note_unwatched(recording, Unwatchable(executable, UNSEEN), os.getpid())
    value = trace_variable(recording)
    try:
        ranks.joined(str(recording.home.path))
        remove_old_marks(mark.parent)
        os.symlink(value, os.fsencode(mark))
    except FileExistsError:
        theirs = _joined(mark)
        if theirs is not None:
            for folder in (recording.folder, recording.trace_folder):
                shutil.rmtree(folder, ignore_errors=True)
            return theirs
    except OSError:  # the run is not shared
        return value
    return value


def remove_old_marks(folder: Path) -> None:
    """Remove marks older than KEPT seconds, if there are many."""
    entries = list(os.scandir(folder))
    for entry in entries if len(entries) > MOST_JOINED else ():
        with contextlib.suppress(OSError):
            if time.time() - entry.stat(follow_symlinks=False).st_mtime > KEPT:
                os.unlink(entry.path)


def folder_of(value: bytes) -> Path:
    """Return the run folder from a value of PROVIO_TRACE."""
    fields = value.split(b";")
    home, run = (os.fsdecode(ranks.plain(fields[place])) for place in (5, 3))
    return Path(home) / "runs" / run


def note_end(pid: int, folder: Path) -> None:
    """Note the end of a run, at the exit of its first process."""
    if os.getpid() != pid:  # a child process with its parent's exit handlers
        return
    with contextlib.suppress(OSError, UnicodeDecodeError):
        head = folder / run_source.HEAD
        run_source.put(head, with_end(head.read_text(encoding="utf-8"), folder.name, f" ; :endedNs {time.time_ns()}"))
        homes.share(Home(folder.parent.parent), folder)
