"""The standard streams of this process that are files: nothing in, the redirections as words of a shell out."""

from __future__ import annotations

import fcntl
import os
import stat

SIGNS = (b"<", b">", b"2>")


def redirections() -> list[bytes]:
    """Return `<`, `>`, `>>`, `2>` or `2>>`, each followed by the path of the file, and `2>&1`.

    A stream that continues a file (another command wrote to it before) appends.
    """
    words: list[bytes] = []
    keys: dict[int, tuple[int, int]] = {}
    for descriptor, sign in enumerate(SIGNS):
        try:
            found = os.fstat(descriptor)
            path = os.readlink(b"/proc/self/fd/%d" % descriptor)
            appends = descriptor and (
                fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_APPEND or os.lseek(descriptor, 0, os.SEEK_CUR)
            )
        except OSError:
            continue
        if not stat.S_ISREG(found.st_mode) or not found.st_nlink:
            continue
        keys[descriptor] = (found.st_dev, found.st_ino)
        if descriptor == 2 and keys.get(1) == keys[2]:
            words.append(b"2>&1")
        else:
            words += [sign + b">" if appends else sign, path]
    return words
