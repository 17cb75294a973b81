"""Which paths are recorded: what `include` and `exclude` set, and the project's folder, in; the shim's words out.

A folder or glob goes out absolute, with `+` or `-` before it. One that has another name in truth goes out by both, for
a program may use either.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from provio.errors import ConfigError

MOST = 64  # of left_out.c
LONGEST = 32_768  # bytes of all of them: the environment of a process has an end
WILD = re.compile(r"[*?[]")


def limits(include: Iterable[str], exclude: Iterable[str], project: Path) -> tuple[str, ...]:
    """Return what the shim is told; raises ConfigError where that is more than it takes."""
    found = [f"{sign}{path}" for sign, paths in (("-", exclude), ("+", include)) for path in _all(paths, project)]
    found = list(dict.fromkeys(found))
    size = sum(len(os.fsencode(one)) for one in found)
    if len(found) > MOST or size > LONGEST:
        raise ConfigError(
            f"include and exclude name {len(found)} folders and globs of {size} bytes in all, and {MOST} of {LONGEST} "
            "bytes are taken: name a folder above them, or one glob for several"
        )
    return tuple(found)


def _all(paths: Iterable[str], project: Path) -> Iterator[str]:
    for path in paths:
        fixed = WILD.search(path)
        if fixed is None:
            whole = os.path.normpath(project / path)
            yield from (whole, os.path.realpath(whole))
            continue
        folder, _, rest = path[: fixed.start()].rpartition("/")
        rest += path[fixed.start() :].rstrip("/")
        if path.startswith("/"):
            above = [folder, os.path.realpath(folder or "/").rstrip("/")]
        else:
            above = [os.path.normpath(project / folder), os.path.realpath(project / folder)]
        yield from (f"{_escaped(one.rstrip('/'))}/{rest}" for one in above)


def _escaped(folder: str) -> str:
    return WILD.sub(r"[\g<0>]", folder)
