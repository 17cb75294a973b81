"""Suggestions for an unknown name. In: a path, or the name of a run. Out: a clause with the probable meaning, or with
the reason why nothing is recorded."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches
from glob import has_magic, iglob
from pathlib import PurePath

from provio.ask import incomplete
from provio.ask.incomplete import RECORD, Rows
from provio.base.errors import NothingKnown, NotYet
from provio.base.turtle import XSD, literal, path_iri
from provio.base.vocab import NS
from provio.settings.types import suggestion

MOST = 100_000  # paths that are compared
UNEXPANDED = "it is a pattern: write it without quotes"
STATED = "/(gap|g1|unwatched|e[0-9]+)$"  # endings of the IRIs of gaps that the traces state themselves


def nothing_known(reader: Rows, subject: str, reason: str = "") -> NothingKnown:
    """Return the error to raise if nothing is recorded of a subject, with the reason; `NotYet` if a run in progress may
    still record it."""
    as_of = as_of_text(reader)
    if as_of:
        return NotYet(f"{subject} is not known {as_of}: try again later")
    return NothingKnown(f"nothing is recorded of {subject}" + (f": {reason}" if reason else ""))


def nothing_known_of(reader: Rows, problem: str, remedy: str) -> NothingKnown:
    """Return the error for an answer without a row; `NotYet` if a run in progress may still give one."""
    as_of = as_of_text(reader)
    return NotYet(f"{problem} {as_of}: try again later") if as_of else NothingKnown(f"{problem}: {remedy}")


def as_of_text(reader: object) -> str:
    """Return the moment that the answers describe, with the runs in progress; empty if no run is in progress."""
    return str(getattr(reader, "as_of", ""))


def of_file(reader: Rows, path: bytes) -> str:
    """Return a suggestion for a file of which nothing is recorded: it is a folder, misspelt, or was never observed."""
    name = path.decode("utf-8", "replace")
    if os.path.isdir(path):
        inside = _below(reader, name, 1)
        if inside:
            return f"it is a folder: name files, such as {relative(inside[0])}"
        why = incomplete.of_file(incomplete.gaps(reader), path)
        return "it is a folder; none of its files is recorded" + (f": {why}" if why else "")
    if os.path.lexists(path):
        return _reason(reader, path)
    near = _near(reader, name)
    why = incomplete.of_file(incomplete.gaps(reader), path)
    if near:
        return f"did you mean {', or '.join(near)}?" + (f" Or {why}" if why else "")
    return f"{_missing(reader, name)}{f'; {why}' if why else ''}"


def _missing(reader: Rows, name: str) -> str:
    """Return why there is no file of this name: it is a pattern, or the name of a run."""
    from provio.ask import runs

    if has_magic(os.path.basename(name)):
        return UNEXPANDED if next(iglob(name), None) else "no file matches this pattern"
    last = os.path.basename(name)
    if os.path.abspath(last) == name and runs.find(reader, last, start=False):
        return f"it is the name of a run: provio show {last}"
    return "there is no such file"


def _reason(reader: Rows, path: bytes) -> str:
    return incomplete.of_file(incomplete.gaps(reader), path) or _same_size(reader, path) or RECORD


def _same_size(reader: Rows, path: bytes) -> str:
    """Return a clause if a recorded version without a SHA-256 has the size of a file: it may have the same content."""
    size = os.path.getsize(path) if os.path.isfile(path) else 0
    query = f"""SELECT ?v {{ ?v <{NS}size> "{size}"^^<{XSD}integer> FILTER(CONTAINS(STR(?v), "/version/"))
        FILTER NOT EXISTS {{ ?v <{NS}sha256> ?hash }} }} LIMIT 1"""
    if not size or next(iter(reader.rows(query)), None) is None:
        return ""
    name = shlex.quote(relative(os.fsdecode(path)).encode("utf-8", "replace").decode())
    return f"recorded files of its size have no SHA-256: provio find {name} compares them; else {RECORD}"


def of_run(reader: Rows, name: str, known: Iterable[str]) -> str:
    """Return a suggestion for a name that no run has: it may be that of a file, of a metric or of a parameter."""
    if name and (os.path.lexists(name) or "/" in name):
        shown = os.path.normpath(name).encode("utf-8", "backslashreplace").decode()
        return f"{shown} is a file: provio why, or lineage, {shown}"
    for term, kind, verb in (("Metric", "metric", "best"), ("Setting", "parameter", "params --sort")):
        query = f"SELECT ?one {{ ?one a provio:{term} ; provio:name {literal(name)} }} LIMIT 1"
        if next(iter(reader.rows(query)), None) is not None:
            return f"it is the name of a {kind}: provio {verb} {shlex.quote(name)}"
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


def of_path(reader: Rows, text: str) -> str:
    """Return a message about a path in a query if nothing is recorded of it and a gap may be the reason; else an empty
    text."""
    full = os.path.abspath(os.fsencode(text))
    names = {full, os.path.realpath(full)}
    known = " ".join(f"{literal(name.decode('utf-8', 'replace'))} {literal(path_iri(name))}" for name in sorted(names))
    query = f"SELECT ?f {{ VALUES ?path {{ {known} }} ?f <{NS}path>|<{NS}pathEncoded> ?path }} LIMIT 1"
    why = "" if next(iter(reader.rows(query)), None) else incomplete.of_file(incomplete.gaps(reader), full)
    return f"{text}: nothing is recorded of it: {why}" if why else ""


def _near(reader: Rows, name: str) -> list[str]:
    """Return the recorded files most similar to a path, at most two: of the same name in other folders, then of a
    similar name in its folder; if there are none, of a similar name below its folder."""
    folder, last = os.path.split(name)
    below = _below(reader, folder, MOST)
    same = _paths_ending_with(reader, last)
    near = same + _similar(last, [path for path in below if os.path.dirname(path) == folder])
    return [relative(path) for path in list(dict.fromkeys(near or _similar(last, below)))[:2]]


def _similar(last: str, paths: list[str]) -> list[str]:
    """Return the paths with the names most similar to `last`, at most two."""
    names = {os.path.basename(path): path for path in reversed(paths)}
    near = get_close_matches(last, names, n=8, cutoff=0.7)
    return [names[found] for found in near if _is_near(os.path.splitext(last)[0], os.path.splitext(found)[0])][:2]


def _is_near(stem: str, other: str) -> bool:
    """Return whether two names without their suffixes are similar: a common suffix makes whole names similar."""
    matcher = SequenceMatcher(None, stem, other, autojunk=False)
    common = sum(block.size for block in matcher.get_matching_blocks())
    return matcher.ratio() >= 0.7 or common >= max(len(stem), len(other)) - 1 > 0


def _below(reader: Rows, folder: str, most: int) -> list[str]:
    start = literal(folder.rstrip("/") + "/")
    found = f"?file <{NS}path> ?path FILTER(STRSTARTS(?path, {start}))"
    query = f"SELECT DISTINCT ?path {{ {found} }} ORDER BY ?path LIMIT {most}"
    return [row["path"] for row in reader.rows(query)]


def _paths_ending_with(reader: Rows, last: str) -> list[str]:
    end = literal("/" + last)
    query = f"SELECT DISTINCT ?path {{ ?file <{NS}path> ?path FILTER(STRENDS(?path, {end})) }} ORDER BY ?path LIMIT 2"
    return [row["path"] for row in reader.rows(query)]


def relative(path: str) -> str:
    """Return a path relative to the current folder if it is inside it."""
    try:
        here = os.getcwd()
    except FileNotFoundError:
        return path
    return os.path.relpath(path, here) if path != here and PurePath(path).is_relative_to(here) else path
