"""Determines from the first page of a program's file whether the program can be watched, and if not, why.

The checks and their results are the same as those of the shim before an exec (`interceptors/posix/executable.c`).
"""

from __future__ import annotations

import os
import stat
import struct
import sys
from collections.abc import Iterator

from provio.base.records import frozen

PAGE, SCRIPTS = 4096, 5
PT_INTERP, PT_NOTE, ET_EXEC, ET_DYN = 3, 4, 2, 3
MUSL = b"ld-musl"
OTHER_LOADERS = (b"linker", b"ld-uClibc", b"ld64-uC")
FOREIGN = "is built for another machine"
STATIC = "is statically linked"
OTHER = "has another C library, whose loader cannot take the shim"
PRIVILEGED = "gains rights when it starts, so that its loader takes no preload"
GO = "is a Go program, which makes its system calls itself"


@frozen
class Unwatchable:
    """A program that cannot be watched: its file, the reason, and whether its loader refuses a preload or complains
    about it."""

    path: bytes
    reason: str
    refuses: bool = False


@frozen
class _Part:
    """A program header: type, offset and size in the file."""

    kind: int
    offset: int
    size: int


def unwatchable(program: bytes) -> Unwatchable | None:
    """Return why `program` (a path, or a name along PATH as exec finds it) cannot be watched; None if it can, or if
    its file cannot be read."""
    path = found_program(program)
    file = path
    for _ in range(SCRIPTS if path else 0):
        try:
            facts = os.stat(file)
            page = _page(file) if stat.S_ISREG(facts.st_mode) else b""
        except OSError:
            return None
        if not page.startswith(b"#!"):
            found = _elf(file, page) if page.startswith(b"\x7fELF") else None
            reason = found or (PRIVILEGED if page and _gains_rights(file, facts) else None)
            return Unwatchable(path, reason, reason in (FOREIGN, OTHER)) if reason else None
        words = page[2:].split(b"\n")[0].split()
        if not words:
            return None
        file = words[0]
    return None


def chain(path: bytes) -> Iterator[bytes]:
    """Yield a program's file and, for a script, the interpreter in its `#!` line, and so on; `env` is resolved along
    PATH."""
    for _ in range(SCRIPTS):
        yield path
        try:
            page = _page(path)
        except OSError:
            return
        words = page[2:].split(b"\n")[0].split() if page.startswith(b"#!") else []
        if not words:
            return
        path = words[0]
        if os.path.basename(path) == b"env":
            named = [word for word in words[1:] if not word.startswith(b"-") and b"=" not in word]
            path = found_program(named[0]) or named[0] if named else path


def loader(path: bytes) -> bytes:
    """Return the path of the loader that an ELF program requests; empty if it requests none."""
    page = _page(path)
    if not page.startswith(b"\x7fELF"):
        return b""
    order = "<" if sys.byteorder == "little" else ">"
    parts = (part for part in _parts(page, order) if part.kind == PT_INTERP)
    return next((page[part.offset : part.offset + part.size].rstrip(b"\0") for part in parts), b"")


def found_program(program: bytes) -> bytes:
    """Return the absolute path of a program, as exec finds it along PATH; empty if there is none."""
    folders = [] if b"/" in program else [os.fsencode(folder) for folder in os.get_exec_path()]
    for place in [os.path.join(folder, program) for folder in folders] or [program]:
        if os.path.isfile(place) and os.access(place, os.X_OK):
            return os.path.join(os.getcwdb(), place)
    return b""


def _page(path: bytes) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        return os.pread(descriptor, PAGE, 0)
    finally:
        os.close(descriptor)


def _elf(path: bytes, page: bytes) -> str | None:
    own = _page(b"/proc/self/exe")
    if page[4:6] + page[18:20] != own[4:6] + own[18:20]:
        return FOREIGN
    order = "<" if sys.byteorder == "little" else ">"
    if struct.unpack_from(order + "H", page, 16)[0] not in (ET_EXEC, ET_DYN):
        return None
    parts = list(_parts(page, order))
    loaders = [page[p.offset : p.offset + p.size] for p in parts if p.kind == PT_INTERP]
    names = [os.path.basename(loader) for loader in loaders]
    if any(name.startswith(OTHER_LOADERS) or name.startswith(MUSL) != _is_musl(own) for name in names):
        return OTHER
    name = os.path.basename(path)
    if not loaders and not (name.startswith(b"ld") and b".so" in name):
        return STATIC
    notes = (page[p.offset : p.offset + p.size] for p in parts if p.kind == PT_NOTE)
    return GO if any(struct.pack(order + "I", 4) == note[:4] and b"Go\0\0" in note for note in notes) else None


def _is_musl(page: bytes) -> bool:
    """Return whether this Python, which has `page` as its first page, uses musl: then so does the shim compiled with
    it."""
    order = "<" if sys.byteorder == "little" else ">"
    loaders = (page[part.offset : part.offset + part.size] for part in _parts(page, order) if part.kind == PT_INTERP)
    return any(os.path.basename(loader).startswith(MUSL) for loader in loaders)


def _parts(page: bytes, order: str) -> Iterator[_Part]:
    if page[4] == 2:
        start, size, count = struct.unpack_from(order + "Q14xHH", page, 32)
        layout, places = order + "IIQQQQ", (0, 2, 5)
    else:
        start, size, count = struct.unpack_from(order + "I10xHH", page, 28)
        layout, places = order + "IIIII", (0, 1, 4)
    for number in range(min(count, 64)):
        if start + number * size + struct.calcsize(layout) <= len(page):
            fields = struct.unpack_from(layout, page, start + number * size)
            yield _Part(*(fields[place] for place in places))


def _gains_rights(path: bytes, facts: os.stat_result) -> bool:
    """Return whether the kernel sets AT_SECURE for this program."""
    honoured = not os.statvfs(path).f_flag & os.ST_NOSUID
    user = facts.st_uid if honoured and facts.st_mode & stat.S_ISUID else os.geteuid()
    marked = facts.st_mode & (stat.S_ISGID | stat.S_IXGRP) == stat.S_ISGID | stat.S_IXGRP
    group = facts.st_gid if honoured and marked else os.getegid()
    if user != os.getuid() or group != os.getgid():
        return True
    try:
        return honoured and os.getuid() != 0 and bool(os.getxattr(path, "security.capability"))
    except OSError:
        return False
