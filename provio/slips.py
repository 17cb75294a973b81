"""What was meant by a name that nothing is recorded of: a path, or the name of a run, in; a clause that says it out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import PurePath
from typing import Protocol

from provio.hosts import UNCOLLECTED
from provio.settings import suggestion
from provio.turtle import literal
from provio.vocab import NS

RECORD = "run what makes or reads it under provio (provio run -- COMMAND)"
MOST = 100_000  # paths that are looked through


class Rows(Protocol):
    """What answers a SELECT."""

    def rows(self, query: str) -> Iterable[dict[str, str]]:
        """Return the solutions of a query as text."""


def of_file(reader: Rows, path: bytes) -> str:
    """Return what to do about a file of which nothing is recorded: a folder, a slip, or one that was never seen."""
    name = path.decode("utf-8", "replace")
    if os.path.isdir(path):
        inside = _below(reader, name, 1)
        if inside:
            return f"it is a folder: name files in it, such as {_relative(inside[0])}"
        return f"it is a folder, and nothing of what it holds is recorded: {RECORD}"
    if os.path.lexists(path):
        return _missing(reader) or RECORD
    near = _near(reader, name)
    return f"did you mean {', or '.join(near)}?" if near else f"there is no such file; {_missing(reader) or RECORD}"


def of_run(name: str, known: Iterable[str]) -> str:
    """Return what to do about a name that no run has."""
    if name and (os.path.lexists(name) or "/" in name):
        shown = os.path.normpath(name).encode("utf-8", "backslashreplace").decode()
        return f"{shown} is a file: provio why, or lineage, {shown}"
    near = suggestion(name, known)
    return f"{near.removeprefix(': ')} (provio runs lists them)" if near else "provio runs lists them"


def of_words(sparql: str) -> list[str]:
    """Return a line for each word in a question that is written as provio's (`provio:…`) and is none."""
    from provio.vocab import vocabulary

    used = dict.fromkeys(re.findall(r"\bprovio:([A-Za-z]\w*)", sparql))
    if not used:
        return []
    known = vocabulary().terms
    return [f"provio:{word} is no word of provio's{suggestion(word, known)}" for word in used if word not in known]


def _missing(reader: Rows) -> str:
    """What was recorded and is not here, of the newest run of which something is not."""
    gap = f'?gap <{NS}about> ?run ; <{NS}reason> ?reason FILTER(STRENDS(STR(?gap), "{UNCOLLECTED}"))'
    rows = reader.rows(f"SELECT ?reason {{ {gap} }} ORDER BY DESC(STR(?run)) LIMIT 1")
    return next((f"{row['reason']}; else {RECORD}" for row in rows), "")


def _near(reader: Rows, name: str) -> list[str]:
    """The recorded files nearest to a path: of a similar name in its folder, or of the same name elsewhere."""
    folder, last = os.path.split(name)
    beside = {os.path.basename(path): path for path in _below(reader, folder, MOST) if os.path.dirname(path) == folder}
    near = [beside[found] for found in get_close_matches(last, beside, n=2, cutoff=0.7)]
    return [_relative(path) for path in near or _called(reader, last)]


def _below(reader: Rows, folder: str, most: int) -> list[str]:
    start = literal(folder.rstrip("/") + "/")
    found = f"?file <{NS}path> ?path FILTER(STRSTARTS(?path, {start}))"
    query = f"SELECT DISTINCT ?path {{ {found} }} ORDER BY ?path LIMIT {most}"
    return [row["path"] for row in reader.rows(query)]


def _called(reader: Rows, last: str) -> list[str]:
    end = literal("/" + last)
    query = f"SELECT DISTINCT ?path {{ ?file <{NS}path> ?path FILTER(STRENDS(?path, {end})) }} ORDER BY ?path LIMIT 2"
    return [row["path"] for row in reader.rows(query)]


def _relative(path: str) -> str:
    """A path as one would type it here."""
    try:
        here = os.getcwd()
    except FileNotFoundError:
        return path
    return os.path.relpath(path, here) if PurePath(path).is_relative_to(here) else path
