"""Why a command was not started: the message, a hint to the call that was probably meant, and the exit code of a shell.

In: the words of the command, the error of the system. The codes are those of bash: 127 if the program, or the
interpreter or loader that it requests, does not exist; else 126.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
from collections.abc import Sequence

from provio.system.executable import chain, found_program, loader

NOT_FOUND, NOT_EXECUTABLE = 127, 126
BINARY = 80  # bytes that bash examines before it takes a file for a script
BUILTINS = frozenset(
    "alias bg bind cd declare dirs eval exec exit export fg hash history jobs let local module popd pushd set shopt "
    "source typeset ulimit umask unalias unset".split()
)
SHELL = re.compile(r"[|<>&;$`*?~()]")
LANGUAGES = {"py": "python3", "sh": "sh", "bash": "bash", "pl": "perl", "rb": "ruby", "R": "Rscript", "jl": "julia"}


def as_script(command: Sequence[bytes]) -> list[bytes] | None:
    """Return the command line that runs a file without `#!` by the shell, as shells do; None for a binary file."""
    path = command[0] if b"/" in command[0] else found_program(command[0])
    start = _start(path)
    if start.startswith(b"\x7fELF") or b"\0" in start.partition(b"\n")[0]:
        return None
    return [b"/bin/sh", path, *command[1:]]


def failure(program: bytes, error: OSError) -> tuple[str, int]:
    """Return why a command was not started, and the exit code of a shell in that case."""
    name = program.decode("utf-8", "backslashreplace")
    place = program if b"/" in program else _in_path(program)
    if not name:
        return "the name of the command is empty", NOT_FOUND
    if not place:
        return f"{name}: command not found", NOT_FOUND
    if error.errno == errno.ENOENT:
        missing = _missing(place) if os.path.exists(place) else ""
        return f"{name}: " + (f"{missing}, which it requests, does not exist" if missing else "no such file"), NOT_FOUND
    if os.path.isdir(place):
        return f"{name}: is a folder, not a program", NOT_EXECUTABLE
    why = ": it is damaged, or built for another machine" if error.errno == errno.ENOEXEC else ""
    return f"{name}: {error.strerror}{why}", NOT_EXECUTABLE


def _in_path(name: bytes) -> bytes:
    """Return the first file of a name along PATH, executable or not; empty if there is none."""
    places = [os.path.join(os.fsencode(folder), name) for folder in os.get_exec_path()] if name else []
    return next((place for place in places if os.path.lexists(place) and not os.path.isdir(place)), b"")


def _missing(path: bytes) -> str:
    """Return the interpreter or loader that a program requests and that does not exist; empty if unknown."""
    for file in chain(path):
        try:
            wanted = loader(file)
        except OSError:
            return os.fsdecode(file)
        if wanted and not os.path.exists(wanted):
            return os.fsdecode(wanted)
    return ""


def hint(command: Sequence[bytes]) -> str:
    """Return a clause that states the call that was probably meant; empty if that is unknown."""
    words = [os.fsdecode(word) for word in command]
    name = words[0]
    if name == "--" and len(words) > 1:
        return f": did you mean provio run -- {_line(words[1:])}?"
    if words[1:2] == ["--"] and not os.path.lexists(name):
        return ": only options may stand before -- (provio run --help)"
    if name in BUILTINS or name == ".":
        return f" outside a shell: provio run -- bash -c {shlex.quote(_line(words))}"
    if os.path.isfile(name) and not os.access(name, os.X_OK) and _start(name).startswith(b"#!"):
        path = name if "/" in name else f"./{name}"
        return f": chmod +x {shlex.quote(path)}, then provio run -- {_line([path, *words[1:]])}"
    meant = _meant(name, words[1:])
    return f": did you mean {meant}?" if meant else ""


def _start(name: str | bytes) -> bytes:
    """Return the first bytes of a file; none if it cannot be read."""
    try:
        with open(name, "rb") as file:
            return file.read(BINARY)
    except OSError:
        return b""


def _meant(name: str, rest: list[str]) -> str:
    """Return the call that was probably meant, or an empty string."""
    if re.match(r"[A-Za-z_]\w*=", name):
        return f"provio run -- env {_line([name, *rest])}"
    if os.path.isfile(name):
        return _with_file(name, rest)
    if len(name.split()) > 1:
        text = " ".join([name.strip(), *map(shlex.quote, rest)])
        return f"provio run -- {f'sh -c {shlex.quote(text)}' if SHELL.search(name) else text}"
    near = _similar(name)
    return f"provio run -- {_line([near, *rest])}" if near else ""


def _line(words: list[str]) -> str:
    """Return a command line; one of more than six words is cut."""
    return shlex.join(words) if len(words) < 7 else shlex.join(words[:6]) + " …"


def _with_file(name: str, rest: list[str]) -> str:
    """Return the call that starts a file, or queries it if it is no program."""
    if os.access(name, os.X_OK):
        return "" if "/" in name else f"provio run -- {_line([f'./{name}', *rest])}"
    language = LANGUAGES.get(name.rpartition(".")[2])
    return f"provio run -- {_line([language, name, *rest])}" if language else f"provio lineage {shlex.quote(name)}"


def _similar(name: str) -> str:
    """Return the most similar file in the folder of a path, or of a name along PATH; empty if there is none."""
    from difflib import get_close_matches

    folder, _, last = name.rpartition("/")
    if os.path.lexists(name) if folder else _in_path(os.fsencode(name)):
        return ""
    known: set[str] = set()
    for place in [folder or "/"] if "/" in name else os.get_exec_path():
        with contextlib.suppress(OSError):
            known.update(os.listdir(place))
    near = get_close_matches(last, sorted(known - {last}), n=1, cutoff=0.8)
    return name[: len(name) - len(last)] + near[0] if near else ""
