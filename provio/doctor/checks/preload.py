"""Checks of the shim, and of everything in this environment that can keep a program from loading it."""

from __future__ import annotations

import mmap
import os
import platform
import re
from collections.abc import Iterator
from pathlib import Path

from provio.doctor import Finding, Place, check, note, ok, problem
from provio.system import executable, installation, shims
from provio.system.executable import found_program
from provio.trace.recording import SHIM

SOURCES = (".c", ".h", ".def")
SLACK = 10 * 10**9  # ns: archives store times with a resolution of two seconds
SANITIZERS = {
    b"__asan_init": "AddressSanitizer: its library is loaded first, and ASAN_OPTIONS gets verify_asan_link_order=0",
    b"__tsan_init": "ThreadSanitizer, which works with the shim",
    b"__msan_init": "MemorySanitizer, which works with the shim",
}


@check("shim")
def check_shim(_place: Place) -> Iterator[Finding]:
    """Yield whether the shim exists, is newer than its sources and can be loaded from its folder."""
    if not SHIM.exists():
        yield problem(f"{SHIM} is missing: nothing can be recorded", _again())
        return
    if os.statvfs(SHIM).f_flag & os.ST_NOEXEC:
        yield problem(
            f"{SHIM} is on a file system that is mounted noexec: no program can load it",
            "install provio in an environment on another file system",
        )
        return
    newer = _newer_source()
    if newer:
        yield problem(f"{SHIM.name} is older than its source {newer}", _again())
    else:
        yield ok(f"{SHIM.name} exists and is up to date")


def _again() -> str:
    return f"install provio again with a C compiler: {installation.install(again=True)}"


def _newer_source() -> str:
    """Return the name of a source that was changed after the shim was built, or an empty string."""
    built = SHIM.stat().st_mtime_ns + SLACK
    sources = [path for path in (SHIM.parent / "interceptors").glob("*/*") if path.suffix in SOURCES]
    return next((str(Path(*path.parts[-3:])) for path in sources if path.stat().st_mtime_ns > built), "")


@check("C library")
def check_libc(_place: Place) -> Iterator[Finding]:
    """Yield whether the shim supports this machine, and whether the C library is new enough."""
    machine = platform.machine()
    if machine not in shims.MACHINES.values():
        yield problem(
            f"{machine} is not supported: nothing can be recorded", f"use {' or '.join(shims.MACHINES.values())}"
        )
    try:
        name, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").split()
    except (ValueError, OSError):
        if not SHIM.exists() or shims.kind(SHIM)[1] == "glibc":
            yield problem("the C library of this Python is not glibc", "install provio's wheel for this system")
        else:
            yield ok(f"musl, {machine}")
        return
    needed = _needed_glibc()
    if _number(version) < _number(needed):
        yield problem(
            f"{name} {version} is older than {needed}, which the shim needs",
            f"install it here from its sources: {installation.install(again=True)}",
        )
    else:
        yield ok(f"{name} {version}, {machine}" + (f"; the shim needs {needed}" if needed else ""))


def _needed_glibc() -> str:
    """Return the newest version of glibc that the shim refers to."""
    found = {text.decode() for text in re.findall(rb"GLIBC_(\d+\.\d+)\0", SHIM.read_bytes())} if SHIM.exists() else {""}
    return max(found, key=_number, default="")


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


@check("preloads")
def check_preloads(_place: Place) -> Iterator[Finding]:
    """Yield the preloaded libraries of this environment, and the run that records this shell."""
    fields = os.environ.get("PROVIO_TRACE", "").split(";")
    if len(fields) > 3:
        yield note(
            f"this shell is already recorded, as run {fields[3]}", "`provio run` in this shell records a second run"
        )
    others = [name for name in os.environ.get("LD_PRELOAD", "").replace(" ", ":").split(":") if name]
    others = [name for name in others if os.path.basename(name) != SHIM.name]
    if others:
        yield note(f"LD_PRELOAD names {', '.join(others)}: loaded after the shim")
    elif os.environ.get("LD_AUDIT"):
        yield note(f"LD_AUDIT names {os.environ['LD_AUDIT']}, which may redirect calls so that the shim misses them")
    else:
        yield ok("no other library is preloaded")


@check("sanitizer")
def check_sanitizer(place: Place) -> Iterator[Finding]:
    """Yield the sanitizer that the command's program was built with."""
    path = found_program(place.command[0]) if place.command else b""
    for file in list(executable.chain(path))[-1:] if path else ():
        for symbol, effect in SANITIZERS.items():
            if _contains(file, symbol):
                yield ok(f"{os.fsdecode(file)} is built with {effect}")


def _contains(path: bytes, symbol: bytes) -> bool:
    with open(path, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(symbol) >= 0


@check("sandbox")
def check_sandbox(_place: Place) -> Iterator[Finding]:
    """Yield the restrictions that the kernel applies to this process."""
    status = Path("/proc/self/status").read_text(encoding="utf-8", errors="replace")
    found = dict(re.findall(r"(?m)^(\w+):\t(.*)$", status))
    notes = []
    if found.get("Seccomp", "0") != "0":
        notes.append("a filter of system calls is active: only the check `trial` shows whether the shim works under it")
    if found.get("NoNewPrivs", "0") != "0":
        notes.append("no program gains rights here (no_new_privs): set-user-id programs fail or run with your rights")
    if found.get("TracerPid", "0") != "0":
        notes.append(
            f"process {found['TracerPid']} traces this one (strace, a debugger), which slows down recorded calls"
        )
    yield from map(note, notes)
    if not notes:
        yield ok("no filter of system calls, no tracer")
