"""All that one run did: the run's id and a store in, a lineage document out (`provio.ask.document`).

Beside files, phases and programs it may hold what was read and written inside files, and what was done to each file
(the IOActivities), so that one document can be looked at on several levels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from provio.ask import run_uses
from provio.ask.document import Edge, LineageDocument, Node
from provio.ask.lineage import made_by_programs
from provio.ask.nodes import Nodes, batches, describe, gaps, is_member, name_phases, noise, order, programs
from provio.ask.walk import SPELT
from provio.base.vocab import NS, PROV, RDF, RUN_BASE, local_name, most_specific
from provio.lineage.identity import is_within_files
from provio.store import Reader

RUN_EDGES = (
    *(PROV + name for name in ("used", "wasGeneratedBy")),
    *(NS + name for name in ("continuedFrom", "carriedFrom", "launchedBy")),
    *(PROV + name for name in ("wasDerivedFrom", "wasRevisionOf", "alternateOf")),
    NS + "sameContentAs",
)
DONE = tuple(NS + f"was{verb}By" for verb in ("Read", "Written", "Opened", "Created", "Modified", "Flushed"))
COUNTED = {NS + name: name for name in ("api", "count", "bytes", "elapsed")}

GENERATED = PROV + "wasGeneratedBy"
TIED = tuple(PROV + name for name in ("wasDerivedFrom", "wasRevisionOf", "alternateOf"))
ACTED = (PROV + "used", NS + "usedAsNoise", *(NS + name for name in ("continuedFrom", "carriedFrom", "launchedBy")))
SPELT_AS = {spelt: word for word, forms in SPELT.items() for spelt in forms}

Triple = tuple[str, str, str]


def document(reader: Reader, run: str, *, everything: bool = False) -> LineageDocument:
    """Return what a run did, from file to file and inside files."""
    iri = RUN_BASE + run
    edges = dict.fromkeys(_edges(reader, run))
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


def _edges(reader: Reader, run: str) -> Iterator[Triple]:
    """What the phases and copies of a run used and made, and what it made of what."""
    every = run_uses.of_run(run)
    query = f'SELECT DISTINCT ?a {{ {every} FILTER(REGEX(STR(?a), "/(phase|copy)/")) }}'
    phases = [row[0] for row in reader.table(query)] + [RUN_BASE + run]
    made: set[str] = set()
    for which in run_uses.values("a", phases):
        for subject, word, value in reader.table(_stated("a", ACTED, which)):
            yield subject, SPELT_AS.get(word, word), value
        for subject, value in reader.table(f"SELECT DISTINCT ?s ?a {{ {which} ?s <{GENERATED}> ?a }}"):
            made.add(subject)
            yield subject, GENERATED, value
    retimed = f"{every} ?a a ?kind FILTER(?kind = provio:SetTimes) ?v provio:wasModifiedBy ?a"
    made |= {row[0] for row in reader.table(f"SELECT DISTINCT ?v {{ {retimed} }}")}
    for which in run_uses.values("v", made):
        members = f"SELECT DISTINCT ?m {{ {which} ?v prov:hadMember+ ?m }}"
        made |= {row[0] for row in reader.table(members)}
    equal = f"FILTER NOT EXISTS {{ ?s <{NS}sameContentAs> ?o }}"  # of equal content alone: no run states it
    for which in run_uses.values("s", made):
        for subject, word, value in reader.table(_stated("s", TIED, which, equal)):
            yield subject, word, value


def _stated(subject: str, words: Iterable[str], which: str, but: str = "") -> str:
    wanted = " ".join(f"<{word}>" for word in words)
    return f"SELECT DISTINCT ?{subject} ?p ?o {{ {which} VALUES ?p {{ {wanted} }} ?{subject} ?p ?o {but} }}"


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
    found: dict[str, dict[str, Any]] = {iri: {"iri": iri} for iri in activities}
    classes: dict[str, list[str]] = {iri: [] for iri in found}
    for iri, word, value in reader.about(found):
        if word == RDF + "type":
            classes[iri].append(value)
        elif word in COUNTED:
            found[iri][COUNTED[word]] = value if COUNTED[word] == "api" else int(value)
    for iri, node in found.items():
        node["type"] = local_name(most_specific(classes[iri]) or NS + "IOActivity")
        node["label"] = node.get("api", node["type"].lower())
    return list(found.values())  # type: ignore[arg-type]
