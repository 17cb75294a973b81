"""The complete data flow of one run. In: the run's id and a store. Out: a lineage document (`provio.ask.document`).

The document has several levels of detail: files, phases and programs; objects inside files; the I/O activities on
each file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from provio.ask import notes, run_uses
from provio.ask.document import Edge, LineageDocument, Node
from provio.ask.gaps import gaps
from provio.ask.lineage import made_by_programs
from provio.ask.nodes import describe_with_programs, is_member, name_results, noise, order
from provio.ask.started_as import name_activities
from provio.ask.walk import SPELT, Nodes, batches
from provio.base.vocab import NS, PROV, RDF, RUN_BASE, local_name, most_specific
from provio.lineage.identity import is_within_files
from provio.store import Reader

RUN_EDGES = (
    *(PROV + name for name in ("used", "wasGeneratedBy")),
    *(NS + name for name in ("continuedFrom", "carriedFrom", "launchedBy")),
    *(PROV + name for name in ("wasDerivedFrom", "wasRevisionOf", "alternateOf")),
    NS + "sameContentAs",
)
FILE_RELATIONS = tuple(NS + f"was{verb}By" for verb in ("Read", "Written", "Opened", "Created", "Modified", "Flushed"))
COUNTED = {NS + name: name for name in ("api", "count", "bytes", "elapsed")}

GENERATED = PROV + "wasGeneratedBy"
DERIVATIONS = tuple(PROV + name for name in ("wasDerivedFrom", "wasRevisionOf", "alternateOf"))
INPUT_RELATIONS = (
    PROV + "used",
    NS + "usedAsNoise",
    *(NS + name for name in ("continuedFrom", "carriedFrom", "launchedBy")),
)
SPELT_AS = {spelt: word for word, forms in SPELT.items() for spelt in forms}

Triple = tuple[str, str, str]


def document(reader: Reader, run: str, *, everything: bool = False) -> LineageDocument:
    """Return the data flow of a run between files and between objects inside files."""
    iri = RUN_BASE + run
    edges = dict.fromkeys(_edges(reader, run))
    known = Nodes(reader, without=RUN_EDGES)
    shown = {end for subject, _, object_ in edges for end in (subject, object_)} - {iri}
    hidden = set() if everything else noise(reader, shown, edges, known) - made_by_programs(edges)
    files = {one for one in hidden if not is_within_files(one)}
    shown = {one for one in shown - hidden if one.partition("#")[0] not in hidden}
    nodes, ran = describe_with_programs(reader, shown, shown, known)
    name_activities(nodes, ran, known)
    name_results(nodes, known)
    found = LineageDocument(
        target=iri,
        nodes=sorted(nodes, key=order) + ran[0],
        edges=[Edge(subject=s, predicate=p, object=o) for s, p, o in sorted(edges) if s in shown and o in shown]
        + ran[1],
        gaps=gaps(reader, shown),
        hidden=len(files),
        control=0,
        direction="backward",
    )
    notes.add(reader, found)
    return found


def _edges(reader: Reader, run: str) -> Iterator[Triple]:
    """Yield the inputs and products of a run's phases and copies, and the derivations of the products."""
    every = run_uses.of_run(run)
    query = f'SELECT DISTINCT ?a {{ {every} FILTER(REGEX(STR(?a), "/(phase|copy)/|/t[0-9]+/$")) }}'
    phases = [row[0] for row in reader.table(query)] + [RUN_BASE + run]
    made: set[str] = set()
    for which in run_uses.values("a", phases):
        for subject, word, value in reader.table(_stated("a", INPUT_RELATIONS, which)):
            yield subject, SPELT_AS.get(word, word), value
        for subject, value in reader.table(f"SELECT DISTINCT ?s ?a {{ {which} ?s <{GENERATED}> ?a }}"):
            made.add(subject)
            yield subject, GENERATED, value
    retimed = f"{every} ?a a ?kind FILTER(?kind = provio:SetTimes) ?v provio:wasModifiedBy ?a"
    made |= {row[0] for row in reader.table(f"SELECT DISTINCT ?v {{ {retimed} }}")}
    for which in run_uses.values("v", made):
        members = f"SELECT DISTINCT ?m {{ {which} ?v prov:hadMember+ ?m }}"
        made |= {row[0] for row in reader.table(members)}
    equal = f"FILTER NOT EXISTS {{ ?s <{NS}sameContentAs> ?o }}"  # excludes equal content, which no run states
    for which in run_uses.values("s", made):
        for subject, word, value in reader.table(_stated("s", DERIVATIONS, which, equal)):
            yield subject, word, value


def _stated(subject: str, words: Iterable[str], which: str, but: str = "") -> str:
    wanted = ", ".join(f"<{word}>" for word in words)  # the store would join a VALUES clause with all of the graph
    return f"SELECT DISTINCT ?{subject} ?p ?o {{ {which} ?{subject} ?p ?o FILTER(?p IN ({wanted})) {but} }}"


def add_operations(reader: Reader, whole: LineageDocument, most: int | None = None) -> bool:
    """Add the operations of the document's phases on its files; return False, and add none, if they exceed `most`."""
    files = [node["iri"] for node in whole["nodes"] if "/version/" in node["iri"] and not is_member(node["iri"])]
    phases = {node["iri"] for node in whole["nodes"] if "/phase/" in node["iri"]}
    if most is not None and len(files) > most:
        return False
    operations: dict[str, dict[Triple, None]] = {}
    for batch in batches(files):
        for file, word, activity, phase in reader.table(_operations_query(batch)):
            if phase in phases:
                triples = operations.setdefault(activity, {})
                triples.update({(file, word, activity): None, (activity, NS + "partOf", phase): None})
        if most is not None and len(operations) > most:
            return False
    whole["nodes"] += _operations(reader, operations)
    whole["edges"] += [Edge(subject=s, predicate=p, object=o) for triples in operations.values() for s, p, o in triples]
    return True


def _operations_query(files: Iterable[str]) -> str:
    wanted, words = " ".join(f"<{iri}>" for iri in files), ", ".join(f"<{iri}>" for iri in FILE_RELATIONS)
    return f"""SELECT ?f ?p ?a ?phase {{ VALUES ?f {{ {wanted} }} ?f ?p ?a FILTER(?p IN ({words}))
        ?a <{NS}partOf> ?phase }}"""


def _operations(reader: Reader, activities: Iterable[str]) -> list[Node]:
    found: dict[str, dict[str, Any]] = {iri: {"iri": iri} for iri in activities}
    classes: dict[str, list[str]] = {iri: [] for iri in found}
    for iri, word, value in (row for batch in batches(found) for row in reader.about(batch)):
        if word == RDF + "type":
            classes[iri].append(value)
        elif word in COUNTED:
            found[iri][COUNTED[word]] = value if COUNTED[word] == "api" else int(value)
    for iri, node in found.items():
        node["type"] = local_name(most_specific(classes[iri]) or NS + "IOActivity")
        node["label"] = node.get("api", node["type"].lower())
    return list(found.values())  # type: ignore[arg-type]
