"""`capture_dir`: whether the folder in which a node captures is there, can be written, and is the node's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from provio.base.errors import ProvioError
from provio.base.text import size
from provio.doctor import Finding, Place, maps, note, ok, problem
from provio.doctor.checks.room import NOTHING
from provio.settings import home as homes
from provio.settings import load
from provio.system import mounts, node_local
from provio.trace import environment

ABOUT = "capture_dir"
REMEDY = "name a folder of each node's own disk, such as $TMPDIR"


def look(place: Place) -> Iterator[Finding]:  # noqa: ARG001
    """Yield what is to be said of it, where it is set."""
    try:
        setting = load.load(homes.project_folders(), {}, lambda _: None).capture_dir
    except ProvioError:  # which another check says
        return
    if not setting:
        return
    try:
        folder = node_local.folder_of(setting)
        room = os.statvfs(folder)
    except (OSError, ValueError) as error:
        yield problem(f"{setting}: {getattr(error, 'strerror', None) or error}", REMEDY)
        return
    mount = environment.mount_of(Path(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        yield problem(f"{folder} cannot be written", REMEDY)
    elif room.f_bavail * room.f_frsize < NOTHING:
        yield problem(f"{folder}: {size(room.f_bavail * room.f_frsize)} free", f"make room there, or {REMEDY}")
    elif mount and mount.file_system in mounts.SHARED:
        yield note(f"{folder} is on a network file system ({mount.file_system}): nothing is gained", REMEDY)
        yield from maps.refused(folder)
    else:
        yield from maps.refused(folder)
        yield ok(f"{folder}: {room.f_bavail * room.f_frsize >> 20} MiB free, of this host's own")
