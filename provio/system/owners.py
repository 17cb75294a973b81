"""Whose a folder is, and whom it lets in: a folder in, the owner that may be trusted, or what is shut to us, out."""

from __future__ import annotations

import os
import stat
from pathlib import Path

SHARED = stat.S_ISGID | stat.S_IRWXG  # rwxrws---: `provio init --shared`


def is_shared(found: os.stat_result) -> bool:
    """Tell whether a `.provio` is a group's, by its mode."""
    return found.st_mode & SHARED == SHARED


def is_ours(found: os.stat_result) -> bool:
    """Tell whether a `.provio` is one's own, or shared by its owner with a group that one is in."""
    if found.st_uid == os.geteuid():
        return True
    return is_shared(found) and found.st_gid in (os.getegid(), *os.getgroups())


def open_to_all(home: Path) -> Path | None:
    """Return the folder of a `.provio`, or itself, in which anybody may write; None where there is none."""
    for folder in (home, *(home / name for name in ("runs", "store", "snapshots", "hashing"))):
        try:
            if folder.stat().st_mode & stat.S_IWOTH:
                return folder
        except OSError:
            continue
    return None


def trusted_beside(folder: Path) -> set[int]:
    """Return whose settings are used beside a `.provio`: one's own, root's, and those of who shares it with us."""
    try:
        found = folder.stat()
    except OSError:
        return {0, os.geteuid()}
    return {0, os.geteuid(), *([found.st_uid] if is_ours(found) else [])}


def is_shut(run_folder: Path) -> bool:
    """Tell whether a run is another's who has not let us in (yet: its live files are its owner's until it ends)."""
    try:
        if run_folder.stat().st_uid == os.geteuid():
            return False
    except OSError:  # packed
        return False
    inside = (Path(path, name) for path, folders, files in os.walk(run_folder) for name in (*folders, *files))
    return not all(os.access(path, os.R_OK) or path.is_symlink() for path in (run_folder, *inside))
