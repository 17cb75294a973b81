"""Lineage queries: a target and a store in, a lineage document out (`provio.ask.document`).

Backward queries return the inputs of a version, forward queries the products made from it. Each ancestor is marked by
its strongest tie: data (used by the phase that generated the version), carried (used by an earlier phase of the same
process, or before its fork), control (used by the process that launched it); code, if programs are included. A path
is as strong as its weakest step.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from provio.ask import failures, housekeeping, incomplete, kept_memory, messages, notes
from provio.ask.code_ties import tied_by_code
from provio.ask.document import AGENTS, PIPES, Edge, Gap, Kept, LineageDocument, Node, Via
from provio.ask.document import targets as targets_of
from provio.ask.gaps import gaps, without_origin
from provio.ask.nodes import describe_with_programs, label, name_results, noise, order
from provio.ask.started_as import name_activities
from provio.ask.target import Target
from provio.ask.walk import USED, Nodes, Walk, follow
from provio.base import terminal
from provio.base.vocab import PROV, RDF, local_name
from provio.lineage.identity import is_result
from provio.store import Reader

if TYPE_CHECKING:
    from provio.ask.filters import Until
    from provio.ask.target import Targets


STRENGTH: tuple[Via, ...] = ("data", "carried", "control")


@dataclass(frozen=True)
class Scope:
    """The scope of a query: each member narrows or widens the shown part and does not change the facts.

    `depth` bounds the entity-to-entity steps; `via` is the weakest tie that is shown: without a value, carried ties,
    but not data that a framework's worker may have kept. `everything` includes system files, `code` the versions of
    programs and their origins. Files that match `until` are shown, but nothing beyond
    them. `inside` follows objects inside files instead of files.
    """

    forward: bool = False
    depth: int | None = None
    via: Via | None = None
    everything: bool = False
    until: Until | None = None
    code: bool = False
    inside: bool = False


class Found(NamedTuple):
    """The lineage of targets: `nodes` and the `edges` between them, and the other parts of the document.

    `leaves` (`provio.ask.walk`) are nodes by IRI; only `leaf_edges` lead to them.
    """

    nodes: list[Node]
    edges: list[tuple[str, str, str]]
    leaves: dict[str, Node]
    leaf_edges: Iterable[tuple[str, str, str]]
    programs: tuple[list[Node], list[Edge]]
    gaps: list[Gap]
    hidden: int
    control: int
    runs: dict[str, str]
    kept: list[Kept]


def lineage(reader: Reader, targets: Sequence[Target], scope: Scope, others: Iterable[str] = ()) -> LineageDocument:
    """Return the lineage of targets, and of the entities `others`, as one document.

    (DESIGN: nodes are entities, phases, copies and programs; edges are asserted triples.)
    """
    found = find(reader, targets, scope, others)
    triples = sorted([*found.edges, *found.leaf_edges])
    edges: list[Edge] = [{"subject": s, "predicate": p, "object": o} for s, p, o in triples]
    files = sorted([*found.nodes, *found.leaves.values()], key=order)
    document = LineageDocument(
        target=targets[0].iri,
        nodes=files + found.programs[0],
        edges=edges + found.programs[1],
        gaps=found.gaps + _unseen(reader, found, files, targets, scope.forward),
        hidden=found.hidden,
        control=found.control,
        direction="forward" if scope.forward else "backward",
    )
    failures.mark(reader, document["nodes"], document["edges"])
    notes.add(reader, document)
    if found.runs:
        document["runs"] = found.runs
    if found.kept:
        document["kept"] = found.kept
    if sent := messages.of(reader, document["nodes"]):
        document["messages"] = sent
    if len(targets) > 1:
        document["targets"] = list(dict.fromkeys(target.iri for target in targets))
    elif targets[0].changed:
        document["changed"] = targets[0].changed
    return document


def _unseen(reader: Reader, found: Found, files: Iterable[Node], targets: Iterable[Target], forward: bool) -> list[Gap]:
    """Return the gaps of runs that may have made a target without an origin, or read a file, without a record of it."""
    starts = [target.iri.partition("#")[0] for target in targets]
    if forward:
        return incomplete.of_uses(reader, files, starts, found.gaps)
    known = {subject for subject, _, _ in found.edges} | {gap["about"] for gap in found.gaps}
    unknown = [iri for iri in starts if iri not in known]
    rows = incomplete.gaps(reader) if unknown else []
    return [gap for iri in unknown for gap in incomplete.of_origin(rows, iri)]


def find(reader: Reader, targets: Sequence[Target], scope: Scope, others: Iterable[str] = ()) -> Found:
    """Return the lineage with its leaves separate from the other nodes."""
    starts = list(dict.fromkeys([*(target.iri for target in targets), *others]))
    ends = scope.until.ends if scope.until else None
    if ends:
        ends(starts)  # a target that matches is counted as a match, but does not end the walk
    how = None
    if scope.inside:
        from provio.ask.walk_members import MemberWays

        how = MemberWays
    walk = follow(
        reader,
        starts,
        forward=scope.forward,
        depth=scope.depth,
        ends=ends,
        code=scope.code,
        ways_of=how,
        everything=scope.everything,
        kept=scope.via in ("carried", "control"),
    )
    steps = list(walk.steps())
    strengths = _strengths(walk, steps)
    limit = STRENGTH.index(scope.via or "carried")
    shown = {iri for iri, strength in strengths.items() if strength <= limit}
    coded = tied_by_code(walk, shown, limit) if scope.code else set()
    shown |= coded
    made = made_by_programs(walk.edges)
    tied = {iri for iri in walk.entities if strengths.get(iri) == 2 and limit < 2} - coded
    looked = set() if scope.everything else (shown & set(walk.entities)) | tied
    system = noise(reader, looked, walk.edges, walk.known) - made - set(starts)
    hidden_nodes = shown & system
    hidden_nodes |= _dead_ends(walk, steps, shown - hidden_nodes)
    shown -= hidden_nodes
    every = _leaves(walk, strengths)
    leaves = {iri: node for iri, node in every.items() if STRENGTH.index(node["via"]) <= limit}
    weak = [iri for iri, node in every.items() if node["via"] == "control" and iri not in leaves]
    nodes, ran = describe_with_programs(reader, shown, shown & walk.activities, walk.known)
    if not scope.everything:
        own = _own_files(walk, nodes, leaves) - set(starts)
        if own:
            hidden_nodes |= own
            shown = _reached(starts, steps, shown - own)
            nodes, ran = _only(nodes, ran, shown)
    runs = name_activities(nodes, ran, walk.known)
    name_results(nodes, walk.known)
    near = gaps(reader, shown, leaves)
    for node in nodes:
        node["via"] = "code" if node["iri"] in coded else STRENGTH[strengths[node["iri"]]]
        if node["iri"] in walk.entities:
            node["depth"] = walk.entities[node["iri"]]
    _name_targets(nodes, targets)
    _name_checkpoints(reader, nodes, leaves)
    return Found(
        nodes=nodes,
        edges=[edge for edge in walk.edges if edge[0] in shown and edge[2] in shown],
        leaves=leaves,
        leaf_edges=((one, USED, iri) for one in walk.leaves.keys() & shown for iri in walk.leaves[one]),
        programs=ran,
        gaps=near,
        hidden=len(hidden_nodes - walk.activities),
        control=len(tied - system - _plumbing(walk.known, tied)) + len(weak),
        runs=runs,
        kept=kept_memory.kept(reader, walk, shown & walk.activities) if scope.via is None else [],
    )


def _plumbing(known: Nodes, entities: set[str]) -> set[str]:
    """Return the pipes, connections, shared memory and results of tasks among entities: they are no files."""
    properties = known.of(entities)
    kinds = {iri: {*map(local_name, properties[iri].get(RDF + "type", ()))} for iri in entities}
    return {iri for iri in entities if kinds[iri] & PIPES or is_result(iri)}


def _own_files(walk: Walk, nodes: list[Node], leaves: dict[str, Node]) -> set[str]:
    """Return the files that programs keep for themselves, and remove those that are leaves."""
    found = housekeeping.found(nodes, walk.edges)
    used = ((activity, USED, iri) for activity, inputs in walk.leaves.items() for iri in inputs)
    own = housekeeping.found([*leaves.values(), *(n for n in nodes if n["iri"] in walk.leaves)], used) if leaves else ()
    for iri in own:
        leaves.pop(iri, None)
    return found.union(own)


def _reached(starts: list[str], steps: list[tuple[str, str, int]], shown: set[str]) -> set[str]:
    """Return those of the shown nodes that others of them still lead to."""
    onward: dict[str, list[str]] = {}
    for source, goal, _ in steps:
        if source in shown and goal in shown:
            onward.setdefault(source, []).append(goal)
    found, waiting = set(starts) & shown, [iri for iri in starts if iri in shown]
    while waiting:
        new = [goal for goal in onward.get(waiting.pop(), ()) if goal not in found]
        found.update(new)
        waiting += new
    return found


def _only(
    nodes: list[Node], ran: tuple[list[Node], list[Edge]], shown: set[str]
) -> tuple[list[Node], tuple[list[Node], list[Edge]]]:
    """Return the nodes that are shown, and the programs that these ran."""
    edges = [edge for edge in ran[1] if edge["subject"] in shown]
    agents = {edge["object"] for edge in edges}
    return [node for node in nodes if node["iri"] in shown], ([one for one in ran[0] if one["iri"] in agents], edges)


def _leaves(walk: Walk, strengths: dict[str, int]) -> dict[str, Node]:
    """Return all leaves by IRI, each with its strongest tie and its smallest depth."""
    found: dict[str, Node] = {}
    for activity, leaves in sorted(walk.leaves.items(), key=lambda item: -strengths[item[0]]):
        via = STRENGTH[strengths[activity]]
        for iri, node in leaves.items():
            node["via"] = via
            if iri in found:
                node["depth"] = min(node["depth"], found[iri]["depth"])
            found[iri] = node
    return found


def _name_targets(nodes: list[Node], targets: Sequence[Target]) -> None:
    """Give each target the path of the query; with several targets, mark those that have changed."""
    by_iri = {target.iri: target for target in reversed(targets)}
    for node in nodes:
        target = by_iri.get(node["iri"])
        if target and target.path:
            node["path"], node["label"] = target.path, label(target.iri, target.path)
        if target and target.changed and len(targets) > 1:
            node["changed"] = target.changed


def _name_checkpoints(reader: Reader, nodes: list[Node], leaves: dict[str, Node]) -> None:
    """Add to the nodes of checkpoint files the checkpoints that they belong to."""
    if next(iter(reader.rows("SELECT ?c { ?c a provio:Checkpoint } LIMIT 1")), None) is None:
        return
    from provio.ask import checkpoints

    files = leaves | {node["iri"]: node for node in nodes if node["type"] == "FileVersion"}
    for iri, saved in checkpoints.of_versions(reader, files).items():
        files[iri]["checkpoints"] = saved


def made_by_programs(edges: Iterable[tuple[str, str, str]]) -> set[str]:
    """Return the files that a recorded program made: they are no system files, even if other processes treat them as
    such."""
    return {iri for iri, predicate, _ in edges if predicate == PROV + "wasGeneratedBy" and "/version/" in iri}


def _strengths(walk: Walk, steps: list[tuple[str, str, int]]) -> dict[str, int]:
    """Return each node's strength as an index into STRENGTH: the minimum over all paths of the greatest weight on the
    path."""
    onward: dict[str, list[tuple[str, int]]] = {}
    for source, goal, weight in steps:
        onward.setdefault(source, []).append((goal, weight))
    strengths: dict[str, int] = {}
    waiting: list[list[str]] = [list(walk.starts), [], []]
    for strength, queue in enumerate(waiting):
        while queue:
            iri = queue.pop()
            if iri not in strengths:
                strengths[iri] = strength
                for goal, weight in onward.get(iri, ()):
                    if weight < len(STRENGTH):
                        waiting[max(strength, weight)].append(goal)
    return strengths


def _dead_ends(walk: Walk, steps: list[tuple[str, str, int]], shown: set[str]) -> set[str]:
    """Return the phases that only carry hidden data: no file leads to them, and they lead to no file."""
    onward: dict[str, set[str]] = {activity: {activity} for activity, leaves in walk.leaves.items() if leaves}
    back: dict[str, set[str]] = {}
    for source, goal, _ in steps:
        if source in shown and goal in shown:
            onward.setdefault(source, set()).add(goal)
            back.setdefault(goal, set()).add(source)
    dead: set[str] = set()
    waiting = [iri for iri in shown & walk.activities if iri not in onward]
    while waiting:
        iri = waiting.pop()
        if not back.get(iri, set()) & walk.entities.keys():
            dead.add(iri)
            for source in back.get(iri, ()):
                onward[source].discard(iri)
                if not onward[source] and source in walk.activities:
                    waiting.append(source)
    return dead


def answer(
    request: Targets, options: dict[str, Any], *, roots: bool, stale: bool, no_code: bool = False
) -> LineageDocument:
    """Return the document that answers the query; report the `--until` patterns without a match."""
    level = options.pop("level")
    if level != "folder":
        return _answer(request, options, level, roots, stale, no_code)
    from provio.ask.folders import folded

    plain = not options["everything"]
    return folded(_answer(request, options, "file", roots, stale, no_code), plain)


def _answer(
    request: Targets, options: dict[str, Any], level: str | None, roots: bool, stale: bool, no_code: bool
) -> LineageDocument:
    until = _until(request, options.pop("until"))
    every, inside = leveled(request, level)
    request = every if options.get("everything") else _without_own_attributes(every)
    shown = options.pop("code", False)
    scope = Scope(**options, code=shown or (stale and not no_code), until=until, inside=inside)
    document = lineage(request.reader, request.targets, scope, _earlier(request, scope) if stale else ())
    document["hidden"] += len(every.targets) - len(request.targets)
    if request.reader.as_of:
        document["asOf"] = request.reader.as_of
    for pattern in until.unmatched if until else ():
        terminal.warn(f"--until {pattern}: no file on the way matches (a pattern with a slash is the whole path's)")
    if not (roots or stale):
        return document
    if stale:
        from provio.ask.filters import contracted
        from provio.ask.stale import only_stale

        whole = contracted(request.reader, document) if inside else document
        return only_stale(request.reader, whole, shown, _limits(scope, no_code))
    from provio.ask.filters import only_roots

    reduced = only_roots(request.reader, document)
    if _has_roots(reduced):
        return reduced
    if not (scope.code or scope.forward) and _programs_known(request.reader):
        coded = lineage(request.reader, request.targets, replace(scope, code=True))
        if _has_roots(only_roots(request.reader, coded)):
            reduced["code"] = True
    unmade = without_origin(request.reader, set(targets_of(reduced)))
    names = sorted(node["label"] for node in reduced["nodes"] if node["iri"] in unmade)
    have = "has" if len(names) == 1 else "have"
    limits = [f"{', '.join(names)} {have} no recorded origin"] if names else _beyond(scope, "followed")
    if limits:
        reduced["limits"] = limits
    return reduced


def _limits(scope: Scope, no_code: bool) -> list[str]:
    """Return the parts that the options of a query exclude from a search for stale products."""
    found = ["programs and modules were not compared (--no-code)"] if no_code else []
    return found + _beyond(scope, "compared")


def _beyond(scope: Scope, verb: str) -> list[str]:
    """Return the ends that the options of a query set to it."""
    ends = [f"--depth {scope.depth}"] if scope.depth else []
    return [f"the files beyond {end} were not {verb}" for end in ends + (["--until"] if scope.until else [])]


def _has_roots(reduced: LineageDocument) -> bool:
    """Return whether a reduced document has a root."""
    return any(node["type"] not in AGENTS and node["iri"] not in targets_of(reduced) for node in reduced["nodes"])


def _programs_known(reader: Reader) -> bool:
    """Return whether the record contains versions of programs that do not belong to the system."""
    return next(iter(reader.rows("SELECT ?v { ?a provio:ran ?v } LIMIT 1")), None) is not None


def leveled(request: Targets, level: str | None) -> tuple[Targets, bool]:
    """Return the targets at a level, and whether these are objects in files; by default if one of the targets is."""
    from provio.ask.nodes import is_member

    inside = level == "dataset" or any(map(is_member, [target.iri for target in request.targets]))
    if not inside:
        return request, False
    from provio.ask.object_target import is_group, parts, whole

    if level == "file":
        return replace(request, targets=[whole(target) for target in request.targets]), False
    pairs = [
        (text, part)
        for text, target in zip(request.texts, request.targets, strict=True)
        for part in (
            parts(request.reader, target)
            if is_group(request.reader, target.iri) or (inside and not is_member(target.iri))
            else [target]
        )
    ]
    return replace(request, texts=[text for text, _ in pairs], targets=[part for _, part in pairs]), inside


def _without_own_attributes(request: Targets) -> Targets:
    """Return the targets without netCDF's and HDF5's own attributes, except those that the user named."""
    pairs = zip(request.texts, request.targets, strict=True)
    kept = [(text, target) for text, target in pairs if "@" in text or not housekeeping.is_attribute(target.iri)]
    return replace(request, texts=[text for text, _ in kept], targets=[one for _, one in kept]) if kept else request


def _until(request: Targets, patterns: tuple[str, ...]) -> Until | None:
    if not patterns:
        return None
    from provio.ask.filters import Until

    return Until(request.reader, patterns, os.getcwd())


def _earlier(request: Targets, scope: Scope) -> list[str]:
    """Return the earlier versions of the targets' files: products made from them are stale, so the query includes
    them."""
    from provio.ask.earlier import all_versions

    if not scope.forward:
        return []
    pairs = zip(request.texts, request.targets, strict=True)
    return [iri for text, target in pairs for iri in all_versions(request.reader, text, target)]
