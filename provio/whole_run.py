"""All that one run did: the run's id and a store in, a lineage document out (`provio.document`).

Beside files, phases and programs it may hold what was read and written inside files, and what was done to each file
(the IOActivities), so that one document can be looked at on several levels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from provio.ancestry import made_by_programs
from provio.describe import describe, gaps, is_member, name_phases, noise, order, programs
from provio.document import Edge, LineageDocument, Node
from provio.graph_lines import bundle_iri
from provio.identity import is_within_files
from provio.nodes import Nodes, batches
from provio.store import Reader
from provio.vocab import NS, PROV, RDF, RUN_BASE, local_name, most_specific
from provio.walk import SPELT

RUN_EDGES = (
    *(PROV + name for name in ("used", "wasGeneratedBy")),
    *(NS + name for name in ("continuedFrom", "carriedFrom", "launchedBy")),
    *(PROV + name for name in ("wasDerivedFrom", "wasRevisionOf", "alternateOf")),
    NS + "sameContentAs",
)
DONE = tuple(NS + f"was{verb}By" for verb in ("Read", "Written", "Opened", "Created", "Modified", "Flushed"))
COUNTED = {NS + name: name for name in ("api", "count", "bytes", "elapsed")}

FEW = 8  # things that a word leads to: to ask of each is cheaper than to read its name again and again

Triple = tuple[str, str, str]


def document(reader: Reader, run: str, *, everything: bool = False) -> LineageDocument:
    """Return what a run did, from file to file and inside files."""
    iri = RUN_BASE + run
    graph = bundle_iri(iri)
    edges = {
        (subject, word, value): None
        for word in RUN_EDGES
        for spelt in SPELT.get(word, (word,))
        for subject, value in _pairs(reader, graph, spelt)
    }
    known = Nodes(reader, without=RUN_EDGES)
    shown = {end for subject, _, object_ in edges for end in (subject, object_)} - {iri}
    hidden = set() if everything else noise(reader, shown, edges, known) - made_by_programs(edges)
    files = {one for one in hidden if not is_within_files(one)}
    shown = {one for one in shown - hidden if one.partition("#")[0] not in hidden}
    nodes = describe(reader, shown, known)
    ran = programs(reader, shown, known)
    name_phases(nodes, ran)
    return LineageDocument(
        target=iri,
        nodes=sorted(nodes, key=order) + ran[0],
        edges=[Edge(subject=s, predicate=p, object=o) for s, p, o in sorted(edges) if s in shown and o in shown]
        + ran[1],
        gaps=gaps(reader, shown),
        hidden=len(files),
        control=0,
        direction="backward",
    )


def _pairs(reader: Reader, graph: str, word: str) -> Iterator[tuple[str, str]]:
    """What a word is said of, and with what; a name that many have is not read anew for each."""
    ends = [
        row[0] for row in reader.table(f"SELECT DISTINCT ?o {{ GRAPH <{graph}> {{ ?s <{word}> ?o }} }} LIMIT {FEW + 1}")
    ]
    if len(ends) > FEW:
        for subject, value in reader.table(f"SELECT ?s ?o {{ GRAPH <{graph}> {{ ?s <{word}> ?o }} }}"):
            yield subject, value
        return
    for end in ends:
        for (subject,) in reader.table(f"SELECT ?s {{ GRAPH <{graph}> {{ ?s <{word}> <{end}> }} }}"):
            yield subject, end


def add_operations(reader: Reader, whole: LineageDocument, most: int | None = None) -> bool:
    """Add what was done to a document's files by its phases; False, and nothing added, beyond `most` operations."""
    files = [node["iri"] for node in whole["nodes"] if "/version/" in node["iri"] and not is_member(node["iri"])]
    phases = {node["iri"] for node in whole["nodes"] if "/phase/" in node["iri"]}
    if most is not None and len(files) > most:
        return False
    done: dict[str, dict[Triple, None]] = {}
    for batch in batches(files):
        for file, word, activity, phase in reader.table(_doings(batch)):
            if phase in phases:
                triples = done.setdefault(activity, {})
                triples.update({(file, word, activity): None, (activity, NS + "partOf", phase): None})
        if most is not None and len(done) > most:
            return False
    whole["nodes"] += _operations(reader, done)
    whole["edges"] += [Edge(subject=s, predicate=p, object=o) for triples in done.values() for s, p, o in triples]
    return True


def _doings(files: Iterable[str]) -> str:
    wanted, words = (" ".join(f"<{iri}>" for iri in iris) for iris in (files, DONE))
    which = f"VALUES ?f {{ {wanted} }} VALUES ?p {{ {words} }}"
    return f"SELECT ?f ?p ?a ?phase {{ {which} ?f ?p ?a . ?a <{NS}partOf> ?phase }}"


def _operations(reader: Reader, activities: Iterable[str]) -> list[Node]:
    found: list[Node] = []
    for iri in activities:
        node: dict[str, Any] = {"iri": iri}
        classes = []
        for word, value in reader.about(iri):
            if word == RDF + "type":
                classes.append(value)
            elif word in COUNTED:
                node[COUNTED[word]] = value if COUNTED[word] == "api" else int(value)
        node["type"] = local_name(most_specific(classes) or NS + "IOActivity")
        node["label"] = node.get("api", node["type"].lower())
        found.append(node)  # type: ignore[arg-type]
    return found
