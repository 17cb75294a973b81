"""The folder of the record: whether it can be found, trusted and written, and on what file system it lies."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from provio.base.errors import NothingKnown, ProvioError
from provio.doctor import Finding, Place, maps, note, ok, problem
from provio.settings import home as homes
from provio.system import mounts
from provio.trace import environment
from provio.trace.recording import SAFE_FOR_MAPS
from provio.trace.run_source import shared_memory

ABOUT = "record"
ELSEWHERE = "set PROVIO_HOME to a folder of yours"


def look(place: Place) -> Iterator[Finding]:
    """Yield where a run would be recorded, and what stands against it."""
    try:
        found = homes.find()
        yield ok(f"{found.path}{', shared with a group' if found.shared else ''}")
    except NothingKnown:
        yield ok(f"{place.home.path} would be made by the first run")
    except ProvioError as error:
        yield problem(str(error).partition(": set")[0], ELSEWHERE)
        return
    wrong = _unwritable(place.home.runs if place.home.runs.is_dir() else place.folder)
    if wrong:
        yield problem(wrong, ELSEWHERE)
    yield from _kind(place.folder)


def _unwritable(folder: Path) -> str:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, 1 << 20)  # a quota shows itself only so
    except OSError as error:
        return f"cannot write 1 MB in {folder}: {error.strerror}"
    return ""


def _kind(folder: Path) -> Iterator[Finding]:
    mount = environment.mount_of(folder)
    if mount is None or mount.file_system in SAFE_FOR_MAPS:
        return
    network = mount.file_system in mounts.SHARED
    what = f"{os.fsdecode(mount.point)} is {'a network file system' if network else 'of a kind'} ({mount.file_system})"
    shared = shared_memory().parent
    if os.access(shared, os.W_OK):
        yield note(
            f"{what}: what programs write of themselves lies in {shared}, until the run is merged and packed",
            "merge on the host that recorded, before it starts anew",
        )
    else:
        yield problem(
            f"{what}, where a crash may cost what is recorded, and {shared} cannot be written",
            "set PROVIO_HOME to a folder on a local disk",
        )
        yield from maps.refused(str(folder))
