"""Suggestions for an unknown name. In: a path, or the name of a run. Out: a clause with the probable meaning, or with
the reason why nothing is recorded."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from datetime import datetime
from difflib import get_close_matches
from math import inf
from pathlib import PurePath
from typing import Protocol

from provio.base.errors import NothingKnown, NotYet
from provio.base.turtle import literal, path_iri
from provio.base.vocab import NS, PROV
from provio.settings.types import suggestion
from provio.system import statx
from provio.trace.hosts import UNCOLLECTED

RECORD = "run the command that makes or reads it under provio (provio run -- COMMAND)"
MOST = 100_000  # paths that are compared
LOST = ("/gap", "/g1", "/damage")  # endings of the IRIs of gaps about traces that could not be written or read
STATED = "/(gap|g1|unwatched|e[0-9]+)$"  # endings of the IRIs of gaps that the traces state themselves
SECOND = 1_000_000_000  # ns
SOON = 1.0  # seconds by which the times of files and those of runs may differ
# Runs with a gap that the trace states (a program that could not be watched, a call, a trace that could not be written
# to its end), with damage, or with a submitted job.
UNRECORDED = f"""SELECT DISTINCT ?run ?reason ?start ?end ?gap {{ ?gap <{NS}about> ?about ; <{NS}reason> ?reason
    FILTER(REGEX(STR(?gap), "/(gap|g1|damage|unwatched|submitted|e[0-9]+)$"))
    {{ ?about a <{NS}Process> ; <{NS}partOf> ?run }} UNION {{ ?about a <{NS}Run> BIND(?about AS ?run) }}
    ?run <{PROV}startedAtTime> ?start OPTIONAL {{ ?run <{PROV}endedAtTime> ?end }} }}
    ORDER BY DESC(STR(?run)) ?reason"""


class Rows(Protocol):
    """A store that answers a SELECT."""

    def rows(self, query: str) -> Iterable[dict[str, str]]:
        """Return the solutions of a query as text."""


def nothing_known(reader: Rows, subject: str, reason: str = "") -> NothingKnown:
    """Return the error to raise if nothing is recorded of a subject, with the reason; `NotYet` if a run in progress may
    still record it."""
    as_of = as_of_text(reader)
    if as_of:
        return NotYet(f"{subject} is not known {as_of}: try again later")
    return NothingKnown(f"nothing is recorded of {subject}" + (f": {reason}" if reason else ""))


def as_of_text(reader: object) -> str:
    """Return the moment that the answers describe, with the runs in progress; empty if no run is in progress."""
    return str(getattr(reader, "as_of", ""))


def of_file(reader: Rows, path: bytes) -> str:
    """Return a suggestion for a file of which nothing is recorded: it is a folder, misspelt, or was never observed."""
    name = path.decode("utf-8", "replace")
    if os.path.isdir(path):
        inside = _below(reader, name, 1)
        if inside:
            return f"it is a folder: name files in it, such as {_relative(inside[0])}"
        return f"it is a folder, and none of its files is recorded: {_reason(reader, path)}"
    if os.path.lexists(path):
        return _missing(reader) or _reason(reader, path)
    near = _near(reader, name)
    return (
        f"did you mean {', or '.join(near)}?"
        if near
        else f"there is no such file; {_missing(reader) or _reason(reader, path)}"
    )


def _reason(reader: Rows, path: bytes) -> str:
    return unrecorded(reader.rows(UNRECORDED), path) or RECORD


def of_run(name: str, known: Iterable[str]) -> str:
    """Return a suggestion for a name that no run has."""
    if name and (os.path.lexists(name) or "/" in name):
        shown = os.path.normpath(name).encode("utf-8", "backslashreplace").decode()
        return f"{shown} is a file: provio why, or lineage, {shown}"
    near = suggestion(name, known)
    return f"{near.removeprefix(': ')} (provio runs lists them)" if near else "provio runs lists them"


def of_words(sparql: str) -> list[str]:
    """Return a line for each term `provio:…` in a query that the ontology does not define."""
    from provio.base.vocab import vocabulary

    used = dict.fromkeys(re.findall(r"\bprovio:([A-Za-z]\w*)", sparql))
    if not used:
        return []
    known = vocabulary().terms
    return [f"provio:{word} is not a term of provio{suggestion(word, known)}" for word in used if word not in known]


def _missing(reader: Rows) -> str:
    """Return the newest gap about records of a run that were not collected from another host."""
    gap = f'?gap <{NS}about> ?run ; <{NS}reason> ?reason FILTER(STRENDS(STR(?gap), "{UNCOLLECTED}"))'
    rows = reader.rows(f"SELECT ?reason {{ {gap} }} ORDER BY DESC(STR(?run)) LIMIT 1")
    return next((f"{row['reason']}; else {RECORD}" for row in rows), "")


def unrecorded(gaps: Iterable[dict[str, str]], path: bytes) -> str:
    """Return a suggestion for a file that may come from a process that was not recorded; empty if there is no such
    process. `gaps` are the rows of UNRECORDED.

    It names the newest run with such a gap during which the file was made or changed, or which submitted a job before
    that; for a missing file, the newest run of which a trace is lost.
    """
    times = _made_and_changed(path)
    for row in gaps:
        start = datetime.fromisoformat(row["start"]).timestamp()
        over = row.get("end") and not row["gap"].endswith("/submitted")
        end = datetime.fromisoformat(row["end"]).timestamp() if over else inf
        lost = row["gap"].endswith(LOST)
        if (lost and not times) or any(start - error <= moment <= end + error for moment, error in times):
            run = row["run"].rpartition("/")[2]
            when = "when it was last changed " if times else ""
            incomplete = f"{when}not all of run {run} could be recorded ({row['reason']})"
            return f"{incomplete}: provio query gaps {run}; else {RECORD}"
    return ""


def _made_and_changed(path: bytes) -> list[tuple[float, float]]:
    """Return the times at which a file was made and last changed, each with its error (s), as far as they are known."""
    try:
        found = statx.facts(path)
    except OSError:
        return []
    return [(found.birth / SECOND, 0.0), (found.mtime / SECOND, SOON)]


def of_path(reader: Rows, text: str) -> str:
    """Return a message about a path in a query if nothing is recorded of it and a gap may be the reason; else an empty
    text."""
    full = os.path.abspath(os.fsencode(text))
    names = {full, os.path.realpath(full)}
    known = " ".join(f"{literal(name.decode('utf-8', 'replace'))} {literal(path_iri(name))}" for name in sorted(names))
    query = f"SELECT ?f {{ VALUES ?path {{ {known} }} ?f <{NS}path>|<{NS}pathEncoded> ?path }} LIMIT 1"
    why = "" if next(iter(reader.rows(query)), None) else unrecorded(reader.rows(UNRECORDED), full)
    return f"{text}: nothing is recorded of it: {why}" if why else ""


def _near(reader: Rows, name: str) -> list[str]:
    """Return the recorded files most similar to a path: in its folder, or of the same name in other folders."""
    folder, last = os.path.split(name)
    siblings = {
        os.path.basename(path): path for path in _below(reader, folder, MOST) if os.path.dirname(path) == folder
    }
    near = [siblings[found] for found in get_close_matches(last, siblings, n=2, cutoff=0.7)]
    return [_relative(path) for path in near or _paths_ending_with(reader, last)]


def _below(reader: Rows, folder: str, most: int) -> list[str]:
    start = literal(folder.rstrip("/") + "/")
    found = f"?file <{NS}path> ?path FILTER(STRSTARTS(?path, {start}))"
    query = f"SELECT DISTINCT ?path {{ {found} }} ORDER BY ?path LIMIT {most}"
    return [row["path"] for row in reader.rows(query)]


def _paths_ending_with(reader: Rows, last: str) -> list[str]:
    end = literal("/" + last)
    query = f"SELECT DISTINCT ?path {{ ?file <{NS}path> ?path FILTER(STRENDS(?path, {end})) }} ORDER BY ?path LIMIT 2"
    return [row["path"] for row in reader.rows(query)]


def _relative(path: str) -> str:
    """Return a path relative to the current folder if it is in it."""
    try:
        here = os.getcwd()
    except FileNotFoundError:
        return path
    return os.path.relpath(path, here) if PurePath(path).is_relative_to(here) else path
