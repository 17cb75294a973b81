"""What a name has held, as far as it was recorded: the name's File nodes and a store in, its versions in time out.

A name holds a version from the moment it was written under that name, renamed to it, or had its times set; until it
was renamed away or deleted, or the name got the next one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from provio.describe import PREFIXES, batches
from provio.store import Reader

GIVEN = ("Rename", "Link", "SetTimes")


@dataclass(frozen=True)
class Held:
    """A version that a name held: from `since` on; `made` and `seen` are the graphs in which that was."""

    iri: str
    since: datetime
    until: tuple[datetime, str] | None = None
    made: frozenset[str] = frozenset()
    seen: frozenset[str] = frozenset()


@dataclass
class _Facts:
    """What one run's graph says of a version under the name: whether it is its last there, and what befell it."""

    last: bool
    modified: datetime
    made: bool = False
    events: dict[str, datetime] = field(default_factory=dict)


def held(reader: Reader, files: str) -> list[Held]:
    """Return the versions of the files that a SPARQL pattern binds to `?file`, by the time the name got them."""
    facts = _facts(reader, files)
    versions = [_held(iri, of_runs) for iri, of_runs in facts.items()]
    return sorted(versions, key=lambda one: (one.since, "~" not in one.iri, one.iri))


def _held(iri: str, of_runs: dict[str, _Facts]) -> Held:
    modified = next(iter(of_runs.values())).modified
    since = [start for facts in of_runs.values() if (start := _given(facts))]
    until = [end for facts in of_runs.values() if (end := _taken(facts))]
    made = frozenset(graph for graph, facts in of_runs.items() if facts.made)
    return Held(iri, min(since, default=modified), min(until, default=None), made, frozenset(of_runs))


def _given(facts: _Facts) -> datetime | None:
    """When a run gave the name to the version; None where it only found it there."""
    times = [facts.events[kind] for kind in GIVEN if kind in facts.events] if facts.last else []
    return max([*times, facts.modified]) if times or facts.made else None


def _taken(facts: _Facts) -> tuple[datetime, str] | None:
    """When a run took the name from the version, and how."""
    if not facts.last and "Rename" in facts.events:
        return facts.events["Rename"], "renamed"
    return (facts.events["Delete"], "deleted") if "Delete" in facts.events else None


def _facts(reader: Reader, files: str) -> dict[str, dict[str, _Facts]]:
    query = f"""{PREFIXES} SELECT DISTINCT ?graph ?version ?modified ?path ?own ?made {{ GRAPH ?graph {{ {files}
        ?version prov:specializationOf ?file ; provio:modified ?modified .
        OPTIONAL {{ ?file provio:path ?path }} OPTIONAL {{ ?version provio:path ?own }}
        OPTIONAL {{ ?version prov:wasGeneratedBy ?made }} }} }}"""
    found: dict[str, dict[str, _Facts]] = defaultdict(dict)
    for row in reader.rows(query):
        last = "own" not in row or row["own"] == row.get("path")
        facts = _Facts(last, datetime.fromisoformat(row["modified"]), "made" in row)
        found[row["version"]][row["graph"]] = facts
    for iri, graph, kind, start in _events(reader, found):
        if graph in found[iri]:
            events = found[iri][graph].events
            events[kind] = max(events.get(kind, start), start)
    return found


def _events(reader: Reader, versions: Iterable[str]) -> Iterable[tuple[str, str, str, datetime]]:
    """What happened to these versions' names: (version, graph, the activity's class, when)."""
    for batch in batches(versions):
        for predicate, kinds in (("provio:wasModifiedBy", GIVEN), ("prov:wasInvalidatedBy", ("Delete",))):
            query = f"""{PREFIXES} SELECT ?version ?graph ?kind ?start {{
                VALUES ?version {{ {" ".join(f"<{iri}>" for iri in batch)} }}
                VALUES ?kind {{ {" ".join("provio:" + kind for kind in kinds)} }}
                GRAPH ?graph {{ ?version {predicate} ?io . ?io a ?kind ; prov:startedAtTime ?start }} }}"""
            for row in reader.rows(query):
                kind = row["kind"].rpartition("#")[2]
                yield row["version"], row["graph"], kind, datetime.fromisoformat(row["start"])
