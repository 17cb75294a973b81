"""A run of a program's own: one that says what it does (`provio.activity` …) and was not started by `provio run`.

The process goes in; out come a run folder, whose `run.ttl` says that the program's files are not seen, and what
`PROVIO_TRACE` is to be in the process and its children, so that all they say is of that run. Processes that belong
together (ranks of a parallel program, workers of a pool) share one: the first makes it, and leaves in `.provio/joined`
which it is. Such a run is left pending.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from provio.record import driver
from provio.record.run import trace_variable
from provio.settings import home as homes
from provio.settings import load
from provio.settings.home import Home
from provio.system import proc, ranks
from provio.system.executable import Unwatchable
from provio.trace import environment, failed_start, run_source
from provio.trace.recording import Recording, note_unwatched

UNSEEN = "was not started by `provio run --`"
JOBS = ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PALS_APID", "PMI_JOBID")
MOST_JOINED, KEPT = 100, 30 * 24 * 3600  # seconds


class Unmasked(Home):
    """A `.provio` whose folders are closed by their modes alone: a umask is that of all threads of the program."""

    @contextlib.contextmanager
    def closed(self) -> Iterator[None]:
        """Change nothing meanwhile."""
        yield


def begin(loaded: int) -> str | None:
    """Begin a run, or join that of the processes this one belongs to; return what PROVIO_TRACE is to be, or None where
    no such run is wanted. `loaded` is the process that loaded provio.

    Raises ProvioError or OSError where there can be none.
    """
    settings = load.load(homes.project_folders(), {}, lambda _: None)
    if not settings.own_runs:
        return None
    home = _home()
    root, together = _together(loaded)
    mark = home.path / ranks.JOINED / together
    found = _joined(mark)
    if found is None:
        recording = driver.prepared(_arguments(), settings, home)
        with failed_start.begun_or_gone(recording):
            found = _published(recording, mark)
        own = found == trace_variable(recording)
    else:
        own = False
    if own or root == os.getpid():
        atexit.register(_ended, os.getpid(), _folder(found))
    return found.decode("utf-8", "surrogateescape")


def _home() -> Home:
    found = homes.recording().path
    if found.is_dir() and not os.environ.get("PROVIO_HOME"):
        homes.above(found.parent)  # which asks whose it is
    home = Unmasked(found)
    homes.make(home)
    return home


def _arguments() -> list[bytes]:
    """The command line of this process."""
    return Path("/proc/self/cmdline").read_bytes().split(b"\0")[:-1] or [os.fsencode(sys.executable)]


# ---- processes that belong together


def _together(loaded: int) -> tuple[int, str]:
    """The process that this one belongs to (0: none that is known), and the name of all that belong to it."""
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
    """The name of the parallel program that this process is a rank of."""
    from provio.interceptors.python.writer.rank import rank

    if rank(dict(env)) is None:
        return ""
    named = [env[name] for name in JOBS if env.get(name)]
    steps = [env[name] for name in ("SLURM_JOB_ID", "SLURM_STEP_ID") if env.get(name)]
    return ".".join(named[:1] or steps) or _identity(os.getppid())


def _identity(pid: int) -> str:
    """What tells a process from all others: this boot, its number and when it started."""
    try:
        tick = proc.start_tick(pid)
    except OSError:
        return ""
    return f"{environment.boot_id()}.{pid}.{tick}"


def _joined(mark: Path) -> bytes | None:
    """What PROVIO_TRACE is of the run that others made, on this host."""
    try:
        found = os.readlink(os.fsencode(mark))
    except OSError:
        return None
    try:
        return ranks.for_here(found)
    except FileNotFoundError:
        mark.unlink(missing_ok=True)  # it was removed meanwhile
    except (OSError, ValueError):  # it cannot be reached, or shared, from here: this is a run of its own
        pass
    return None


def _published(recording: Recording, mark: Path) -> bytes:
    """Tell others of a run; where one of them was quicker, theirs counts."""
    if recording.held >= 0:
        os.close(recording.held)  # the program might meet the descriptor; its thread files tell that it goes on
        recording.held = -1
    os.chmod(recording.folder, 0o700)
    homes.share(recording.home, recording.folder)
    executable = os.readlink(b"/proc/self/exe")
    note_unwatched(recording, Unwatchable(executable, UNSEEN), os.getpid())
    value = trace_variable(recording)
    try:
        ranks.joined(str(recording.home.path))
        sweep(mark.parent)
        os.symlink(value, os.fsencode(mark))
    except FileExistsError:
        theirs = _joined(mark)
        if theirs is not None:
            for folder in (recording.folder, recording.trace_folder):
                shutil.rmtree(folder, ignore_errors=True)
            return theirs
    except OSError:  # alone, then
        return value
    return value


def sweep(folder: Path) -> None:
    """Let go of what was left long ago."""
    entries = list(os.scandir(folder))
    for entry in entries if len(entries) > MOST_JOINED else ():
        with contextlib.suppress(OSError):
            if time.time() - entry.stat(follow_symlinks=False).st_mtime > KEPT:
                os.unlink(entry.path)


def _folder(value: bytes) -> Path:
    """The run folder, of what PROVIO_TRACE says."""
    fields = value.split(b";")
    home, run = (os.fsdecode(ranks.plain(fields[place])) for place in (5, 3))
    return Path(home) / "runs" / run


# ---- its end


def _ended(pid: int, folder: Path) -> None:
    """Note that the process ends which the run is of."""
    if os.getpid() != pid:  # a child, which has its parent's exit handlers
        return
    with contextlib.suppress(OSError, UnicodeDecodeError):
        head = folder / run_source.HEAD
        text = re.sub(r" ; :endedNs \d+(?= \.$)", "", head.read_text(encoding="utf-8"), flags=re.M)
        end = rf"\1 ; :endedNs {time.time_ns()} ."
        run_source.put(head, re.sub(rf"(?m)^(<\S*{folder.name}> a :Run\b.*) \.$", end, text, count=1))
        homes.share(Home(folder.parent.parent), folder)
