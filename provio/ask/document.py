"""The lineage document: the output of `provio lineage --as json` and the source of every report and page.

In: a plain dictionary of the form of `LineageDocument`. Out: `Lineage`, the same document indexed for traversal in
the direction of the data. This module neither queries a store nor prints.
"""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final, Literal, NotRequired, TypedDict
from urllib.parse import unquote

from provio.base.text import ago, plural, shorter_path
from provio.base.turtle import instant_text
from provio.lineage.identity import VERSION, earliest

Via = Literal["data", "carried", "control", "code"]
Direction = Literal["backward", "forward"]


class Metric(TypedDict):
    """A number that a checkpoint was saved with, as stored in the graph."""

    name: str
    value: str
    step: NotRequired[int]


class Under(TypedDict):
    """The version of a configuration that was in force."""

    iri: str
    name: str
    version: NotRequired[int]


class SavedAs(TypedDict):
    """A checkpoint that a file version is, or to which it belongs."""

    iri: str
    step: NotRequired[int]
    metrics: list[Metric]
    configurations: list[Under]


class Node(TypedDict):
    """An entity, an activity or a program. `type` is the local name of the class; times are xsd:dateTime in UTC.

    `command` is the command line as its user typed it, if the recorded one (`argv`) is another; `rule` is the rule of
    Snakemake whose job it belongs to; `notebook` is the notebook of a cell, and of its kernel. `files` is the number of
    files of a folder (`provio.ask.folders`), whose `size` is their sum. `prefix` is that of the key of a framework's
    task.
    """

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
    command: NotRequired[str]
    rule: NotRequired[str]
    notebook: NotRequired[str]
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
    prefix: NotRequired[str]
    number: NotRequired[int]
    source: NotRequired[str]
    status: NotRequired[str]
    changed: NotRequired[str]
    failed: NotRequired[str]
    stale: NotRequired[str]
    settings: NotRequired[list[str]]
    version: NotRequired[int]
    checkpoints: NotRequired[list[SavedAs]]
    files: NotRequired[int]


class RunName(TypedDict):
    """A run: its name, or its command line, and its start."""

    title: str
    start: str


class Preview(TypedDict):
    """The content of a small file: a picture (`data`, a data URI), or the first rows or lines; `more` may follow."""

    kind: Literal["picture", "table", "text"]
    data: NotRequired[str]
    rows: NotRequired[list[list[str]]]
    text: NotRequired[str]
    more: NotRequired[bool]


class Edge(TypedDict):
    """An asserted triple with absolute IRIs."""

    subject: str
    predicate: str
    object: str


class Gap(TypedDict):
    """Something that could not be observed: the affected resource and the reason; `path` of a file that the document
    does not contain."""

    iri: str
    about: str
    reason: str
    path: NotRequired[str]


def named_reason(name: str, reason: str) -> str:
    """Return the reason of a gap with the name of its file before it, unless the reason starts with that name."""
    own = re.match(rf"(?:[^:]*/)?{re.escape(name.rpartition('/')[2])}[ :]", reason)
    return reason if own or not name else f"{name}: {reason}"


class Stale(TypedDict):
    """A product made from a version of an input that is no longer the current one, or from a stale product.

    `input` is the version that it was made from, `path` its name and `recorded` its time; `present` is the current
    version. `reason` is `changed` if the input has another content now, `stale` if the input is unchanged but itself
    a stale product. `code` is present if the input is a program, module or library, `content` if the version is
    another one, but its content was not compared.
    """

    product: str
    input: str
    path: str
    recorded: NotRequired[str]
    present: NotRequired[str]
    reason: Literal["changed", "stale"]
    code: NotRequired[Literal["program", "module", "library"]]
    content: NotRequired[Literal["unknown"]]


class Kept(TypedDict):
    """The worker of a framework's tasks, the number of its earlier tasks that read files, and whether it read files
    outside of tasks, too: they may still be in its memory. Forward: the number of its later tasks."""

    process: str
    tasks: int
    own: bool


class Messages(TypedDict):
    """A process of a framework: the numbers of messages that it sent to other parts (`written`, with their `bytes`) and
    received (`read`)."""

    process: str
    pid: int
    program: str
    written: int
    bytes: int
    read: int


class Note(TypedDict):
    """A note of a user: its IRI, the IRI that it is about, its time (xsd:dateTime in UTC), its user if known, its
    text."""

    iri: str
    about: str
    time: str
    user: NotRequired[str]
    text: str


class LineageDocument(TypedDict):
    """A lineage. `hidden` counts the omitted system files, `control` the omitted control ancestors.

    The other members are present only on request. `targets`: all targets of the query, `target` among them, if there
    are several. `only`: the answer is not the complete graph, but only its roots or the stale products. `paths`:
    paths from a target to its roots (forward: to the final products), as lists of nodes; `ways` is their number.
    `asOf`: the time of the answer if runs are in progress. `stale`: the reasons of each stale product.
    `runs`: the command line of each run, encoded like `argv`; JSON does not contain it.
    Only pages contain `runNames` and `previews` (both by IRI), `stale` of a node (the reason), `changed` of inputs that
    are no targets, the `settings` of a configuration, and `unmarked` (why no file is marked as stale).
    `kept`: the workers of a framework that may have kept data for the tasks of the answer; `messages`: those of the
    processes of these frameworks, in the runs of the tasks.
    `code`: there are no roots, but there are with `--code`. `limits`: why something may be stale, or there may be a
    root, that was not found. `notes`: the notes of users about the nodes and their runs, if there are any.
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
    code: NotRequired[bool]
    runs: NotRequired[dict[str, str]]
    paths: NotRequired[list[list[str]]]
    ways: NotRequired[int]
    stale: NotRequired[list[Stale]]
    limits: NotRequired[list[str]]
    notes: NotRequired[list[Note]]
    kept: NotRequired[list[Kept]]
    messages: NotRequired[list[Messages]]
    runNames: NotRequired[dict[str, RunName]]
    unmarked: NotRequired[str]
    previews: NotRequired[dict[str, Preview]]


ACTIVITIES: Final = frozenset({"Phase", "Task", "Copy", "Process", "Run", "Access", "IOActivity"})
AGENTS: Final = frozenset({"Program", "Thread", "User", "Rank"})
RESULT: Final = "TaskResult"
PIPES: Final = frozenset({"Pipe", "Socket", "Memory"})
PARTS: Final = frozenset({"Group", "Dataset", "Attribute", "Datatype"})
LONGEST_LINE: Final = 200  # characters: a notebook cell may consist of data on a single line

# Sub-properties come first: an asserted sub-property implies its super-property, and only one of the two is drawn.
SPECIFIC_FIRST: Final = (
    "used", "wasGeneratedBy", "continuedFrom", "carriedFrom", "launchedBy", "ran", "mapsOnto", "wasRevisionOf",
    "contentFrom", "sameContentAs", "alternateOf", "hadMember", "wasInvalidatedBy", "wasAssociatedWith",
    "specializationOf", "wasDerivedFrom", "wasInformedBy", "wasAttributedTo", "actedOnBehalfOf",
)  # fmt: skip

# PROV points from the later to the earlier thing; only with these properties does data flow from subject to object.
_ALONG_THE_DATA: Final = frozenset({"hadMember", "wasInvalidatedBy", "wasReadBy"})
_MAKING: Final = frozenset({"wasWrittenBy", "wasCreatedBy", "wasModifiedBy", "wasFlushedBy"})


def local_name(iri: str) -> str:
    """Return the part after the last `#` or `/`."""
    return iri.rsplit("#", 1)[-1].rsplit("/", 1)[-1]


def arguments(argv: str) -> list[str]:
    """Return the arguments of a recorded command line (docs/trace-format.md): percent-encoded, joined by one space."""
    return ["" if part == "%" else unquote(part, errors="replace") for part in argv.split(" ")]


def exact_arguments(argv: str) -> list[str]:
    """Return the arguments as `os.fsdecode` does, for comparison and execution; none of an empty text."""
    return ["" if part == "%" else unquote(part, errors="surrogateescape") for part in argv.split(" ")] if argv else []


def command_line(node: Node) -> str:
    """Return the command as its user typed it in a shell; empty if none is known."""
    argv = node.get("command") or node.get("argv")
    return shlex.join(arguments(argv)) if argv else ""


def first_line(node: Node) -> str:
    """Return the first line of the code that a Task executed, marked if more follow; empty if none is known."""
    lines = [line for line in node.get("source", "").splitlines() if line.strip()]
    line = lines[0].strip() if lines else ""
    return line[:LONGEST_LINE] + (" …" if len(lines) > 1 or len(line) > LONGEST_LINE else "")


def saved_as(node: Node) -> list[str]:
    """Return the checkpoints of a file version as text: the step, the metrics, the configurations in force."""
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
    """An indexed document: `node` by IRI; `outgoing` maps a subject, `incoming` an object to the local name of each
    predicate to the other ends of its edges."""

    def __init__(self, document: LineageDocument) -> None:
        self.document = document
        self.node: dict[str, Node] = {node["iri"]: node for node in document["nodes"]}
        self.outgoing: dict[str, dict[str, list[str]]] = {}
        self.incoming: dict[str, dict[str, list[str]]] = {}
        self.reasons: dict[str, list[str]] = defaultdict(list)
        names = {predicate: local_name(predicate) for predicate in {edge["predicate"] for edge in document["edges"]}}
        for edge in document["edges"]:
            subject, object_, name = edge["subject"], edge["object"], names[edge["predicate"]]
            if subject in self.node and object_ in self.node:
                self.outgoing.setdefault(subject, {}).setdefault(name, []).append(object_)
                self.incoming.setdefault(object_, {}).setdefault(name, []).append(subject)
        for gap in document["gaps"]:
            self.reasons[gap["about"]].append(gap["reason"])

    def objects(self, subject: str, *predicates: str) -> list[str]:
        """Return the objects of `subject` by these predicates, each once, in the document's order."""
        return _each(self.outgoing.get(subject), predicates)

    def subjects(self, object_: str, *predicates: str) -> list[str]:
        """Return the subjects that point to `object_` by these predicates, each once, in the document's order."""
        return _each(self.incoming.get(object_), predicates)

    def is_end(self, iri: str, forward: bool) -> bool:
        """Return whether a node is an end of the graph: of most files only users, or only makers, are known."""
        onward, back = (self.incoming, self.outgoing) if forward else (self.outgoing, self.incoming)
        return iri not in onward and back.get(iri, {}).keys() <= ({"wasGeneratedBy"} if forward else {"used", "ran"})

    def program(self, activity: str) -> Node | None:
        """Return the program that an activity ran, if the document contains it."""
        named = [self.node[activity].get("program", ""), *self.objects(activity, "wasAssociatedWith")]
        return next((self.node[iri] for iri in named if iri in self.node and self.node[iri]["type"] == "Program"), None)

    def drawn_edges(self) -> Iterable[Edge]:
        """Return one edge for each pair of shown nodes: the most specific one that is asserted between them."""
        best: dict[tuple[str, str], Edge] = {}
        for edge in self.document["edges"]:
            pair = (edge["subject"], edge["object"])
            if pair[0] == pair[1] or pair[0] not in self.node or pair[1] not in self.node:
                continue
            if pair not in best or _rank(edge) < _rank(best[pair]):
                best[pair] = edge
        return best.values()

    def flow(self, edge: Edge) -> tuple[str, str]:
        """Return the two ends of an edge in the direction of the data: (from, to)."""
        name, ends = local_name(edge["predicate"]), (edge["subject"], edge["object"])
        activity = {"partOf": ends[0], "wasOpenedBy": ends[1]}.get(name)
        along = name in _ALONG_THE_DATA or (activity and activity not in self._writers)
        return ends if along else ends[::-1]

    @cached_property
    def _writers(self) -> set[str]:
        """The I/O activities that changed a file, and those that opened it for the phase that made it."""
        found = {activity for activity, ends in self.incoming.items() if ends.keys() & _MAKING}
        for activity, ends in self.incoming.items():
            phases = {*self.objects(activity, "partOf")}
            if any(phases & {*self.objects(file, "wasGeneratedBy")} for file in ends.get("wasOpenedBy", ())):
                found.add(activity)
        return found


def _each(edges: dict[str, list[str]] | None, predicates: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(iri for name in predicates for iri in edges.get(name, ()))) if edges else []


def targets(document: LineageDocument) -> list[str]:
    """Return the targets of the query: one IRI or several."""
    return document.get("targets", [document["target"]])


def only_kept(document: LineageDocument) -> str:
    """Return in words from how many earlier tasks the workers of an answer may have kept data (forward: for how many
    later tasks); empty if from none."""
    kept = document.get("kept", [])
    if not kept or document["direction"] == "forward":
        return f"{later_tasks(kept)} (--via carried)" if kept else ""
    workers = "its worker" if len(kept) == 1 else f"{len(kept)} workers"
    return f"may have used data that {workers} kept from {earlier_tasks(kept)} (--via carried)"


def later_tasks(kept: Sequence[Kept]) -> str:
    """Return in words how many later tasks may have used kept data."""
    return f"{plural(sum(one['tasks'] for one in kept), 'later task')} may have used kept data"


def earlier_tasks(kept: Sequence[Kept]) -> str:
    """Return in words from which activities workers may have kept data."""
    tasks = sum(one["tasks"] for one in kept)
    sources = [plural(tasks, "earlier task")] if tasks else []
    sources += ["their own reads" if len(kept) > 1 else "its own reads"] if any(one["own"] for one in kept) else []
    return " and ".join(sources)


def only_launched(document: LineageDocument) -> str:
    """Return the number of the omitted control ancestors, or descendants, in words; empty if there are none."""
    if not document["control"]:
        return ""
    if document["direction"] == "forward":
        return f"{plural(document['control'], 'product')} of programs that these started"
    return f"{plural(document['control'], 'input')} of the programs that started these"


KINDS: Final = {"program": " (the program)", "module": " (a module)", "library": " (a library)"}


def stale_reason(one: Stale, folder: str | None = None, now: str = "") -> str:
    """Return the reason why a product is stale, as text; with `now` (xsd:dateTime), how long ago the input changed."""
    name = input_name(one["path"], one.get("code", ""), "content" not in one, folder)
    if one["reason"] == "stale":
        return f"{name} is stale"
    time = changed_at(one.get("present")) if now else ""
    return f"{name} changed {ago(time, now)}" if time else f"{name} has changed since"


def input_name(path: str, code: str, compared: bool, folder: str | None) -> str:
    """Return the name of a changed input, with its kind if it is code, and whether its content was not compared."""
    return shorter_path(path, folder) + KINDS.get(code, "") + " (not compared by content)" * (not compared)


def changed_at(version: str | None) -> str:
    """Return the earliest time at which a version can have come to its place, as xsd:dateTime; empty if unknown."""
    return instant_text(earliest(version)) if version and VERSION.match(version) else ""


EDITED: Final = "edited outside provio"  # the start of the gap of a source that was edited between two runs
EDITED_PRODUCT: Final = "made by a run, then changed outside provio"  # the same of a product
NO_HASH: Final = "its SHA-256 is not known"  # part of the gap of a file whose content cannot be compared


def may_hide_files(reason: str) -> bool:
    """Return whether a gap with this reason may hide files that a run read or wrote."""
    return not (reason.startswith(EDITED) or NO_HASH in reason)


def not_stale(document: LineageDocument) -> str:
    """Return the statement of an answer without a stale product; it names everything that was not checked."""
    forward, limits = document["direction"] == "forward", document.get("limits", [])
    if "asOf" in document:  # a run in progress may still make something stale
        return f"{document['asOf']}; {'its products are newer' if forward else 'its inputs are unchanged'}"
    if any(not gap["reason"].startswith(EDITED) for gap in document["gaps"]):
        limits = ["not everything was recorded", *limits]
    if document.get("kept"):
        limits = [*limits, "data that workers kept were not compared"]
    if limits:
        return f"no recorded {'product is stale' if forward else 'input has changed'}, but {'; '.join(limits)}"
    if forward:
        return "nothing that was made from it is stale"
    return "nothing is stale: every file that it was made from is as it was"
