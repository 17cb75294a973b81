"""Where a run's files come from: the folder of a run in, its files out, whether they lie there or in a pack beside it.

    files       what a reader asks for
    folder      a run folder, with what it keeps in shared memory
    pack        one compressed file, `<run id>.tar.xz`; `archive` writes it
    unpacked    what a pack holds, or a run that goes on, to be read twice

Both give the same files in the same order, so that what is made of them is the same to the byte.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from provio.runfiles.files import CALLS_ENDING, GAP_ENDING, HEAD, SHELL_ENDING, UNCLOSED, RunFile, RunFiles
from provio.runfiles.folder import Folder, content, folders_of, named, put, shared_memory

if TYPE_CHECKING:
    from provio.statx import Record

__all__ = [
    "CALLS_ENDING", "ENDING", "GAP_ENDING", "HEAD", "SHELL_ENDING", "TAKEN", "UNCLOSED", "Folder", "RunFile",
    "RunFiles", "content", "exists", "folders_of", "held", "named", "of", "pack_of", "packed_in", "put",
    "shared_memory",
]  # fmt: skip

ENDING = ".tar.xz"
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
    from provio.runfiles.pack import Pack  # slow to import, and most runs that are merged are new

    return Pack(folder, place)


def exists(folder: Path) -> bool:
    """Tell whether there are files of a run."""
    return folder.is_dir() or pack_of(folder).is_file()


def held(source: RunFiles, record: Record, beside: Path) -> RunFiles:
    """Return what can be read twice, whatever becomes of the run: the same files as they are now, in a file without a
    name in the folder `beside`; raises OSError."""
    from provio.runfiles.unpacked import Held

    return Held(source, record, beside)


def pack_of(folder: Path) -> Path:
    """Return where the pack of a run lies, if it is packed."""
    return folder.with_name(folder.name + ENDING)
