"""Notices about gaps that a merge concluded and damage that it found, which the next verb prints once.

In: the statements of a merged run. Out: the file `.provio/notices/RUN` until a verb prints it, then
`.provio/notices/printed/RUN`. If the run is merged again with the same result, it has no new notice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from provio.base.text import plural
from provio.base.vocab import NS, RDF
from provio.settings.home import RUN_ID, Home

FOLDERS = ("notices", "notices/printed")
MOST = 3  # lines about runs that a verb prints
SHORT = 18  # characters of a run's id
GAP = f" <{RDF}type> <{NS}Gap> "
EDITED = f'~untracked> <{NS}reason> "edited outside provio'  # a file that the user edited between runs: no news
STATED = re.compile(r"/(gap|g1|unwatched|e[0-9]+|damage)>$")  # endings of gaps that the line at the end of a run counts


def concluded(piece: str) -> int:
    """Return the number of gaps in a piece of a graph (N-Triples) that a merge concluded."""
    subjects = (line.partition(" ")[0] for line in piece.split("\n") if GAP in line) if GAP in piece else ()
    return sum(STATED.search(subject) is None for subject in subjects) - piece.count(EDITED)


def leave(home: Home, run: str, gaps: int = 0, damages: int = 0) -> None:
    """Leave a notice about a merged run, unless a verb has printed the same one."""
    new, printed = (home.path / folder / run for folder in FOLDERS)
    found = [0 if now == then else now for now, then in zip((gaps, damages), _counts(printed), strict=True)]
    counts = tuple(map(max, _counts(new), found))
    if any(found):
        with suppress(OSError), home.closed():
            for folder in FOLDERS:
                (home.path / folder).mkdir(exist_ok=True)
            new.write_text(f"{counts[0]} {counts[1]}", encoding="ascii")


def take(home: Home, count: Callable[[str], int]) -> list[str]:
    """Return the lines to print, those of the newest runs first, and note that they are printed. `count` returns the
    number of concluded gaps of a run, to which those about versions that other runs know belong, too."""
    new, printed = (home.path / folder for folder in FOLDERS)
    lines: list[str] = []
    for run in sorted(filter(RUN_ID.fullmatch, _names(new)), reverse=True):
        with suppress(OSError):  # another verb prints it, or the folder is read-only
            before = _counts(printed / run)
            os.rename(new / run, printed / run)
            gaps, damages = _counts(printed / run)
            (printed / run).write_text(f"{gaps or before[0]} {damages or before[1]}", encoding="ascii")
            gaps = count(run) if gaps and len(lines) < MOST else gaps
            words = [f"{plural(gaps, 'gap')} concluded"] * bool(gaps)
            words += [f"damage in {plural(damages, 'file')}"] * bool(damages)
            if words:
                lines.append(f"run {run}: {', '.join(words)}: provio show {run[:SHORT]}")
    if len(lines) > MOST:
        lines[MOST:] = [f"{plural(len(lines) - MOST, 'other run')} with gaps or damage: provio query gaps"]
    return lines


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _counts(notice: Path) -> tuple[int, int]:
    """Return the numbers of gaps and of damaged files in a notice; zeros if there is none."""
    try:
        gaps, damages = map(int, notice.read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return 0, 0
    return gaps, damages
