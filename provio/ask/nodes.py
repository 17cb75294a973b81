"""Nodes of the graph: IRIs in, their properties and descriptions out, read in batches and cached.

A walk and the description of its result need the same nodes: each node is read from the store once, with all its
properties in one lookup. Properties that no lineage query needs (which process read a version, in which call …) are
not read.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Container, Iterable, Mapping, Sequence
from urllib.parse import unquote, unquote_to_bytes

from provio.ask.document import Edge, Gap, Node
from provio.base.algorithms import batched
from provio.base.turtle import instant_text, path_iri
from provio.base.vocab import NS, PROV, RDF, RDFS, class_name, local_name
from provio.lineage.identity import BASE, without_task
from provio.store import Reader

MANY = 2_000  # nodes: from this number on a bulk read is worthwhile
BATCH = 2_000
USED, USED_AS_NOISE = PROV + "used", NS + "usedAsNoise"
NAMED_BY_FILE = PROV + "specializationOf"
FEW = 4  # nodes: to parse and plan a query takes longer than a lookup of each of them
# An ordered set: two runs that observed the same thing state the same properties twice.
Properties = Mapping[str, Mapping[str, None]]

# The properties that lead to other nodes or describe a node. The most frequent ones come first: the filter compares
# an unwanted property with all of them.
WANTED = (
    *(
        PROV + name
        for name in "used wasGeneratedBy specializationOf wasAssociatedWith startedAtTime endedAtTime".split()
    ),
    *(NS + name for name in "partOf path carriedFrom launchedBy continuedFrom noise pathEncoded".split()),
    *(NS + name for name in "usedAsNoise ranAsNoise".split()),
    *(PROV + name for name in "wasRevisionOf wasDerivedFrom alternateOf".split()),
    *(
        NS + name
        for name in "sameContentAs contentFrom mapsOnto madeIn format leadsTo without name nameEncoded".split()
    ),
    *(NS + name for name in "argv cwd host pid rank exitCode kind number sourceText status version".split()),
    RDFS + "label",
)
_OF_PROCESSES = frozenset(
    (
        *(PROV + name for name in "used wasAssociatedWith startedAtTime endedAtTime".split()),
        *(NS + name for name in "usedAsNoise ranAsNoise partOf carriedFrom launchedBy continuedFrom".split()),
        *(NS + name for name in "argv cwd host pid rank exitCode sourceText status".split()),
    )
)
FILE_WORDS = tuple(word for word in WANTED if word not in _OF_PROCESSES)
_IN_NAME = (NS + "size", NS + "modified")  # part of the name of a version
_CLASSES = (NS + "FileVersion", NS + "File", NS + "Phase")  # each recognisable by the form of the name
VERSION = re.compile(r"https://w3id\.org/provio/version/[^/]+/\d+\.\d+\.(\d+)\.(\d+)")
_PHASE = re.compile(r"https://w3id\.org/provio/run/.*\.[0-9a-z]+/phase/\d+(/\d+)?")  # not of a Task
_KEPT = frozenset((RDF + "type", *_IN_NAME, *WANTED))


def _any(predicates: Iterable[str]) -> str:
    return "||".join(f"?p=<{iri}>" for iri in predicates)


_REST = f"||?p=<{RDF}type>&&?o NOT IN(" + ",".join(f"<{iri}>" for iri in _CLASSES) + ")"


def batches(nodes: Iterable[str]) -> list[list[str]]:
    """Return the nodes in lists short enough for one query."""
    return list(batched(nodes, BATCH))


class Nodes:
    """The nodes that were read so far: `properties` maps an IRI to a predicate to values."""

    def __init__(self, reader: Reader, without: Iterable[str] = ()) -> None:
        """Start with an empty cache; `without` are properties that the caller does not need, and that are not read."""
        self.reader, self._without = reader, frozenset(without)
        self._words = [word for word in FILE_WORDS if word not in self._without]
        self.properties: dict[str, dict[str, dict[str, None]]] = {}

    def of(self, iris: Iterable[str]) -> Mapping[str, Properties]:
        """Return a mapping with the properties of these IRIs (and of all IRIs requested before)."""
        new = {iri: _from_name(iri) for iri in iris if iri not in self.properties}
        if not new:
            return self.properties
        self.properties.update(new)
        if len(new) <= FEW:
            self._read_few(new)
            return self.properties
        if len(new) > MANY:
            self._read_files(new)
        wanted = [word for word in WANTED if word not in self._without]
        for batch in batches(iri for iri, known in new.items() if known):
            self._read(batch, _any(wanted) + _REST)
        for batch in batches(iri for iri, known in new.items() if not known):
            self._read(batch, _any((RDF + "type", *_IN_NAME, *wanted)))
        return self.properties

    def _read_files(self, new: dict[str, dict[str, dict[str, None]]]) -> None:
        """Read versions and files in bulk if they are very many, and remove them from `new`."""
        wanted = {iri for iri, known in new.items() if _IN_NAME[0] in known or iri.startswith("file://")}
        if len(wanted) > MANY:
            from provio.ask import bulk_fetch

            if bulk_fetch.add_files(self.reader, self.properties, wanted, self._words, _CLASSES):
                for iri in wanted:
                    del new[iri]

    def _read_few(self, new: Mapping[str, Properties]) -> None:
        filtered = [iri for iri in new if USED in self._without and "/run/" in iri]  # they may have used very many
        named = {iri for iri, known in new.items() if known}
        plain = [iri for iri in new if iri not in filtered]
        found: list[Sequence[str]] = [*self.reader.about(plain)] if plain else []
        if filtered:
            values = " ".join(f"<{iri}>" for iri in filtered)
            found += self.reader.table(f"SELECT ?s ?p ?o {{ VALUES ?s {{ {values} }} ?s ?p ?o FILTER(?p!=<{USED}>) }}")
        for iri, predicate, value in found:
            if predicate in _KEPT and not (iri in named and (predicate in _IN_NAME or value in _CLASSES)):
                _note(self.properties[iri], predicate, value)

    def _read(self, batch: list[str], wanted: str) -> None:
        # A number stands for each node in the result: the store need not look up the node's text for every row.
        values = " ".join(f"(<{iri}>{number})" for number, iri in enumerate(batch))
        query = f"SELECT ?n ?p ?o {{ VALUES (?s ?n) {{ {values} }} ?s ?p ?o FILTER({wanted}) }}"
        nodes = [self.properties[iri] for iri in batch]
        for number, predicate, value in self.reader.table(query):
            _note(nodes[int(number)], predicate, value)


def _note(properties: dict[str, dict[str, None]], predicate: str, value: str) -> None:
    """Add a value. A file used as noise counts as used, too."""
    properties.setdefault(predicate, {})[value] = None
    if predicate == USED_AS_NOISE:
        properties.setdefault(USED, {})[value] = None


def _from_name(iri: str) -> dict[str, dict[str, None]]:
    """Return the properties that follow from the name of a node, as `identity` makes names; {} for other names."""
    if version := VERSION.fullmatch(iri):
        return {
            RDF + "type": {_CLASSES[0]: None},
            NS + "modified": {instant_text(int(version[1])): None},
            NS + "size": {version[2]: None},
        }
    kind = _CLASSES[1] if iri.startswith("file://") else _CLASSES[2] if _PHASE.fullmatch(iri) else None
    return {RDF + "type": {kind: None}} if kind else {}


# Descriptions of nodes.


CONFIGURATION = BASE + "configuration/"
SHOWN = 8  # settings
MOST_SETTINGS = 200  # settings that are read: to sort a very large number takes a store long
WIDTH = 80  # columns
SETTINGS = """SELECT DISTINCT ?name ?value { <%s> prov:hadMember ?s . ?s provio:name ?name ; provio:value ?value }
    LIMIT %d"""


def configuration_title(name: str, version: object = None) -> str:
    """Return the title of a version of a configuration."""
    return ", ".join(filter(None, (name or "configuration", f"version {version}" if version else "")))


def configuration_summary(reader: Reader, iri: str, title: str) -> str:
    """Return a title followed by the first settings of a configuration, as many as fit on a line."""
    settings = sorted(f"{row['name']} {row['value']}" for row in reader.rows(SETTINGS % (iri, MOST_SETTINGS)))
    text = f"{title}: {', '.join(settings[:SHOWN])}" if settings else title
    text = " ".join(text.split())
    return text[: WIDTH - 2] + " …" if len(text) > WIDTH else text + " …" if settings[SHOWN:] else text


SINGLE = {
    PROV + "startedAtTime": "start", PROV + "endedAtTime": "end", NS + "size": "size", NS + "modified": "modified",
    NS + "path": "path", NS + "pathEncoded": "pathEncoded", NS + "argv": "argv", NS + "cwd": "cwd", NS + "host": "host",
    NS + "pid": "pid", NS + "exitCode": "exitCode", NS + "rank": "rank",
    NS + "kind": "kind", NS + "number": "number", NS + "sourceText": "source", NS + "status": "status",
    NS + "version": "version",
}  # fmt: skip
AS_NOISE = {PROV + "used": NS + "usedAsNoise", NS + "ran": NS + "ranAsNoise"}
PART_OF, ASSOCIATED, NOISE = NS + "partOf", PROV + "wasAssociatedWith", NS + "noise"
ACTED = frozenset({NS + "Program", NS + "Rank"})
TYPE = RDF + "type"
UPPER = (PROV + "specializationOf", PART_OF)  # the whole that a node belongs to describes it further
PHASE = re.compile(r"/phase/\d+$")
RUN = re.compile(r"https://w3id\.org/provio/run/[^/]+")
NUMBERS = frozenset({"size", "pid", "exitCode", "number", "rank", "version"})


def order(node: Node) -> tuple[int, str, str]:
    """Return a key that sorts nodes by depth, start and IRI."""
    return node.get("depth", -1), node.get("start", ""), node["iri"]


def programs(reader: Reader, activities: set[str], known: Nodes | None = None) -> tuple[list[Node], list[Edge]]:
    """Return the programs that activities ran, and the ranks associated with them, as nodes, and the edges to them."""
    known = known or Nodes(reader)
    properties = known.of(activities)
    tied = sorted(iri for iri in activities if ASSOCIATED in properties[iri])
    ran = [(iri, agent) for iri in tied for agent in properties[iri][ASSOCIATED]]
    agents = known.of({agent for _, agent in ran})
    ran = [(iri, agent) for iri, agent in ran if not ACTED.isdisjoint(agents[agent].get(TYPE, ()))]
    edges = [Edge(subject=iri, predicate=ASSOCIATED, object=agent) for iri, agent in ran]
    nodes = describe(reader, {agent for _, agent in ran}, known)
    return sorted(nodes, key=order), edges


def name_phases(nodes: list[Node], programs: tuple[list[Node], list[Edge]]) -> None:
    """Label each phase with the name of its program, and a phase of a Task with that of the Task."""
    labels = {node["iri"]: node["label"] for node in programs[0] if node["type"] == "Program"}
    names = {edge["subject"]: labels[edge["object"]] for edge in programs[1] if edge["object"] in labels}
    for node in nodes:
        if node["type"] != "Task" and "task" not in node:
            node["label"] = names.get(node["iri"], node["label"])


def describe(reader: Reader, iris: set[str], known: Nodes | None = None) -> list[Node]:
    """Return the nodes of these IRIs with their descriptive properties; `known` holds the properties that were read
    before."""
    known = known or Nodes(reader)
    properties = known.of(iris)
    wholes = {iri.partition("#")[0] for iri in iris if is_member(iri)}
    known.of(wholes)
    upper = {_whole(other) for iri in iris | wholes for name in UPPER for other in properties[iri].get(name, ())}
    tasks = {iri: without_task(iri) for iri in upper}
    known.of(upper.union(tasks.values()))
    classes = {frozenset(properties[iri].get(TYPE, ())) for iri in iris | wholes}
    kinds = {types: class_name(types) for types in classes}
    nodes = [_node(iri, properties, tasks, kinds) for iri in iris]
    for node in nodes:
        if node["iri"].startswith(CONFIGURATION):
            node["label"] = configuration_summary(reader, node["iri"], node["label"])
    return nodes


def is_member(iri: str) -> bool:
    """Return whether an IRI names an object inside a file."""
    return "#" in iri and "/version/" in iri


def _whole(iri: str) -> str:
    """Return the process of a phase that has finer phases: the coarse phase does not describe them."""
    return iri[: found.start() + 1] if "/phase/" in iri and (found := PHASE.search(iri)) else iri


def _node(
    iri: str, properties: Mapping[str, Properties], tasks: Mapping[str, str], kinds: Mapping[frozenset[str], str]
) -> Node:
    """Return a node from its properties; `tasks` maps each Task to its process, `kinds` classes to the name of
    the most specific one."""
    row = properties[iri]
    node: dict[str, object] = {}
    for name in UPPER:
        if name in row:
            whole = _whole(min(row[name]))
            node.update(_fields(properties[tasks[whole]]))
    if PART_OF in row:
        node["process"] = tasks[whole]
        if whole != node["process"]:
            node.update(_fields(properties[whole]), task=whole, label=_label(whole, properties[whole], {}))
    node.update(_fields(row))
    if is_member(iri):
        _place(iri, node, _node(iri.partition("#")[0], properties, tasks, kinds))
    node["iri"], node["type"] = iri, kinds[frozenset(row.get(TYPE, ()))] or _class_by_name(iri)
    node["label"] = node.get("label") or _label(iri, row, node)
    if "/run/" in iri and (run := RUN.match(iri)):
        node["run"] = run[0]
    return node  # type: ignore[return-value]


def _place(iri: str, node: dict[str, object], whole: Node) -> None:
    """Name an object after its file, and an attribute after its object."""
    names = [unquote_to_bytes(part).decode("utf-8", "replace") for part in iri.partition("#")[2].split("@")]
    node["path"] = "@".join([f"{whole.get('path', whole['label'])}#{names[0]}", *names[1:]])
    if "pathEncoded" in node or "pathEncoded" in whole:
        encoded = whole.get("pathEncoded") or path_iri(os.fsencode(whole.get("path", "")))
        node["pathEncoded"] = f"{encoded}#{iri.partition('#')[2]}"


def _fields(row: Properties) -> dict[str, object]:
    found: dict[str, object] = {}
    for predicate, values in row.items():
        if predicate in SINGLE:
            name = SINGLE[predicate]
            value = min(values) if len(values) > 1 else next(iter(values))
            found[name] = int(value) if name in NUMBERS else value
    if "pathEncoded" in found and "path" not in found:
        found["path"] = unquote_to_bytes(str(found["pathEncoded"])).decode("utf-8", "replace")
    return found


def _class_by_name(iri: str) -> str:
    """Return a class by the form of the IRI, if no queried graph states one: a selection of runs omits the others'
    graphs."""
    if is_member(iri):
        return "Attribute" if "@" in iri.partition("#")[2] else "DataObject"
    kinds = {"version": "FileVersion", "pipe": "Pipe", "socket": "Socket"}
    return kinds.get(iri.removeprefix("https://w3id.org/provio/").partition("/")[0], "Entity")


def _label(iri: str, row: Properties, node: dict[str, object]) -> str:
    given = row.get("http://www.w3.org/2000/01/rdf-schema#label")
    if given:
        return min(given)
    path = str(node.get("path", ""))
    if node.get("type") in ("Pipe", "Socket") and not path:
        return str(node["type"]).lower()
    if node.get("type") == "Phase":  # of a run without programs
        return "process"
    return label(iri, path) or _named(row) or local_name(iri.rstrip("/")) or iri


def _named(row: Properties) -> str:
    """Return the name that a program declared, with the version of a configuration."""
    name, version = (min(row.get(NS + word, ("",))) for word in ("name", "version"))
    return configuration_title(name, version) if version else name


def label(iri: str, path: str) -> str:
    """Return a short name: the last part of a path; for an object, that of its file and the full path inside it."""
    if is_member(iri):
        inside = unquote(iri.partition("#")[2], errors="replace")
        file = path.removesuffix("#" + inside)
        return f"{file.rpartition('/')[2]}#{inside}" if file != path else path
    return path.rpartition("/")[2]


def noise(
    reader: Reader, entities: set[str], edges: Iterable[tuple[str, str, str]], known: Nodes | None = None
) -> set[str]:
    """Return the system files among these versions, and the output of the system's programs.

    A version is a system file if each activity that used or ran it by one of these edges marks it as one.
    """
    known = known or Nodes(reader)
    properties = known.of(entities)
    uses = [edge for edge in edges if edge[1] in AS_NOISE and edge[2] in entities]
    activities = known.of({subject for subject, _, _ in uses})
    as_noise: dict[str, bool] = {iri: True for iri in entities if NOISE in properties[iri]}
    for subject, predicate, object_ in uses:
        found = object_ in activities[subject].get(AS_NOISE[predicate], ())
        as_noise[object_] = as_noise.get(object_, True) and (found or NOISE in properties[object_])
    return {iri for iri, hidden in as_noise.items() if hidden}


def gaps(reader: Reader, shown: set[str], leaves: Container[str] = ()) -> list[Gap]:
    """Return the gaps about anything shown, or about the process or run to which it belongs.

    `leaves` are complete versions, which are shown, too.
    """
    query = """SELECT DISTINCT ?gap ?about ?reason {
        ?gap a provio:Gap ; provio:about ?about ; provio:reason ?reason }"""
    gaps, known = [], sorted(shown)
    for row in reader.rows(query):
        near = (
            row["about"]
            if row["about"] in shown or row["about"] in leaves
            else _first_below(known, row["about"].rstrip("/") + "/")
        )
        near = near or _first_below(known, row["about"] + "#")
        if near:
            gaps.append(Gap(iri=row["gap"], about=near, reason=row["reason"]))
    return sorted(gaps, key=lambda gap: gap["iri"])


def _first_below(known: list[str], folder: str) -> str | None:
    place = bisect_left(known, folder)
    return known[place] if place < len(known) and known[place].startswith(folder) else None
