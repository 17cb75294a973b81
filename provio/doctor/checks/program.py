"""The command's program: whether it is found, can be watched, and takes the shim; it is looked at, and not started."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

from provio.doctor import Finding, Place, note, ok, problem
from provio.record.run import preloads
from provio.system import executable, shims
from provio.system.executable import FOREIGN, GO, OTHER, PRIVILEGED, STATIC, found_program, unwatchable
from provio.trace.recording import SHIM

ABOUT = "program"
OPEN = "what it is started with open (`<`, `>`, pipes) is still tied to it"
REMEDIES = {
    STATIC: f"link it dynamically; {OPEN}",
    GO: f"build it with another toolchain (gccgo), where that can be; {OPEN}",
    OTHER: "install provio's wheel, which has a shim for it, or use a build for glibc; "
    f"of a Python, h5py is recorded all the same; {OPEN}",
    FOREIGN: f"use a build for this machine; {OPEN}",
    PRIVILEGED: "put provio behind it (sudo provio run -- COMMAND), or run as who has those rights",
}


def look(place: Place) -> Iterator[Finding]:
    """Yield what is to be said of the program that the command names."""
    if not place.command:
        return
    name = os.fsdecode(place.command[0])
    path = found_program(place.command[0])
    if not path:
        yield problem(*_missing(name))
        return
    chain = list(executable.chain(path))
    shown = " → ".join(os.fsdecode(file) for file in chain)
    if not os.path.exists(chain[-1]):
        yield problem(f"{shown}: the last is not there", "mend the first line (#!) of the script")
        return
    blind = unwatchable(chain[-1])
    if blind and blind.reason == OTHER and shims.installed_for(os.fsdecode(chain[-1])):
        yield ok(f"{shown} has a shim of its own C library")
    elif blind:
        yield problem(f"{shown} {blind.reason}: what it reads and writes is not seen", REMEDIES[blind.reason])
    else:
        yield from _taken(shown, chain[-1])


def _missing(name: str) -> tuple[str, str]:
    """What is wrong with a name that exec finds no program by, and what to do."""
    if "/" not in name or not os.path.exists(name):
        return f"{name} is not found", "look at its name, at PATH, at loaded modules"
    if os.path.isdir(name):
        return f"{name} is a folder", "name a program in it"
    if not os.path.isfile(name):
        return f"{name} is no plain file", "name a program"
    return f"{name} cannot be executed", "chmod +x it"


def _taken(shown: str, path: bytes) -> Iterator[Finding]:
    """Whether the program's own loader takes the shim: asked to list what it would load, it starts nothing."""
    loader = executable.loader(path)
    if not os.path.basename(loader).startswith(b"ld-linux"):
        yield note(f"{shown} is no program that can be looked into: it is tried when it runs")
        return
    env = {**os.environb, b"LD_PRELOAD": preloads(path, os.environb.get(b"LD_PRELOAD", b""))}
    done = subprocess.run([loader, b"--list", path], env=env, capture_output=True, timeout=60, check=False)
    if done.returncode:
        said = b" ".join((done.stderr or done.stdout).split()).decode("utf-8", "replace")
        yield problem(f"{shown} cannot be loaded: {said[:300]}", "mend that first (LD_LIBRARY_PATH, loaded modules)")
    elif SHIM.name.encode() not in done.stdout:
        yield problem(f"the loader of {shown} takes no preload", "use a build with the system's own loader")
    else:
        yield ok(f"{shown} takes the shim")
