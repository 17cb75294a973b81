"""One HTML page of a lineage: a lineage document goes in, a string comes out that a browser shows without any network.

pyvis carries the graph into the page, through provio's own template: that of pyvis links a stylesheet and a script from
outside. All text is data: it enters the page as JSON in which no `<` is left, or escaped by the template, and the
page's script only ever sets it as text. A content security policy forbids to fetch anything, and `check_offline` looks.
"""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader
from pyvis.network import Network

from provio.document import (
    ACTIVITIES,
    AGENTS,
    PARTS,
    PIPES,
    Lineage,
    LineageDocument,
    Node,
    arguments,
    command_line,
    first_line,
    flow,
    local_name,
    targets,
)
from provio.reports.text import cut_end, cut_path, duration, moment, plural, printable, size, stale
from provio.view.layout import Layout, arrange
from provio.view.offline import check_offline

TEMPLATES: Final = Path(__file__).parent / "templates"
_LONGEST_NAME = 26
_LONGEST_FACT = 600
_MOST_RUNS = 8

# What the legend calls each kind, its fill, its line.
KINDS: Final = {
    "file": ("file", "#e3eefb", "#2b6cb0"),
    "process": ("process", "#fdeccf", "#b7700d"),
    "program": ("program", "#ece4f9", "#6f42b0"),
    "pipe": ("pipe or socket", "#d9f2e8", "#16795a"),
    "part": ("dataset or group", "#dcf1f6", "#1a7f9c"),
    "other": ("other", "#eceff3", "#5b6675"),
}

# How an edge is drawn and what the legend calls it: (words, colour, dashes, width, arrow).
EDGES: Final = {
    "data": ("data: read or written", "#64748b", False, 1.6, True),
    "carried": ("carried within a process", "#b7700d", [7, 5], 1.4, True),
    "control": ("launched", "#94a3b8", [2, 4], 1.4, True),
    "code": ("is the code that ran", "#7c5cbf", [7, 5], 1.4, True),
    "revision": ("kept content of", "#2b6cb0", [7, 5], 1.4, True),
    "same": ("same content", "#2b6cb0", [2, 4], 1.4, False),
    "program": ("ran", "#b9a4dc", [2, 4], 1.2, False),
    "other": ("other relation", "#94a3b8", [2, 4], 1.2, True),
}
_PREDICATES: Final = {
    "used": "data",
    "wasGeneratedBy": "data",
    "continuedFrom": "data",
    "carriedFrom": "carried",
    "launchedBy": "control",
    "ran": "code",
    "wasInformedBy": "control",
    "wasRevisionOf": "revision",
    "wasDerivedFrom": "revision",
    "contentFrom": "same",
    "alternateOf": "same",
    "wasAssociatedWith": "program",
}


def render(document: LineageDocument, title: str) -> str:
    """Return the page, as text to be written in UTF-8."""
    lineage = Lineage(document)
    busy = _busy_programs(lineage)
    drawn = {node["iri"]: _drawn(lineage, node) for node in lineage.node.values() if node["iri"] not in busy}
    edges = [(*flow(edge), _PREDICATES.get(local_name(edge["predicate"]), "other")) for edge in lineage.drawn_edges()]
    edges = [edge for edge in edges if edge[0] in drawn and edge[1] in drawn]
    layout = arrange(
        {iri: (box["width"], box["height"]) for iri, box in drawn.items()},
        [(start, end) for start, end, _ in edges],
        {iri for iri, box in drawn.items() if box["kind"] == "program" and not box["target"]},
    )
    network = _network(_options(layout))
    names = {iri: f"n{place}" for place, iri in enumerate(drawn)}
    for iri, box in drawn.items():
        x, y = layout.positions[iri]
        network.add_node(names[iri], label=" ", shape="box", color=None, x=x, y=y, **box)
    for start, end, relation in edges:
        network.add_edge(names[start], names[end], relation=relation)
    words = _words(lineage, title, {box["kind"] for box in drawn.values()}, {relation for _, _, relation in edges})
    network.templateEnv.globals["page"] = {**words, "size": layout.size, "kindLooks": KINDS, "edgeLooks": EDGES}
    page = str(network.generate_html("page.html"))
    check_offline(page)
    return page


def _network(options: dict[str, Any]) -> Network:
    """An empty pyvis network that is drawn with our template and its own copy of vis-network."""
    network = Network(directed=True, cdn_resources="in_line")
    folders = [str(TEMPLATES), network.template_dir]
    network.templateEnv = Environment(loader=FileSystemLoader(folders, encoding="utf-8"), autoescape=True)
    network.path = "page.html"
    network.options = options
    return network


def _options(layout: Layout) -> dict[str, Any]:
    curve = {"enabled": True, "type": "cubicBezier", "roundness": 0.5}
    return {
        "physics": {"enabled": False},
        "autoResize": False,
        "layout": {"improvedLayout": False, "hierarchical": False},
        "interaction": {
            "hover": True,
            "tooltipDelay": 120,
            "dragNodes": True,
            "hideEdgesOnDrag": True,
            "keyboard": False,
        },
        "nodes": {"labelHighlightBold": False, "margin": dict.fromkeys(("top", "right", "bottom", "left"), 0)},
        "edges": {"smooth": {**curve, "forceDirection": "horizontal" if layout.across else "vertical"}},
    }


def kind(node: Node) -> str:
    """Which of `KINDS` a node is."""
    kinds = {"process": ACTIVITIES, "program": AGENTS, "pipe": PIPES, "part": PARTS,
             "file": {"FileVersion", "File", "Directory", "DataObject", "Link"}}  # fmt: skip
    return next((name for name, types in kinds.items() if node["type"] in types), "other")


def _drawn(lineage: Lineage, node: Node) -> dict[str, Any]:
    """What vis-network and the page's script need of a node: its box, its two lines of text, its facts."""
    sort = kind(node)
    name = cut_path(_name(lineage, node), _LONGEST_NAME)
    second = cut_end(_second_line(node, sort, _name(lineage, node)), _LONGEST_NAME + 4)
    width = max(86.0, min(_text_width(name, 10.0), 250.0), min(_text_width(second, 6.6), 200.0)) + 24
    return {
        "width": round(width, 1), "height": 30.0 if sort == "program" else 46.0, "kind": sort,
        "name": name, "second": "" if sort == "program" else second, "iri": node["iri"], "facts": _facts(lineage, node),
        "target": node["iri"] in targets(lineage.document), "gap": bool(lineage.reasons.get(node["iri"])),
        "faint": node.get("via") in ("carried", "control"),
    }  # fmt: skip


def _busy_programs(lineage: Lineage) -> set[str]:
    """Programs of so many processes that the lines to them would hide the data's way; each process bears its name."""
    return {node["iri"] for node in lineage.node.values()
            if node["type"] == "Program" and node["iri"] not in targets(lineage.document)
            and len(lineage.subjects(node["iri"], "wasAssociatedWith")) > _MOST_RUNS}  # fmt: skip


def _text_width(text: str, average: float) -> float:
    """About how wide the text is in pixels; the page's script cuts what the browser's font makes wider."""
    return sum(average * (0.55 if c in "iljtfr.,'|: /" else 1.3 if c in "mwMW@%" else 1.0) if c.isascii()
               else average * 1.8 for c in text)  # fmt: skip


def _name(lineage: Lineage, node: Node) -> str:
    """A file's own name; a process's program; else the label."""
    if node["type"] in ACTIVITIES:
        program = None if "task" in node else lineage.program(node["iri"])
        return printable((program or node)["label"])
    if "path" in node:
        return printable(node["path"].rstrip("/").rsplit("/", 1)[-1] or "/")
    return printable(node["label"])


def _arguments_after(node: Node, program: str) -> str:
    """The command line without what the node is named by: the program, or the interpreter and its script."""
    given = arguments(node["argv"]) if node.get("argv") else []
    named = next((i for i, argument in enumerate(given[:4]) if argument.rpartition("/")[2] == program), -1)
    return shlex.join(given[named + 1 :] or given)


def _second_line(node: Node, sort: str, program: str) -> str:
    """What tells one node from its namesakes: a process's command, a file's folder and size."""
    if "task" in node:
        return printable(first_line(node) or "task")
    if sort == "process":
        return printable(_arguments_after(node, program) or node["type"])
    if sort == "file":
        return size(node["size"]) if "size" in node else printable(node.get("path", "").rpartition("/")[0]) or "file"
    return node["type"].lower()


def _facts(lineage: Lineage, node: Node) -> list[tuple[str, str]]:
    """The tooltip's rows: (what, value), of what the document says."""
    start, end = node.get("start", ""), node.get("end", "")
    took = f"{moment(start)}, {duration(start, end)}".rstrip(", ") if start else ""
    via = {
        "carried": "carried: read earlier by the same process",
        "control": "control: of what launched it",
        "code": "code: of a program that ran",
    }
    rows = [
        ("Path", node.get("path", "")),
        ("Program", _program_path(lineage, node)),
        ("Command", command_line(node)),
        ("Source", node.get("source", "")),
        ("Status", node.get("status", "")),
        ("Folder", node.get("cwd", "")),
        ("Started", took),
        ("Exit code", str(node.get("exitCode") or "")),
        ("Process", " on ".join(str(node[key]) for key in ("pid", "host") if key in node)),
        ("Size", f"{size(node['size'])} ({node['size']:,} bytes)" if "size" in node else ""),
        ("Modified", moment(node["modified"]) if node.get("modified") else ""),
        ("Via", via.get(node.get("via", ""), "")),
        ("Run", local_name(node.get("run", ""))),
        *(("Gap", reason) for reason in lineage.reasons.get(node["iri"], ())),
    ]
    head = (f"{node['type']}, the target" if node["iri"] in targets(lineage.document) else node["type"], node["label"])
    return [(what, cut_path(printable(value), _LONGEST_FACT)) for what, value in (head, *rows) if value]


def _program_path(lineage: Lineage, node: Node) -> str:
    program = lineage.program(node["iri"]) if node["type"] in ACTIVITIES else None
    return program.get("path", program["label"]) if program else ""


def _words(lineage: Lineage, title: str, shown: set[str], relations: set[str]) -> dict[str, Any]:
    """The page's own text: title, summary, legend, gaps."""
    document = lineage.document
    kinds = Counter(kind(node) for node in lineage.node.values())
    place = {node["iri"]: _name(lineage, node) for node in lineage.node.values()}
    return {
        "title": printable(title),
        "question": "What it was made into" if document["direction"] == "forward" else "Where it came from",
        "summary": _summary(document, kinds),
        "changed": printable("; ".join(_changed(document))),
        "kinds": [(name, *KINDS[name]) for name in KINDS if name in shown],
        "lines": [(words, colour, dashes, arrow) for name, (words, colour, dashes, _, arrow) in EDGES.items()
                  if name in relations],
        "gaps": [(printable(gap["reason"]), place.get(gap["about"]) or printable(gap["about"]))
                 for gap in document["gaps"]],
    }  # fmt: skip


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


_NOUNS: Final = (
    ("file", "file", ""),
    ("process", "process", "processes"),
    ("program", "program", ""),
    ("pipe", "pipe", ""),
    ("part", "dataset or group", "datasets and groups"),
)


def _changed(document: LineageDocument) -> list[str]:
    """What is to be said of the targets: which of them are not what is there, and what is stale."""
    found = dict.fromkeys(f"stale: {stale(one)}" for one in document.get("stale", ()))
    said = [node["changed"] for node in document["nodes"] if "changed" in node]
    return [*([document["changed"]] if "changed" in document else []), *said, *found]
