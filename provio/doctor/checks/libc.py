"""The machine and its C library: whether the shim's own needs are met."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator

from provio.doctor import Finding, Place, ok, problem
from provio.system import shims
from provio.trace.recording import SHIM

ABOUT = "C library"


def look(place: Place) -> Iterator[Finding]:  # noqa: ARG001
    """Yield whether this is a machine with a C library as new as the shim needs it."""
    machine = platform.machine()
    if machine not in shims.MACHINES.values():
        yield problem(
            f"a machine of kind {machine}", f"provio records on {' and '.join(shims.MACHINES.values())} alone"
        )
    try:
        name, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").split()
    except (ValueError, OSError):
        if not SHIM.exists() or shims.kind(SHIM)[1] == "glibc":
            yield problem("the C library of this Python is not glibc", "install provio's wheel for this system")
        else:
            yield ok(f"musl, {machine}")
        return
    least = _needed()
    if _number(version) < _number(least):
        yield problem(f"{name} {version} is older than {least}, with which the shim was built", "build it here: pip")
    else:
        yield ok(f"{name} {version}, {machine}" + (f"; the shim needs {least}" if least else ""))


def _needed() -> str:
    """The newest version of glibc that the shim names."""
    found = {text.decode() for text in re.findall(rb"GLIBC_(\d+\.\d+)\0", SHIM.read_bytes())} if SHIM.exists() else {""}
    return max(found, key=_number, default="")


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))
