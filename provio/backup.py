"""A copy of a `.provio`: a home in, a folder that is one itself out, consistent although runs go on meanwhile.

Nothing is merged, packed or removed while it is made, for the lock is held. The store is the published one. What is
pending is in it as it is; a run whose files are in shared memory is packed in the copy, so that they outlive a reboot.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path

from provio import runfiles
from provio.config import Config
from provio.errors import NothingKnown, ProvioError
from provio.home import Home
from provio.lock import Lock
from provio.store import open_reader

# What a copy has no use for: a lock, the note of a merge that did not end, and what tells backups to leave it out.
LEFT_OUT = frozenset({"lock", "store.unfinished", "CACHEDIR.TAG"})


def backup(home: Home, target: Path) -> int:
    """Copy a `.provio` and return how many runs are in the copy; it is there whole, or not at all.

    Raises ProvioError where `target` is there already or cannot be written, Busy never: it waits.
    """
    if os.path.lexists(target):
        raise ProvioError(f"{target} is there already: name a folder that is not")
    new = target.with_name(f"{target.name}.{os.getpid()}.new")
    with contextlib.closing(Lock(home, wait=True)), home.closed():
        try:
            new.mkdir(mode=0o700)
            folders = home.run_folders()
            _copy(home, new, folders)
            with contextlib.suppress(NothingKnown):  # nothing is merged yet
                open_reader(Home(new), Config())
            new.rename(target)
        except OSError as error:
            shutil.rmtree(new, ignore_errors=True)
            reason = error.strerror or str(error)
            raise ProvioError(f"cannot write {target} ({reason}): name a folder with room, of yours") from error
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
    return len(folders)


def _copy(home: Home, new: Path, folders: list[Path]) -> None:
    for entry in os.scandir(home.path):
        if entry.is_file(follow_symlinks=False) and entry.name not in LEFT_OUT:
            shutil.copy2(entry.path, new / entry.name)
    (new / "runs").mkdir()
    for folder in folders:
        _copy_run(folder, new / "runs" / folder.name)
    for notes in ("hashing", "removed"):
        if (home.path / notes).is_dir():
            _tree(home.path / notes, new / notes)
    _copy_store(home, Home(new))


def _copy_run(folder: Path, target: Path) -> None:
    packed = runfiles.pack_of(folder)
    if not folder.is_dir():
        shutil.copy2(packed, runfiles.pack_of(target))
    elif (runfiles.shared_memory() / folder.name).is_dir():
        from provio.runfiles import archive
        from provio.trace import read_head

        archive.write(folder, read_head(folder), runfiles.pack_of(target), going=True)
        changed = runfiles.of(folder).changed()
        os.utime(runfiles.pack_of(target), ns=(changed, changed))
    else:
        _tree(folder, target)


def _copy_store(home: Home, copy: Home) -> None:
    published = home.snapshots / "current"
    if not published.is_dir():
        return
    copy.snapshots.mkdir()
    _tree(published, copy.snapshots / "1")
    (copy.snapshots / "current").symlink_to("1")
    _tree(published, copy.store)
    if home.marks.is_dir():
        _tree(home.marks, copy.marks)


def _tree(source: Path, target: Path) -> None:
    """Copy a folder with its times and links; what is no file, folder or link is left."""

    def special(folder: str, names: list[str]) -> list[str]:
        modes = {name: os.lstat(os.path.join(folder, name)).st_mode for name in names}
        return [
            name for name, mode in modes.items() if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))
        ]

    try:
        shutil.copytree(source, target, symlinks=True, ignore=special)
    except shutil.Error as error:
        raise OSError(0, str(error.args[0][0][2])) from error
