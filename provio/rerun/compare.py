"""The comparison of a rerun with the record. In: a plan and its new folder. Out: the verdict of each file."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from provio.ask.content import Contents
from provio.ask.redo import is_cache
from provio.compare.tolerances import Tolerances
from provio.rerun.places import Places
from provio.rerun.plan import Plan
from provio.settings import home as homes
from provio.system.content import Unread, sha256

IDENTICAL, DIFFERS, MISSING, NEW, NOT_COMPARED = "identical", "differs", "missing", "new", "not compared"
WITHIN = "within tolerance"
NONE = Tolerances()


class Result(NamedTuple):
    """A file by its recorded path (a new one by its path in the folder), its verdict, and a reason: always that of `not
    compared`."""

    path: str
    verdict: str
    reason: str = ""
    largest: float | None = None  # difference of numbers, if they were compared


def results(
    plan: Plan, contents: Contents, places: Places, folder: str, staged: set[str], tolerances: Tolerances = NONE
) -> Iterator[Result]:
    """Yield the verdict of each product, then the files that the record does not contain."""
    expected = {new for path in plan.redirected if (new := places.moved(path))}  # of an empty one, no write is recorded
    for path, version in sorted(plan.products.items()):
        new = places.moved(path)
        if new is None:
            continue
        expected.add(new)
        result = _with_reason(_compared(path, version, new, contents), new, folder)
        if result.verdict == DIFFERS and tolerances and not result.reason:
            result = _by_numbers(result, contents.digests(version), new, tolerances)
        yield result
    for base, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if os.path.join(base, name) != os.path.join(folder, homes.NAME))
        for name in sorted(files):
            path = os.path.join(base, name)
            if path not in expected and path not in staged and not is_cache(path):
                yield Result(path, NEW)


def _with_reason(result: Result, new: str, folder: str) -> Result:
    """Return a result; that of a file which differs with the reason that it contains the path of its folder, if so."""
    if result.verdict != DIFFERS:
        return result
    with (
        suppress(OSError, ValueError),  # an empty file cannot be mapped
        open(new, "rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        if content.find(os.fsencode(folder)) >= 0:
            return result._replace(reason="it contains the path of its folder")
    return result


def _by_numbers(result: Result, recorded: set[str], new: str, tolerances: Tolerances) -> Result:
    """Return the verdict of a file that differs in its bytes, by the numbers in it."""
    from provio.compare.parts import Unreadable
    from provio.compare.readers import compared  # few calls compare numbers

    try:
        if {sha256(os.fsencode(result.path))[0]} != recorded:
            return result._replace(reason="the recorded file has changed since, so its numbers are not compared")
        found = compared(result.path, new)
    except (Unread, Unreadable) as error:
        return result._replace(reason=str(error))
    total = found.total
    if total.others:
        return result._replace(reason=total.other_text())
    within = total.numbers > 0 and found.is_within(tolerances, result.path)
    return Result(result.path, WITHIN if within else DIFFERS, total.text(), total.largest)


def _compared(path: str, version: str, new: str, contents: Contents) -> Result:
    if not os.path.exists(new):
        return Result(path, MISSING)
    try:
        recorded, now = contents.digests(version), ""
        if not recorded and contents.current(os.fsencode(path)) == version:
            recorded = {sha256(os.fsencode(path))[0]}
        if not recorded and version.endswith(".0"):
            return Result(path, DIFFERS if os.path.getsize(new) else IDENTICAL)
        if len(recorded) != 1:
            return Result(path, NOT_COMPARED, "no SHA-256 is recorded, and the file has changed since")
        now = sha256(os.fsencode(new))[0]
    except (Unread, OSError) as error:
        return Result(path, NOT_COMPARED, str(error))
    return Result(path, IDENTICAL if now in recorded else DIFFERS)
