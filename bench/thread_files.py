"""Thread files of a recorded run, changed for copies of the run: other inodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from provio.trace.run_source import LIST

TO_INODE = rb':opening "(?:[^ "]+ ){7}(?P<mtime>\d+) (?P<birth>\d+|=|-) [^ "]+ [^ "]+ '  # of a short record
_FORMS = tuple(
    re.compile(rb"(?P<before>%s)(?P<inode>\d+)(?P<after>%s)" % parts)
    for parts in ((TO_INODE, rb""), (rb":inode ", rb" ; :birthNs (?P<birth>\d+)\b"))
)


def of(run: Path) -> Iterator[Path]:
    """Yield the thread files of a run, and their lists."""
    for path in sorted(run.glob("*/*")):
        if (path.suffix == ".ttl" and path.name != "settled.ttl") or path.name == LIST:
            yield path


def with_inodes(data: bytes, other: Callable[[int, int], int]) -> bytes:
    """Return the content of a thread file with another inode for each, which `other` returns for the inode and the
    file's birth (ns since 1970; 0: none, as of a pipe)."""

    def changed(match: re.Match[bytes]) -> bytes:
        birth = match["mtime"] if match["birth"] == b"=" else match["birth"].replace(b"-", b"0")
        return b"%s%d%s" % (match["before"], other(int(match["inode"]), int(birth)), match["after"])

    for form in _FORMS:
        data = form.sub(changed, data)
    return data
