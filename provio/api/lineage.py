"""The lineage of a file as a networkx graph.

In: a lineage document (`provio.ask.document`). Out: nodes and edges with their attributes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

import networkx as nx

from provio.ask.document import Lineage as Indexed
from provio.ask.document import targets
from provio.base.common_names import completed

if TYPE_CHECKING:
    from provio.ask.document import LineageDocument, Node


class Lineage(nx.DiGraph):  # type: ignore[misc,unused-ignore]
    """A `networkx.DiGraph` of IRIs; each edge points from a product to the thing that it was made from.

    Each node has the attributes that `provio lineage --as json` prints: type, label, and where known path, run,
    start, end, via, depth, size, argv, task, source …. Each edge has `predicate`, the IRI of the most specific
    relation. `.document` is the complete answer with its gaps and counts. A notebook displays the graph as `provio
    view` does.
    """

    @classmethod
    def of(cls, document: LineageDocument) -> Lineage:
        """Return a lineage document as a graph."""
        nodes = [cast("Node", completed(node)) for node in document["nodes"]]
        made = cls(document={**document, "nodes": nodes})
        for node in nodes:
            made.add_node(node["iri"], **{key: value for key, value in node.items() if key != "iri"})
        for edge in Indexed(document).drawn_edges():
            made.add_edge(edge["subject"], edge["object"], predicate=edge["predicate"])
        return made

    @property
    def document(self) -> LineageDocument:
        """Return the answer as `provio lineage --as json` prints it."""
        return self.graph["document"]  # type: ignore[no-any-return]

    @property
    def targets(self) -> list[str]:
        """Return the IRIs of the query's targets."""
        return targets(self.document)

    @property
    def paths(self) -> dict[str, str]:
        """Return the path of each file, or object inside a file, by its IRI; the targets are omitted."""
        own = set(self.targets)
        activities = ("Program", "Task", "Phase", "Copy")
        nodes: list[tuple[str, dict[str, Any]]] = list(self.nodes(data=True))
        return {
            iri: known["path"] for iri, known in nodes if iri not in own and "path" in known
            and known["type"] not in activities
        }  # fmt: skip

    def __str__(self) -> str:
        from provio.render import tree

        return tree.render(self.document, width=None, folder=os.getcwd())

    def _repr_html_(self) -> str:
        from provio.api import rows

        return rows.lineage(self.document)
