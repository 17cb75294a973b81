"""The recipe of files. In: a backward lineage document, or a run. Out: the steps that made the files, for
`provio.ask.redo`."""

from __future__ import annotations

from collections.abc import Iterator

from provio.ask.document import Lineage, LineageDocument, Node, command_line
from provio.ask.impact import Step
from provio.ask.paths import Ways, made_from
from provio.ask.redo import is_cache


def steps(document: LineageDocument) -> list[Step]:
    """Return a step for each file of a document that a recorded program made; `after` names its direct inputs among
    them."""
    lineage = Lineage(document)
    ways = Ways(lineage)
    made = {iri: node for iri, node in lineage.node.items() if _is_made(lineage, node)}
    return [_step(lineage, node, [*_inputs(ways, iri, made)]) for iri, node in made.items()]


def _is_made(lineage: Lineage, node: Node) -> bool:
    is_file = node["type"] == "FileVersion" and "path" in node and not is_cache(node["path"])
    return is_file and bool(lineage.objects(node["iri"], "wasGeneratedBy"))


def _inputs(ways: Ways, iri: str, made: dict[str, Node]) -> Iterator[str]:
    """Yield the paths of the made files that a file was made from; those of modules instead of their compiled form."""
    seen, waiting = {iri}, [iri]
    for one in waiting:  # grows during the loop
        for source, _ in made_from(ways, one):
            keys = [source, *ways.same.get(source, ())]
            found = next((key for key in keys if key in made), None)
            if source in seen:
                continue
            seen.update(keys)
            if found:
                yield made[found]["path"]
            elif is_cache(ways.lineage.node[source].get("path", "")):
                waiting.append(source)


def _step(lineage: Lineage, node: Node, after: list[str]) -> Step:
    maker = lineage.node[lineage.objects(node["iri"], "wasGeneratedBy")[0]]
    step = Step(product=node["iri"], path=node["path"], state="there", command=command_line(maker), after=after)
    if "process" in maker:
        step["process"] = maker["process"]
    if "run" in maker:
        step["run"] = maker["run"]
    if "failed" in node:
        step["failed"] = node["failed"]
    return step
