"""Files of one folder as one line: the lines of an answer in, those that only list files of a folder together out.

    many/  50,000 files, 2.0 MB

What has anything of its own to show (an origin, a gap, a note) is no such line: who asks gives it no folder.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar
from urllib.parse import unquote_to_bytes

from provio.ask.document import Node
from provio.base.text import shorter_path, size

FEW = 5  # files of a folder that stay lines of their own
One = TypeVar("One")


def fold(lines: Iterable[One], key: Callable[[One], Hashable]) -> Iterator[Sequence[One]]:
    """Yield each line alone, but those of one key together where they are more than a few, in the place of their first;
    what has no key (None) is alone."""
    keyed = [(line, key(line)) for line in lines]
    groups: dict[Hashable, list[One]] = {}
    for line, folder in keyed:
        if folder is not None:
            groups.setdefault(folder, []).append(line)
    for line, folder in keyed:
        group = groups.get(folder, [line])
        if len(group) <= FEW:
            yield [line]
        elif group[0] is line:
            yield group


def folder_of(node: Node) -> bytes | None:
    """Return the folder of a file; None of what has no path, or is no whole file."""
    if node["type"] != "FileVersion" or "path" not in node:
        return None
    encoded = node.get("pathEncoded")
    path = unquote_to_bytes(encoded) if encoded else node["path"].encode("utf-8", "surrogatepass")
    return path.rpartition(b"/")[0]


def folder_name(path: str, here: str | None) -> str:
    """Return the name of the folder in which a file of this path lies, relative to `here` where that is shorter."""
    folder = path.rpartition("/")[0]
    return "./" if folder and folder == here else shorter_path(folder, here) + "/"


def facts(nodes: Sequence[Node]) -> str:
    """Return how many files there are, and what they take together, as far as that is known."""
    sizes = [node["size"] for node in nodes if "size" in node]
    return count(len(nodes)) + (f", {size(sum(sizes))}" if sizes else "")


def count(files: int) -> str:
    """Return how many files there are, in words."""
    return f"{files:,} files"
