"""The impact of a change: a forward document and a store in, the products to be made again, in order, out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NotRequired, TypedDict

from provio.ask import housekeeping, other_inputs, run_uses
from provio.ask.document import Edge, Gap, Kept, Lineage, LineageDocument, command_line, targets
from provio.ask.gaps import changed_products
from provio.ask.nodes import describe_with_programs, is_member
from provio.ask.other_inputs import OtherInput
from provio.ask.paths import Ways, made_from, order
from provio.ask.redo import Redo, commands, is_cache, sort_after
from provio.ask.version_names import Names
from provio.ask.walk import batches
from provio.base.vocab import PROV
from provio.store import Reader

if TYPE_CHECKING:
    from provio.ask.target import Targets

LONGEST = 20  # programs in a pipeline


class Step(TypedDict):
    """A product to be made again.

    `state` is `there`; for a product that is absent but needed by a later one it is `gone`, or `earlier` if the later
    one replaced it. `after` are the products that must be made first. `command` is the process that made it, preceded
    by the processes that fed it through pipes.
    """

    product: str
    path: str
    state: str
    command: str
    argv: NotRequired[str]
    cwd: NotRequired[str]
    program: NotRequired[str]
    process: NotRequired[str]
    run: NotRequired[str]
    failed: NotRequired[str]
    after: list[str]


class LeftOut(TypedDict):
    """A product that need not be made again; `reason` is `gone` or `overwritten`."""

    product: str
    path: str
    reason: str


class Impact(TypedDict):
    """The answer: `steps` and the `runs` that contain them are in an executable order; because of the `gaps`, there may
    be more of them. `otherInputs` have changed since the steps read them; `kept`: later tasks of the workers that read
    the files, which may have used kept data."""

    targets: list[str]
    runs: list[Redo]
    steps: list[Step]
    otherInputs: list[OtherInput]
    leftOut: list[LeftOut]
    gaps: list[Gap]
    kept: NotRequired[list[Kept]]


def of(request: Targets, code: bool = True) -> Impact:
    """Return the impact of a change of any version of the targets; without `code`, programs do not count."""
    from provio.ask.earlier import all_versions
    from provio.ask.filters import contracted
    from provio.ask.lineage import Scope, lineage

    reader, own = request.reader, {target.iri for target in request.targets}
    pairs = zip(request.texts, request.targets, strict=True)
    starts = [iri for text, target in pairs for iri in all_versions(reader, text, target)]
    inside = any(map(is_member, own))
    document = lineage(reader, request.targets, Scope(forward=True, inside=inside, code=code), starts)
    if inside:
        document = contracted(reader, document)
    return impact(reader, document, {iri.partition("#")[0] if inside else iri for iri in own.union(starts)})


def impact(reader: Reader, document: LineageDocument, starts: set[str]) -> Impact:
    """Return the products that must be made again if the `starts` of a forward document change."""
    plan = _Plan(reader, _with_makers(reader, document), starts)
    steps = plan.steps()
    pipelines = _pipelines(reader, {step["process"] for step in steps if "process" in step})
    for step in steps:
        fed = pipelines.get(step.get("process", ""), [])
        step["command"] = " | ".join([*fed, step["command"]])
    answer = Impact(
        targets=targets(document),
        runs=commands(reader, steps),
        steps=steps,
        otherInputs=plan.other_inputs(steps),
        leftOut=_without_scratch(reader, plan.lineage.document, plan.left_out(steps)),
        gaps=[*document["gaps"], *changed_products(plan.names, plan.absent(), plan.lineage.node.keys())],
    )
    if "kept" in document:
        answer["kept"] = document["kept"]
    return answer


def _without_scratch(reader: Reader, document: LineageDocument, absent: list[LeftOut]) -> list[LeftOut]:
    """Return the absent products without temporary files: those that their own run removed, and housekeeping."""
    iris = {one["product"] for one in absent if one["reason"] == "gone"}
    made, removed = (
        {(version, run_uses.run_of(activity)) for version, activity in run_uses.pairs(reader, f"?v {tie} ?a", iris)}
        for tie in ("prov:wasGeneratedBy", "prov:wasInvalidatedBy")
    )
    scratch = {version for version, _ in made & removed}
    edges = [(edge["subject"], edge["predicate"], edge["object"]) for edge in document["edges"]]
    for through in (False, True):
        scratch |= housekeeping.found(document["nodes"], edges, through)
    return [one for one in absent if one["product"] not in scratch]


def _with_makers(reader: Reader, document: LineageDocument) -> LineageDocument:
    """Add the makers of versions that the walk reached by another edge: a revision, another key of the same content."""
    made = {edge["subject"] for edge in document["edges"] if edge["predicate"] == PROV + "wasGeneratedBy"}
    unmade = [node["iri"] for node in document["nodes"] if node["type"] == "FileVersion" and node["iri"] not in made]
    edges = []
    for batch in batches(unmade):
        values = " ".join(f"<{iri}>" for iri in batch)
        query = f"SELECT DISTINCT ?v ?a {{ VALUES ?v {{ {values} }} ?v prov:wasGeneratedBy ?a }}"
        edges += [Edge(subject=r["v"], predicate=PROV + "wasGeneratedBy", object=r["a"]) for r in reader.rows(query)]
    makers = {edge["object"] for edge in edges} - {node["iri"] for node in document["nodes"]}
    nodes, ran = describe_with_programs(reader, makers, makers)
    known = {node["iri"] for node in document["nodes"]}
    more = [*nodes, *(node for node in ran[0] if node["iri"] not in known)]
    return {**document, "nodes": document["nodes"] + more, "edges": document["edges"] + edges + ran[1]}


class _Plan:
    def __init__(self, reader: Reader, document: LineageDocument, starts: set[str]) -> None:
        self.lineage, self.starts = Lineage(document), starts
        self.ways = Ways(self.lineage)
        files = [iri for iri, node in self.lineage.node.items() if node["type"] == "FileVersion"]
        self.names = Names(reader)
        self.names.load(files)
        ordered = [iri for iri in reversed(order(self.ways)) if self.lineage.node[iri]["type"] == "FileVersion"]
        # A contribution (`~`) is part of the version that it went into.
        self.products = [
            iri
            for iri in ordered
            if iri not in starts and self._makers(iri) and "~" not in iri and not is_cache(self._path(iri))
        ]
        self.state = {iri: self._state(iri) for iri in self.products}

    def _makers(self, iri: str) -> list[str]:
        return self.lineage.objects(iri, "wasGeneratedBy")

    def _paths(self, iri: str) -> set[bytes]:
        return {path for _, path in self.names.known[iri]}

    def _state(self, iri: str) -> str:
        if self.names.is_there(iri, self.lineage.node):
            return "there"
        return "overwritten" if any(self.names.current(path) for path in self._paths(iri)) else "gone"

    def steps(self) -> list[Step]:
        """Return the present products and the absent ones that they need, each after its inputs."""
        needs = self._needs()
        waiting = [iri for iri in self.products if self.state[iri] == "there"]
        wanted = set(waiting)
        for iri in waiting:  # grows during the loop
            waiting += [one for one in needs[iri] if one not in wanted]
            wanted.update(needs[iri])
        kept = {iri: [one for one in needs[iri] if one in wanted] for iri in self.products if iri in wanted}
        return [self._step(iri, kept[iri]) for iri in sort_after(kept)]

    def _needs(self) -> dict[str, list[str]]:
        """Return the direct inputs of each product.

        An overwritten input is replaced by the product that is now at its path, unless the product itself replaced
        the input (an append, an update in place).
        """
        there = {path: iri for iri in self.products if self.state[iri] == "there" for path in self._paths(iri)}
        needs: dict[str, list[str]] = {}
        for iri in self.products:
            needs[iri] = []
            for source in self._sources(iri):
                replaced = self.state.get(source) == "overwritten"
                if replaced and not self._paths(source) & self._paths(iri):
                    needs[iri] += [there[path] for path in self._paths(source) if there.get(path, iri) != iri]
                elif source in self.state:
                    needs[iri].append(source)
        return {iri: list(dict.fromkeys(found)) for iri, found in needs.items()}

    def _sources(self, iri: str) -> Iterator[str]:
        """Yield the versions that a product was made from; those of the modules instead of their compiled form."""
        seen, waiting = {iri}, [iri]
        for one in waiting:  # grows during the loop
            for source, _ in made_from(self.ways, one):
                if source not in seen:
                    seen.add(source)
                    if is_cache(self._path(source)):
                        waiting.append(source)
                    else:
                        yield source

    def _step(self, iri: str, after: list[str]) -> Step:
        node, maker = self.lineage.node[iri], self.lineage.node[self._makers(iri)[0]]
        state = "earlier" if self.state[iri] == "overwritten" else self.state[iri]
        step = Step(
            product=iri, path=self._path(iri), state=state, command=command_line(maker),
            after=[self._path(one) for one in after],
        )  # fmt: skip
        program = self.lineage.program(maker["iri"])
        named = maker["label"] if "rule" in maker else ""
        step["program"] = named or (program["label"] if program else node["label"])
        for name in ("argv", "cwd", "process", "run"):
            if name in maker:
                step[name] = maker[name]
        if "failed" in node:
            step["failed"] = node["failed"]
        return step

    def other_inputs(self, steps: Iterable[Step]) -> list[OtherInput]:
        """Return the inputs of the steps that have changed since, besides the files of the query and the products."""
        made: dict[str, list[str]] = {}
        for step in steps:
            if "process" in step:
                made.setdefault(step["process"], []).append(step["path"])
        paths = {path for iri in [*self.starts, *self.products] for path in self._paths(iri)}
        return other_inputs.of_processes(self.names.reader, self.names, made, self.lineage.node.keys(), paths)

    def _path(self, iri: str) -> str:
        """Return the path at which a product is now, or else its last one."""
        there = [path for path in sorted(self._paths(iri)) if self.names.same(iri, self.names.current(path))]
        return there[0].decode("utf-8", "replace") if there else self.lineage.node[iri].get("path", iri)

    def absent(self) -> set[str]:
        """Return the products that are not there."""
        return {iri for iri, state in self.state.items() if state != "there"}

    def left_out(self, steps: list[Step]) -> list[LeftOut]:
        """Return the absent products for which no step makes a file of that path."""
        made = {step["path"] for step in steps}
        found = {
            path: LeftOut(product=iri, path=path, reason=state)
            for iri, state in self.state.items()
            if state != "there" and (path := self._path(iri)) not in made
        }
        return sorted(found.values(), key=lambda one: one["path"])


def _pipelines(reader: Reader, processes: set[str]) -> dict[str, list[str]]:
    """Return for each process the command lines that fed it through pipes, first to last, while each has a single
    feeder.

    A process that the reader launched itself and then read (`$(…)`) does not form a pipeline.
    """
    feeders: dict[str, set[tuple[str, str]]] = {}
    frontier = processes
    for _ in range(LONGEST):
        if not frontier:
            break
        found = _feeders(reader, frontier)
        feeders.update(found)
        frontier = {one for fed in found.values() for one, _ in fed} - feeders.keys()
    return {process: _fed(process, feeders) for process in processes}


def _feeders(reader: Reader, processes: set[str]) -> dict[str, set[tuple[str, str]]]:
    found: dict[str, set[tuple[str, str]]] = {process: set() for process in processes}
    informed = "(provio:carriedFrom | provio:continuedFrom | provio:launchedBy)+"
    for batch in batches(sorted(processes)):
        query = f"""SELECT DISTINCT ?p ?q ?argv {{ VALUES ?p {{ {" ".join(f"<{iri}>" for iri in batch)} }}
            ?a provio:partOf+ ?p ; prov:used ?pipe . ?pipe a provio:Pipe ; prov:wasGeneratedBy ?b .
            ?b provio:partOf+ ?q . ?q a provio:Process ; provio:argv ?argv . FILTER(?p != ?q)
            FILTER NOT EXISTS {{ ?b {informed} ?c . ?c provio:partOf+ ?p }} }}"""
        for row in reader.rows(query):
            found[row["p"]].add((row["q"], row["argv"]))
    return found


def _fed(process: str, feeders: dict[str, set[tuple[str, str]]]) -> list[str]:
    commands: list[str] = []
    while len(feeders.get(process, ())) == 1 and len(commands) < LONGEST:
        (process, argv), *_ = feeders[process]
        commands.insert(0, command_line({"iri": process, "type": "Process", "label": "", "argv": argv}))
    return commands
