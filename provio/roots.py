"""Primary sources: a lineage document and a store in, the document of its targets and roots alone out."""

from __future__ import annotations

from provio.describe import PREFIXES, batches
from provio.document import LineageDocument, targets
from provio.paths import ends
from provio.store import Reader


def only_roots(reader: Reader, document: LineageDocument) -> LineageDocument:
    """Keep the targets and the versions that no recorded activity made: where a walk was cut short is no root."""
    found = ends(document)
    made: set[str] = set()
    for batch in batches(found):
        values = " ".join(f"<{iri}>" for iri in batch)
        query = f"""{PREFIXES} SELECT DISTINCT ?v {{ VALUES ?v {{ {values} }}
            {{ ?v prov:wasGeneratedBy ?a }} UNION {{ ?v prov:wasDerivedFrom ?w }} }}"""
        made |= {row["v"] for row in reader.rows(query)}
    kept = {*targets(document), *found} - (made - set(targets(document)))
    return {
        **document,
        "nodes": [node for node in document["nodes"] if node["iri"] in kept],
        "edges": [edge for edge in document["edges"] if edge["subject"] in kept and edge["object"] in kept],
        "gaps": [gap for gap in document["gaps"] if gap["about"] in kept],
        "only": "roots",
    }
