"""One HTML page of a lineage: a lineage document goes in, a string comes out that a browser shows without any network.

pyvis carries the page, through provio's own template: that of pyvis links a stylesheet and a script from outside, and
the vis-network that it would bring neither folds nor lays out. What draws is the lineage component
(`provio/templates/`). All text is data: it enters the page as JSON in which no `<` is left, or escaped by the template,
and the script only ever sets it as text. A content security policy forbids to fetch anything, and `check_offline`
looks.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader

from provio.document import ACTIVITIES, AGENTS, PARTS, PIPES, LineageDocument
from provio.reports.text import plural, printable, stale
from provio.view import carrier, component, shortened
from provio.view.offline import check_offline
from provio.view.packing import packed

TEMPLATES: Final = Path(__file__).parent / "templates"
FEW: Final = 2_000  # so many nodes are carried as they are, to be read by whoever looks into the page
MOST_GAPS: Final = 100
_NOUNS: Final = (
    ("file", "file", ""),
    ("process", "process", "processes"),
    ("program", "program", ""),
    ("pipe", "pipe", ""),
    ("part", "dataset or group", "datasets and groups"),
)


def render(document: LineageDocument, title: str, *, level: str = "file", most: int = 1500) -> str:
    """Return the page, as text to be written in UTF-8. `level` is what it shows first; beyond `most` nodes it folds."""
    carried = shortened.carried(document)
    network = carrier.network()(directed=True, cdn_resources="in_line")
    network.templateEnv = Environment(loader=FileSystemLoader([str(TEMPLATES)], encoding="utf-8"), autoescape=True)
    network.path = "page.html"
    plain = len(carried["nodes"]) <= FEW
    head = {key: value for key, value in carried.items() if key not in ("nodes", "edges")}
    if plain:
        network.nodes, network.edges = (
            [dict(node) for node in carried["nodes"]],
            [dict(edge) for edge in carried["edges"]],
        )
    network.templateEnv.globals["page"] = {
        **_words(document, title),
        "head": head,
        "packed": "" if plain else packed(carried),
        "options": {"level": level, "most": most, "wholePage": True},
        "script": component.script(),
        "style": component.style(),
    }
    page = str(network.generate_html("page.html"))
    check_offline(page)
    return page


def _kind(type_: str) -> str:
    """What the summary counts a node of a type as."""
    kinds = {"process": ACTIVITIES, "program": AGENTS, "pipe": PIPES, "part": PARTS,
             "file": {"FileVersion", "File", "Directory", "DataObject", "Link"}}  # fmt: skip
    return next((name for name, types in kinds.items() if type_ in types), "other")


def _kinds(document: LineageDocument) -> Counter[str]:
    found: Counter[str] = Counter()
    for type_, count in Counter(node["type"] for node in document["nodes"]).items():
        found[_kind(type_)] += count
    return found


def _words(document: LineageDocument, title: str) -> dict[str, Any]:
    """The page's own text: title, summary, gaps."""
    place = {node["iri"]: printable(node["label"]) for node in document["nodes"]}
    gaps = [
        (printable(gap["reason"]), place.get(gap["about"]) or printable(gap["about"]))
        for gap in document["gaps"][:MOST_GAPS]
    ]
    return {
        "title": printable(title),
        "question": "What it was made into" if document["direction"] == "forward" else "Where it came from",
        "summary": _summary(document, _kinds(document)),
        "changed": printable("; ".join(_changed(document))),
        "gaps": gaps,
        "more_gaps": len(document["gaps"]) - len(gaps),
    }


def _summary(document: LineageDocument, kinds: Counter[str]) -> list[str]:
    parts = [plural(kinds[name], one, many) for name, one, many in _NOUNS if kinds[name]]
    if document["gaps"]:
        parts.append(plural(len(document["gaps"]), "gap"))
    if document["hidden"]:
        parts.append(f"{plural(document['hidden'], 'system file')} hidden")
    if document["control"]:
        kin = "descendant" if document["direction"] == "forward" else "ancestor"
        parts.append(f"{plural(document['control'], f'control {kin}')} not shown")
    return parts


def _changed(document: LineageDocument) -> list[str]:
    """What is to be said of the targets: which of them are not what is there, and what is stale."""
    found = dict.fromkeys(f"stale: {stale(one)}" for one in document.get("stale", ()))
    said = [node["changed"] for node in document["nodes"] if "changed" in node]
    return [*([document["changed"]] if "changed" in document else []), *said, *found]
