"""The targets of a query. In: paths or IRIs, and a store. Out: the versions that they name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.base.errors import NothingKnown
from provio.base.text import moment, plural
from provio.base.turtle import literal, path_iri
from provio.lineage.identity import domain_segment, version_iri
from provio.settings import load
from provio.settings.home import project_folders
from provio.store import Reader, Store
from provio.system import statx
from provio.system.statx import Facts

if TYPE_CHECKING:
    from datetime import datetime

    from provio.base.times import Between


TRIVIAL = 16  # bytes: a smaller content shows no origin


@dataclass(frozen=True)
class Selection:
    """The selection of a version of a file (`at`, `run`), and of the runs to query (`campaign`, `name`; `between` two
    times they started, or seconds from the start of `run`)."""

    at: datetime | None = None
    run: str | None = None
    campaign: str | None = None
    name: str | None = None
    between: Between | None = None


@dataclass(frozen=True)
class Target:
    """The target of a query: the IRI of a version, a remark if it is not the current one, and the path in the query;
    `equal` is the name of the version if the path itself is not recorded and only has the same content."""

    iri: str
    changed: str | None = None
    path: str | None = None
    equal: str = ""


@dataclass(frozen=True)
class Targets:
    """The targets of a query: the reader that answers, the target of each text, the last error of an unknown one."""

    reader: Reader
    targets: list[Target]
    texts: list[str]
    unknown: NothingKnown | None = None


def find_targets(paths: Sequence[str], which: Selection = Selection()) -> Targets:
    """Return the targets of `paths`, as far as they are known; raises NothingKnown if none is known."""
    if which.at and which.run is not None:
        raise click.UsageError("--at and --run both select a version: give one of them")
    if not paths:
        raise click.UsageError("no file given")
    check_project(paths)
    store = session.reader(paths[0])
    confined = restrict(store, which)
    run = None if which.run is None else session.run_id(store, which.run)
    targets, texts, unknown = [], [], None
    for path in dict.fromkeys(paths):
        try:
            targets.append(find(confined, path, which.at, run))
            texts.append(path)
        except NothingKnown as error:
            unknown = error if store is confined else type(error)(f"{error}, in the runs that were chosen")
            if len(paths) == 1:
                raise unknown from error
            terminal.complain(str(unknown))
    if not targets:
        from provio.ask import suggestions

        raise suggestions.nothing_known(store, "any of these files")
    return Targets(confined, targets, texts, unknown)


def check_project(paths: Sequence[str]) -> None:
    """Raise UsageError for files of projects that are not queried together."""
    if len(paths) > 1 and session.are_separate(paths):
        raise click.UsageError("these files are in different records: use one at a time (or set stores)")


def find(reader: Reader, path: str, at: datetime | None, run: str | None) -> Target:
    """Return the target of a path or of FILE#/DATASET; raises NothingKnown."""
    if "#" in path:
        from provio.ask import object_target

        if object_target.may_name_object(path):
            return object_target.find(reader, path, lambda file: _file(reader, file, at, run))
    return _file(reader, path, at, run)


def _file(reader: Reader, path: str, at: datetime | None, run: str | None) -> Target:
    if at is None and run is None:
        return find_target(reader, path)
    from provio.ask.earlier import target_at, target_of_run

    return target_at(reader, path, at) if at else target_of_run(reader, path, run or "")


def graphs(store: Store, which: Selection) -> list[str] | None:
    """Return the graphs of the selected runs; None for all runs."""
    if which.campaign is None and which.name is None and which.between is None:
        return None
    from provio.ask import runs
    from provio.base.vocab import RUN_BASE
    from provio.graph.lines import bundle_iri

    run = None if which.run is None else session.run_id(store, which.run)
    chosen = runs.chosen(store, which.campaign, which.name, which.between, run) or ()
    return [bundle_iri(RUN_BASE + run) for run in chosen]


def restrict(store: Store, which: Selection) -> Reader:
    """Return a reader of the selected runs' graphs and of the conclusions from several runs; or of all graphs."""
    return of_graphs(store, graphs(store, which))


def of_graphs(store: Store, chosen: Sequence[str] | None, *more: str) -> Reader:
    """Return a reader of these runs' graphs, of the conclusions from several runs, and of `more` graphs; None: of all
    graphs."""
    if chosen is None:
        return store
    from provio.graph.lines import BUNDLE, notes_iri
    from provio.merge.cross_run.facts import CONTENT, DERIVED
    from provio.store import Confined

    noted = [notes_iri(graph.removesuffix(BUNDLE)) for graph in chosen]
    return Confined(store, [*chosen, *noted, DERIVED, CONTENT, *more])


def find_target(reader: Reader, text: str) -> Target:
    """Return the version that `text` (a path, or an IRI) names; raises NothingKnown if it is not recorded.

    A path names its current content. If that is not recorded, the target is the newest recorded version of that name,
    with a remark unless its content is the same.
    """
    if is_iri(text):
        return _known_iri(reader, text)
    if not text:
        raise NothingKnown("the file name is empty: give a name")
    path = os.fsencode(text)
    path = path.rstrip(b"/") or path  # a name of a file does not end with a slash
    full = os.path.abspath(path)
    iri = current_version(path)
    if iri and is_recorded(reader, iri):
        return Target(iri, None, full.decode("utf-8", "replace"))
    newest = newest_at(reader, [full, os.path.realpath(path)])
    if newest is None and iri and (equal := _of_content(reader, path)):
        version, name, time, others = equal
        more = f", and {plural(others, 'other')} that recorded programs made" if others else ""
        remark = f"not recorded; same content as {name} of {moment(time)}{more}"
        return Target(version, remark, full.decode("utf-8", "replace"), name)
    if newest is None:
        from provio.ask import suggestions

        shown = suggestions.relative(_show(full))
        if reason := _gap_of(reader, full):
            raise NothingKnown(f"the content of {shown} is not recorded: {reason}")
        raise suggestions.nothing_known(reader, shown, suggestions.of_file(reader, full))
    return Target(newest[0], _remark(reader, newest[0], path, moment(newest[1])), full.decode("utf-8", "replace"))


def _of_content(reader: Reader, path: bytes) -> tuple[str, str, str, int] | None:
    """Return the version with the content of a file, its name, its modification time, and the number of others that
    recorded programs made. The version is one that a program made, if there is one, and the oldest of them. None if
    there is none, or the file must not be read."""
    from provio.ask.suggestions import relative
    from provio.system.content import Unread, sha256
    from provio.system.hash_limits import Limits

    try:
        if not os.path.isfile(path) or os.path.getsize(path) < TRIVIAL or Limits().forbid(path):
            return None
        digest, _ = sha256(path)
    except (Unread, OSError):
        return None
    query = f"""SELECT ?v ?modified ?path ?maker {{ ?v provio:sha256 {literal(digest)} ; provio:modified ?modified ;
        prov:specializationOf/(provio:path|provio:pathEncoded) ?path OPTIONAL {{ ?v prov:wasGeneratedBy ?maker }} }}"""
    rows = sorted(reader.table(query), key=lambda row: (not row[3], row[1], row[0], row[2]))
    others = {version for version, _, _, maker in rows if maker} - {rows[0][0]} if rows else set()
    return (rows[0][0], relative(rows[0][2]), rows[0][1], len(others)) if rows else None


def _remark(reader: Reader, version: str, path: bytes, time: str) -> str | None:
    """Return the remark on a file that is not the version that was recorded last; None if the content is the same."""
    from provio.ask.content import CHANGED, MISSING, NOT_COMPARED, UNKNOWN, Contents

    found = Contents(reader).file(version, path)
    remarks = {
        CHANGED: f"changed since it was recorded at {time}",
        UNKNOWN: f"{NOT_COMPARED} since {time}: {found.reason}",
        MISSING: f"no longer there; recorded at {time}",
    }
    return remarks.get(found.state)


def is_recorded(reader: Reader, iri: str) -> bool:
    """Return whether a store contains a version."""
    query = f"SELECT ?t {{ <{iri}> a ?t . FILTER EXISTS {{ <{iri}> prov:specializationOf ?f }} }} LIMIT 1"
    return next(iter(reader.rows(query)), None) is not None


def _check_iri(text: str) -> None:
    if re.search(r'[\x00-\x20<>"{}|^`\\\ud800-\udfff]', text):
        raise NothingKnown(f"{_show(os.fsencode(text))} is neither a file here nor an IRI")


def _known_iri(reader: Reader, text: str) -> Target:
    _check_iri(text)
    if next(iter(reader.rows(f"SELECT ?t {{ <{text}> a ?t }} LIMIT 1")), None) is None:
        from provio.ask import suggestions

        raise suggestions.nothing_known(reader, text)
    newest = _newest_of(reader, f"VALUES ?file {{ <{text}> }}")
    return Target(newest[0] if newest else text)


def _names(paths: Iterable[bytes]) -> str:
    """Return a SPARQL pattern that binds ?file to the files of these paths."""
    names = []
    for path in dict.fromkeys(paths):
        try:
            names.append(f"{{ ?file provio:path {literal(path.decode('utf-8'))} }}")
        except UnicodeDecodeError:
            names.append(f"{{ ?file provio:pathEncoded {literal(path_iri(path))} }}")
    return " UNION ".join(names)


def newest_at(reader: Reader, paths: Iterable[bytes]) -> tuple[str, str] | None:
    """Return the newest recorded version with one of these names, and its modification time; None if there is none."""
    return _newest_of(reader, _names(paths))


def _newest_of(reader: Reader, files: str) -> tuple[str, str] | None:
    query = f"""SELECT ?version ?modified {{ {files}
        ?version prov:specializationOf ?file ; provio:modified ?modified }} ORDER BY DESC(?modified) ?version LIMIT 1"""
    row = next(iter(reader.rows(query)), None)
    return (row["version"], row["modified"]) if row else None


def _gap_of(reader: Reader, path: bytes) -> str:
    """Return the reason of a gap if a file was changed before its content at the end of a run could be determined."""
    begins = literal(f"{path.decode('utf-8', 'replace')} was changed after the run")
    query = f"SELECT ?reason {{ ?gap provio:reason ?reason FILTER(STRSTARTS(?reason, {begins})) }} LIMIT 1"
    return next((row["reason"] for row in reader.rows(query)), "")


def files(text: str) -> tuple[str, str | None]:
    """Return a SPARQL pattern that binds ?file to the file of a path or IRI, and the path."""
    if is_iri(text):
        _check_iri(text)
        return f"{{ BIND(<{text}> AS ?file) }} UNION {{ <{text}> prov:specializationOf ?file }}", None
    full = os.path.abspath(os.fsencode(text))
    return _names([full, os.path.realpath(full)]), full.decode("utf-8", "replace")


def is_iri(text: str) -> bool:
    """Return whether a text is an IRI and not the name of an existing file."""
    return re.match(r"(https?|file|urn):", text) is not None and not os.path.lexists(text)


def _show(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


# The version that a path contains now, identified by `stat` alone.


def current_version(path: bytes) -> str | None:
    """Return the IRI of the version that a path contains now; None if there is no file."""
    try:
        facts = statx.facts(path)
    except (OSError, ValueError):
        return None
    return version_iri(domain(os.path.realpath(path), facts), facts) if facts else None


def current_versions(paths: Iterable[bytes]) -> dict[bytes, str | None]:
    """Return the IRI of the version at each path; None if there is no file, or none that can be reached. Links are
    resolved once for each device: all its mounts hold the same storage."""
    domains: dict[str, str] = {}
    found: dict[bytes, str | None] = {}
    for path in paths:
        try:
            facts = statx.facts(path)
        except (OSError, ValueError):
            found[path] = None
            continue
        if facts.device not in domains:
            domains[facts.device] = domain(os.path.realpath(path), facts)
        found[path] = version_iri(domains[facts.device], facts)
    return found


def domain_of(path: bytes) -> str | None:
    """Return the storage domain of a path, or if it does not exist, of its nearest existing parent folder; None if
    there is none."""
    while True:
        try:
            facts = statx.facts(path)
        except (OSError, ValueError):
            facts = None
        if facts:
            return domain(os.path.realpath(path), facts)
        if os.path.dirname(path) == path:
            return None
        path = os.path.dirname(path)


def domain(path: bytes, facts: Facts) -> str:
    """Return the storage domain of a real path, by the mounts that this machine has now."""
    known = [mount for mount in _mounts(facts.device) if path.startswith(mount.point)]
    named = max(known, key=lambda mount: len(mount.point), default=None)
    return domain_segment(named.domain if named else f"{statx.machine_domain()}.{facts.device}")


@cache
def _mounts(device: str) -> list[statx.Mount]:
    domains = load.load(project_folders(), forgive=lambda _: None).domains
    return list(statx.mounts({device}, domains))
