"""Two runs as one graph. In: their comparison. Out: a lineage document with marks, which the lineage component draws.

Activities and files that correspond are one node, with the IRI of the first run. The node's `compared` is `differs`
(where the runs differ first), `reached` (came from there), `first` or `second` (only in that run); `comparison` states
it as text. Processes that neither read nor wrote a file, and through which no data passed, are left out.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import Any, Final

from provio.ask.document import Edge, LineageDocument
from provio.base.text import binary, duration, plural
from provio.base.vocab import NS, PROV
from provio.compare.answer import Answer
from provio.compare.divergence import Divergence
from provio.compare.side import Activity, Side
from provio.lineage.identity import VERSION

ALONE: Final = 100  # reached nodes: up to this number none of them is folded
USED, MADE, RAN = PROV + "used", PROV + "wasGeneratedBy", NS + "ran"
NODE: Final = {"argv": "argv", "cwd": "cwd", "sourceText": "source", "status": "status"}
Triple = tuple[str, str, str]


class Both:
    """The graph of two runs. `same` is, for an IRI of the second run, that of the first; `marks` are by IRI."""

    def __init__(self, found: Answer) -> None:
        self.found = found
        self.sides = found.comparison.sides
        self.same = self._same()
        self.marks = self._marks()
        self.left_out = 0

    def _same(self) -> dict[str, str]:
        same: dict[str, str] = {}
        for one, other in self.found.comparison.pairs:
            same[other.iri] = one.iri
            for mine, yours in ((one.inputs, other.inputs), (one.results, other.results), (one.code, other.code)):
                same |= {yours[name]: mine[name] for name in mine.keys() & yours.keys() if yours[name] not in same}
        names = {self.sides[0].names[iri]: iri for iri in _data(self.sides[0]) if "/version/" in iri}
        for iri in _data(self.sides[1]):
            if iri not in same and self.sides[1].names.get(iri) in names:
                same[iri] = names[self.sides[1].names[iri]]
        return same

    def _marks(self) -> dict[str, str]:
        """Return the marks by IRI, the divergences first."""
        marks: dict[str, str] = {}
        for one in self.found.first:
            marks |= dict.fromkeys(self._of(one), "differs")
        for one in self.found.first:
            marks |= {iri: "reached" for iri in one.iris if iri not in marks}
        known = set(self.same.values())
        for side, word in zip(self.sides, ("first", "second"), strict=True):
            kept = known if word == "first" else self.same
            for iri in (*(one.iri for one in side.activities), *filter(_is_file, _data(side))):
                if iri not in kept and iri not in marks and iri not in known:
                    marks[iri] = word
        return marks

    def _of(self, divergence: Divergence) -> list[str]:
        """Return the nodes of a divergence: the activities, their results and the code that differ; or the input."""
        if not divergence.activities:
            first, second = (side.sources.get(divergence.name, "") for side in self.sides)
            return [first or self.node(second)]
        found: list[str] = []
        for one, other in divergence.activities:
            names = [name for name in divergence.results if name in one.results or name in other.results]
            made = [one.results.get(name) or self.node(other.results[name]) for name in names]
            found += [one.iri, *made, *self._changed_code(one, other)]
        return found

    def _changed_code(self, one: Activity, other: Activity) -> list[str]:
        equal = self.found.comparison.equal
        common = one.code.keys() & other.code.keys()
        return [one.code[name] for name in sorted(common) if equal(one.code[name], other.code[name]) is False]

    def node(self, iri: str) -> str:
        """Return the IRI of a node, for an IRI of either run."""
        return self.same.get(iri, iri)

    def document(self) -> LineageDocument:
        """Return the graph."""
        edges = self._edges()
        drawn = {end for edge in edges for end in (edge[0], edge[2])}
        nodes = [self._activity(one, other) for one, other in self._activities() if one.iri in drawn]
        nodes += [self._entity(iri, side) for side, iri in self._entities(drawn)]
        reached = sum(node.get("compared") == "reached" for node in nodes)
        shown = ("differs", "reached") if reached <= ALONE else ("differs",)
        for node in nodes:
            if node.get("compared") in shown:
                node["alone"] = True
        return LineageDocument(
            target=self.sides[0].facts.iri, direction="backward", gaps=[], hidden=0, control=0,
            nodes=nodes,  # type: ignore[typeddict-item] # with keys that only this page has
            edges=[Edge(subject=s, predicate=p, object=o) for s, p, o in edges],
        )  # fmt: skip

    def _activities(self) -> list[tuple[Activity, Activity | None]]:
        """Return all activities, each with the one of the second run that corresponds."""
        first, second = self.sides
        partner = dict(self.found.comparison.alignment.pairs)
        pairs: list[tuple[Activity, Activity | None]] = [
            (one, second.activities[partner[number]] if number in partner else None)
            for number, one in enumerate(first.activities)
        ]
        return [*pairs, *((second.activities[number], None) for number in self.found.comparison.alignment.only[1])]

    def _edges(self) -> list[Triple]:
        every: dict[Triple, None] = {}
        for side in self.sides:
            for one in side.activities:
                own = self.node(one.iri)
                every |= {(own, USED, self.node(iri)): None for iri in one.inputs.values()}
                every |= {(self.node(iri), MADE, own): None for iri in one.results.values()}
        for divergence in self.found.first:
            for one, other in divergence.activities:
                every |= {(one.iri, RAN, iri): None for iri in self._changed_code(one, other)}
        return self._with_data(list(every))

    def _with_data(self, edges: list[Triple]) -> list[Triple]:
        """Return the edges without processes through which no data passed, and count these."""
        every = {self.node(one.iri) for side in self.sides for one in side.activities}
        while True:
            passed = {one[2] for one in edges if one[1] == USED} & {one[0] for one in edges if one[1] == MADE}
            ways: dict[str, set[str]] = defaultdict(set)
            for edge in edges:
                activity, entity = _ends(edge)
                if _is_file(entity) or activity in self.marks:
                    ways[activity] |= {USED, MADE}
                elif entity in passed:
                    ways[activity].add(edge[1])
            kept = {activity for activity, found in ways.items() if len(found) > 1}
            fewer = [edge for edge in edges if _ends(edge)[0] in kept]
            fewer = [edge for edge in fewer if _is_file(_ends(edge)[1]) or _ends(edge)[1] in passed]
            if len(fewer) == len(edges):
                self.left_out = len(every - kept)
                return fewer
            edges = fewer

    def _entities(self, drawn: set[str]) -> list[tuple[Side, str]]:
        found: dict[str, Side] = {}
        for side in self.sides:
            for iri in (*_data(side), *(iri for one in side.activities for iri in one.code.values())):
                if (side is self.sides[0] or iri not in self.same) and iri in drawn:
                    found.setdefault(iri, side)
        return [(side, iri) for iri, side in found.items()]

    def _activity(self, one: Activity, other: Activity | None) -> dict[str, Any]:
        facts = one.facts
        node: dict[str, Any] = {"iri": one.iri, "type": "Task" if one.is_task else "Process", "label": one.label}
        node |= {name: facts[key] for key, name in NODE.items() if facts.get(key)}
        node |= {name: int(facts[name]) for name in ("pid", "exitCode", "rank") if facts.get(name, "").isdigit()}
        node |= {name: value for name in ("start", "end", "host") if (value := getattr(one, name))}
        if one.is_task:
            node |= {"task": one.iri, "prefix": one.what}
        took = [text for each in (one, other) if each and (text := duration(each.start, each.end))]
        return self._compared(node, "in both runs" + (f": {' and '.join(took)}" if took else ""))

    def _entity(self, iri: str, side: Side) -> dict[str, Any]:
        path = side.paths.get(iri, "")
        if not _is_file(iri):
            kind = "Pipe" if "/pipe/" in iri else "Socket" if "/socket/" in iri else "DataObject"
            return self._compared({"iri": iri, "type": kind, "label": side.names.get(iri, kind.lower())}, "")
        node: dict[str, Any] = {"iri": iri, "type": "FileVersion", "path": path}
        node["label"] = path.rpartition("/")[2] or side.names[iri]
        if (size := _size(iri)) is not None:
            node["size"] = size
        return self._compared(node, self._content(iri))

    def _content(self, iri: str) -> str:
        """Return how the contents of a file compare."""
        if iri not in self._partners:
            return ""
        other = self._partners[iri]
        equal = self.found.comparison.equal(iri, other)
        if equal is None:
            return "not known: no SHA-256 is recorded"
        sizes = [binary(_size(version) or 0) for version in (iri, other)]
        return "equal content" if equal else f"other content: {sizes[0]} and {sizes[1]}"

    @cached_property
    def _partners(self) -> dict[str, str]:
        """For a version of the first run, that of the second."""
        return {first: second for second, first in reversed(self.same.items())}

    def _compared(self, node: dict[str, Any], text: str) -> dict[str, Any]:
        words = {"differs": "differs first", "reached": "came from the first difference",
                 "first": "only in run A", "second": "only in run B"}  # fmt: skip
        mark = self.marks.get(node["iri"])
        if mark:
            node["compared"] = mark
        said = [words[mark]] if mark else []
        if text and mark not in ("first", "second"):
            said.append(text)
        return node | ({"comparison": "; ".join(said)} if said else {})

    def omitted(self) -> str:
        """Return a sentence about the processes that are not drawn; call `document` first."""
        if not self.left_out:
            return ""
        return f"{plural(self.left_out, 'process', 'processes')} without data from or to files not drawn"


def _data(side: Side) -> dict[str, None]:
    return dict.fromkeys(iri for one in side.activities for iri in (*one.inputs.values(), *one.results.values()))


def _ends(edge: Triple) -> tuple[str, str]:
    """Return the activity and the entity of an edge."""
    return (edge[2], edge[0]) if edge[1] == MADE else (edge[0], edge[2])


def _is_file(iri: str) -> bool:
    return "/version/" in iri


def _size(iri: str) -> int | None:
    found = VERSION.match(iri)
    return int(found["rest"][1:]) if found else None
