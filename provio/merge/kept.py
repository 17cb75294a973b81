"""Contents of inputs that are kept in `.provio/kept`, by their SHA-256, at most MOST bytes in all.

In: the content of a version and the run that used it. Out: files named by their SHA-256, and a list of them for each
run, so that the removal of a run also removes the contents that no other run needs.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from provio.base.errors import NotAllowed, NothingKnown, ProvioError
from provio.base.records import pattern
from provio.settings.home import KEPT, Home

MOST = 500_000_000
SHA256 = pattern("[0-9a-f]{64}")
SAFE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
FULL = "full"  # marks that a content was not kept because of MOST


class Usage(NamedTuple):
    """The number and the bytes of the kept contents, and whether others were not kept because of the limit."""

    files: int
    bytes: int
    full: bool


def folder_of(home: Home) -> Path:
    """Return the folder of the kept contents."""
    return home.path / KEPT


class Keeper:
    """Keeps contents for one run. The folder is read at the first content: most runs keep none."""

    def __init__(self, home: Home, run: str) -> None:
        self.home, self.run, self.used = home, run, -1

    def keep(self, data: bytes) -> str:
        """Keep a content, unless there is no room for it; return its SHA-256, or an empty text. Raises OSError."""
        import hashlib  # slow to import, and rarely needed

        digest = hashlib.sha256(data).hexdigest()
        with self._open() as folder:
            self.used = self.used if self.used >= 0 else usage(self.home).bytes
            if not _is_file(digest, folder):
                if self.used + len(data) > MOST:
                    os.close(os.open(FULL, os.O_WRONLY | os.O_CREAT | SAFE, 0o660, dir_fd=folder))
                    return ""
                _write(digest, data, folder)
                self.used += len(data)
            self._list(digest + "\n", folder)
        return digest

    def finish(self) -> None:
        """Note that the inputs of the run were read, also if none is kept. Raises OSError."""
        with self._open() as folder:
            self._list("", folder)

    @contextlib.contextmanager
    def _open(self) -> Iterator[int]:
        with self.home.closed():
            (folder_of(self.home) / "runs").mkdir(parents=True, exist_ok=True)
            with _locked(self.home) as folder:
                yield folder

    def _list(self, line: str, folder: int) -> None:
        with _lists(folder) as lists:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | SAFE
            with open(os.open(self.run, flags, 0o660, dir_fd=lists), "a", encoding="ascii") as file:
                file.write(line)


def is_kept(home: Home, digest: str) -> bool:
    """Return whether a content is kept."""
    return _is_file(str(folder_of(home) / digest))


def were_read(home: Home, run: str) -> bool:
    """Return whether the inputs of a run were read to keep them."""
    return _is_file(str(folder_of(home) / "runs" / run))


def content(home: Home, digest: str) -> bytes:
    """Return a kept content. Raises NothingKnown if it is not kept, NotAllowed if it is private to another user,
    ProvioError if it is damaged."""
    place = folder_of(home) / digest
    try:
        data = _read(str(place))
    except FileNotFoundError:
        raise NothingKnown(f"its content is not kept in {folder_of(home)}: set record.keep before a run") from None
    except PermissionError:
        raise NotAllowed(f"{place} is private to user {os.lstat(place).st_uid}, who kept it: ask this user") from None
    except OSError as error:
        raise ProvioError(f"{place} cannot be read ({error.strerror}): restore it from a backup") from None
    import hashlib  # slow to import, and rarely needed

    if hashlib.sha256(data).hexdigest() != digest:
        raise ProvioError(f"{place} is damaged, its SHA-256 is another one: restore it from a backup")
    return data


def usage(home: Home) -> Usage:
    """Return the usage of the folder."""
    try:
        found = [one.stat(follow_symlinks=False) for one in os.scandir(folder_of(home)) if SHA256.fullmatch(one.name)]
    except FileNotFoundError:
        return Usage(0, 0, False)
    sizes = [one.st_size for one in found if stat.S_ISREG(one.st_mode)]
    return Usage(len(sizes), sum(sizes), os.path.lexists(folder_of(home) / FULL))


def forget(home: Home, runs: list[str]) -> None:
    """Remove the contents that only these runs need. Raises ProvioError if the folder cannot be changed."""
    if not runs or not (folder_of(home) / "runs").is_dir():
        return
    try:
        with home.closed(), _locked(home) as folder, _lists(folder) as lists:
            for run in runs:
                _remove(run, lists)
            needed: set[str] = set()
            for name in filter(lambda name: _is_file(name, lists), os.listdir(lists)):
                needed.update(_read(name, lists).decode("ascii", "replace").split())
            for name in os.listdir(folder):
                unused = SHA256.fullmatch(name) and name not in needed
                if unused or name.endswith(".new") or name == FULL:
                    _remove(name, folder)
    except OSError as error:
        problem = f"the kept contents in {folder_of(home)} cannot be removed ({error.strerror})"
        raise ProvioError(f"{problem}: check that its files belong to provio, and their permissions") from error


# Another member of a shared record can put links there: no link is followed, no FIFO is waited for.


def _is_file(name: str, folder: int | None = None) -> bool:
    try:
        return stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _read(name: str, folder: int | None = None) -> bytes:
    with open(os.open(name, os.O_RDONLY | SAFE, dir_fd=folder), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "is no regular file")
        return file.read()


def _remove(name: str, folder: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _write(name: str, data: bytes, folder: int) -> None:
    """Write a file that only its owner can read, completely, or not at all."""
    new = f"{name}.new"
    _remove(new, folder)  # of a killed process
    try:
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | SAFE, 0o600, dir_fd=folder), "wb") as file:
            file.write(data)
        os.replace(new, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        _remove(new, folder)
        raise


@contextlib.contextmanager
def _locked(home: Home) -> Iterator[int]:
    """Lock the folder, and open it: a folder that replaces it is not used."""
    with _opened(str(folder_of(home))) as folder:
        lock = os.open("lock", os.O_RDWR | os.O_CREAT | SAFE, 0o660, dir_fd=folder)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder
        finally:
            os.close(lock)


def _lists(folder: int) -> contextlib.AbstractContextManager[int]:
    return _opened("runs", folder)


@contextlib.contextmanager
def _opened(name: str, folder: int | None = None) -> Iterator[int]:
    found = os.open(name, os.O_RDONLY | os.O_DIRECTORY | SAFE, dir_fd=folder)
    try:
        yield found
    finally:
        os.close(found)
