"""What is recorded of one object inside a file: the object and a store in, lines of text out."""

from __future__ import annotations

from provio.describe import PREFIXES, describe
from provio.member_origins import Origins
from provio.nodes import Nodes
from provio.reports.text import moment, plural, printable, size
from provio.store import Reader
from provio.target import Target
from provio.vocab import local_name

FACTS = ("shape", "maxShape", "datatype", "chunks", "filters")


def show(reader: Reader, target: Target, unicode: bool = True) -> str:
    """Return what an object is, who made it, and what was done to it, by whatever run."""
    inside = Origins(reader, Nodes(reader))
    iri = target.iri if inside.said(target.iri) else next(iter(inside.origins(target.iri)), target.iri)
    node = describe(reader, {iri})[0]
    facts = {local_name(row["p"]): row["o"] for row in reader.rows(f"SELECT ?p ?o {{ <{iri}> ?p ?o }}")}
    lines = [f"{node['type'].lower():8} {target.path or node.get('path') or iri}"]
    lines += [f"         ! {target.changed}"] if target.changed else []
    if iri != target.iri:
        lines.append(f"as       {node.get('path', iri)}: unchanged since")
    lines += [f"{name:8} {facts[name]}" for name in FACTS if name in facts]
    lines += [f"made     {moment(row['start'])} by {row['label']}, run {row['run']}" for row in _made(reader, iri)]
    lines += [_done(row) for row in _calls(reader, iri)]
    return "".join(printable(line, unicode) + "\n" for line in lines)


def _made(reader: Reader, iri: str) -> list[dict[str, str]]:
    query = f"""{PREFIXES} SELECT DISTINCT ?start ?label ?run {{ <{iri}> prov:wasGeneratedBy ?a .
        ?a prov:startedAtTime ?start ; prov:wasAssociatedWith ?p ; provio:partOf+ ?r . ?p rdfs:label ?label .
        ?r a provio:Run . BIND(STRAFTER(STR(?r), "/run/") AS ?run) }} ORDER BY ?start"""
    return list(reader.rows(query))


def _calls(reader: Reader, iri: str) -> list[dict[str, str]]:
    query = f"""{PREFIXES} SELECT ?how ?api (SUM(?c) AS ?calls) (SUM(?b) AS ?bytes) (COUNT(DISTINCT ?run) AS ?runs) {{
        SELECT DISTINCT ?how ?api ?io ?c ?b ?run {{ <{iri}> ?how ?io . ?io provio:api ?api ; provio:partOf+ ?run .
        ?run a provio:Run . OPTIONAL {{ ?io provio:count ?n }} OPTIONAL {{ ?io provio:bytes ?m }}
        FILTER NOT EXISTS {{ ?io provio:errors ?errors }}
        BIND(COALESCE(?n, 1) AS ?c) BIND(COALESCE(?m, 0) AS ?b) }} }} GROUP BY ?how ?api ORDER BY ?how ?api"""
    return list(reader.rows(query))


def _done(row: dict[str, str]) -> str:
    how = local_name(row["how"]).removeprefix("was").removesuffix("By").lower()
    moved = f", {size(int(row['bytes']))}" if row["bytes"] != "0" else ""
    return f"{how:8} {row['api']}: {plural(int(row['calls']), 'call')}{moved}, in {plural(int(row['runs']), 'run')}"
