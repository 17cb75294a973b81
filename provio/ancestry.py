"""Lineage questions: a target and a store in, a lineage document out (`provio.document`).

Backward asks what a version was made from, forward what was made from it. Each ancestor is marked by its strongest way:
data (used by the phase that generated), carried (by an earlier phase of the same process, or before its fork), control
(by the process that launched it). A way is as strong as its weakest step.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from urllib.parse import unquote_to_bytes

from provio import environment, statx
from provio.document import Edge, Gap, LineageDocument, Node, Via
from provio.errors import NothingKnown
from provio.identity import domain_segment, version_iri
from provio.store import Reader
from provio.trace import Facts
from provio.turtle import literal, path_iri
from provio.vocab import NS, PROV, local_name, most_specific

STRENGTH: tuple[Via, ...] = ("data", "carried", "control")
BATCH = 500
PREFIXES = f"PREFIX provio: <{NS}> PREFIX prov: <{PROV}> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
# How a step weakens what it leads to: an index into STRENGTH.
WEIGHTS = {NS + "carriedFrom": 1, NS + "launchedBy": 2}


@dataclass(frozen=True)
class Target:
    """What is asked about: a version's IRI, a word where that is not what is there, and the path asked by."""

    iri: str
    changed: str | None = None
    path: str | None = None


@dataclass
class Walk:
    """The part of the graph that a walk found: edges as asserted, and for each node the steps to it."""

    start: str
    forward: bool
    edges: dict[tuple[str, str, str], None] = field(default_factory=dict)
    activities: set[str] = field(default_factory=set)
    entities: dict[str, int] = field(default_factory=dict)

    def steps(self) -> Iterator[tuple[str, str, int]]:
        """Yield (from, to, weight) in the walk's direction."""
        for subject, predicate, object_ in self.edges:
            weight = WEIGHTS.get(predicate, 0)
            yield (object_, subject, weight) if self.forward else (subject, object_, weight)
            if predicate == PROV + "alternateOf":
                yield (subject, object_, 0) if self.forward else (object_, subject, 0)


def find_target(reader: Reader, text: str) -> Target:
    """Return the version that `text` (a path, or an IRI) names; raises NothingKnown where no store knows it.

    A path is asked as the content it has now. Where the store does not know that, the newest recorded version under
    that name answers, and the target says so.
    """
    if re.match(r"(https?|file|urn):", text) and not os.path.lexists(text):
        return _known_iri(reader, text)
    if not text:
        raise NothingKnown("no file was named: provio lineage PATH")
    path = os.fsencode(text)
    full = os.path.abspath(path)
    try:
        facts = statx.facts(path)
    except OSError:
        facts = None
    if facts:
        domain = _domain(os.path.realpath(path), facts)
        iri = version_iri(domain, facts)
        if _exists(reader, iri):
            return Target(iri, None, full.decode("utf-8", "replace"))
    newest = _newest_version(reader, [full, os.path.realpath(path)])
    if newest is None:
        raise NothingKnown(
            f"nothing is recorded of {_show(full)}: run what makes or reads it under provio (provio run -- COMMAND)"
        )
    word = "changed since it was recorded" if facts else "no longer there; recorded"
    return Target(newest[0], f"{word} at {newest[1]}", full.decode("utf-8", "replace"))


def lineage(
    reader: Reader,
    target: Target,
    *,
    forward: bool = False,
    depth: int | None = None,
    via: Via = "carried",
    everything: bool = False,
) -> LineageDocument:
    """Return the lineage of a target: what is shown reaches it at least as strongly as `via`.

    `depth` bounds the entity-to-entity steps; `everything` shows system files too. (DESIGN: nodes are entities, phases,
    copies and programs; edges are asserted triples.)
    """
    walk = _walk(reader, target.iri, forward, depth)
    strengths = _strengths(walk)
    limit = STRENGTH.index(via)
    shown = {iri for iri, strength in strengths.items() if strength <= limit}
    made = {subject for subject, predicate, _ in walk.edges if predicate == PROV + "wasGeneratedBy"}
    gone = set() if everything else _noise(reader, shown & set(walk.entities)) - made - {target.iri}
    gone |= _dead_ends(walk, shown - gone)
    shown -= gone
    nodes = _describe(reader, shown)
    for node in nodes:
        node["via"] = STRENGTH[strengths[node["iri"]]]
        if node["iri"] in walk.entities:
            node["depth"] = walk.entities[node["iri"]]
        if node["iri"] == target.iri and target.path:
            node["path"], node["label"] = target.path, target.path.rpartition("/")[2]
    programs = _programs(reader, shown & walk.activities)
    _name_phases(nodes, programs)
    control = sum(1 for iri in walk.entities if strengths.get(iri) == 2 and limit < 2)
    document = LineageDocument(
        target=target.iri,
        nodes=sorted(nodes, key=_order) + programs[0],
        edges=_edges(walk, shown) + programs[1],
        gaps=_gaps(reader, shown),
        hidden=len(gone & walk.entities.keys()),
        control=control,
        direction="forward" if forward else "backward",
    )
    if target.changed:
        document["changed"] = target.changed
    return document


RUN_EDGES = (
    "prov:used prov:wasGeneratedBy provio:continuedFrom provio:carriedFrom provio:launchedBy "
    "prov:wasDerivedFrom prov:wasRevisionOf prov:alternateOf"
)


def run_document(reader: Reader, run: str, *, everything: bool = False) -> LineageDocument:
    """Return all that one run did, as a lineage document whose target is the run (its id)."""
    iri = f"https://w3id.org/provio/run/{run}"
    query = (
        f"""{PREFIXES} SELECT DISTINCT ?s ?p ?o {{ VALUES ?p {{ {RUN_EDGES} }} GRAPH <{iri}/bundle> {{ ?s ?p ?o }} }}"""
    )
    edges = {(row["s"], row["p"], row["o"]): None for row in reader.rows(query)}
    shown = {end for subject, _, object_ in edges for end in (subject, object_)} - {iri}
    made = {subject for subject, predicate, _ in edges if predicate == PROV + "wasGeneratedBy"}
    gone = set() if everything else _noise(reader, shown) - made
    shown -= gone
    nodes = _describe(reader, shown)
    programs = _programs(reader, shown)
    _name_phases(nodes, programs)
    return LineageDocument(
        target=iri,
        nodes=sorted(nodes, key=_order) + programs[0],
        edges=[Edge(subject=s, predicate=p, object=o) for s, p, o in sorted(edges) if s in shown and o in shown]
        + programs[1],
        gaps=_gaps(reader, shown),
        hidden=len(gone),
        control=0,
        direction="backward",
    )


def _order(node: Node) -> tuple[int, str, str]:
    return node.get("depth", -1), node.get("start", ""), node["iri"]


def _walk(reader: Reader, start: str, forward: bool, depth: int | None) -> Walk:
    """Follow the graph from an entity, level by level: entity → activity → (earlier activities) → entities."""
    walk = Walk(start, forward)
    walk.entities[start] = 0
    level, frontier = 0, [start]
    while frontier and (depth is None or level < depth):
        level += 1
        found, direct = _from_entities(reader, walk, frontier)
        activities = _informers(reader, walk, found - walk.activities)
        frontier = []
        for iri in sorted(direct | _to_entities(reader, walk, activities)):
            if iri not in walk.entities:
                walk.entities[iri] = level
                frontier.append(iri)
    return walk


def _from_entities(reader: Reader, walk: Walk, frontier: list[str]) -> tuple[set[str], set[str]]:
    """The activities and the other versions that entities lead to."""
    entities = "prov:wasDerivedFrom prov:wasRevisionOf prov:alternateOf"
    found = _edges_of(reader, walk, frontier, "prov:used" if walk.forward else "prov:wasGeneratedBy")
    direct = _edges_of(reader, walk, frontier, entities)
    direct |= _edges_of(reader, walk, frontier, "prov:alternateOf", against=True)
    return found, direct


def _to_entities(reader: Reader, walk: Walk, activities: Iterable[str]) -> set[str]:
    return _edges_of(reader, walk, sorted(activities), "prov:wasGeneratedBy" if walk.forward else "prov:used")


def _informers(reader: Reader, walk: Walk, activities: set[str]) -> set[str]:
    """All phases that these carry on or were launched by (forward: that carry these on)."""
    new, frontier = set(activities), set(activities)
    walk.activities |= activities
    while frontier:
        frontier = (
            _edges_of(reader, walk, sorted(frontier), "provio:continuedFrom provio:carriedFrom provio:launchedBy")
            - walk.activities
        )
        walk.activities |= frontier
        new |= frontier
    return new


def _edges_of(reader: Reader, walk: Walk, nodes: list[str], predicates: str, against: bool = False) -> set[str]:
    """Note the edges that lead on from `nodes`, and return where they lead.

    One predicate a query: a list of them beside a list of nodes is many times slower.
    """
    found = set()
    near, far = ("s", "o") if walk.forward is against else ("o", "s")
    for batch, predicate in product(_batches(nodes), predicates.split()):
        values = " ".join(f"<{iri}>" for iri in batch)
        query = f"{PREFIXES} SELECT DISTINCT ?s ?o {{ VALUES ?{near} {{ {values} }} ?s {predicate} ?o }}"
        prefix, _, name = predicate.partition(":")
        for row in reader.rows(query):
            walk.edges[row["s"], (PROV if prefix == "prov" else NS) + name, row["o"]] = None
            found.add(row[far])
    return found


def _batches(nodes: Iterable[str]) -> Iterator[list[str]]:
    known = list(nodes)
    for start in range(0, len(known), BATCH):
        yield known[start : start + BATCH]


def _strengths(walk: Walk) -> dict[str, int]:
    """Each node's strength as an index into STRENGTH: the least, over all ways, of the greatest weight on the way."""
    onward: dict[str, list[tuple[str, int]]] = {}
    for source, goal, weight in walk.steps():
        onward.setdefault(source, []).append((goal, weight))
    strengths: dict[str, int] = {}
    waiting: list[list[str]] = [[walk.start], [], []]
    for strength, queue in enumerate(waiting):
        while queue:
            iri = queue.pop()
            if iri not in strengths:
                strengths[iri] = strength
                for goal, weight in onward.get(iri, ()):
                    waiting[max(strength, weight)].append(goal)
    return strengths


def _dead_ends(walk: Walk, shown: set[str]) -> set[str]:
    """The phases that only carry what is not shown: no file leads to them, and they lead to none."""
    onward: dict[str, set[str]] = {}
    back: dict[str, set[str]] = {}
    for source, goal, _ in walk.steps():
        if source in shown and goal in shown:
            onward.setdefault(source, set()).add(goal)
            back.setdefault(goal, set()).add(source)
    dead: set[str] = set()
    waiting = [iri for iri in shown & walk.activities if iri not in onward]
    while waiting:
        iri = waiting.pop()
        if not back.get(iri, set()) & walk.entities.keys():
            dead.add(iri)
            for source in back.get(iri, ()):
                onward[source].discard(iri)
                if not onward[source] and source in walk.activities:
                    waiting.append(source)
    return dead


def _edges(walk: Walk, shown: set[str]) -> list[Edge]:
    return [
        Edge(subject=subject, predicate=predicate, object=object_)
        for subject, predicate, object_ in sorted(walk.edges)
        if subject in shown and object_ in shown
    ]


def _programs(reader: Reader, activities: set[str]) -> tuple[list[Node], list[Edge]]:
    edges = []
    for batch in _batches(sorted(activities)):
        values = " ".join(f"<{iri}>" for iri in batch)
        query = f"""{PREFIXES} SELECT DISTINCT ?a ?g {{
            VALUES ?a {{ {values} }} ?a prov:wasAssociatedWith ?g . ?g a provio:Program }}"""
        edges += [Edge(subject=r["a"], predicate=PROV + "wasAssociatedWith", object=r["g"]) for r in reader.rows(query)]
    nodes = _describe(reader, {edge["object"] for edge in edges})
    return sorted(nodes, key=_order), edges


def _name_phases(nodes: list[Node], programs: tuple[list[Node], list[Edge]]) -> None:
    """A phase has the name of its program."""
    labels = {node["iri"]: node["label"] for node in programs[0]}
    names = {edge["subject"]: labels[edge["object"]] for edge in programs[1]}
    for node in nodes:
        node["label"] = names.get(node["iri"], node["label"])


SINGLE = {
    PROV + "startedAtTime": "start", PROV + "endedAtTime": "end", NS + "size": "size", NS + "modified": "modified",
    NS + "path": "path", NS + "pathEncoded": "pathEncoded", NS + "argv": "argv", NS + "cwd": "cwd", NS + "host": "host",
    NS + "pid": "pid", NS + "exitCode": "exitCode",
}  # fmt: skip
NUMBERS = frozenset({"size", "pid", "exitCode"})


def _describe(reader: Reader, iris: set[str]) -> list[Node]:
    """Return the nodes of these IRIs, with what people want to know of them."""
    facts = _properties(reader, iris)
    upper = {row[NS + "partOf"][0] for row in facts.values() if NS + "partOf" in row}
    names = {file for row in facts.values() for file in row.get(PROV + "specializationOf", ())}
    around = _properties(reader, upper | names)
    nodes = []
    for iri in iris:
        row = facts.get(iri, {})
        node: dict[str, object] = {}
        for more in (row.get(PROV + "specializationOf", ()), row.get(NS + "partOf", ())):
            for other in sorted(more)[:1]:
                node.update(_fields(around.get(other, {})))
        if NS + "partOf" in row:
            node["process"] = row[NS + "partOf"][0]
        node.update(_fields(row))
        kind = most_specific(row.get("http://www.w3.org/1999/02/22-rdf-syntax-ns#type", ()))
        node.update(iri=iri, type=local_name(kind) if kind else "Entity")
        node["label"] = _label(iri, row, node)
        run = re.match(r"https://w3id\.org/provio/run/[^/]+", iri)
        if run:
            node["run"] = run[0]
        nodes.append(node)
    return nodes  # type: ignore[return-value]


def _fields(row: dict[str, list[str]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for predicate, values in row.items():
        name = SINGLE.get(predicate)
        if name:
            found[name] = int(values[0]) if name in NUMBERS else values[0]
    if "pathEncoded" in found and "path" not in found:
        found["path"] = unquote_to_bytes(str(found["pathEncoded"])).decode("utf-8", "replace")
    return found


def _label(iri: str, row: dict[str, list[str]], node: dict[str, object]) -> str:
    given = row.get("http://www.w3.org/2000/01/rdf-schema#label")
    if given:
        return given[0]
    path = str(node.get("path", ""))
    if node.get("type") in ("Pipe", "Socket") and not path:
        return str(node["type"]).lower()
    return path.rpartition("/")[2] or local_name(iri.rstrip("/")) or iri


def _properties(reader: Reader, iris: set[str]) -> dict[str, dict[str, list[str]]]:
    """What is said of each IRI: predicate → values, sorted. (To ask for some of them only takes far longer.)"""
    found: dict[str, dict[str, list[str]]] = {}
    for batch in _batches(sorted(iris)):
        values = " ".join(f"<{iri}>" for iri in batch)
        for row in reader.rows(f"SELECT DISTINCT ?s ?p ?o {{ VALUES ?s {{ {values} }} ?s ?p ?o }}"):
            found.setdefault(row["s"], {}).setdefault(row["p"], []).append(row["o"])
    for properties in found.values():
        for values_of in properties.values():
            values_of.sort()
    return found


def _noise(reader: Reader, entities: set[str]) -> set[str]:
    """Those of these versions that are the system's own files."""
    found: set[str] = set()
    for batch in _batches(sorted(entities)):
        values = " ".join(f"<{iri}>" for iri in batch)
        found |= {
            row["s"] for row in reader.rows(f"{PREFIXES} SELECT ?s {{ VALUES ?s {{ {values} }} ?s provio:noise true }}")
        }
    return found


def _gaps(reader: Reader, shown: set[str]) -> list[Gap]:
    """The gaps about anything shown, or about the process or run it belongs to."""
    query = f"""{PREFIXES} SELECT DISTINCT ?gap ?about ?reason {{
        ?gap a provio:Gap ; provio:about ?about ; provio:reason ?reason }}"""
    gaps = []
    for row in reader.rows(query):
        about = row["about"]
        near = next((iri for iri in sorted(shown) if iri == about or iri.startswith(about.rstrip("/") + "/")), None)
        if near:
            gaps.append(Gap(iri=row["gap"], about=near, reason=row["reason"]))
    return sorted(gaps, key=lambda gap: gap["iri"])


def _exists(reader: Reader, iri: str) -> bool:
    query = f"{PREFIXES} SELECT ?t {{ <{iri}> a ?t . FILTER EXISTS {{ <{iri}> prov:specializationOf ?f }} }} LIMIT 1"
    return next(iter(reader.rows(query)), None) is not None


def _known_iri(reader: Reader, text: str) -> Target:
    if re.search(r'[\x00-\x20<>"{}|^`\\\ud800-\udfff]', text):
        raise NothingKnown(f"{_show(text.encode())} is neither a file here nor an IRI")
    if next(iter(reader.rows(f"SELECT ?t {{ <{text}> a ?t }} LIMIT 1")), None) is None:
        raise NothingKnown(f"nothing is recorded of {text}")
    newest = _newest_of(reader, f"VALUES ?file {{ <{text}> }}")
    return Target(newest[0] if newest else text)


def _newest_version(reader: Reader, paths: list[bytes]) -> tuple[str, str] | None:
    """The newest recorded version that was seen under one of these paths."""
    names = []
    for path in dict.fromkeys(paths):
        try:
            names.append(f"{{ ?file provio:path {literal(path.decode('utf-8'))} }}")
        except UnicodeDecodeError:
            names.append(f"{{ ?file provio:pathEncoded {literal(path_iri(path))} }}")
    return _newest_of(reader, " UNION ".join(names))


def _newest_of(reader: Reader, files: str) -> tuple[str, str] | None:
    query = f"""{PREFIXES} SELECT ?version ?modified {{ {files}
        ?version prov:specializationOf ?file ; provio:modified ?modified }} ORDER BY DESC(?modified) ?version LIMIT 1"""
    row = next(iter(reader.rows(query)), None)
    return (row["version"], row["modified"]) if row else None


def _domain(path: bytes, facts: Facts) -> str:
    """The storage domain, as this machine sees it now."""
    known = [mount for mount in environment.mounts({facts.device}) if path.startswith(mount.point)]
    named = max(known, key=lambda mount: len(mount.point), default=None)
    return domain_segment(named.domain if named else f"{environment.machine_domain()}.{facts.device}")


def _show(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")
