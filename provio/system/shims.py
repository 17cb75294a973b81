"""Finds the shim, the `libprovio.so` that the loader of a program can preload.

A shim is built for one machine and one C library. The one that was compiled here is `provio/libprovio.so`; those for
other machines and C libraries are `provio/preload/<machine>-<C library>/libprovio.so`.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from provio.base.errors import ProvioError
from provio.system.elf import needed

HERE = Path(__file__).parent.parent
NAME = "libprovio.so"
KINDS = ("x86_64-glibc", "aarch64-glibc", "x86_64-musl", "aarch64-musl")
MACHINES = {62: "x86_64", 183: "aarch64"}
LOADERS = {"ld-musl": "musl", "ld-linux": "glibc", "ld-2": "glibc"}
LIBRARIES = {"libc.so.6": "glibc", "libc.musl-x86_64.so.1": "musl", "libc.musl-aarch64.so.1": "musl"}
SCRIPTS, LINKS = 5, 40
PT_INTERP = 3


class Static(ProvioError):
    """The program in `file` is statically linked and cannot load a shim."""

    def __init__(self, path: str, file: Path) -> None:
        super().__init__(f"{path} is statically linked and cannot load a shim: link it dynamically")
        self.file = file


def for_program(path: str, root: str = "/") -> Path:
    """Return the shim that a program's loader can load; for a script, that of its interpreter.

    `path` is as seen by a process with the root `root`: a name without `/` is searched along PATH, and links are
    followed inside `root`. Raises ProvioError, which names the missing part: the program, a machine, a loader, a
    shim.
    """
    file = _found(path, root)
    for _ in range(SCRIPTS):
        page = _read(file, 0, 4096)
        if not page.startswith(b"#!"):
            return of(*_requested(file, page, path))
        words = page[2:].split(b"\n")[0].split()
        if not words:
            raise ProvioError(f"{path} names no interpreter after #!: name the program that runs it")
        file = _found(os.fsdecode(words[0]), root)
    raise ProvioError(f"{path} is run by a chain of scripts: name the program that runs it")


def installed_for(path: str) -> Path | None:
    """Return the shim that a program's loader can load, or None."""
    try:
        return for_program(path)
    except ProvioError:
        return None


def of(machine: str, library: str) -> Path:
    """Return the shim for a machine (`x86_64`, `aarch64`) and a C library (`glibc`, `musl`); raises ProvioError if
    there is none."""
    own = HERE / NAME
    found = [shim for shim in (own, HERE / "preload" / f"{machine}-{library}" / NAME) if shim.exists()]
    fitting = next((shim for shim in found if shim != own or kind(own) == (machine, library)), None)
    if fitting is None:
        raise ProvioError(f"no shim for {machine} with {library} is installed: install provio from its wheel")
    return fitting


def kind(shim: Path) -> tuple[str, str]:
    """Return the machine and the C library of a shim."""
    machine = _machine(_read(shim, 0, 64), str(shim))
    return machine, "glibc" if "libc.so.6" in needed(shim) else "musl"


def _requested(file: Path, page: bytes, path: str) -> tuple[str, str]:
    """Return the machine and the C library that a program requires."""
    machine = _machine(page, path)
    start, size, count = struct.unpack_from("<Q14xHH", page, 32)
    layout = struct.Struct("<I4xQ16xQ")
    heads = (_read(file, start + each * size, layout.size) for each in range(count))
    parts = [layout.unpack(head) for head in heads if len(head) == layout.size]
    requested = next((_read(file, offset, length) for kind, offset, length in parts if kind == PT_INTERP), b"")
    loader = os.path.basename(os.fsdecode(requested.rstrip(b"\0")))
    if not loader:
        raise Static(path, file)
    library = next((library for start, library in LOADERS.items() if loader.startswith(start)), None)
    if library is None:  # the loader was renamed, as by patchelf: the needed libraries name the C library
        names = needed(file)
        library = next((library for name, library in LIBRARIES.items() if name in names), None)
    if library is None:
        raise ProvioError(
            f"{path} needs the loader {loader}, but provio has shims only for glibc and musl: use such a build"
        )
    return machine, library


def _machine(page: bytes, path: str) -> str:
    if len(page) < 64 or page[:4] != b"\x7fELF":
        raise ProvioError(f"{path} is neither an ELF program nor a script that starts with #!: name a program")
    machine = MACHINES.get(int.from_bytes(page[18:20], "little"))
    if page[4:6] != b"\2\1" or machine is None:
        raise ProvioError(
            f"{path} is built for another machine, but provio has shims only for {' and '.join(MACHINES.values())}"
        )
    return machine


def _read(file: Path, offset: int, size: int) -> bytes:
    try:
        with file.open("rb") as stream:
            stream.seek(offset)
            return stream.read(size)
    except OSError as error:
        raise ProvioError(f"{file} cannot be read: {error.strerror}") from error


# ---- paths below another root


def _found(path: str, root: str) -> Path:
    for place in [path] if "/" in path else [os.path.join(folder, path) for folder in os.get_exec_path()]:
        file = _below(root, place)
        if file is not None and os.path.isfile(file) and os.access(file, os.X_OK):  # a refusal does not raise
            return file
    where = "" if root == "/" else f" in {root}"
    raise ProvioError(f"{path}: no such executable program{where}")


def _below(root: str, path: str) -> Path | None:
    """Return the real location of a path below another root, with links resolved inside that root; None for a link
    loop."""
    if root == "/":
        return Path(path)
    at: list[str] = []
    rest, links = path.split("/")[::-1], 0
    while rest and links <= LINKS:
        name = rest.pop()
        here = os.path.join(root, *at, name)
        if name == "..":
            at = at[:-1]
        elif os.path.islink(here):
            target, links = os.readlink(here), links + 1
            rest += target.split("/")[::-1]
            at = [] if target.startswith("/") else at
        elif name not in ("", "."):
            at.append(name)
    return None if rest else Path(root, *at)
