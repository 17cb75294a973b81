"""The status of a project (`provio.ask.status.Status`) as text, JSON, CSV or TSV.

As text it has at most MOST lines: if there are more, many files of a folder with one state share a line, with the
reason of the first. The last line states the number of runs, the size of the record, and the number of runs that no
answer includes yet.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from urllib.parse import quote_from_bytes

from provio.ask import fold as folding
from provio.ask.status import Row, Status
from provio.base.records import frozen
from provio.base.text import ago, columns, cut_end, cut_path, plural, printable, shorter_path, size
from provio.base.turtle import PATH_SAFE
from provio.render import records

MOST = 25  # lines
SHORT = 13  # characters of a run's id
WIDE = 15  # columns of a thing, with the space after it; a longer one takes more

Line = tuple[str, str, str]  # state, thing, reason


@frozen
class Taken:
    """The size of a record in bytes, the number of its runs that are not merged yet, and the kept contents as
    text."""

    bytes: int
    pending: int
    kept: str = ""


def render(
    found: Status,
    taken: Taken,
    *,
    every: bool = False,
    fold: bool = True,
    width: int | None = None,
    unicode: bool = True,
    folder: str | None = None,
    now: datetime | None = None,
) -> str:
    """Return the lines of text. `every` also lists the files that are current, `fold` limits the number of lines."""
    moment = (now or datetime.now(UTC)).isoformat()
    shown = [row for row in found.rows if every or row.state != "current"]
    last = [*_last(found, taken, len(found.rows) - len(shown))]
    groups: list[Sequence[Row]] = [[row] for row in shown]
    if fold and len(groups) + len(last) > MOST:
        groups = list(folding.fold(shown, lambda row: (row.state, os.path.dirname(row.path)) if row.path else None))
    if fold and len(groups) + len(last) > MOST:
        kept = _shared(groups, MOST - len(last) - 1)
        more = sum(map(len, groups)) - sum(map(len, kept))
        groups, last = kept, [("and", f"{more:,} more", "provio status --no-fold"), *last]
    lines = [*(_line(group, folder, moment) for group in groups), *last]
    return _aligned(lines, width, unicode)


def _shared(groups: Sequence[Sequence[Row]], most: int) -> list[Sequence[Row]]:
    """Return the first groups of each state, so many that all states have a share of `most` lines."""
    counts = Counter(group[0].state for group in groups)
    share = Counter[str]()
    while share.total() < most and share.total() < len(groups):
        for state in counts:
            if share[state] < counts[state] and share.total() < most:
                share[state] += 1
    seen = Counter[str]()
    kept = []
    for group in groups:
        seen[group[0].state] += 1
        if seen[group[0].state] <= share[group[0].state]:
            kept.append(group)
    return kept


def _line(group: Sequence[Row], folder: str | None, moment: str) -> Line:
    row = group[0]
    path = shorter_path(_text(row.path), folder) if row.path else row.command
    thing = path if len(group) == 1 else f"{folding.folder_name(_text(row.path), folder)}  {folding.count(len(group))}"
    more = "" if all(other.reason == row.reason for other in group) else ", …"
    return row.state, thing, _reason(row, moment) + more


def _reason(row: Row, moment: str) -> str:
    if row.state == "current":
        return f"made by run {row.run[:SHORT]}" if row.run else ""
    if not row.time or (row.state == "failed" and row.path):
        return row.reason
    if row.state == "changed":
        return f"{row.reason}, {row.time[:16].replace('T', ' ')} UTC"
    return f"{row.reason}{',' * (row.state == 'failed')} {ago(row.time, moment)}"


def _last(found: Status, taken: Taken, current: int) -> Iterator[Line]:
    """Yield the lines about files that are not listed, gaps and the record."""
    if current:
        yield "current", plural(current, "file"), ""
    if found.gaps:
        one = "last" if found.gaps[-1] == found.runs[-1] else found.gaps[-1][:SHORT]
        yield (
            "gaps",
            plural(len(found.gaps), "run"),
            f"provio show {one}" if len(found.gaps) == 1 else "provio query gaps",
        )
    if found.in_memory:
        yield "memory", plural(found.in_memory, "file"), "kept data not compared (lineage --stale --via carried)"
    going = f", {found.in_progress} in progress" if found.in_progress else ""
    yield "record", f"{plural(len(found.runs), 'run')}, {size(taken.bytes)}, {taken.pending} pending{going}", ""
    if taken.kept:
        yield "kept", taken.kept, ""


def _aligned(lines: Sequence[Line], width: int | None, unicode: bool) -> str:
    """Return the lines with their parts in columns, each at most `width` columns long."""
    lines = [(state, printable(thing, unicode), printable(reason, unicode)) for state, thing, reason in lines]
    most = max((columns(thing) + 3 for _, thing, reason in lines if reason), default=WIDE)
    room = max(most, WIDE)
    if width is not None:
        longest = max((columns(reason) for _, _, reason in lines), default=0)
        room = max(WIDE, min(room, max(width - 10 - longest, (width - 10) * 2 // 5)))
    found = []
    for state, thing, reason in lines:
        shown = cut_path(thing, room - 2, unicode) if reason else thing
        line = f"{state:10}{shown}{' ' * (room - columns(shown))}{reason}".rstrip()
        found.append((line if width is None else cut_end(line, width, unicode)) + "\n")
    return "".join(found)


def for_programs(found: Status, taken: Taken, form: str) -> str:
    """Return all rows by the columns of the table `status`; as JSON an object with the counts and the record, too."""
    rows: list[list[records.Value]] = [[*cells(row)] for row in found.rows]
    if form != "json":
        return records.render("status", rows, form)
    names = records.TABLES["status"].names
    files = [dict(zip(names, row, strict=True)) | _encoded(one.path) for one, row in zip(found.rows, rows, strict=True)]
    counts = dict(Counter(row.state for row in found.rows))
    record = {
        "runs": len(found.runs), "bytes": taken.bytes, "pending": taken.pending, "inProgress": found.in_progress
    }  # fmt: skip
    answer = {"files": files, "counts": counts, "gaps": found.gaps, "inMemory": found.in_memory, "record": record}
    return json.dumps(answer, indent=1) + "\n"


def cells(row: Row) -> list[str | None]:
    """Return a row by the columns of the table `status`."""
    return [row.state, *(cell or None for cell in (_text(row.path), row.reason, row.run, row.time, row.command))]


def _encoded(path: bytes) -> dict[str, records.Value]:
    """Return the member with the encoded path, if the path is not UTF-8."""
    try:
        path.decode("utf-8")
    except UnicodeDecodeError:
        return {"pathEncoded": quote_from_bytes(path, safe=PATH_SAFE)}
    return {}


def _text(path: bytes) -> str:
    return path.decode("utf-8", "replace")
