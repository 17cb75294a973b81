"""Checks the owner and the permissions of folders: whether a `.provio` is trusted, and whether a run is readable."""

from __future__ import annotations

import os
import stat
from pathlib import Path

SHARED = stat.S_ISGID | stat.S_IRWXG  # rwxrws---: `provio init --shared`


def is_shared(found: os.stat_result) -> bool:
    """Return whether a `.provio` is shared with a group, from its mode."""
    return found.st_mode & SHARED == SHARED


def is_ours(found: os.stat_result) -> bool:
    """Return whether a `.provio` belongs to this user, or is shared by its owner with a group of this user."""
    if found.st_uid == os.geteuid():
        return True
    return is_shared(found) and found.st_gid in (os.getegid(), *os.getgroups())


def open_to_all(home: Path) -> Path | None:
    """Return the folder in a `.provio` (or the `.provio` itself) that any user may write; None if there is none."""
    for folder in (home, *(home / name for name in ("runs", "store", "snapshots", "hashing"))):
        try:
            if folder.stat().st_mode & stat.S_IWOTH:
                return folder
        except OSError:
            continue
    return None


def trusted_beside(folder: Path) -> set[int]:
    """Return the users with trusted settings files next to a `.provio`: this user, root, and an owner who shares it
    with us."""
    try:
        found = folder.stat()
    except OSError:
        return {0, os.geteuid()}
    return {0, os.geteuid(), *([found.st_uid] if is_ours(found) else [])}


def is_shut(run_folder: Path) -> bool:
    """Return whether a run of another user is not readable (yet: its live files are private until the run ends)."""
    try:
        if run_folder.stat().st_uid == os.geteuid():
            return False
    except OSError:  # the run is packed
        return False
    inside = (Path(path, name) for path, folders, files in os.walk(run_folder) for name in (*folders, *files))
    return not all(os.access(path, os.R_OK) or path.is_symlink() for path in (run_folder, *inside))
