"""Two texts: the numbers in them, line by line; everything between the numbers must be equal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import IO

from provio.compare.parts import Parts, Unreadable

NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?|nan\b|inf(?:inity)?\b)(?![\w.])", re.IGNORECASE
)
WHOLE = re.compile(r"[-+]?\d{1,300}")
LONGEST = 1 << 24  # characters of a line


def compare(first: str, second: str, found: Parts) -> None:
    """Add the numbers of both texts."""
    part = found.part("")
    with open(first, encoding="latin-1", newline="\n") as one, open(second, encoding="latin-1", newline="\n") as other:
        for number, (old, new) in enumerate(zip_longest(lines(one), lines(other)), 1):
            if old is None or new is None:
                part.differs("another number of lines")
                return
            if _between(old) != _between(new):
                part.differs("another text", f"line {number}")
                continue
            for left, right in zip(NUMBER.findall(old), NUMBER.findall(new), strict=True):
                part.add(value(left), value(right), f"line {number}")


def lines(file: IO[str]) -> Iterator[str]:
    """Yield the lines of a text; raises Unreadable for a line that is too long, or data that is no text."""
    while line := file.readline(LONGEST + 1):
        if len(line) > LONGEST:
            raise Unreadable(f"has a line of more than {LONGEST >> 20} MiB")
        if "\0" in line:
            raise Unreadable("is no text")
        yield line


def _between(line: str) -> list[str]:
    """Return the words of a line, with a mark for each number: the width of columns does not count."""
    return NUMBER.sub("\0", line).split()


def value(text: str) -> float:
    """Return the number that a text states; `1.5D+01` is one of Fortran."""
    if WHOLE.fullmatch(text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return float(text.replace("d", "e").replace("D", "e"))
