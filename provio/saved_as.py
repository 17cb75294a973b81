"""Which checkpoints file versions are: versions and a store in, what each was saved as out."""

from __future__ import annotations

from collections.abc import Iterable

from provio.document import Metric, SavedAs, Under
from provio.nodes import batches
from provio.store import Reader

KNOWN = "SELECT ?c { ?c a provio:Checkpoint } LIMIT 1"
CHECKPOINTS = """SELECT DISTINCT ?v ?c ?step ?at { VALUES ?v { %s } ?c prov:hadMember ?v ; a provio:Checkpoint ;
    prov:generatedAtTime ?at . OPTIONAL { ?c provio:step ?step } } ORDER BY ?at ?c"""
METRICS = """SELECT DISTINCT ?c ?name ?value ?step ?m { VALUES ?c { %s } ?c provio:hadMetric ?m .
    ?m provio:name ?name ; provio:value ?value . OPTIONAL { ?m provio:step ?step } } ORDER BY ?name ?m"""
CONFIGURATIONS = """SELECT DISTINCT ?c ?iri ?name ?version { VALUES ?c { %s } ?c provio:hadConfiguration ?iri .
    OPTIONAL { ?iri provio:name ?name } OPTIONAL { ?iri provio:version ?version } } ORDER BY ?name ?iri"""


def checkpoints(reader: Reader, versions: Iterable[str]) -> dict[str, list[SavedAs]]:
    """Return of each version that is a checkpoint, or a file of one, what it was saved as, in order of time."""
    found: dict[str, list[SavedAs]] = {}
    if not any(True for _ in reader.rows(KNOWN)):
        return found
    of: dict[str, SavedAs] = {}
    for batch in batches(versions):
        for row in reader.rows(CHECKPOINTS % _terms(batch)):
            one = of.get(row["c"])
            if one is None:
                step = {"step": int(row["step"])} if "step" in row else {}
                one = of[row["c"]] = SavedAs(iri=row["c"], **step, metrics=[], configurations=[])  # type: ignore[typeddict-item]
            found.setdefault(row["v"], []).append(one)
    for batch in batches(of):
        for row in reader.rows(METRICS % _terms(batch)):
            metric = Metric(name=row["name"], value=row["value"])
            if "step" in row:
                metric["step"] = int(row["step"])
            of[row["c"]]["metrics"].append(metric)
        for row in reader.rows(CONFIGURATIONS % _terms(batch)):
            under = Under(iri=row["iri"], name=row.get("name", ""))
            if "version" in row:
                under["version"] = int(row["version"])
            of[row["c"]]["configurations"].append(under)
    return found


def _terms(iris: Iterable[str]) -> str:
    return " ".join(f"<{iri}>" for iri in iris)
