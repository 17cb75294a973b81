"""What of a run that ended cannot wait for its merge: the folder of a host's thread files in, yes or no out.

What a file is whose close nobody saw, and where a path through links leads, can be told right after the run alone. Most
runs have neither; that is told without parsing, so that a run that is left pending ends at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO
from urllib.parse import unquote_to_bytes

CALLS, TURTLE = ".calls.ttl", ".ttl"
# Links of the system's own, for which nobody waits: what is read there is known by its name as it is.
SYSTEM = (b"/bin/", b"/lib/", b"/lib64/", b"/sbin/", b"/proc/", b"/sys/")
# What a launcher of ranks leaves to its end, and ranks to theirs: memory that they share, folders of sessions.
SESSIONS = (
    *(b"/dev/shm/" + name for name in (b"vader_segment.", b"sm_segment.", b"osc_rdma.", b"open_mpi.", b"mpich_shar")),
    *(b"/ompi.", b"/prte."),
)
WRITES = os.O_WRONLY | os.O_RDWR


def presses(place: str) -> bool:
    """Tell whether something has to be looked at now, as does what is not as the shim writes it."""
    try:
        return _presses(place)
    except (OSError, ValueError):
        return True


def _presses(place: str) -> bool:
    opened: set[tuple[str, bytes]] = set()
    closed: set[tuple[str, bytes]] = set()
    paths: set[bytes] = set()
    for process, lines in _files(place):
        for line in lines:
            name, _, said = line.lstrip(b" ").partition(b">")
            if _of_no_path(said):
                continue
            if said.startswith(b" a :") and b" ; :path" in said:
                paths.add(_path(said))
                written = said.startswith(b" a :FileVersion ") and int(_after(said, b" :flags ", b" ") or 0) & WRITES
                if written and not _left(_path(said)):
                    opened.add((process, name))
            elif b" :closedMtimeNs " in said and name.startswith(b"<"):
                closed.add((process, name))
    return bool(opened - closed) or any(map(_Links(), paths))


def _of_no_path(said: bytes) -> bool:
    """Tell whether a statement's paths, if it has any, are not those of the file system: what was read and written has
    none, what is inside an HDF5 file says so first."""
    inside = said.startswith(b" a :") and said.startswith(b" ; :inFile ", said.find(b" ", 4))
    return inside or said.startswith(b" a :Access ")


def _path(said: bytes) -> bytes:
    encoded = _after(said, b' ; :pathEncoded "', b'"')
    return unquote_to_bytes(encoded) if encoded else _after(said, b' ; :path "', b'"')


def _left(path: bytes) -> bool:
    """Tell whether a launcher's file is gone, of which there is nothing left to tell."""
    return any(part in path for part in SESSIONS) and not os.path.lexists(path)


def _after(said: bytes, word: bytes, end: bytes) -> bytes:
    return said.partition(word)[2].partition(end)[0]


def _files(place: str) -> Iterator[tuple[str, BinaryIO]]:
    """The process that each thread file is of, and its lines, of which there may be a million."""
    for entry in os.scandir(place):
        if entry.name.endswith(TURTLE) and not entry.name.endswith(CALLS) and entry.is_file(follow_symlinks=False):
            with open(entry.path, "rb") as file:
                yield ".".join(entry.name.split(".")[:3]), file


class _Links:
    """Whether a path leads through `..` or a link; folders are remembered."""

    def __init__(self) -> None:
        self.straight: dict[bytes, bool] = {}

    def __call__(self, path: bytes) -> bool:
        folder, _, name = path.rpartition(b"/")
        if path == b"/" or path.startswith(SYSTEM):
            return False
        if folder not in self.straight:
            self.straight[folder] = os.path.realpath(folder or b"/") == (folder or b"/")
        return not self.straight[folder] or name in (b"", b"..") or os.path.islink(path)
