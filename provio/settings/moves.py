"""The folders that were renamed since a run: a moved or copied project, and those of `provio relocate`.

In: a `.provio`, the project's folder that a run recorded. Out: pairs of folders (recorded, present), in order.

The file `relocations` in `.provio` has a line for each `provio relocate`: the time (ns since 1970), and the old and the
new folder, percent-encoded. A folder in the project is relative to it, so that the project can move again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote_to_bytes

from provio.base.records import frozen
from provio.base.turtle import path_iri
from provio.settings.home import Home
from provio.system import statx

RELOCATIONS = "relocations"
Renames = list[tuple[bytes, bytes]]


@frozen
class Relocation:
    """One `provio relocate`: it applies to runs that started before `time` (ns since 1970)."""

    time: int
    old: bytes
    new: bytes


def renames(record: Path, recorded: bytes, start: float) -> Renames:
    """Return the pairs of folders for a run of a `.provio` that recorded its project at a path and started at a time
    (seconds since 1970)."""
    projects = Home(record).projects if recorded not in (b"", b"/") else ()
    moved = [(recorded, present) for present in projects if present != recorded]
    later = [(one.old, one.new) for one in relocations(record) if one.time > start * 1e9]
    return moved + later


def relocations(record: Path) -> list[Relocation]:
    """Return the relocations of a `.provio`, oldest first; incomplete lines are skipped."""
    try:
        lines = (record / RELOCATIONS).read_bytes().splitlines(keepends=True)
    except OSError:
        return []
    base = next(iter(Home(record).projects), os.fsencode(record.parent))
    found = (line.split() for line in lines if line.endswith(b"\n"))
    return [
        Relocation(int(moment), *(os.path.normpath(os.path.join(base, unquote_to_bytes(name))) for name in folders))
        for moment, *folders in (fields for fields in found if len(fields) == 3 and _is_time(fields[0]))
    ]


def _is_time(text: bytes) -> bool:
    return text.isdigit() and len(text) < 20


def places(home: Home) -> tuple[bytes, ...]:
    """Return the present folders of a store's projects, and the places to which folders were relocated."""
    return *home.projects, *(one.new for record in home.records for one in relocations(record))


def is_below(path: bytes, place: bytes) -> bool:
    """Return whether a path is a place, or below it."""
    return path == place or path.startswith(place.rstrip(b"/") + b"/")


def relocate(home: Home, old: bytes, new: bytes) -> None:
    """Add a relocation of two absolute folders; raises OSError."""
    folders = (path_iri(_relative(folder, home.projects)) for folder in (old, new))
    with home.closed(), open(home.path / RELOCATIONS, "a", encoding="ascii", opener=_no_link) as file:
        file.write(f"{time.time_ns()} {' '.join(folders)}\n")


def undo(home: Home) -> Relocation | None:
    """Remove the last relocation, and return it; None if there is none. Raises OSError."""
    found = relocations(home.path)
    if not found:
        return None
    place = home.path / RELOCATIONS
    new = place.with_name(f"{place.name}.new")
    with home.closed():
        new.unlink(missing_ok=True)
        new.write_bytes(b"".join(place.read_bytes().splitlines(keepends=True)[:-1]))
        new.replace(place)
    return found[-1]


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)


def _relative(folder: bytes, projects: Iterable[bytes]) -> bytes:
    return next((os.path.relpath(folder, one) for one in projects if is_below(folder, one)), folder)


def key(home: Home) -> tuple[str, str]:
    """Return two texts: one that changes when a project of a store is at another place, empty if its records are in
    none; one that changes when a folder was relocated.

    They are the same through each mount of the same folder, also in a container: else hosts and containers that use a
    record in turn would merge all of its runs each time.
    """
    last = (relocations(record)[-1:] for record in home.records)
    return "".join(map(_place, home.projects)), ",".join(str(one.time) for found in last for one in found)


def _place(project: bytes) -> str:
    try:
        facts = statx.facts(project)
    except OSError:
        return ""
    return f"{path_iri(_inside(project, facts.device))},{facts.inode},{facts.birth}"


def inside(folder: bytes) -> bytes:
    """Return the path of a folder in its file system; its path if there is no such folder."""
    try:
        return _inside(folder, statx.facts(folder).device)
    except OSError:
        return folder


@lru_cache(maxsize=64)
def _inside(folder: bytes, device: str) -> bytes:
    """Return the path of a folder in its file system; its path if the mount is not known."""
    mounts = (mount for mount in statx.parsed(Path("/proc/self/mountinfo").read_bytes()) if mount.device == device)
    above = [m for m in mounts if m.point in (b"/", folder) or folder.startswith(m.point + b"/")]
    mount = max(above, key=lambda one: len(one.point), default=None)
    return mount.root.rstrip(b"/") + folder[len(mount.point.rstrip(b"/")) :] if mount else folder
