"""Earlier versions of files: a path or IRI, a time or a run, and a store in; the selected version out."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from provio.ask import incomplete, run_uses
from provio.ask.target import Target, files, is_iri
from provio.base.errors import NothingKnown
from provio.base.text import moment
from provio.base.turtle import literal
from provio.store import Reader

# The recorded history of a name: its File nodes and a store in, its versions in order of time out.


@dataclass(frozen=True)
class VersionAtName:
    """A version that a name held from `since` on; `made` are the runs that made it, `seen` those that know it."""

    iri: str
    since: datetime
    until: tuple[datetime, str] | None = None
    made: frozenset[str] = frozenset()
    seen: frozenset[str] = frozenset()


@dataclass
class _Facts:
    """The actions of one run on a version under the name: `came` is the time it got the name, if the run set it."""

    made: bool = False
    came: datetime | None = None


@dataclass
class _Name:
    """The events of a name: `came` (time, old name, version if stated, run) and `went` (time, kind of event)."""

    paths: frozenset[str]
    came: list[tuple[datetime, str, str | None, str]] = field(default_factory=list)
    went: list[tuple[datetime, str]] = field(default_factory=list)

    def end(self, since: datetime) -> tuple[datetime, str] | None:
        """Return the time at which the name lost the version that it held since then, and the kind of event."""
        return min((one for one in self.went if one[0] >= since), default=None)


def versions_at_name(
    reader: Reader, files: str, paths: Iterable[str] = (), seen: frozenset[str] = frozenset()
) -> list[VersionAtName]:
    """Return the versions of the files that a SPARQL pattern binds to `?file`, by the time at which the name got
    them.

    `paths` are names that may have no File; `seen` are the names queried before, to stop at a cycle of renames.
    """
    facts = _facts(reader, files)
    found = reader.rows(f"SELECT DISTINCT ?path {{ {files} ?file provio:path ?path }}")
    name = _name(reader, frozenset([*paths, *(row["path"] for row in found)]) - seen)
    moved = {
        version: start for start, _, version, _ in sorted(name.came, key=lambda one: one[0], reverse=True) if version
    }
    versions = [_version_at_name(iri, *of_version, moved.get(iri), name) for iri, of_version in facts.items()]
    earlier: dict[str, list[VersionAtName]] = {}  # each queried once: a log is rotated from the same name repeatedly
    for start, old, version, run in name.came:
        if version is None:
            if old not in earlier:
                earlier[old] = versions_at_name(reader, f"?file provio:path {literal(old)} .", [old], seen | name.paths)
            before = [one for one in earlier[old] if one.since <= start]
            versions += [
                VersionAtName(one.iri, start, name.end(start), frozenset(), frozenset([run])) for one in before[-1:]
            ]
    return sorted(versions, key=lambda one: (one.since, "~" not in one.iri, one.iri))


def _version_at_name(
    iri: str, modified: datetime, of_runs: dict[str, _Facts], moved: datetime | None, name: _Name
) -> VersionAtName:
    """Return a version with its start: the time at which it was moved to the name, made under it, or first found
    there."""
    made = frozenset(run for run, facts in of_runs.items() if facts.made)
    came = [facts.came for facts in of_runs.values() if facts.came]
    since = moved or max([modified, *([min(came)] if came else [])])
    return VersionAtName(iri, since, name.end(since), made, frozenset(of_runs))


def _facts(reader: Reader, files: str) -> dict[str, tuple[datetime, dict[str, _Facts]]]:
    """Return the modification time of each version under the name, and the actions of each run on it."""
    query = f"""SELECT DISTINCT ?version ?modified {{ {{ SELECT DISTINCT ?version {{ {files}
        ?version prov:specializationOf ?file }} }} ?version provio:modified ?modified }}"""
    found: dict[str, tuple[datetime, dict[str, _Facts]]] = {
        row["version"]: (datetime.fromisoformat(row["modified"]), defaultdict(_Facts)) for row in reader.rows(query)
    }
    for version, runs in run_uses.runs(reader, found).items():
        for run in runs:
            found[version][1][run] = _Facts()
    for version, activity in run_uses.pairs(reader, "?v prov:wasGeneratedBy ?a", found):
        found[version][1][run_uses.run_of(activity)].made = True
    for which in run_uses.values("version", found):
        query = f"""SELECT DISTINCT ?version ?io ?start {{ {which}
            ?version provio:wasModifiedBy ?io . ?io a provio:SetTimes ; prov:startedAtTime ?start }}"""
        for row in reader.rows(query):
            facts = found[row["version"]][1][run_uses.run_of(row["io"])]
            start = datetime.fromisoformat(row["start"])
            facts.came = max(facts.came or start, start)
    return found


def _name(reader: Reader, paths: frozenset[str]) -> _Name:
    """Return the renames, links and deletions of these paths."""
    name = _Name(paths)
    if not paths:
        return name
    values = " ".join(literal(path) for path in sorted(paths))
    query = f"""SELECT DISTINCT ?io ?from ?start ?version {{ VALUES ?to {{ {values} }}
        VALUES ?kind {{ provio:Rename provio:Link }} ?io provio:to ?to ; provio:from ?from ; a ?kind ;
        prov:startedAtTime ?start . OPTIONAL {{ ?version provio:wasModifiedBy ?io }} }}"""
    for row in reader.rows(query):
        start = datetime.fromisoformat(row["start"])
        name.came.append((start, row["from"], row.get("version"), run_uses.run_of(row["io"])))
    for kind, predicate, how in (("Rename", "from", "renamed"), ("Delete", "path", "deleted")):
        query = f"""SELECT DISTINCT ?start {{ VALUES ?path {{ {values} }}
            ?io provio:{predicate} ?path ; a provio:{kind} ; prov:startedAtTime ?start }}"""
        name.went += [(datetime.fromisoformat(row["start"]), how) for row in reader.rows(query)]
    return name


def target_at(reader: Reader, text: str, time: datetime) -> Target:
    """Return the version that the file named by `text` had at a time; raises NothingKnown if none is recorded."""
    versions, path = _history(reader, text)
    known = [version for version in versions if version.since <= time]
    if not known:
        first = f"; its first recorded version is of {_utc(versions[0].since)}" if versions else ""
        why = incomplete.until(reader, os.fsencode(path or text), time.timestamp())
        also = f"; {why}" if why else ""
        raise NothingKnown(f"nothing is recorded of {path or text} as early as {_utc(time)}{first}{also}")
    found = known[-1]
    end = found.until if found.until and found.since <= found.until[0] <= time else None
    return Target(found.iri, f"no longer there by then: {end[1]} at {_utc(end[0])}" if end else None, path)


def target_of_run(reader: Reader, text: str, run: str) -> Target:
    """Return the last version of the file named by `text` that a run (by id) made; if it made none, the last one it
    used.

    Raises NothingKnown if the run neither made nor used it.
    """
    versions, path = _history(reader, text)
    seen = [version for version in versions if run in version.seen]
    made = [version for version in seen if run in version.made]
    if not seen:
        why = incomplete.of_run(reader, run)
        done = "is not recorded to have made or used" if why else "neither made nor used"
        raise NothingKnown(f"run {run} {done} {path or text}: {why or f'provio show {run} lists its files'}")
    return Target((made or seen)[-1].iri, None, path)


def all_versions(reader: Reader, text: str, target: Target) -> list[str]:
    """Return every recorded version of the file named by `text`, the target's own first; for an IRI only that one."""
    others = [] if is_iri(text) else _history(reader, text)[0]
    return list(dict.fromkeys([target.iri, *(version.iri for version in others)]))


def _history(reader: Reader, text: str) -> tuple[list[VersionAtName], str | None]:
    pattern, path = files(text)
    return versions_at_name(reader, pattern, [path] if path else []), path


def _utc(time: datetime) -> str:
    return moment(time.isoformat())
