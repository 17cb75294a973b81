"""Copies of the shims in `.provio`, for a container image without a place to bind provio's own folder.

A copy contains the files that a watched program may load: the shims of one machine, and the interceptors for Python.
It is made once per installed version of provio: its name depends on the sizes and times of the copied files. Older
copies of a user are removed when no other run of that user is in progress, because any such run may start a program
with one.
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

KEPT = "shims"  # folder in `.provio` with the copies
PYTHON = (
    "site",
    "python",
    "python/h5py",
    "python/writer",
    "recognise",
)  # folders of the interceptors that a watched Python reads


def folder_of(home: Home, shim: Path) -> Path:
    """Return the folder in which the copies of provio's shims are, or would be; it replaces provio's own folder."""
    facts = [(name, os.stat(file)) for name, file in _files(shim)]
    text = "\n".join(f"{name} {found.st_size} {found.st_mtime_ns}" for name, found in facts)
    return home.path / KEPT / f"{os.geteuid()}-{hashlib.sha256(os.fsencode(text)).hexdigest()[:16]}"


def make_copies(home: Home, shim: Path, run: str) -> Path:
    """Return that folder for a run; make it if absent, and remove copies of other provio versions that no run can
    use. Raises ProvioError if it cannot be made, or belongs to another user."""
    folder = folder_of(home, shim)
    try:
        if not folder.exists():
            with home.closed():
                folder.parent.mkdir(exist_ok=True)
            _make(folder, shim)
        found = folder.lstat()
    except OSError as error:
        raise ProvioError(
            f"cannot write {folder} ({error.strerror}): set PROVIO_HOME to a folder with free space"
        ) from error
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):  # its content is executed
        raise ProvioError(f"{folder} is not private to you: remove it")
    with contextlib.suppress(OSError):  # a copy that cannot be removed is kept
        _leave(home, folder, run)
    return folder


def _leave(home: Home, folder: Path, run: str) -> None:
    """Remove the user's other copies, unless a run other than `run` is in progress."""
    own = f"{os.geteuid()}-"
    others = [other for other in folder.parent.iterdir() if other.name.startswith(own) and other != folder]
    if not others or _any_in_progress(other for other in home.runs.iterdir() if other.name != run):
        return
    for other in others:
        shutil.rmtree(other.rename(folder.parent / f".{uuid7()}"))  # no process finds a partial copy


def _any_in_progress(folders: Iterable[Path]) -> bool:
    """Return whether a run of this user is in progress."""
    from provio.trace import (
        liveness,
        read,  # slow to import, and older copies are rare
    )

    watched = liveness.started_runs()

    def is_in_progress(folder: Path) -> bool:
        try:
            if not RUN_ID.fullmatch(folder.name) or folder.stat().st_uid != os.geteuid():
                return False
            return liveness.in_progress(folder, read.read_head(folder), started=watched)
        except OSError:
            return True

    return any(map(is_in_progress, folders))


def _make(folder: Path, shim: Path) -> None:
    """Make the copy under another name and rename it: other processes may make the same one."""
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
    """Yield the files to copy: the name below provio's folder, and the path."""
    machine = shims.kind(shim)[0]
    kinds = [f"preload/{kind}" for kind in shims.KINDS if kind.startswith(machine)]
    for name in (shims.NAME, *(f"{kind}/{shims.NAME}" for kind in kinds)):
        if (shims.HERE / name).exists():
            yield name, shims.HERE / name
    folders = ["interceptors", *(f"interceptors/{name}" for name in PYTHON)]
    for folder in folders:
        for entry in sorted((shims.HERE / folder).glob("*.py")):
            yield f"{folder}/{entry.name}", entry
