"""The maker of a file. In: a version and a store. Out: the process, its circumstances, inputs and launchers."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from typing import NotRequired, TypedDict

from provio.ask import incomplete, notes, started_as, suggestions
from provio.ask.document import PIPES, Edge, Gap, Kept, Lineage, LineageDocument, Node, Note
from provio.ask.failures import Failures
from provio.ask.lineage import Found, Scope, find
from provio.ask.member_origins import Origins
from provio.ask.nodes import describe, is_member
from provio.ask.run_uses import run_of
from provio.ask.target import Target
from provio.ask.walk import Nodes
from provio.ask.works import TIES, Works
from provio.base.errors import NothingKnown, NotYet
from provio.base.vocab import PROV, local_name
from provio.store import Reader

NAMES = {name: name for name in (
    "pid argv cwd host exitCode signal partOf name campaign commandLine gitCommit gitDirty jobId jobArrayIndex "
    "jobNodes jobPartition jobAccount jobResources system kernel"
).split()} | {"startedAtTime": "start", "endedAtTime": "end"}  # fmt: skip


ENDS = frozenset({"exitCode", "signal"})
FEW = 3  # attributes that are shown of a file without a maker


class Reason(TypedDict):
    """A process that made a version, or a part of it, with its circumstances.

    `name` and `command` are those of the program as its user started it; of a helper (a worker, a kernel), those of the
    program that started it, and `helper` is true. A cell has the name of its `notebook` and no command.
    `read` are its inputs, `carried` the inputs of earlier phases; `kept` are versions whose content the file kept;
    `launchedBy` are the processes that launched it, the nearest first, up to the run's command. `notes` are those about
    the version, the Task and the run; `inMemory` are earlier tasks of its worker, which may have kept data.
    """

    target: str
    path: str
    size: NotRequired[int]
    modified: NotRequired[str]
    metadata: NotRequired[dict[str, str]]
    changed: NotRequired[str]
    failed: NotRequired[str]
    process: dict[str, str]
    name: NotRequired[str]
    command: NotRequired[str]
    helper: NotRequired[bool]
    notebook: NotRequired[bool]
    program: NotRequired[Node]
    task: NotRequired[Node]
    plan: NotRequired[Node]
    run: dict[str, str]
    user: NotRequired[str]
    read: list[Node]
    carried: list[Node]
    kept: list[Node]
    hidden: int
    inMemory: NotRequired[list[Kept]]
    launchedBy: list[dict[str, str]]
    contributors: list[dict[str, str]]
    gaps: list[Gap]
    notes: NotRequired[list[Note]]


def why(reader: Reader, target: Target) -> Reason:
    """Return the maker of a version; raises NothingKnown, with the known facts, if no recorded process made it."""
    inside = is_member(target.iri)
    found = find(reader, [target], Scope(depth=1, inside=inside))
    made = _made(reader, target.iri)
    if made is None:
        unmade, as_of = _unmade(reader, target, found), suggestions.as_of_text(reader)
        raise NotYet(f"{as_of}: {unmade}") if as_of else NothingKnown(unmade)
    if made[0] != target.iri:
        found = find(reader, [Target(made[0])], Scope(depth=1, inside=inside))
    own = next(node for node in describe(reader, {target.iri}))
    process = _facts(reader, made[2])
    run = _facts(reader, process.pop("partOf"))
    launchers = _launchers(reader, made[1], made[2])
    _complete_end(process, run, launchers, run_of(run["iri"]) in reader.in_progress)
    inputs = _inputs(found, made)
    reason = Reason(
        target=target.iri, path=target.path or own.get("path") or own["label"], process=process, run=run,
        read=inputs["read"], carried=inputs["carried"], kept=inputs["kept"], hidden=found.hidden,
        launchedBy=launchers, contributors=_contributors(reader, target.iri),
        gaps=found.gaps,
    )  # fmt: skip
    kinds = {node["type"] for node in found.nodes if node["iri"] == made[1]} or {"Task"}
    # To describe a maker reads all its inputs, which may be very many; only a Task has more properties to show.
    if "Task" in kinds and (maker := describe(reader, {made[1]})[0])["type"] == "Task":
        reason["task"] = maker
    if "size" in own:
        reason["size"] = own["size"]
    if "modified" in own:
        reason["modified"] = own["modified"]
    failed = Failures(reader).end(run_of(run["iri"]), made[2], made[1])
    if failed:
        reason["failed"] = failed
    if target.changed:
        reason["changed"] = target.changed
    task = [reason["task"].get("task", reason["task"]["iri"])] if "task" in reason else []
    if found_notes := notes.of(reader, [target.iri, run["iri"], *task]):
        reason["notes"] = found_notes
    _add_metadata(reader, reason)
    _add_kept(reason, found)
    _agents(reader, reason, made[2])
    _name(reader, reason, made[2])
    return reason


def _complete_end(
    process: dict[str, str], run: dict[str, str], launchers: list[dict[str, str]], in_progress: bool
) -> None:
    """Add the exit code of a process for which only provio waited: that of its run. One that may go on has no end."""
    if not ENDS & process.keys() and all(one.get("pid") == process.get("pid") for one in launchers):
        process |= {name: run[name] for name in ENDS & run.keys()}
    if in_progress and not ENDS & process.keys():
        process.pop("end", None)


def metadata_of(reader: Reader, version: str) -> dict[str, str]:
    """Return the attributes inside a file, by name."""
    rows = reader.rows(f"SELECT ?m {{ <{version}> provio:metadata ?m }}")
    pairs = sorted(row["m"].partition("=")[::2] for row in rows)
    return dict(sorted(pairs, key=lambda pair: ":" in pair[0]))  # those of the whole file first


def _add_kept(reason: Reason, found: Found) -> None:
    if found.kept:
        reason["inMemory"] = found.kept


def _add_metadata(reader: Reader, reason: Reason) -> None:
    if metadata := metadata_of(reader, reason["target"]):
        reason["metadata"] = metadata


def _made(reader: Reader, version: str) -> tuple[str, str, str] | None:
    """Return a version that an activity generated (this one, or another key of its content), the activity, and its
    process."""
    values = " ".join(f"<{iri}>" for iri in _keys(reader, version))
    query = f"""SELECT ?v ?a ?p {{ VALUES ?v {{ {values} }}
        ?v prov:wasGeneratedBy ?a . ?a provio:partOf+ ?p . ?p a provio:Process }}"""
    rows = sorted((row["v"] != version, row["v"], row["a"], row["p"]) for row in reader.rows(query))
    return rows[0][1:] if rows else None


def _keys(reader: Reader, version: str) -> list[str]:
    """Return all keys of a version; versions that are only equal in content are omitted, they have other makers."""
    found = [version]
    if is_member(version):
        inside = Origins(reader, Nodes(reader))
        return found if inside.stated(version) else found + inside.origins(version)
    for iri in found:  # grows during the loop
        query = f"""SELECT DISTINCT ?v {{
            {{ <{iri}> prov:alternateOf ?v FILTER NOT EXISTS {{ <{iri}> provio:sameContentAs ?v }} }}
            UNION {{ ?v prov:alternateOf <{iri}> FILTER NOT EXISTS {{ ?v provio:sameContentAs <{iri}> }} }}
            UNION {{ <{iri}> provio:contentFrom ?v }} }}"""
        found += sorted({row["v"] for row in reader.rows(query)} - set(found))
    return found


def _facts(reader: Reader, iri: str) -> dict[str, str]:
    """Return the properties of a process or a run to show, by their names in a lineage document."""
    facts = {"iri": iri}
    for row in reader.rows(f"SELECT ?p ?o {{ <{iri}> ?p ?o }}"):
        name = NAMES.get(local_name(row["p"]))
        if name:
            facts[name] = min(facts.get(name, row["o"]), row["o"])
    return facts


def _inputs(found: Found, made: tuple[str, str, str]) -> dict[str, list[Node]]:
    """Return the inputs of a version's maker, also those through pipes, those of its earlier phases, and the kept
    versions, sorted by name."""
    version, activity, _ = made
    revised = {end for subject, word, end in found.edges if (subject, word) == (version, PROV + "wasRevisionOf")}
    kept = {iri for iri in revised if not iri.startswith(version + "~")}
    ties = {iri: TIES.index(node["via"].replace("data", "")) for iri, node in found.leaves.items()}
    ties.update(_ends(found, version, activity))
    nodes = [*found.leaves.values(), *(node for node in found.nodes if node.get("depth") == 1)]
    nodes.sort(key=lambda node: (node.get("path") or node["label"], node["iri"]))
    nodes.sort(key=lambda node: node["type"] in PIPES)
    return {
        "read": [node for node in nodes if ties.get(node["iri"]) == 0],
        "carried": [node for node in nodes if ties.get(node["iri"], 0) > 0],
        "kept": [node for node in nodes if node["iri"] in kept],
    }


def _ends(found: Found, version: str, activity: str) -> dict[str, int]:
    """Return the inputs of a version's maker, each with its tie (`provio.ask.works`)."""
    edges = [Edge(subject=s, predicate=p, object=o) for s, p, o in found.edges]
    document = LineageDocument(
        target=version, nodes=found.nodes, edges=edges, gaps=[], hidden=0, control=0, direction="backward"
    )
    works = Works(Lineage(document))
    makers = works.makers(version)
    return works.of(makers if activity in makers else [activity]).ends


def _launchers(reader: Reader, activity: str, process: str) -> list[dict[str, str]]:
    """Return the processes that led to an activity, the nearest first, without forks that executed no program."""
    # Two queries: the store would evaluate a single one from all phases.
    query = f"""SELECT DISTINCT ?p {{
        <{activity}> (provio:carriedFrom | provio:continuedFrom | provio:launchedBy)+ ?b . ?b provio:partOf+ ?p }}"""
    found = " ".join(sorted(f"<{row['p']}>" for row in reader.rows(query)))
    query = f"""SELECT ?p ?start {{ VALUES ?p {{ {found} }}
        ?p a provio:Process ; prov:startedAtTime ?start }}"""
    started = reader.rows(query) if found else ()
    rows = sorted({(row["start"].rstrip("Z"), row["p"]) for row in started}, reverse=True)
    chain: list[dict[str, str]] = []
    last = _facts(reader, process)
    for _, iri in rows:
        facts = _facts(reader, iri)
        if iri != process and facts.get("argv") != last.get("argv"):
            chain.append(facts)
            last = facts
    return chain


def _contributors(reader: Reader, version: str) -> list[dict[str, str]]:
    """Return the other processes that wrote a part of a version."""
    query = f"""SELECT DISTINCT ?p {{ <{version}> prov:wasRevisionOf ?c .
        FILTER(STRSTARTS(STR(?c), "{version}~")) ?c prov:wasGeneratedBy ?a .
        ?a provio:partOf+ ?p . ?p a provio:Process }} ORDER BY ?p"""
    return [_facts(reader, row["p"]) for row in reader.rows(query)]


def _agents(reader: Reader, reason: Reason, process: str) -> None:
    """Add the program, its own version, and the user."""
    query = f"""SELECT ?plan ?program {{ <{process}> prov:qualifiedAssociation ?q .
        OPTIONAL {{ ?q prov:hadPlan ?plan }} OPTIONAL {{ ?q prov:agent ?program }} }}"""
    row = next(iter(reader.rows(query)), {})
    for name in ("plan", "program"):
        if name in row:
            reason[name] = describe(reader, {row[name]})[0]
    if "plan" in reason:
        reason["plan"].setdefault("modified", _key_time(reason["plan"]["iri"]))
    query = f"""SELECT ?name {{ <{reason["run"]["iri"]}> prov:wasAssociatedWith ?u .
        ?u a provio:User ; provio:name ?name }}"""
    for row in reader.rows(query):
        reason["user"] = row["name"]


def _name(reader: Reader, reason: Reason, process: str) -> None:
    """Add the name and the command lines as the user started them. The program that a helper is named after did not
    launch it."""
    starters, run = started_as.Starters(Nodes(reader)), reason["run"]
    named = starters.process(process)
    argv = starters.argv(named)
    if started_as.is_notebook(argv, run.get("commandLine", "")) and "name" in run:
        reason["name"], reason["notebook"] = run["name"], True
        return
    own = reason["program"]["label"] if named == process and "program" in reason else ""
    rule = starters.rules([process]).get(process)
    reason["name"] = f"rule {rule}" if rule else started_as.name(argv, own)
    typed = run.get("commandLine", "")
    reason["command"] = started_as.command(argv, typed)
    for one in reason["launchedBy"]:
        one["command"] = started_as.command(one.get("argv", ""), typed)
    if named != process:
        reason["helper"] = True
        above = reason["launchedBy"]
        reason["launchedBy"] = [one for one in above if started_as.name(one.get("argv", ""), "") != reason["name"]]


def _key_time(version: str) -> str:
    """Return the time in a version's IRI: that of a system file is not stated separately."""
    key = local_name(version).partition("~")[0].split(".")
    seconds = int(key[2]) // 1_000_000_000 if len(key) == 4 and key[2].lstrip("-").isdigit() else 0
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _unmade(reader: Reader, target: Target, found: Found) -> str:
    """Return a message about a version without a recorded maker: the reason, or the query for its uses."""
    name = suggestions.relative(target.path) if target.path else target.iri
    message = f"no recorded process made {name}"
    if gaps := found.gaps or incomplete.of_origin(incomplete.gaps(reader), target.iri):
        return f"{message}: {gaps[0]['reason']}"
    used = " UNION ".join(f"{{ ?a {word} <{target.iri}> }}" for word in ("prov:used", "provio:usedAsNoise"))
    if next(iter(reader.rows(f"SELECT ?a {{ {used} }} LIMIT 1")), None) is None:
        return message
    if metadata := metadata_of(reader, target.iri):
        shown = ", ".join(f"{name} = {value}" for name, value in list(metadata.items())[:FEW])
        message += f"; its metadata: {shown}" + ", …" * (len(metadata) > FEW)
    return f"{message}; its uses: provio lineage --forward {shlex.quote(name)}"
