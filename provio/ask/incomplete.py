"""Runs that were not recorded completely. In: a store and a file. Out: the run that may have made or read the file
without a record, with its gap; the gaps that belong into an answer about uses of the file.

Of a program that could not be watched, the files that it opened are not known, only its command line and the times
between which it ran.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from math import inf
from typing import Protocol

from provio.ask.document import Gap, Node, arguments
from provio.base.turtle import literal
from provio.base.vocab import NS, PROV, UNRECORDED
from provio.lineage.identity import VERSION, earliest
from provio.system import statx
from provio.trace.hosts import UNCOLLECTED

Row = dict[str, str]
RECORD = "record its use (provio run -- COMMAND)"
LOST = ("/gap", "/g1", "/damage", "/lost", "/unbegun", UNCOLLECTED)  # IRIs of gaps about traces that are not there
NO_DATA = frozenset({"ldconfig", "fusermount", "fusermount3", "unix_chkpwd"})  # programs that open no files of users
SECOND = 1_000_000_000  # ns
SOON = 1.0  # seconds by which the times of files and those of runs may differ
# Runs with a gap that the trace states (a program that could not be watched, a call, a trace that could not be written
# to its end), with damage, or with a submitted job.
GAPS = f"""SELECT DISTINCT ?run ?reason ?start ?end ?gap ?argv ?cwd {{ %s ?gap <{NS}about> ?about ; <{NS}reason> ?reason
    FILTER(REGEX(STR(?gap), "/(gap|g1|damage|lost|unbegun|uncollected|unwatched|submitted|e[0-9]+)$"))
    {{ ?about a <{NS}Process> ; <{NS}partOf> ?run }} UNION {{ ?about a <{NS}Run> BIND(?about AS ?run) }}
    ?run <{PROV}startedAtTime> ?start OPTIONAL {{ ?run <{PROV}endedAtTime> ?end }}
    OPTIONAL {{ ?about <{NS}argv> ?argv }} OPTIONAL {{ ?about <{NS}cwd> ?cwd }} }}
    ORDER BY DESC(STR(?run)) ?reason"""
# Programs that were not watched: a fifth of the cost of GAPS.
PROGRAMS = f"""SELECT DISTINCT ?gap ?reason ?argv ?cwd {{
    ?gap <{NS}reason> ?reason FILTER(STRENDS(?reason, {literal(UNRECORDED)}))
    ?gap <{NS}about> ?about . ?about <{NS}argv> ?argv ; <{NS}cwd> ?cwd }}"""


class Rows(Protocol):
    """A store that answers a SELECT."""

    def rows(self, query: str) -> Iterable[Row]:
        """Return the solutions of a query as text."""


def gaps(reader: Rows, only: Iterable[str] | None = None) -> list[Row]:
    """Return the gaps because of which files may have been made or read without a record, or `only` those of them with
    these IRIs; those of the newest run first."""
    values = "" if only is None else f"VALUES ?gap {{ {' '.join(f'<{iri}>' for iri in only)} }}"
    return [row for row in reader.rows(GAPS % values) if os.path.basename(row["reason"].split(" ")[0]) not in NO_DATA]


def of_file(found: Iterable[Row], path: bytes) -> str:
    """Return a clause about a file of which nothing is recorded: the run that may have made or read it, and its gap;
    empty if there is none. `found` are the `gaps`.

    It names the newest run with a gap during which the file was made or changed, or which submitted a job before that;
    for a missing file, the newest run of which a trace is lost. Otherwise, it names the run of a program that was not
    watched and that may have read the file.
    """
    found, times = list(found), _made_and_changed(path)
    row = _maker(found, times)
    if row:
        return f"{'when it was last changed ' if times else ''}{_incomplete(row)}{_remedy(row)}"
    readers = _Readers(found).of(path, times[0] if times else None)
    return f"{_may_have(readers)}{_remedy(readers[0])}" if readers else ""


def until(reader: Rows, path: bytes, moment: float) -> str:
    """Return a clause with the newest run before a moment (s since 1970) that may have made or read a file; empty if
    there is none."""
    readers = _Readers(row for row in gaps(reader) if _start(row) <= moment).of(path, 0)
    return _may_have(readers, "made or read") if readers else ""


def of_run(reader: Rows, run: str) -> str:
    """Return a clause with the first gap because of which a run (by id) may have made or read more than is recorded;
    empty if it has none."""
    return next((_incomplete(row) for row in gaps(reader) if _run(row) == run), "")


def of_origin(found: Iterable[Row], version: str) -> list[Gap]:
    """Return the gap of the newest run that may have made a version without a recorded maker. `found` are the
    `gaps`."""
    its = VERSION.match(version)
    times = [int(moment) / SECOND for moment in (its["of"].partition(".")[2], its["mtime"])] if its else []
    row = _maker(found, times) if times else None
    return [Gap(iri=row["gap"], about=version, reason=f"when it was last changed {_incomplete(row)}")] if row else []


def of_uses(reader: Rows, nodes: Iterable[Node], targets: Iterable[str], known: Iterable[Gap]) -> list[Gap]:
    """Return the gaps of an answer about the uses of files, besides those that are `known`: programs that were not
    watched and have the name of a file on their command line; if the answer has no products of the `targets`, also
    those that may have read one of them."""
    wanted, more = set(targets), []
    files = {one["iri"]: one for one in nodes if one["type"] == "FileVersion" and "path" in one}
    if files.keys() <= wanted:
        rows = gaps(reader)
    else:
        wanted, programs = set(), _Readers(reader.rows(PROGRAMS))
        named = {row["gap"] for one in files.values() for row in programs.naming(os.fsencode(one["path"]))}
        rows = gaps(reader, sorted(named)) if named else []
    stated = {gap["iri"] for gap in known}
    programs = _Readers(row for row in rows if row["gap"] not in stated)
    for iri, file in files.items():
        found = programs.of(os.fsencode(file["path"]), earliest(iri) / SECOND, only_named=iri not in wanted)
        if found:
            more.append(Gap(iri=found[0]["gap"], about=iri, reason=_may_have(found, "read", file["label"])))
    return more


def _incomplete(row: Row) -> str:
    return f"not all of run {_run(row)} could be recorded ({row['reason']})"


def _remedy(row: Row) -> str:
    return f": provio query gaps {_run(row)}; else {RECORD}"


def _maker(found: Iterable[Row], times: Sequence[float]) -> Row | None:
    """Return the first row of a run during which a file was made or changed at one of these times (s since 1970); for a
    file that is missing, the first row of a lost trace."""
    for row in found:
        start, end = _start(row), _end(row)
        if not times and row["gap"].endswith(LOST):
            return row
        if times and (start <= times[0] <= end or start - SOON <= times[1] <= end + SOON):
            return row
    return None


def _may_have(rows: list[Row], done: str = "read", name: str = "it") -> str:
    others = len({row["run"] for row in rows}) - 1
    also = "" if not others else " or another run" if others == 1 else f" or one of {others} other runs"
    return f"run {_run(rows[0])}{also} may have {done} {name}: not all of it could be recorded ({rows[0]['reason']})"


class _Readers:
    """The programs that may have opened a file without a record. Those are found by the paths on their command lines,
    or else by the times at which they ran."""

    def __init__(self, found: Iterable[Row]) -> None:
        self.rows = [row for row in found if _opened_unseen(row)]
        self.named: dict[bytes, list[Row]] = {}
        for row in self.rows:
            for name in set(_named(row)):
                self.named.setdefault(name, []).append(row)

    def naming(self, path: bytes) -> list[Row]:
        """Return the programs that name a file, or a folder above it."""
        above = [path]
        while above[-1] not in (b"", b"/"):
            above.append(os.path.dirname(above[-1]))
        return [row for name in above for row in self.named.get(name, ())]

    def of(self, path: bytes, since: float | None, only_named: bool = False) -> list[Row]:
        """Return the programs that name a file, or else all that ran when it was there: `since` this time (s since
        1970), or never if that is None."""
        rows = self.naming(path) or ([] if only_named or since is None else self.rows)
        return [row for row in rows if since is None or since <= _end(row) + SOON]


def _opened_unseen(row: Row) -> bool:
    """Return whether a gap hides the files that a program opened; others hide messages between processes."""
    return row["gap"].endswith((*LOST, "/submitted")) or row["reason"].endswith(UNRECORDED)


def _named(row: Row) -> Iterator[bytes]:
    """Yield the paths on the command line of a gap's process."""
    for word in arguments(row.get("argv", "")):
        for name in filter(None, {word, *re.split("[=:,]", word)}):
            yield os.path.normpath(os.path.join(os.fsencode(row.get("cwd", "/")), os.fsencode(name)))


def _run(row: Row) -> str:
    return row["run"].rpartition("/")[2]


def _start(row: Row) -> float:
    return datetime.fromisoformat(row["start"]).timestamp()


def _end(row: Row) -> float:
    over = row.get("end") and not row["gap"].endswith("/submitted")
    return datetime.fromisoformat(row["end"]).timestamp() if over else inf


def _made_and_changed(path: bytes) -> list[float]:
    """Return the times at which a file was made and last changed (s since 1970); none if it is missing."""
    try:
        found = statx.facts(path)
    except OSError:
        return []
    return [found.birth / SECOND, found.mtime / SECOND]
