"""Derive from equal SHA-256 hashes which versions, in all runs, have the same content.

A version that no recorded program made, with the name and content of an earlier one, is `prov:alternateOf` that: the
file was touched or restored, or its project was copied. Other versions are `provio:sameContentAs` the first of them
that was made. This is no tie of lineage: equal content can have different origins. But if no recorded program made a
version, and exactly one earlier version with its content was made by one, the content comes from that version
(`provio:contentFrom`, `prov:alternateOf`), unless the content is older; for several such versions there is a Gap.
Contents of a few bytes are often equal by chance: they continue only a version with the same time, too. A version with
several hashes has had several contents: a Gap.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from provio.base import turtle
from provio.base.vocab import NS, PROV
from provio.graph.lines import Graph
from provio.merge.cross_run.facts import CONTENT, Facts
from provio.store import Writer

HASH = NS + "sha256"
TIES = (PROV + "alternateOf", NS + "sameContentAs", NS + "contentFrom")
TRIVIAL = 16  # bytes: a smaller content shows no origin
COPIED = "~copied"
REPLACED = "~replaced"  # suffix of a version's IRI: the Gap for another content with the same times and size


def touched(store: Writer, *graphs: str) -> dict[str, set[str]]:
    """Return the hashes of the versions in runs' graphs, each with all versions that have this hash."""
    if not store.has(HASH):
        return {}
    versions = {version for graph in graphs for version in store.versions.of(store.listed(graph))}
    hashes = {value for version in versions for value, _ in store.objects(version, HASH)}
    return {value: set(store.subjects_with_text(HASH, value)) for value in hashes}


def update(store: Writer, graph: str | None, before: dict[str, set[str]]) -> bool:
    """Derive the triples about equal content again, for the versions that a run's graph contains now (None: the graph
    is removed) or contained `before`; return whether there are any triples."""
    now = {value: set(store.subjects_with_text(HASH, value)) for value in before} | (
        touched(store, graph) if graph else {}
    )
    stale = set().union(*before.values(), *now.values())
    store.remove_statements(CONTENT, list(_derived(store, stale)))
    facts = Facts(store)
    lines = [line for value in sorted(now) for line in _conclude(facts, now[value])]
    lines += _replaced(facts, stale)
    store.add(CONTENT, lines)
    return bool(lines)


def _derived(store: Writer, versions: Iterable[str]) -> Iterable[tuple[str, str, str]]:
    for version in versions:
        for tie in TIES:
            yield from ((version, tie, other) for other, graph in store.objects(version, tie) if graph == CONTENT)
        for gap in (COPIED, REPLACED):
            yield from store.about(CONTENT, version + gap)


def _replaced(facts: Facts, versions: Iterable[str]) -> list[str]:
    """Return the Gaps of the versions that have several hashes."""
    graph = Graph()
    reason = "other content had the same time and size: its SHA-256 differs, and the change was not seen"
    for version in sorted(versions):
        if len(facts.values(version, "sha256")) > 1:
            graph.node(version + REPLACED, "Gap", ("reason", turtle.literal(reason)), ("about", f"<{version}>"))
    return graph.lines


def _conclude(facts: Facts, versions: set[str]) -> list[str]:
    graph = Graph()
    known = [version for version in versions if _times(version)[2]]
    retimed = {version for version in known if _alternates(facts, version)}
    made = {version for version in known if version not in retimed and _made(facts, version)}
    known.sort(key=lambda version: (version not in made, _times(version), version))
    again = _again(facts, known, made, retimed)
    for version in known[1:]:
        if version in again:
            graph.add(version, ("prov:alternateOf", f"<{again[version]}>"))
        elif known[0] not in _alternates(facts, version):  # such an alternate is a tie of lineage
            graph.add(version, ("sameContentAs", f"<{known[0]}>"))
    for version in known if _have_origin(known, made, retimed) else ():
        if version not in made | retimed | again.keys():
            _origin(graph, version, sorted(one for one in made if _begin(one) < _begin(version)))
    return graph.lines


def _again(facts: Facts, known: list[str], made: set[str], retimed: set[str]) -> dict[str, str]:
    """Return the versions that were not made, each with the last version before it that had the same name: the file was
    copied with its project, restored, or touched, and its lineage continues. A content of a few bytes must also have
    the same modification time."""
    if made.union(retimed).issuperset(known):
        return {}
    at_path: dict[str, list[str]] = {}
    for version in sorted(known, key=lambda version: (_begin(version), version not in made, version)):
        for path in _paths(facts, version):
            at_path.setdefault(path, []).append(version)
    pairs = (pair for versions in at_path.values() for pair in pairwise(versions))
    again = ((version, earlier) for earlier, version in sorted(pairs) if version not in made | retimed)
    return {one: earlier for one, earlier in again if _times(one)[2] >= TRIVIAL or _times(one)[1] == _times(earlier)[1]}


def _paths(facts: Facts, version: str) -> set[str]:
    files = facts.values(version, "prov:specializationOf")
    return {path for file in files for word in ("path", "pathEncoded") for path in facts.values(file, word)}


def _have_origin(known: list[str], made: set[str], retimed: set[str]) -> bool:
    """Return whether versions of a content may come from one that was made: no other version is older than these (a
    file that was touched after programs had copied it is no copy), and the content is not a trivial one."""
    first = min(map(_begin, made), default=0)
    older = (version for version in known if version not in made | retimed and _begin(version) < first)
    return bool(made) and _times(known[0])[2] >= TRIVIAL and next(older, None) is None


def _origin(graph: Graph, version: str, earlier: list[str]) -> None:
    """Add the origin of the content of a version that was not observed being made: a version that was made before
    this one existed."""
    if len(earlier) == 1:
        first = f"<{earlier[0]}>"
        graph.add(version, ("prov:alternateOf", first), ("sameContentAs", first), ("contentFrom", first))
    elif earlier:
        reason = f"has the content that {len(earlier)} recorded files had before it: which it comes from is not known"
        graph.node(version + COPIED, "Gap", ("reason", turtle.literal(reason)), ("about", f"<{version}>"))


def _times(version: str) -> tuple[int, int, int]:
    """Return the birth and modification time (ns since 1970) and the size (bytes) from a version's IRI."""
    _, birth, mtime, size = version.rpartition("/")[2].split(".")
    return int(birth), int(mtime), int(size)


def _begin(version: str) -> int:
    """Return the time (ns since 1970) since which a version exists, at the earliest: copies may keep an older one."""
    return max(_times(version)[:2])


def _made(facts: Facts, version: str) -> bool:
    """Return whether a recorded program made a version, or wrote to it."""
    return any(facts.store.objects(version, word) for word in (PROV + "wasGeneratedBy", NS + "wasWrittenBy"))


def _alternates(facts: Facts, version: str) -> set[str]:
    """Return the versions that a call turned into this one, or this one into, by setting its times. (The times then
    do not show when the version was made.)"""
    of = facts.all(version, "prov:alternateOf") + facts.subjects("prov:alternateOf", version)
    return {other for other, _ in of}
