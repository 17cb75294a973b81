"""The shims for a container whose image has no place to bind provio's own folder at: a `.provio` in, the folder in it
that has a copy of them out.

A copy is made once, of what a watched program may load: the shims of one machine, and the interceptors for Python. It
is another one where provio is another: its name tells of the files that were copied. Others of the same user go once
none of that user's other runs goes on: any of them may start a program by one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from provio.base.errors import ProvioError
from provio.settings.home import RUN_ID, Home
from provio.system import shims
from provio.trace.recording import uuid7

KEPT = "shims"  # the folder of a `.provio` that has the copies
PYTHON = ("site", "python", "recognise")  # the folders of the interceptors that a watched Python reads


def place(home: Home, shim: Path) -> Path:
    """Return the folder in which the copies of provio's shims lie, or would: it stands for provio's own."""
    facts = [(name, os.stat(file)) for name, file in _files(shim)]
    said = "\n".join(f"{name} {found.st_size} {found.st_mtime_ns}" for name, found in facts)
    return home.path / KEPT / f"{os.geteuid()}-{hashlib.sha256(os.fsencode(said)).hexdigest()[:16]}"


def made(home: Home, shim: Path, run: str) -> Path:
    """Return that folder for a run, made where it is not there, and remove what was made of another provio and no other
    run can use; raises ProvioError where it cannot be made, or is another user's."""
    folder = place(home, shim)
    try:
        if not folder.exists():
            with home.closed():
                folder.parent.mkdir(exist_ok=True)
            _make(folder, shim)
        found = folder.lstat()
    except OSError as error:
        raise ProvioError(f"cannot write {folder} ({error.strerror}): set PROVIO_HOME to a folder with room") from error
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):  # what is in it is executed
        raise ProvioError(f"{folder} is not yours alone: remove it")
    with contextlib.suppress(OSError):  # what cannot be removed stays
        _leave(home, folder, run)
    return folder


def _leave(home: Home, folder: Path, run: str) -> None:
    """Leave of the user's copies this one alone, unless a run goes on besides `run`."""
    own = f"{os.geteuid()}-"
    others = [other for other in folder.parent.iterdir() if other.name.startswith(own) and other != folder]
    if not others or _any_goes_on(other for other in home.runs.iterdir() if other.name != run):
        return
    for other in others:
        shutil.rmtree(other.rename(folder.parent / f".{uuid7()}"))  # nobody finds half of one


def _any_goes_on(folders: Iterable[Path]) -> bool:
    """Whether a run of the user's goes on."""
    from provio.trace import (
        liveness,
        read,  # slow to import, and there is seldom an older copy
    )

    watched = liveness.watched()

    def goes_on(folder: Path) -> bool:
        try:
            if not RUN_ID.fullmatch(folder.name) or folder.stat().st_uid != os.geteuid():
                return False
            return liveness.going(folder, read.read_head(folder), started=watched)
        except OSError:
            return True

    return any(map(goes_on, folders))


def _make(folder: Path, shim: Path) -> None:
    """Make it as a whole: others may make the same."""
    new = folder.parent / f".{uuid7()}"
    before = os.umask(0o077)
    try:
        for name, file in _files(shim):
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, new / name)
        new.rename(folder)
    except OSError as error:
        if not folder.exists():
            raise error from None
    finally:
        os.umask(before)
        shutil.rmtree(new, ignore_errors=True)


def _files(shim: Path) -> Iterator[tuple[str, Path]]:
    """What is copied, by its name below provio's folder."""
    machine = shims.kind(shim)[0]
    kinds = [f"preload/{kind}" for kind in shims.KINDS if kind.startswith(machine)]
    for name in (shims.NAME, *(f"{kind}/{shims.NAME}" for kind in kinds)):
        if (shims.HERE / name).exists():
            yield name, shims.HERE / name
    folders = ["interceptors", *(f"interceptors/{name}" for name in PYTHON)]
    for folder in folders:
        for entry in sorted((shims.HERE / folder).glob("*.py")):
            yield f"{folder}/{entry.name}", entry
