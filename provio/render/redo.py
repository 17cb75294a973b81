"""The commands to repeat (`provio.ask.redo.Redo`) as text: each once, in order, with its folder and its products.

1  make
     makes prog
2  cd data && ../prog < in.txt > out.txt
     makes data/out.txt
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from provio.ask import fold as folding
from provio.ask.redo import typed
from provio.base.text import columns, cut_end, cut_path, plural, printable, shorter_path

if TYPE_CHECKING:
    from provio.ask.redo import Redo

MOST = 20  # lines
LONGEST = 4  # lines of a command
WIDTH = 80  # columns of a list of names


def lines(redo: Sequence[Redo], *, width: int | None, unicode: bool, folder: str | None, fold: bool) -> Iterator[str]:
    """Yield the lines. With `fold` there are at most MOST: at first the products move to the line of their command,
    then the last commands are counted."""
    room, digits = width or 1_000_000, len(str(len(redo)))
    blocks = [_block(one, room - digits - 2, unicode, folder, fold) for one in redo]
    if fold and sum(map(len, blocks)) > MOST:
        blocks = [[_short(one, room - digits - 2, unicode, folder)] for one in redo]
    left = len(blocks) - MOST if fold and len(blocks) > MOST else 0
    for place, block in enumerate(blocks[: len(blocks) - left], start=1):
        yield f"{place:>{digits}}  {block[0]}"
        yield from (" " * (digits + 2) + line for line in block[1:])
    if left:
        yield f"{plural(left, 'other command')} (--no-fold)"


def _block(one: Redo, room: int, unicode: bool, folder: str | None, fold: bool) -> list[str]:
    """Return the lines of a command: itself, its end if it failed, its products."""
    facts = [f"failed the last time ({one['failed']})"] if "failed" in one else []
    names = [printable(name, unicode) for name in _products(one, folder, fold)]
    facts += _joined(["makes " + names[0], *names[1:]], room - 2, unicode) if names else []
    return [*_command(one, room, unicode, folder), *(f"  {line}" for line in facts)]


def _joined(names: list[str], room: int, unicode: bool) -> list[str]:
    """Return the names on as few lines as possible."""
    found = [cut_path(names[0], room, unicode)]
    for name in names[1:]:
        if columns(found[-1]) + 3 + columns(name) <= min(room, WIDTH):
            found[-1] += ", " + name
        else:
            found[-1] += ","
            found.append(cut_path(name, room, unicode))
    return found


def _products(one: Redo, folder: str | None, fold: bool) -> list[str]:
    """Return the names of the products; `fold` combines many files of a folder."""
    groups = folding.fold(one["products"], lambda path: path.rpartition("/")[0] if fold else None)
    return [_name(paths, one["gone"], folder) for paths in groups]


def _name(paths: Sequence[str], gone: list[str], folder: str | None) -> str:
    if len(paths) > 1:
        return f"{folding.folder_name(paths[0], folder)}  {folding.count(len(paths))}"
    return shorter_path(paths[0], folder) + (" (gone)" if paths[0] in gone else "")


def _short(one: Redo, room: int, unicode: bool, folder: str | None) -> str:
    """Return the line of a command with its first product."""
    names = _products(one, folder, True)
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    made = f"  (makes {names[0]}{more})" if names else ""
    text = printable(_where(one, folder) + one["command"], unicode)
    made = cut_end(printable(made, unicode), max(room // 2, room - columns(text)), unicode)
    return cut_end(text, room - columns(made), unicode) + made


def _where(one: Redo, folder: str | None) -> str:
    """Return the change to the folder that a command ran in, unless that is `folder`."""
    cwd = one.get("cwd", folder)
    return "" if cwd == folder or cwd is None else f"cd {shlex.quote(shorter_path(cwd, folder))} && "


def _command(one: Redo, room: int, unicode: bool, folder: str | None) -> list[str]:
    """Return a command line, continued on further lines where a shell allows it; the rest of a long one is cut."""
    words = typed(one["arguments"], one["redirections"], one.get("cwd"))
    words = words if " ".join(words) == one["command"] else [one["command"]]
    found = [printable(_where(one, folder).removesuffix(" "), unicode)]
    for word in words:
        text = printable(word, unicode)
        if found[-1] and columns(found[-1]) + columns(text) + 3 > room:
            found[-1] += " \\"
            found.append("    " + text)
        else:
            found[-1] += (" " if found[-1] else "") + text
    kept = found[:LONGEST]
    if len(found) > LONGEST:
        kept[-1] = kept[-1].removesuffix(" \\") + ("…" if unicode else "...")
    return [cut_end(line, room, unicode) for line in kept]
