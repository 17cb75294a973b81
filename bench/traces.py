"""Reads a trace folder with regular expressions, without a merge."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_OPENING = re.compile(rb"<../(o\d+)> a :\w+ ; :path \"([^\"]*)\"")
_ACCESS = re.compile(rb"<a\d+> a :Access ; :object <../(o\d+)> .*")
_CALLS = ".calls.ttl"
_CALL = re.compile(rb"^ +<a\d+/r\d+> ", re.MULTILINE)


def _blocks(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield each committed block, which starts with a space, with its process; an incomplete one starts with `#`."""
    for path in sorted(folder.glob("*.ttl")):
        if not path.name.endswith(_CALLS):
            process = path.name.rsplit(".", 2)[0]
            yield from ((process, line) for line in path.read_bytes().split(b"\n") if line.startswith(b" "))


def openings(folder: Path) -> Iterator[tuple[tuple[str, bytes], str]]:
    """Yield each opening, (process, serial number), and its path."""
    for process, block in _blocks(folder):
        for match in _OPENING.finditer(block):
            yield (process, match[1]), match[2].decode()


def paths_opened(folder: Path, below: str) -> list[str]:
    """Return the paths of all openings below a folder."""
    return [path for _, path in openings(folder) if path.startswith(below)]


def counted(folder: Path, name: str, counter: str) -> int:
    """Return the sum of a counter over all accesses to files of this name."""
    mine = {opening for opening, path in openings(folder) if Path(path).name == name}
    number = re.compile(rb" :%s +(\d{16})" % counter.encode())
    total = 0
    for process, block in _blocks(folder):
        access = _ACCESS.search(block)
        found = number.search(access[0]) if access else None
        if access and found and (process, access[1]) in mine:
            total += int(found[1])
    return total


def calls_counted(folder: Path, level: str, name: str, counter: str, count: int) -> str:
    """Return the number of counted calls on files of this name; raise if some are missing."""
    total = counted(folder, name, counter)
    if level == "file":
        return f"{sum(1 for _, path in openings(folder) if Path(path).name == name)} opening"
    if total < count:
        raise AssertionError(f"{total} of {count} calls are counted in {folder}")
    return f"{total:,} calls counted"


def calls_kept(folder: Path, level: str, name: str, counter: str, count: int) -> str:
    """Return how many calls on files of this name are counted and, at `call`, kept; raise if some are missing."""
    words = calls_counted(folder, level, name, counter, count)
    if level != "call":
        return words
    kept = [path.read_bytes() for path in folder.glob(f"*{_CALLS}")]
    lines = sum(len(_CALL.findall(data)) for data in kept)
    if lines < count:
        raise AssertionError(f"{lines} lines for: {words} in {folder}")
    size = sum(len(data.rstrip(b"#\n")) for data in kept)
    return f"{words}, {lines:,} kept in {size / lines:.0f} bytes each"


def files_left(folder: Path) -> str:
    """Return the number of trace files and their size."""
    files = list(folder.iterdir())
    return f"{len(files)} trace files, {sum(path.stat().st_size for path in files) / 1024:,.0f} KiB"
