"""Recorded shells (`provio env`): generates the commands that a shell evaluates to start and to end its recording.

Such a run has no waiting process. It is in progress while its shell exists, which leaves its identity (a line of
`/proc/<pid>/stat`) in the run folder (`trace/liveness.py`), or a process started from it. Its end is noted by `provio
env --end`; a run without one is merged by the next query.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from provio.base.errors import ProvioError
from provio.record.run import SITE, session_variables
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.system.executable import Unwatchable
from provio.trace import run_source
from provio.trace.recording import SHIM, Recording, host_folder, note_unwatched, with_end

BEFORE = "was started before its recording"
ASAN = "verify_asan_link_order=0"


def _sh_set(name: str, value: str | None) -> str:
    return f"unset {name};" if value is None else f"export {name}={shlex.quote(value)};"


def _csh_set(name: str, value: str | None) -> str:
    quoted = shlex.quote(value or "").replace("!", "\\!")
    return f"unsetenv {name};" if value is None else f"setenv {name} {quoted};"


def _fish_set(name: str, value: str | None) -> str:
    quoted = (value or "").replace("\\", "\\\\").replace("'", "\\'")
    return f"set -e {name};" if value is None else f"set -gx {name} '{quoted}';"


# How each kind of shell sets or unsets a variable, and writes its identity to a file (given as a quoted path).
SETS: dict[str, Callable[[str, str | None], str]] = {"sh": _sh_set, "csh": _csh_set, "fish": _fish_set}
SIGNS = {
    "sh": "cat /proc/$$/stat >| {file}.$$.session 2>/dev/null || :;",
    "csh": "cat /proc/$$/stat >! {file}.$$.session;",
    "fish": "cat /proc/$fish_pid/stat > {file}.$fish_pid.session 2>/dev/null; or true;",
}


def shell() -> str:
    """Return the kind of the calling shell, by the name of the parent process."""
    name = _read("comm").decode("utf-8", "replace").strip().removeprefix("t")
    return name if name in SETS else "sh"


def caller() -> list[bytes]:
    """Return the command line of the calling shell."""
    return _read("cmdline").rstrip(b"\0").split(b"\0")


def start_script(recording: Recording, kind: str) -> bytes:
    """Return the commands that start the recording in a shell; add the gap that the shell itself is not observed."""
    path = os.readlink(b"/proc/%d/exe" % os.getppid()) if _read("comm") else b""
    note_unwatched(recording, Unwatchable(path, BEFORE), os.getppid())
    place = shlex.quote(str(host_folder(recording) / "shell"))
    lines = [SIGNS[kind].format(file=place)]
    lines += [SETS[kind](os.fsdecode(name), os.fsdecode(value)) for name, value in session_variables(recording).items()]
    return os.fsencode("\n".join(lines) + "\n")


def current_run() -> tuple[str, Path, Path] | None:
    """Return the run that records this process (id, run folder, folder of its host); None if there is none."""
    fields = os.environ.get("PROVIO_TRACE", "").split(";")
    if len(fields) < 7:
        return None
    home, place = (text.replace("%3B", ";").replace("%25", "%") for text in fields[5:7])
    return fields[3], Path(home) / "runs" / fields[3], Path(place)


def run_has_ended() -> bool:
    """Return whether this process has the variables of a run that was removed, or ended by a subshell or another shell:
    then nothing is recorded, despite the variables."""
    found = current_run()
    try:
        return found is not None and ":endedNs " in (found[1] / run_source.HEAD).read_text(encoding="utf-8")
    except FileNotFoundError:
        return True
    except (OSError, UnicodeDecodeError):  # not readable: of another user
        return False


def end_script(kind: str, settings: Config) -> tuple[str, bytes]:
    """Note the end of the session, unless it has ended, and return its run and the commands that end the recording in
    the shell. Raises ProvioError if `provio env` does not record this shell."""
    found = current_run()
    signs = list(found[2].glob(f"*{run_source.SHELL_ENDING}")) if found else []
    over = run_has_ended()
    if found is None or not (signs or over):
        raise ProvioError('this shell is not recorded by provio env: eval "$(provio env)" starts it')
    run, folder, _ = found
    for sign in signs:
        sign.unlink(missing_ok=True)
    if not over:
        _note_end(folder, run)
    lines = [SETS[kind](name, value) for name, value in _as_before(os.environ, settings).items()]
    return run, os.fsencode("\n".join(lines) + "\n")


def _note_end(folder: Path, run: str) -> None:
    """Add the end to the run's record in `run.ttl`."""
    head = folder / run_source.HEAD
    text = with_end(head.read_text(encoding="utf-8"), run, f" ; :endedNs {time.time_ns()}")
    with Home(folder.parent.parent).closed():
        run_source.put(head, text)


def _as_before(env: Mapping[str, str], settings: Config) -> dict[str, str | None]:
    """Return the variables that a session set, without its parts; None for a variable to unset."""
    restored: dict[str, str | None] = {"PROVIO_TRACE": None}
    for name, own in (("LD_PRELOAD", SHIM.name), ("ASAN_OPTIONS", ASAN), ("PYTHONPATH", SITE.name)):
        if name in env:
            restored[name] = ":".join(_without(env[name].split(":"), own)) or None
    if env.get("PROVIO_HDF5") == settings.hdf5:
        restored["PROVIO_HDF5"] = None
    if env.get("PROVIO_RECOGNISE") == settings.recognise:
        restored["PROVIO_RECOGNISE"] = None
    return restored


def _without(parts: list[str], own: str) -> list[str]:
    """Return a variable's parts without those of the session; of equal options the first is the user's, and stays."""
    places = [place for place, part in enumerate(parts) if os.path.basename(part) == own]
    removed = places[-1:] if own == ASAN else places
    return [part for place, part in enumerate(parts) if place not in removed]


def _read(name: str) -> bytes:
    try:
        return Path(f"/proc/{os.getppid()}/{name}").read_bytes()
    except OSError:
        return b""
