"""What people want to know of things in the graph: IRIs and a store in, nodes, programs and gaps out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote_to_bytes

from provio.document import Edge, Gap, Node
from provio.store import Reader
from provio.vocab import NS, PROV, local_name, most_specific

BATCH = 500
PREFIXES = f"PREFIX provio: <{NS}> PREFIX prov: <{PROV}> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
SINGLE = {
    PROV + "startedAtTime": "start", PROV + "endedAtTime": "end", NS + "size": "size", NS + "modified": "modified",
    NS + "path": "path", NS + "pathEncoded": "pathEncoded", NS + "argv": "argv", NS + "cwd": "cwd", NS + "host": "host",
    NS + "pid": "pid", NS + "exitCode": "exitCode",
}  # fmt: skip
NUMBERS = frozenset({"size", "pid", "exitCode"})


def order(node: Node) -> tuple[int, str, str]:
    """Return a key that sorts nodes by depth, start and name."""
    return node.get("depth", -1), node.get("start", ""), node["iri"]


def batches(nodes: Iterable[str]) -> Iterator[list[str]]:
    """Yield the nodes in lists short enough for one query."""
    known = list(nodes)
    for start in range(0, len(known), BATCH):
        yield known[start : start + BATCH]


def programs(reader: Reader, activities: set[str]) -> tuple[list[Node], list[Edge]]:
    """Return the programs that activities ran, as nodes, and the edges to them."""
    edges = []
    for batch in batches(sorted(activities)):
        values = " ".join(f"<{iri}>" for iri in batch)
        query = f"""{PREFIXES} SELECT DISTINCT ?a ?g {{
            VALUES ?a {{ {values} }} ?a prov:wasAssociatedWith ?g . ?g a provio:Program }}"""
        edges += [Edge(subject=r["a"], predicate=PROV + "wasAssociatedWith", object=r["g"]) for r in reader.rows(query)]
    nodes = describe(reader, {edge["object"] for edge in edges})
    return sorted(nodes, key=order), edges


def name_phases(nodes: list[Node], programs: tuple[list[Node], list[Edge]]) -> None:
    """A phase has the name of its program."""
    labels = {node["iri"]: node["label"] for node in programs[0]}
    names = {edge["subject"]: labels[edge["object"]] for edge in programs[1]}
    for node in nodes:
        node["label"] = names.get(node["iri"], node["label"])


def describe(reader: Reader, iris: set[str]) -> list[Node]:
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
    for batch in batches(sorted(iris)):
        values = " ".join(f"<{iri}>" for iri in batch)
        for row in reader.rows(f"SELECT DISTINCT ?s ?p ?o {{ VALUES ?s {{ {values} }} ?s ?p ?o }}"):
            found.setdefault(row["s"], {}).setdefault(row["p"], []).append(row["o"])
    for properties in found.values():
        for values_of in properties.values():
            values_of.sort()
    return found


def noise(reader: Reader, entities: set[str]) -> set[str]:
    """Those of these versions that are the system's own files: to every run that knows them (what is an input to one
    run has an inode in its graph)."""
    found: set[str] = set()
    for batch in batches(sorted(entities)):
        values = " ".join(f"<{iri}>" for iri in batch)
        hidden = "?s provio:noise true . FILTER NOT EXISTS { ?s provio:inode ?input }"
        query = f"{PREFIXES} SELECT DISTINCT ?s {{ VALUES ?s {{ {values} }} {hidden} }}"
        found |= {row["s"] for row in reader.rows(query)}
    return found


def gaps(reader: Reader, shown: set[str]) -> list[Gap]:
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
