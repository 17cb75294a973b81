"""The lock of a `.provio`: who holds it, and no other, writes its store. A home in, a held lock or an error out.

It is tried before anything dear is loaded, so that whoever finds it taken goes on at once. The kernel lets it go when
its holder ends, however that is.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from pathlib import Path

from provio.base.errors import Busy, NotAllowed, remedy
from provio.settings.home import Home

RUN, YIELD = b"run", b"yield"  # what the background merge is told: a run has ended; another process wants the lock


def merger_address(path: Path) -> str:
    """Return the address at which the background merge of a `.provio` listens, which is no file; nothing where there is
    no such folder."""
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return f"\0provio-merge/{found.st_dev:x}/{found.st_ino}"


def tell_merger(path: Path, message: bytes) -> bool:
    """Send a message to the background merge of a `.provio`; tell whether one is there."""
    import socket  # slow to import, and seldom wanted

    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as sender,
    ):
        sender.sendto(message, merger_address(path))
        return True
    return False


class Lock:
    """Held from the start until `close`, or until the process and its children that have it end.

    Who only `reads` holds it with others who do, and needs no right to write. Raises Busy where somebody else holds it
    and `wait` is false, NotAllowed where the folder cannot be written.
    """

    def __init__(self, home: Home, wait: bool, reads: bool = False) -> None:
        try:
            self.fd = _open_to_read(home) if reads else _open(home)
        except OSError as error:
            if reads:
                what = remedy(error, "ask who keeps it for the right to read")
                raise NotAllowed(f"cannot read {home.lock} ({error.strerror}): {what}") from error
            raise NotAllowed(
                f"cannot write {home.path} ({error.strerror}): what is pending there is not merged; "
                + remedy(error, "see who may write there")
            ) from error
        try:
            self._take(fcntl.LOCK_SH if reads else fcntl.LOCK_EX, home, wait)
        except BlockingIOError:
            self.close()
            raise Busy("another process is merging: ask again when it has ended") from None
        except OSError as error:
            self.close()
            raise NotAllowed(
                f"cannot lock {home.lock} ({error.strerror}): put .provio on another file system"
            ) from error

    def _take(self, how: int, home: Home, wait: bool) -> None:
        """Take it; the background merge, which may have it, is asked to let it go."""
        try:
            fcntl.flock(self.fd, how | fcntl.LOCK_NB)
        except BlockingIOError:
            tell_merger(home.path, YIELD)
            fcntl.flock(self.fd, how | (0 if wait else fcntl.LOCK_NB))

    def close(self) -> None:
        """Let it go; a child that has it keeps it."""
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
    """Where there is no lock and none can be made, nobody has merged there yet: the folder is as good."""
    try:
        return os.open(home.lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        try:
            return _open(home)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EROFS):
                raise
            return os.open(home.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
