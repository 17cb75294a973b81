"""Folding of long lists: the lines of an answer in, one line for many files of a folder out.

many/  50,000 files, 2.0 MB

Lines with content of their own (an origin, a gap, a note) are not folded: the caller gives them no key.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar
from urllib.parse import unquote_to_bytes

from provio.ask.document import Node
from provio.base.text import shorter_path, size

FEW = 5  # files of a folder that keep lines of their own
One = TypeVar("One")


def fold(lines: Iterable[One], key: Callable[[One], Hashable]) -> Iterator[Sequence[One]]:
    """Yield each line alone, but lines of one key together, at the place of the first, if there are more than FEW.

    A line without a key (None) is always alone.
    """
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
    """Return the folder of a file; None for a node that has no path or is not a file version."""
    if node["type"] != "FileVersion" or "path" not in node:
        return None
    encoded = node.get("pathEncoded")
    path = unquote_to_bytes(encoded) if encoded else node["path"].encode("utf-8", "surrogatepass")
    return path.rpartition(b"/")[0]


def folder_name(path: str, here: str | None) -> str:
    """Return the name of a file's folder, relative to `here` if that is shorter."""
    folder = path.rpartition("/")[0]
    return "./" if folder and folder == here else shorter_path(folder, here) + "/"


def facts(nodes: Sequence[Node]) -> str:
    """Return the number of files and the sum of their known sizes, as text."""
    sizes = [node["size"] for node in nodes if "size" in node]
    return count(len(nodes)) + (f", {size(sum(sizes))}" if sizes else "")


def count(files: int) -> str:
    """Return the number of files as text."""
    return f"{files:,} file" + "s" * (files != 1)
