"""Copy a `.provio` to another folder that is a complete `.provio` itself, consistently even while runs are in
progress.

The lock is held during the copy, so no process merges, archives or removes runs. The published store is copied.
Pending runs are copied as they are; a run with files in shared memory is archived in the copy, so that they survive
a reboot.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from provio.base.errors import NothingKnown, ProvioError
from provio.settings.home import KEPT, PLACE, Home
from provio.settings.lock import Lock
from provio.settings.schema import Config
from provio.store import open_reader
from provio.trace import run_source

UNFINISHED = "backup.unfinished"  # marks a copy in progress, or the remains of a killed one
# Files that a copy does not need: the lock, the mark of an unfinished merge, and the tag that excludes it from backups.
LEFT_OUT = frozenset({"lock", "store.unfinished", "CACHEDIR.TAG", UNFINISHED})


def backup(home: Home, target: Path, progress: Callable[[str], None] = lambda _: None) -> int:
    """Copy a `.provio` and return the number of runs in the copy; the copy is complete or absent.

    Raises ProvioError if `target` exists already or cannot be written; never raises Busy: it waits.
    """
    if os.path.lexists(target):
        raise ProvioError(f"{target} already exists: name a new folder")
    new = target.with_name(f"{target.name}.new")
    with contextlib.closing(Lock(home, wait=True, reads=True)), home.closed(), _new_folder(target, new):
        try:
            folders = home.run_folders()
            _copy(home, new, folders, progress)
            with contextlib.suppress(NothingKnown):  # no run is merged yet
                open_reader(Home(new), Config())
            new.rename(target)
            (target / UNFINISHED).unlink()
        except OSError as error:
            shutil.rmtree(new, ignore_errors=True)
            raise _unwritable(target, error) from error
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
    return len(folders)


@contextlib.contextmanager
def _new_folder(target: Path, new: Path) -> Iterator[None]:
    """Create a new folder for the copy and lock it; the contents that a killed backup left there are deleted first,
    any other existing folder stays."""
    left = new / UNFINISHED
    try:
        new.mkdir(mode=0o700, exist_ok=left.is_file())
        with open(left, "a", encoding="ascii", opener=_private) as note:
            fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for entry in os.scandir(new):
                if entry.name != UNFINISHED:
                    shutil.rmtree(entry) if entry.is_dir(follow_symlinks=False) else os.unlink(entry)
            yield
    except FileExistsError:
        raise ProvioError(f"{new}, where the copy is made, already exists: remove it, or name another folder") from None
    except BlockingIOError:
        raise ProvioError(f"{target} is being made by another provio backup: wait for it, or name another") from None
    except OSError as error:
        raise _unwritable(target, error) from error


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _unwritable(target: Path, error: OSError) -> ProvioError:
    return ProvioError(f"cannot write {target} ({error.strerror or error}): name a writable folder with free space")


def _copy(home: Home, new: Path, folders: list[Path], progress: Callable[[str], None]) -> None:
    for entry in os.scandir(home.path):
        if entry.is_file(follow_symlinks=False) and entry.name not in LEFT_OUT:
            shutil.copy2(entry.path, new / entry.name)
    (new / "runs").mkdir()
    for place, folder in enumerate(folders):
        progress(f"copying run {place + 1} of {len(folders)}")
        _copy_run(folder, new / "runs" / folder.name)
    for notes in ("hashing", KEPT, "notes", "removed", "statements"):
        if (home.path / notes).is_dir():
            _tree(home.path / notes, new / notes, private=notes == KEPT)
    if home.projects:
        (new / PLACE).write_bytes(home.projects[0])
    progress("copying the store")
    _copy_store(home, Home(new))
    progress("")


def _copy_run(folder: Path, target: Path) -> None:
    packed = run_source.archive_of(folder)
    if not folder.is_dir():
        shutil.copy2(packed, run_source.archive_of(target))
    elif (run_source.shared_memory() / folder.name).is_dir():
        from provio.trace import run_archive
        from provio.trace.read import read_head

        run_archive.write(folder, read_head(folder), run_source.archive_of(target), going=True)
        changed = run_source.of(folder).changed()
        os.utime(run_source.archive_of(target), ns=(changed, changed))
    else:  # the lists as they are before the folders are searched: a run in progress has new files later
        lists = {place.name: list(run_source.lists(place)) for place in run_source.folders_of(folder, {})}
        _tree(folder, target)
        for host, found in lists.items():
            for file in found:
                with contextlib.suppress(OSError):  # damage, also in the copy
                    (target / host / file.name).write_bytes(file.load())


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
        rules = home.marked_rules()
        if rules:
            copy.mark_rules(rules)


def _tree(source: Path, target: Path, private: bool = False) -> None:
    """Copy a folder with its times and links; omit anything but files, folders and links, and if `private`, the files
    that only another user can read."""

    def special(folder: str, names: list[str]) -> list[str]:
        modes = {name: os.lstat(os.path.join(folder, name)).st_mode for name in names}
        closed = {name for name in names if private and not os.access(os.path.join(folder, name), os.R_OK)}
        kinds = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)
        return [name for name, mode in modes.items() if name in closed or not any(is_one(mode) for is_one in kinds)]

    try:
        shutil.copytree(source, target, symlinks=True, ignore=special)
    except shutil.Error as error:
        raise OSError(0, str(error.args[0][0][2])) from error
