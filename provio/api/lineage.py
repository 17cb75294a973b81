"""Where a file came from, as a networkx graph: a lineage document in, nodes and edges with their facts out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import networkx as nx

from provio.ask.document import Lineage as Indexed
from provio.ask.document import targets

if TYPE_CHECKING:
    from provio.ask.document import LineageDocument


class Lineage(nx.DiGraph):  # type: ignore[misc,unused-ignore]
    """A `networkx.DiGraph` whose nodes are IRIs, and whose edges point from what was made to what it came from.

    Each node has what `provio lineage --as json` says of it: type, label, and where they are known path, run, start,
    end, via, depth, size, argv, task, source …; each edge `predicate`, the IRI of the most specific relation.
    `.document` is all of the answer, with its gaps and counts. A notebook shows it as `provio view` does.
    """

    @classmethod
    def of(cls, document: LineageDocument) -> Lineage:
        """Return a lineage document as a graph."""
        made = cls(document=document)
        for node in document["nodes"]:
            made.add_node(node["iri"], **{key: value for key, value in node.items() if key != "iri"})
        for edge in Indexed(document).drawn_edges():
            made.add_edge(edge["subject"], edge["object"], predicate=edge["predicate"])
        return made

    @property
    def document(self) -> LineageDocument:
        """The answer as `provio lineage --as json` prints it."""
        return self.graph["document"]  # type: ignore[no-any-return]

    @property
    def targets(self) -> list[str]:
        """The IRIs that were asked about."""
        return targets(self.document)

    @property
    def paths(self) -> dict[str, str]:
        """The path of each file, or object inside one, by its IRI: all but those that were asked about."""
        asked = set(self.targets)
        activities = ("Program", "Task", "Phase", "Copy")
        nodes: list[tuple[str, dict[str, Any]]] = list(self.nodes(data=True))
        return {
            iri: known["path"] for iri, known in nodes if iri not in asked and "path" in known
            and known["type"] not in activities
        }  # fmt: skip

    def __str__(self) -> str:
        from provio.render import tree

        return tree.render(self.document, width=None, folder=os.getcwd())

    def _repr_html_(self) -> str:
        from provio.api import rows

        return rows.lineage(self.document)
