"""Contents of inputs that are kept in `.provio/kept`, by their SHA-256, at most MOST bytes in all.

In: the content of a version and the run that used it. Out: files named by their SHA-256, and a list of them for each
run, so that the removal of a run also removes the contents that no other run needs.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from provio.base.errors import NothingKnown, ProvioError
from provio.base.records import pattern
from provio.settings.home import Home

MOST = 500_000_000
SHA256 = pattern("[0-9a-f]{64}")
FULL = "full"  # marks that a content was not kept because of MOST


class Usage(NamedTuple):
    """The number and the bytes of the kept contents, and whether others were not kept because of the limit."""

    files: int
    bytes: int
    full: bool


def folder_of(home: Home) -> Path:
    """Return the folder of the kept contents."""
    return home.path / "kept"


class Keeper:
    """Keeps contents for one run."""

    def __init__(self, home: Home, run: str) -> None:
        self.home, self.run, self.used = home, run, usage(home).bytes

    def keep(self, data: bytes) -> str:
        """Keep a content, unless there is no room for it; return its SHA-256, or an empty text. Raises OSError."""
        import hashlib  # slow to import, and rarely needed

        digest, folder = hashlib.sha256(data).hexdigest(), folder_of(self.home)
        with self.home.closed():
            (folder / "runs").mkdir(parents=True, exist_ok=True)
            with _lock(self.home):
                if not (folder / digest).exists():
                    if self.used + len(data) > MOST:
                        (folder / FULL).touch()
                        return ""
                    _write(folder / digest, data)
                    self.used += len(data)
                with open(folder / "runs" / self.run, "a", encoding="ascii") as file:
                    file.write(digest + "\n")
        return digest


def content(home: Home, digest: str) -> bytes:
    """Return a kept content. Raises NothingKnown if it is not kept, ProvioError if it is damaged."""
    try:
        data = (folder_of(home) / digest).read_bytes()
    except FileNotFoundError:
        raise NothingKnown(f"its content is not kept in {folder_of(home)}: set record.keep before a run") from None
    import hashlib  # slow to import, and rarely needed

    if hashlib.sha256(data).hexdigest() != digest:
        raise ProvioError(
            f"{folder_of(home) / digest} is damaged, its SHA-256 is another one: restore it from a backup"
        )
    return data


def usage(home: Home) -> Usage:
    """Return the usage of the folder."""
    try:
        sizes = [entry.stat().st_size for entry in os.scandir(folder_of(home)) if SHA256.fullmatch(entry.name)]
    except FileNotFoundError:
        return Usage(0, 0, False)
    return Usage(len(sizes), sum(sizes), (folder_of(home) / FULL).exists())


def forget(home: Home, runs: list[str]) -> None:
    """Remove the contents that only these runs need."""
    if not runs or not (folder_of(home) / "runs").is_dir():
        return
    with home.closed(), _lock(home):
        for run in runs:
            (folder_of(home) / "runs" / run).unlink(missing_ok=True)
        lists = (folder_of(home) / "runs").iterdir()
        needed = {digest for place in lists for digest in place.read_text(encoding="ascii").split()}
        for place in list(folder_of(home).iterdir()):
            unused = SHA256.fullmatch(place.name) and place.name not in needed
            if unused or place.suffix == ".new" or place.name == FULL:
                place.unlink(missing_ok=True)


def _write(place: Path, data: bytes) -> None:
    """Write a file completely, or not at all."""
    new = place.with_suffix(".new")
    try:
        new.write_bytes(data)
        new.replace(place)
    except OSError:
        new.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _lock(home: Home) -> Iterator[None]:
    fd = os.open(folder_of(home) / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
