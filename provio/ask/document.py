"""The lineage document: what `provio lineage --as json` prints, and every report and page is drawn from.

In: a plain dictionary of the shape of `LineageDocument`. Out: `Lineage`, the same document indexed for walking along
the data's way. Nothing here asks a store, and nothing here prints.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable
from typing import Final, Literal, NotRequired, TypedDict
from urllib.parse import unquote

from provio.base.text import moment, shorter_path

Via = Literal["data", "carried", "control", "code"]
Direction = Literal["backward", "forward"]


class Metric(TypedDict):
    """A number that a checkpoint was saved with, as the graph has it."""

    name: str
    value: str
    step: NotRequired[int]


class Under(TypedDict):
    """The version of a configuration that was in force."""

    iri: str
    name: str
    version: NotRequired[int]


class SavedAs(TypedDict):
    """A checkpoint that a file version is, or is a file of."""

    iri: str
    step: NotRequired[int]
    metrics: list[Metric]
    configurations: list[Under]


class Node(TypedDict):
    """An entity, an activity or a program. `type` is the class's local name; times are xsd:dateTime in UTC."""

    iri: str
    type: str
    label: str
    path: NotRequired[str]
    pathEncoded: NotRequired[str]
    run: NotRequired[str]
    start: NotRequired[str]
    end: NotRequired[str]
    via: NotRequired[Via]
    depth: NotRequired[int]
    argv: NotRequired[str]
    cwd: NotRequired[str]
    host: NotRequired[str]
    pid: NotRequired[int]
    exitCode: NotRequired[int]
    rank: NotRequired[int]
    size: NotRequired[int]
    modified: NotRequired[str]
    program: NotRequired[str]
    process: NotRequired[str]
    task: NotRequired[str]
    kind: NotRequired[str]
    number: NotRequired[int]
    source: NotRequired[str]
    status: NotRequired[str]
    changed: NotRequired[str]
    version: NotRequired[int]
    checkpoints: NotRequired[list[SavedAs]]


class Edge(TypedDict):
    """An asserted triple, whole IRIs."""

    subject: str
    predicate: str
    object: str


class Gap(TypedDict):
    """Something that could not be seen: what it is about, and why."""

    iri: str
    about: str
    reason: str


class Stale(TypedDict):
    """A product that was made from another version of an input than is there now, or from a product that was.

    `input` is the version that it was made from, `path` its name and `recorded` its time; `present` the version that is
    there now. Where `reason` is `stale`, and not `changed`, the input is there, and itself a stale product.
    """

    product: str
    input: str
    path: str
    recorded: NotRequired[str]
    present: NotRequired[str]
    reason: Literal["changed", "stale"]


class LineageDocument(TypedDict):
    """`hidden` counts system files left out, `control` the control ancestors not shown; the rest only where asked for.

    `targets`: all that were asked about, `target` among them, where they are several. `only`: the answer is no whole
    graph but its roots, or what is stale. `paths`: ways from a target to its roots (forward: to what was made in the
    end), as the nodes on each; `ways` is how many there are. `asOf`: of which moment the answer is, while runs go on.
    """

    target: str
    nodes: list[Node]
    edges: list[Edge]
    gaps: list[Gap]
    hidden: int
    control: int
    direction: Direction
    changed: NotRequired[str]
    asOf: NotRequired[str]
    targets: NotRequired[list[str]]
    only: NotRequired[Literal["roots", "stale"]]
    paths: NotRequired[list[list[str]]]
    ways: NotRequired[int]
    stale: NotRequired[list[Stale]]


ACTIVITIES: Final = frozenset({"Phase", "Task", "Copy", "Process", "Run", "Access", "IOActivity"})
AGENTS: Final = frozenset({"Program", "Thread", "User", "Rank"})
PIPES: Final = frozenset({"Pipe", "Socket"})
PARTS: Final = frozenset({"Group", "Dataset", "Attribute", "Datatype"})
LONGEST_LINE: Final = 200  # characters: a cell of a notebook may be data on one line

# Sub-properties come first: where one is asserted, so is the property it lies under, and only one of the two is drawn.
SPECIFIC_FIRST: Final = (
    "used", "wasGeneratedBy", "continuedFrom", "carriedFrom", "launchedBy", "ran", "mapsOnto", "wasRevisionOf",
    "contentFrom", "sameContentAs", "alternateOf", "hadMember", "wasInvalidatedBy", "wasAssociatedWith",
    "specializationOf", "wasDerivedFrom", "wasInformedBy", "wasAttributedTo", "actedOnBehalfOf",
)  # fmt: skip

# PROV points from the later to the earlier thing; in these alone, data goes from subject to object.
_ALONG_THE_DATA: Final = frozenset({"hadMember", "wasInvalidatedBy"})


def local_name(iri: str) -> str:
    """What follows the last `#` or `/`."""
    return iri.rsplit("#", 1)[-1].rsplit("/", 1)[-1]


def flow(edge: Edge) -> tuple[str, str]:
    """The edge's two ends in the direction in which data goes: (from, to)."""
    if local_name(edge["predicate"]) in _ALONG_THE_DATA:
        return edge["subject"], edge["object"]
    return edge["object"], edge["subject"]


def arguments(argv: str) -> list[str]:
    """The arguments of a recorded command line (docs/trace-format.md): percent-encoded, joined by one space."""
    return ["" if part == "%" else unquote(part, errors="replace") for part in argv.split(" ")]


def command_line(node: Node) -> str:
    """The command as one would type it in a shell; empty where none is known."""
    return shlex.join(arguments(node["argv"])) if node.get("argv") else ""


def first_line(node: Node) -> str:
    """The first line of what a Task carried out, with a mark where there are more; empty where none is known."""
    lines = [line for line in node.get("source", "").splitlines() if line.strip()]
    line = lines[0].strip() if lines else ""
    return line[:LONGEST_LINE] + (" …" if len(lines) > 1 or len(line) > LONGEST_LINE else "")


def saved_as(node: Node) -> list[str]:
    """What a file version was saved as, in words: the step, the metrics, the configurations in force."""
    found = []
    for one in node.get("checkpoints", ()):
        step = f", step {one['step']}" if "step" in one else ""
        metrics = ", ".join(f"{metric['name']} {metric['value']}" for metric in one["metrics"])
        under = ", ".join(map(_under, one["configurations"]))
        found.append("; ".join(part for part in (f"checkpoint{step}", metrics, under) if part))
    return found


def _under(known: Under) -> str:
    version = f", version {known['version']}" if "version" in known else ""
    return (known["name"] or "configuration") + version


def _rank(edge: Edge) -> int:
    name = local_name(edge["predicate"])
    return SPECIFIC_FIRST.index(name) if name in SPECIFIC_FIRST else len(SPECIFIC_FIRST)


class Lineage:
    """A document, indexed: `node` by IRI, and for each predicate's local name the objects of a subject and back."""

    def __init__(self, document: LineageDocument) -> None:
        self.document = document
        self.node: dict[str, Node] = {node["iri"]: node for node in document["nodes"]}
        self._objects: dict[str, dict[str, list[str]]] = {}
        self._subjects: dict[str, dict[str, list[str]]] = {}
        self.reasons: dict[str, list[str]] = defaultdict(list)
        names = {predicate: local_name(predicate) for predicate in {edge["predicate"] for edge in document["edges"]}}
        for edge in document["edges"]:
            subject, object_, name = edge["subject"], edge["object"], names[edge["predicate"]]
            if subject in self.node and object_ in self.node:
                self._objects.setdefault(subject, {}).setdefault(name, []).append(object_)
                self._subjects.setdefault(object_, {}).setdefault(name, []).append(subject)
        for gap in document["gaps"]:
            self.reasons[gap["about"]].append(gap["reason"])

    def objects(self, subject: str, *predicates: str) -> list[str]:
        """What these predicates point to from `subject`, each once, in the document's order."""
        return _each(self._objects.get(subject), predicates)

    def subjects(self, object_: str, *predicates: str) -> list[str]:
        """What points to `object_` by these predicates, each once, in the document's order."""
        return _each(self._subjects.get(object_), predicates)

    def is_end(self, iri: str, forward: bool) -> bool:
        """Tell whether a node leads nowhere: of most files nothing is known but who used them, or who made them."""
        onward, back = (self._subjects, self._objects) if forward else (self._objects, self._subjects)
        return iri not in onward and back.get(iri, {}).keys() <= ({"wasGeneratedBy"} if forward else {"used", "ran"})

    def program(self, activity: str) -> Node | None:
        """The program that an activity ran, where the document has it."""
        named = [self.node[activity].get("program", ""), *self.objects(activity, "wasAssociatedWith")]
        return next((self.node[iri] for iri in named if iri in self.node and self.node[iri]["type"] == "Program"), None)

    def drawn_edges(self) -> Iterable[Edge]:
        """One edge for each pair of shown nodes: the most specific that is asserted between them."""
        best: dict[tuple[str, str], Edge] = {}
        for edge in self.document["edges"]:
            pair = (edge["subject"], edge["object"])
            if pair[0] == pair[1] or pair[0] not in self.node or pair[1] not in self.node:
                continue
            if pair not in best or _rank(edge) < _rank(best[pair]):
                best[pair] = edge
        return best.values()


def _each(ways: dict[str, list[str]] | None, predicates: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(iri for name in predicates for iri in ways.get(name, ()))) if ways else []


def targets(document: LineageDocument) -> list[str]:
    """What the question was about: one IRI, or several."""
    return document.get("targets", [document["target"]])


def stale_reason(one: Stale, folder: str | None = None) -> str:
    """Why a product is stale, in words."""
    path = shorter_path(one["path"], folder)
    if one["reason"] == "stale":
        return f"made from {path}, which is stale"
    of = f" of {moment(one['recorded'])}" if "recorded" in one else ""
    return f"made from {path}{of}, which has changed since"
