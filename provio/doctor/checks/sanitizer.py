"""Whether the command's program was built with a sanitizer, which wants to be the first of all libraries."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator

from provio.doctor import Finding, Place, ok
from provio.system import executable
from provio.system.executable import found_program

ABOUT = "sanitizer"
SIGNS = {
    b"__asan_init": "AddressSanitizer: its library comes first, and ASAN_OPTIONS gets verify_asan_link_order=0",
    b"__tsan_init": "ThreadSanitizer, which goes with the shim",
    b"__msan_init": "MemorySanitizer, which goes with the shim",
}


def look(place: Place) -> Iterator[Finding]:
    """Yield what to know of a program that was built with one."""
    path = found_program(place.command[0]) if place.command else b""
    for file in list(executable.chain(path))[-1:] if path else ():
        for sign, says in SIGNS.items():
            if _holds(file, sign):
                yield ok(f"{os.fsdecode(file)} is built with {says}")


def _holds(path: bytes, sign: bytes) -> bool:
    with open(path, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(sign) >= 0
