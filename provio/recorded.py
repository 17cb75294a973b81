"""What should be there: a store in, the version that each name held when it was last seen out.

A name holds the version that was last seen under it, until a recorded program deleted or renamed it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import unquote_to_bytes

from provio.describe import PREFIXES
from provio.store import Reader
from provio.turtle import literal, path_iri
from provio.vocab import RUN_BASE

VERSIONS = """ ?v prov:specializationOf ?f ; provio:modified ?modified .
    OPTIONAL { ?f provio:path ?path } OPTIONAL { ?f provio:pathEncoded ?coded }
    OPTIONAL { ?v provio:path ?last } OPTIONAL { ?v provio:pathEncoded ?lastCoded } """
SEEN = "provio:wasReadBy|provio:wasWrittenBy|provio:wasOpenedBy|provio:wasModifiedBy"


@dataclass(frozen=True)
class Recorded:
    """What a name held: the version, the run that saw it last, and when (an xsd:dateTime, at least)."""

    path: bytes
    version: str
    run: str
    seen: str
    made: bool


@dataclass(frozen=True)
class Removal:
    """A name that a run deleted or renamed (to `to`)."""

    path: bytes
    time: str
    run: str
    how: str
    to: bytes


def last_held(reader: Reader, run: str | None = None, paths: Iterable[bytes] = ()) -> list[Recorded]:
    """Return what each name held when it was last seen: of all names, those of one run's files, or some paths."""
    graph = f"VALUES ?g {{ <{RUN_BASE}{run}/bundle> }} " if run else ""
    asked = " UNION ".join(map(_named, paths))
    rows = list(reader.rows(f"{PREFIXES} SELECT DISTINCT * {{ {graph}{asked} GRAPH ?g {{ {VERSIONS} }} }}"))
    # Of a few names, no more is read of the store than what concerns them.
    which = graph + (f"VALUES ?v {{ {' '.join({'<' + row['v'] + '>' for row in rows})} }} " if asked else "")
    seen, made, before = _seen(reader, which), _made(reader, which), _before(reader, which)
    noise = _noise(reader, which) - made
    newest: dict[bytes, Recorded] = {}
    for row in rows:
        key = row["g"], row["v"]
        part = "~" in row["v"].rpartition("/")[2]  # of a content, or one on its way: never what a name holds in the end
        if part or not row["g"].endswith("/bundle") or key in before or key in noise:
            continue
        path = _bytes(row, "path", "coded")
        own = path if asked else _bytes(row, "last", "lastCoded") or path
        moment = max(seen.get(key, ""), row["modified"])
        found = Recorded(own, row["v"], _run(row["g"]), moment, key in made)
        if own not in newest or (newest[own].seen, newest[own].run) < (moment, found.run):
            newest[own] = found
    return [newest[path] for path in sorted(newest)]


def removals(reader: Reader) -> dict[bytes, list[Removal]]:
    """Return what was deleted or renamed, by its name."""
    found: dict[bytes, list[Removal]] = {}
    for kind, word, how in (("Delete", "path", "deleted"), ("Rename", "from", "renamed")):
        query = f"""{PREFIXES} SELECT ?g ?time ?path ?coded ?to ?toCoded {{ GRAPH ?g {{ ?e a provio:{kind} ;
            prov:startedAtTime ?time OPTIONAL {{ ?e provio:{word} ?path }}
            OPTIONAL {{ ?e provio:{word}Encoded ?coded }} OPTIONAL {{ ?e provio:to ?to }}
            OPTIONAL {{ ?e provio:toEncoded ?toCoded }} }} }}"""
        for row in reader.rows(query):
            to = _bytes(row, "to", "toCoded")
            gone = Removal(_bytes(row, "path", "coded"), row["time"], _run(row["g"]), how, to)
            found.setdefault(gone.path, []).append(gone)
    return found


def removed(recorded: Recorded, gone: dict[bytes, list[Removal]]) -> Removal | None:
    """Return what took the name, or a folder above it, away after it was last seen."""
    path = recorded.path
    while path not in (b"", b"/"):
        later = [one for one in gone.get(path, ()) if one.time > recorded.seen]
        if later:
            return min(later, key=lambda one: one.time)
        path = path.rpartition(b"/")[0]
    return None


def followed(recorded: Recorded, gone: dict[bytes, list[Removal]]) -> tuple[Recorded, Removal | None]:
    """Return where a file is after all recorded renames, and what deleted it in the end, where something did."""
    while (end := removed(recorded, gone)) and end.to:
        recorded = replace(recorded, path=end.to + recorded.path[len(end.path) :], seen=end.time)
    return recorded, end


def names_of(reader: Reader, version: str) -> list[Recorded]:
    """Return the names that a version has been recorded under."""
    query = f"{PREFIXES} SELECT DISTINCT * {{ VALUES ?v {{ <{version}> }} GRAPH ?g {{ {VERSIONS} }} }}"
    return [
        Recorded(_bytes(row, "path", "coded"), version, _run(row["g"]), row["modified"], False)
        for row in reader.rows(query)
    ]


def makers(reader: Reader, version: str) -> list[str]:
    """Return the runs that made a version, first one first."""
    query = f"{PREFIXES} SELECT DISTINCT ?g {{ GRAPH ?g {{ <{version}> prov:wasGeneratedBy|provio:wasWrittenBy ?a }} }}"
    return sorted(_run(row["g"]) for row in reader.rows(query) if row["g"].endswith("/bundle"))


def hash_of(reader: Reader, version: str) -> str:
    """Return the recorded SHA-256 of a version; empty where there is none."""
    query = f"{PREFIXES} SELECT ?hash {{ <{version}> provio:sha256 ?hash }} LIMIT 1"
    return next((row["hash"] for row in reader.rows(query)), "")


def _seen(reader: Reader, graph: str) -> dict[tuple[str, str], str]:
    query = f"""{PREFIXES} SELECT ?g ?v (MAX(?time) AS ?last) {{ {graph} GRAPH ?g {{
        ?v {SEEN} ?io . ?io prov:startedAtTime ?time }} }} GROUP BY ?g ?v"""
    return {(row["g"], row["v"]): row["last"] for row in reader.rows(query) if "v" in row}


def _made(reader: Reader, graph: str) -> set[tuple[str, str]]:
    query = f"""{PREFIXES} SELECT DISTINCT ?g ?v {{ {graph} GRAPH ?g {{
        ?v prov:wasGeneratedBy|provio:wasWrittenBy ?a ; prov:specializationOf ?f }} }}"""
    return {(row["g"], row["v"]) for row in reader.rows(query)}


def _noise(reader: Reader, graph: str) -> set[tuple[str, str]]:
    """The system's own files, as each run has it: it used them as noise alone."""
    query = f"{PREFIXES} SELECT DISTINCT ?g ?v {{ {graph} GRAPH ?g {{ %s }} }}"
    noise = "{ ?by provio:usedAsNoise|provio:ranAsNoise ?v } UNION { ?v provio:wasOpenedBy/provio:noise true }"
    found = {(row["g"], row["v"]) for row in reader.rows(query % noise)}
    return found - {(row["g"], row["v"]) for row in reader.rows(query % "?by prov:used|provio:ran ?v")}


def _before(reader: Reader, graph: str) -> set[tuple[str, str]]:
    """What a version was before its times were set."""
    query = f"{PREFIXES} SELECT ?g ?v {{ {graph} GRAPH ?g {{ ?after prov:alternateOf ?v ; provio:modified ?m }} }}"
    return {(row["g"], row["v"]) for row in reader.rows(query)}


def _named(path: bytes) -> str:
    try:
        return f"{{ ?f provio:path {literal(path.decode('utf-8'))} }}"
    except UnicodeDecodeError:
        return f"{{ ?f provio:pathEncoded {literal(path_iri(path))} }}"


def _bytes(row: dict[str, str], plain: str, coded: str) -> bytes:
    if plain in row:
        return row[plain].encode("utf-8", "surrogateescape")
    return unquote_to_bytes(row.get(coded, ""))


def _run(graph: str) -> str:
    return graph.removeprefix(RUN_BASE).partition("/")[0]
