"""Checks of the command's program, which is not started, and a trial run of `cat`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from provio.doctor import Finding, Place, check, note, ok, problem
from provio.doctor.checks import parallel
from provio.record.run import preloads
from provio.system import executable, shims
from provio.system.executable import FOREIGN, GO, OTHER, PRIVILEGED, STATIC, found_program, unwatchable
from provio.trace import run_source
from provio.trace.recording import SHIM

INHERITED = "files that it inherits (`<`, `>`, pipes) are still recorded"
REMEDIES = {
    STATIC: f"link it dynamically; {INHERITED}",
    GO: f"build it with another toolchain (gccgo), if possible; {INHERITED}",
    OTHER: "install provio's wheel, which has a shim for it, or use a build for glibc; "
    f"h5py in a Python is recorded without a shim; {INHERITED}",
    FOREIGN: f"use a build for this machine; {INHERITED}",
    PRIVILEGED: "put provio after the command that gives the rights (sudo provio run -- COMMAND), or run as that user",
}
IN_SCRIPT = "put `provio run --` before the command in the job's script"
IN_CONTAINER = "install provio inside, and put `provio run --` before the command there"
ON_REMOTE = "put `provio run --` before the command on the other side"
DELEGATING = {
    **dict.fromkeys(("sbatch", "qsub", "bsub", "flux", "at", "batch", "crontab", "systemd-run"), IN_SCRIPT),
    **dict.fromkeys(
        ("docker", "podman", "apptainer", "singularity", "ch-run", "enroot", "shifter", "chroot"), IN_CONTAINER
    ),
    **dict.fromkeys(("ssh", "kubectl", "nsenter", "gcloud"), ON_REMOTE),
}
PROVIO = (sys.executable, "-P", "-c", "from provio.cli.main import main; main()")
CONTENT = b"provio doctor tests whether this is recorded\n"
TRIAL_LIMIT = 60  # seconds


@check("delegation")
def check_delegation(place: Place) -> Iterator[Finding]:
    """Yield whether the command starts its work on another host, in a container, in a job or through a daemon."""
    name = os.path.basename(os.fsdecode(place.command[0])) if place.command else ""
    if name in DELEGATING:
        yield problem(f"{name} starts its work where no shim is loaded: the work is not recorded", DELEGATING[name])
    elif name in parallel.DAEMON_LAUNCHERS:
        yield problem(
            f"{name} starts ranks through a daemon on each host: they may not inherit the environment of provio",
            f"{name} … provio run -- COMMAND: one run of all ranks, merged by the next query (docs/how-to/mpi.md)",
        )


@check("program")
def check_program(place: Place) -> Iterator[Finding]:
    """Yield whether the command's program is found, can be watched and loads the shim."""
    if not place.command:
        return
    name = os.fsdecode(place.command[0])
    path = found_program(place.command[0])
    if not path:
        yield problem(*_not_executable(name))
        return
    chain = list(executable.chain(path))
    shown = " → ".join(os.fsdecode(file) for file in chain)
    if not os.path.exists(chain[-1]):
        yield problem(f"{shown}: the last does not exist", "fix the first line (#!) of the script")
        return
    unwatched = unwatchable(chain[-1])
    if unwatched and unwatched.reason == OTHER and shims.installed_for(os.fsdecode(chain[-1])):
        yield ok(f"{shown} has a shim for its C library")
    elif unwatched:
        yield problem(f"{shown} {unwatched.reason}: its reads and writes are not recorded", REMEDIES[unwatched.reason])
    else:
        yield from _loads_shim(shown, chain[-1])


def _not_executable(name: str) -> tuple[str, str]:
    """Return why exec finds no program with this name, and the remedy."""
    if "/" not in name or not os.path.exists(name):
        return f"{name} is not found", "check its name, PATH and loaded modules"
    if os.path.isdir(name):
        return f"{name} is a folder", "name a program in it"
    if not os.path.isfile(name):
        return f"{name} is no regular file", "name a program"
    return f"{name} is not executable", "chmod +x it"


def _loads_shim(shown: str, path: bytes) -> Iterator[Finding]:
    """Yield whether the program's own loader accepts the shim; the loader only lists libraries and starts nothing."""
    loader = executable.loader(path)
    if not os.path.basename(loader).startswith(b"ld-linux"):
        yield note(f"{shown} cannot be checked before it runs: its loader is not ld-linux")
        return
    env = {**os.environb, b"LD_PRELOAD": preloads(path, os.environb.get(b"LD_PRELOAD", b""))}
    done = subprocess.run([loader, b"--list", path], env=env, capture_output=True, timeout=60, check=False)
    if done.returncode:
        output = b" ".join((done.stderr or done.stdout).split()).decode("utf-8", "replace")
        yield problem(f"{shown} cannot be loaded: {output[:300]}", "fix that first (LD_LIBRARY_PATH, loaded modules)")
    elif SHIM.name.encode() not in done.stdout:
        yield problem(f"the loader of {shown} ignores LD_PRELOAD", "use a build with the system's own loader")
    else:
        yield ok(f"{shown} takes the shim")


@check("trial")
def check_trial(_place: Place) -> Iterator[Finding]:
    """Yield whether a run of `cat` under provio, in a temporary folder, is recorded."""
    cat = shutil.which("cat")
    if cat is None:
        yield note("no `cat` in PATH for a trial run")
        return
    with tempfile.TemporaryDirectory(prefix="provio-doctor-") as folder:
        yield _trial(cat, Path(folder).resolve())


def _trial(cat: str, folder: Path) -> Finding:
    home, source, target = folder / ".provio", folder / "read", folder / "written"
    source.write_bytes(CONTENT)
    env = {**os.environ, "PROVIO_HOME": str(home), "PROVIO_RUN": ""}
    command = [*PROVIO, "run", "--strict", "--quiet", "--no-merge", "--no-hash", "--", cat, str(source)]
    try:
        with target.open("wb") as out:
            done = subprocess.run(
                command, env=env, stdout=out, stderr=subprocess.PIPE, timeout=TRIAL_LIMIT, check=False
            )
    except subprocess.TimeoutExpired:
        return problem(f"`cat` did not end within {TRIAL_LIMIT} s under provio", "please report it, with `uname -a`")
    output = b" ".join(done.stderr.split()).decode("utf-8", "replace")[:300]
    if done.returncode:
        return problem(f"`cat` cannot be run under provio: {output}", "fix the reported error")
    if target.read_bytes() != CONTENT:
        return problem("`cat` wrote other output under provio than its input", "please report it, with `uname -a`")
    if not {b"read", b"written"} <= _recorded_names(home):
        remedy = "check whether this machine removes LD_PRELOAD from the environment (its administrator knows)"
        return problem(f"the reads and writes of `cat` were not recorded{': ' + output if output else ''}", remedy)
    return ok("a run of `cat` was recorded: its reads and writes")


def _recorded_names(home: Path) -> set[bytes]:
    """Return the names of the recorded files, and remove the runs' files from shared memory."""
    from provio.trace.read import read_run

    names: set[bytes] = set()
    for folder in (home / "runs").iterdir():
        names |= {os.path.basename(opening.path) for opening in read_run(folder).openings() if opening.path}
        shutil.rmtree(run_source.shared_memory() / folder.name, ignore_errors=True)
    return names
