"""Where a run's files come from: the folder of a run in, its files out, whether they lie there or in a pack beside it.

    run_files     what a reader asks for; and what a pack holds, or a run that goes on, to be read twice
    run_folder    a run folder, with what it keeps in shared memory
    run_archive   one compressed file, `<run id>.tar.xz`

Both give the same files in the same order, so that what is made of them is the same to the byte.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from provio.settings.home import PACKED
from provio.trace.run_files import CALLS_ENDING, GAP_ENDING, HEAD, SHELL_ENDING, UNCLOSED, RunFile, RunFiles
from provio.trace.run_folder import Folder, content, folders_of, named, put, shared_memory

if TYPE_CHECKING:
    from provio.settings.home import Home
    from provio.system.statx import Record

__all__ = [
    "CALLS_ENDING", "GAP_ENDING", "HEAD", "SHELL_ENDING", "TAKEN", "UNCLOSED", "Folder", "RunFile",
    "RunFiles", "content", "exists", "folders_of", "named", "of", "pack_of", "packed_in", "put", "shared_memory",
    "snapshot",
]  # fmt: skip

TAKEN = ".packed"  # a folder whose pack is there, on its way out


def of(folder: Path) -> RunFiles:
    """Return the files of a run, by its run folder: where both are there, the folder counts, for a pack is of use only
    once the folder is gone."""
    packed = pack_of(folder)
    if folder.is_dir() or not packed.is_file():
        return Folder(folder)
    return packed_in(folder, packed)


def packed_in(folder: Path, place: Path) -> RunFiles:
    """Return the files of the run of a folder that are packed in `place`."""
    from provio.trace.run_archive import Pack  # slow to import, and most runs that are merged are new

    return Pack(folder, place)


def exists(folder: Path) -> bool:
    """Tell whether there are files of a run."""
    return folder.is_dir() or pack_of(folder).is_file()


def snapshot(source: RunFiles, record: Record, beside: Path) -> RunFiles:
    """Return what can be read twice, whatever becomes of the run: the same files as they are now, in a file without a
    name in the folder `beside`; raises OSError."""
    from provio.trace.run_files import Snapshot

    return Snapshot(source, record, beside)


def pack_of(folder: Path) -> Path:
    """Return where the pack of a run lies, if it is packed."""
    return folder.with_name(folder.name + PACKED)


def pending(home: Home, settings: str = "") -> list[Path]:
    """Return the run folders that are not merged, or changed since, as far as times tell; all of them where there is no
    store, or where they were merged under other settings."""
    folders = home.run_folders()
    there = (home.snapshots / "current").exists() and home.store.exists()
    if not there or settings != home.marked_settings():
        return folders
    now = time.time_ns()  # a later mark is of before the clock was set back: it tells nothing
    return [folder for folder in folders if not of(folder).changed() <= home.mark_time(folder) <= now]
