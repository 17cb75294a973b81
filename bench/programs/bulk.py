"""`bulk.py STORE RUN default|named` loads the Turtle of a run folder with one bulk_extend: merge is measured by it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox


def quads(run: Path, named: bool) -> Iterator[ox.Quad]:
    graph = ox.NamedNode("https://w3id.org/provio/run/0/bundle")
    for path in run.rglob("*.ttl"):
        found = ox.parse(path.read_bytes(), ox.RdfFormat.TURTLE)
        yield from (ox.Quad(q.subject, q.predicate, q.object, graph) for q in found) if named else found


ox.Store(sys.argv[1]).bulk_extend(quads(Path(sys.argv[2]), sys.argv[3] == "named"))
