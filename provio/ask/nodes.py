"""Descriptions of nodes of the graph: IRIs in, plain dictionaries for people and programs out.

The properties come from the nodes that a walk has read (`provio.ask.walk`); others are read here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote, unquote_to_bytes

from provio.ask import key_prefix
from provio.ask.document import PIPES, RESULT, Edge, Node
from provio.ask.walk import CONFIGURATION, NOISE, Nodes, Properties
from provio.base.text import cut_list
from provio.base.turtle import path_iri
from provio.base.vocab import NS, PROV, RDF, class_name, local_name
from provio.lineage.identity import SEALED, is_result, without_task
from provio.store import Reader

SHOWN = 8  # settings
MOST_SETTINGS = 200  # settings that are read: to sort a very large number takes a store long
WIDTH = 80  # columns
TERMINAL = "/terminal."  # in the name of a connection: an end is a terminal (interceptors/posix/terminal.c)
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
    return cut_list(text, WIDTH) if len(text) > WIDTH else text + " …" if settings[SHOWN:] else text


SINGLE = {
    PROV + "startedAtTime": "start", PROV + "endedAtTime": "end", NS + "size": "size", NS + "modified": "modified",
    NS + "path": "path", NS + "pathEncoded": "pathEncoded", NS + "argv": "argv", NS + "cwd": "cwd", NS + "host": "host",
    NS + "pid": "pid", NS + "exitCode": "exitCode", NS + "rank": "rank",
    NS + "kind": "kind", NS + "number": "number", NS + "sourceText": "source", NS + "status": "status",
    NS + "version": "version",
}  # fmt: skip
AS_NOISE = {PROV + "used": NS + "usedAsNoise", NS + "ran": NS + "ranAsNoise"}
PART_OF, ASSOCIATED = NS + "partOf", PROV + "wasAssociatedWith"
ACTED = frozenset({NS + "Program", NS + "Rank"})
TYPE = RDF + "type"
UPPER = (PROV + "specializationOf", PART_OF)  # the whole that a node belongs to describes it further
PHASE = re.compile(r"/phase/\d+$")
RUN = re.compile(r"https://w3id\.org/provio/run/[^/]+")
NUMBERS = frozenset({"size", "pid", "exitCode", "number", "rank", "version"})


def order(node: Node) -> tuple[int, str, str]:
    """Return a key that sorts nodes by depth, start and IRI."""
    return node.get("depth", -1), node.get("start", ""), node["iri"]


def describe_with_programs(
    reader: Reader, iris: set[str], activities: set[str], known: Nodes | None = None
) -> tuple[list[Node], tuple[list[Node], list[Edge]]]:
    """Return the nodes of these IRIs like `describe`; and the programs that activities ran, and the ranks associated
    with them, as nodes, and the edges to them."""
    known = known or Nodes(reader)
    properties = known.of(iris | activities)
    ran = [(iri, agent) for iri in sorted(activities) for agent in properties[iri].get(ASSOCIATED, ())]
    known.of({agent for _, agent in ran})
    ran = [(iri, agent) for iri, agent in ran if not ACTED.isdisjoint(properties[agent].get(TYPE, ()))]
    edges = [Edge(subject=iri, predicate=ASSOCIATED, object=agent) for iri, agent in ran]
    agents = {agent for _, agent in ran}
    nodes = describe(reader, iris | agents, known)
    programs = sorted((node.copy() for node in nodes if node["iri"] in agents), key=order)
    return [node for node in nodes if node["iri"] in iris], (programs, edges)


def describe(reader: Reader, iris: set[str], known: Nodes | None = None) -> list[Node]:
    """Return the nodes of these IRIs with their descriptive properties; `known` holds the properties that were read
    before."""
    known = known or Nodes(reader)
    wholes = {iri.partition("#")[0] for iri in iris if is_member(iri)}
    properties = known.of(iris | wholes)
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
    if node.get("kind") in SEALED:
        node["task"] = node.get("task", iri)  # without I/O it has no phases
        node["prefix"] = key_prefix.prefix(_label(str(node["task"]), properties[str(node["task"])], {}))
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
    if is_result(iri):
        return RESULT
    kinds = {"version": "FileVersion", "pipe": "Pipe", "socket": "Socket", "memory": "Memory"}
    return kinds.get(iri.removeprefix("https://w3id.org/provio/").partition("/")[0], "Entity")


def name_results(nodes: Iterable[Node], known: Nodes) -> None:
    """Give each result of a task the name and the times of that task."""
    results = [node for node in nodes if node["type"] == RESULT]
    properties = known.of({_task_of(node["iri"]) for node in results})
    for node in results:
        task = properties[_task_of(node["iri"])]
        if "/scattered/" in node["iri"]:
            node["label"] = "data sent by the client"
        else:
            node["label"] = _label(_task_of(node["iri"]), task, {})
            node.update({name: value for name, value in _fields(task).items() if name in ("start", "end")})  # type: ignore[typeddict-item]


def _task_of(result: str) -> str:
    return result.removesuffix("result").partition("scattered/")[0]


def _label(iri: str, row: Properties, node: dict[str, object]) -> str:
    given = row.get("http://www.w3.org/2000/01/rdf-schema#label")
    if given:
        return min(given)
    path = str(node.get("path", ""))
    if node.get("type") in PIPES and not path:
        return "terminal" if TERMINAL in iri else str(node["type"]).lower()
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
    uses = [edge for edge in edges if edge[1] in AS_NOISE and edge[2] in entities]
    properties = known.of(entities.union(subject for subject, _, _ in uses))
    as_noise: dict[str, bool] = {iri: True for iri in entities if NOISE in properties[iri]}
    for subject, predicate, object_ in uses:
        found = object_ in properties[subject].get(AS_NOISE[predicate], ())
        as_noise[object_] = as_noise.get(object_, True) and (found or NOISE in properties[object_])
    return {iri for iri, hidden in as_noise.items() if hidden}
