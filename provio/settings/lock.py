"""The lock of a `.provio`: a process writes the store only while it holds the lock alone.

Commands try it before slow imports, so that they go on at once if it is taken. The kernel releases the lock when its
holder ends in any way.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from pathlib import Path

from provio.base.errors import Busy, NotAllowed, remedy
from provio.settings.home import Home

RUN, YIELD = b"run", b"yield"  # messages to the background merge: a run has ended; a process needs the lock


def merger_address(path: Path) -> str:
    """Return the abstract socket address of the background merge of a `.provio`; empty if there is no such folder."""
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return f"\0provio-merge/{found.st_dev:x}/{found.st_ino}"


def tell_merger(path: Path, message: bytes) -> bool:
    """Send a message to the background merge of a `.provio`; return whether one is running."""
    import socket  # slow to import, and rarely needed

    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as sender,
    ):
        sender.sendto(message, merger_address(path))
        return True
    return False


class Lock:
    """A lock held from construction to `close`, or until the process and the children that inherit it end.

    With `reads` the lock is shared with other readers and needs no write permission. Raises Busy if another process
    holds the lock and `wait` is false, NotAllowed if the folder cannot be written.
    """

    def __init__(self, home: Home, wait: bool, reads: bool = False) -> None:
        try:
            self.fd = _open_to_read(home) if reads else _open(home)
        except OSError as error:
            if reads:
                advice = remedy(error, "its owner must let you read it")
                raise NotAllowed(f"cannot read {home.lock} ({error.strerror}): {advice}") from error
            raise NotAllowed(
                f"cannot write {home.path} ({error.strerror}): pending runs are not merged; "
                + remedy(error, "check its permissions")
            ) from error
        try:
            self._take(fcntl.LOCK_SH if reads else fcntl.LOCK_EX, home, wait)
        except BlockingIOError:
            self.close()
            raise Busy("another process is merging: try again later") from None
        except OSError as error:
            self.close()
            raise NotAllowed(
                f"cannot lock {home.lock} ({error.strerror}): put .provio on another file system"
            ) from error

    def _take(self, how: int, home: Home, wait: bool) -> None:
        """Take the lock; if it is taken, request that the background merge release it."""
        try:
            fcntl.flock(self.fd, how | fcntl.LOCK_NB)
        except BlockingIOError:
            tell_merger(home.path, YIELD)
            fcntl.flock(self.fd, how | (0 if wait else fcntl.LOCK_NB))

    def close(self) -> None:
        """Release the lock; a child that inherited it keeps it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _open(home: Home) -> int:
    flags = os.O_RDWR | os.O_CLOEXEC
    try:
        return os.open(home.lock, flags)
    except FileNotFoundError:
        with home.closed():
            return os.open(home.lock, flags | os.O_CREAT, 0o666)


def _open_to_read(home: Home) -> int:
    """Open the lock to read. If it is absent and cannot be made, no merge has run there: open the folder instead."""
    try:
        return os.open(home.lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        try:
            return _open(home)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EROFS):
                raise
            return os.open(home.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
