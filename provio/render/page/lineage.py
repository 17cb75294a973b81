"""A lineage document as one HTML page that a browser shows without network access.

pyvis makes the page from provio's own template: the template of pyvis links an external stylesheet and script, and its
vis-network neither folds nor computes a layout. The lineage component (`provio/render/page/templates/`) draws the
graph. All text is data: it is JSON without `<`, or escaped by the template, and the script sets it only as text. A
content security policy forbids all requests, and `check_offline` verifies that there are none.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from provio.ask.document import (
    ACTIVITIES,
    AGENTS,
    PARTS,
    PIPES,
    LineageDocument,
    Note,
    only_launched,
    stale_reason,
    targets,
)  # fmt: skip
from provio.ask.notes import line
from provio.base.errors import ProvioError
from provio.base.text import plural, printable
from provio.base.vocab import is_run, local_name
from provio.render.page import compact
from provio.render.page.compact import packed

# pyvis without the modules that it imports and provio does not need.


LATE: Final = ("networkx", "jsonpickle", "IPython", "IPython.display")


def network_class() -> type[Any]:
    """Return pyvis.network.Network."""
    with _late():
        from pyvis.network import Network
    return Network  # type: ignore[no-any-return]


@contextmanager
def _late() -> Iterator[None]:
    """Replace these modules during the import of pyvis; a stand-in imports the module at the first access."""
    stand_ins = {} if "pyvis" in sys.modules else {name: _stand_in(name) for name in LATE if name not in sys.modules}
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for name in stand_ins:
            del sys.modules[name]


def _stand_in(name: str) -> ModuleType:
    def get(attribute: str) -> Any:
        if attribute.startswith("__"):  # by the import system
            raise AttributeError(attribute)
        return getattr(importlib.import_module(name), attribute)

    def frame(*given: Any, **more: Any) -> Any:
        return get("IFrame")(*given, **more)

    module = ModuleType(name)
    vars(module)["__getattr__"] = get
    if name.endswith(".display"):
        vars(module)["IFrame"] = frame  # pyvis imports it by name
    return module


# The lineage component of the page, the explorer and notebooks: its script and its style.


COMPONENT_TEMPLATES: Final = Path(__file__).parent / "templates"
SCRIPTS: Final = (
    "text", "pairs", "graph", "view", "description", "levels", "grouping", "folds", "layout", "motion",
    "canvas_text", "legend", "painting", "overview", "pointer", "picture", "export", "details",
    "timeline", "packed", "toolbar", "search", "lineage",
)  # fmt: skip


def script() -> str:
    """Return the script that declares `provioLineage`, for a separate <script>."""
    return "\n".join((COMPONENT_TEMPLATES / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS)


def style() -> str:
    """Return the style of the component, for a <style>."""
    return (COMPONENT_TEMPLATES / "lineage.css").read_text(encoding="utf-8")


# The check that a page makes no network request.


_FETCHING = re.compile(
    r"@import|url\(\s*['\"]?(?!data:|#|['\"])|\bimport\s*\(|\bfetch\s*\(|XMLHttpRequest|WebSocket|sendBeacon"
)
_LINKING = {
    "src",
    "href",
    "srcset",
    "action",
    "formaction",
    "poster",
    "data",
    "background",
    "ping",
    "manifest",
    "xlink:href",
}


class _References(HTMLParser):
    """Collects the requests of a browser for a page: links in tags, imports in styles, calls in scripts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        self.found += [f"<{tag} {key}={value}" for key, value in attrs
                       if key in _LINKING and value and not value.startswith(("data:", "#"))]  # fmt: skip
        self.found += [
            f"<{tag} style={value}" for key, value in attrs if key == "style" and _FETCHING.search(value or "")
        ]

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in ("style", "script"):
            self.found += [found.group() for found in _FETCHING.finditer(data)]


def check_offline(page: str) -> None:
    """Raise ProvioError if a browser would make a network request to show this page."""
    references = _References()
    references.feed(page)
    references.close()
    if references.found:
        raise ProvioError(f"the page would fetch {references.found[0][:80]!r}; please report this")


TEMPLATES: Final = Path(__file__).parent / "templates"
FEW: Final = 2_000  # up to this number, the page contains the nodes as readable JSON
MOST_GAPS: Final = 100
MOST_NOTES: Final = 3  # the newest ones; the panel has all
_QUESTIONS: Final = {"backward": "Where it came from", "forward": "Products made from it"}
_NOUNS: Final = (
    ("file", "file", ""),
    ("process", "step", ""),
    ("program", "program", ""),
    ("pipe", "pipe", ""),
    ("part", "dataset or group", "datasets and groups"),
)


def render(document: LineageDocument, title: str, *, level: str = "file", most: int = 60) -> str:
    """Return the page, as text to be written in UTF-8. `level` is the first level; beyond `most` nodes it folds."""
    carried = compact.carried(document)
    network = network_class()(directed=True, cdn_resources="in_line")
    network.templateEnv = Environment(loader=FileSystemLoader([str(TEMPLATES)], encoding="utf-8"), autoescape=True)
    network.templateEnv.filters["data"] = data
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
        "options": {"level": level, "most": most, "title": printable(title), "wholePage": True},
        "script": script(),
        "style": style(),
    }
    page = str(network.generate_html("page.html"))
    check_offline(page)
    return page


def data(value: Any) -> Markup:
    """Return JSON for a script, in which no text of the document is part of the script.

    Signs that only strings of JSON contain are escaped, so that `check_offline` finds calls of the script alone.
    """
    return htmlsafe_json_dumps(value).replace("(", "\\u0028").replace("@", "\\u0040")


def _kind(type_: str) -> str:
    """Return the kind as which the summary counts a node of a type."""
    kinds = {"process": ACTIVITIES, "program": AGENTS, "pipe": PIPES, "part": PARTS,
             "file": {"FileVersion", "File", "Directory", "DataObject", "Link"}}  # fmt: skip
    return next((name for name, types in kinds.items() if type_ in types), "other")


def _kinds(document: LineageDocument) -> Counter[str]:
    found: Counter[str] = Counter()
    for type_, count in Counter(node["type"] for node in document["nodes"]).items():
        found[_kind(type_)] += count
    return found


def _words(document: LineageDocument, title: str) -> dict[str, Any]:
    """Return the text of the page: title, summary, gaps, notes on the shown runs."""
    run = local_name(document["target"]) if is_run(document["target"]) else ""
    notes = [note for note in document.get("notes", ()) if is_run(note["about"])]
    place = {node["iri"]: printable(node["label"]) for node in document["nodes"]}
    gaps = [
        (printable(gap["reason"]), place.get(gap["about"]) or printable(gap["about"]))
        for gap in document["gaps"][:MOST_GAPS]
    ]
    return {
        "title": printable(title),
        "tab": printable(f"{title} ({run})" if run else title),
        "question": f"Run {run}" if run else _QUESTIONS[document["direction"]],
        "notes": [_note(document, note) for note in notes[: -MOST_NOTES - 1 : -1]],
        "more_notes": plural(len(notes) - MOST_NOTES, "earlier note") if len(notes) > MOST_NOTES else "",
        "summary": _summary(document, _kinds(document)),
        "changed": printable("; ".join(_changed(document))),
        "gaps": gaps,
        "more_gaps": len(document["gaps"]) - len(gaps),
    }


def _note(document: LineageDocument, note: Note) -> tuple[str, str]:
    """Return the name of a note's run, and the note as text: its time, user and text."""
    known = document.get("runNames", {}).get(note["about"])
    name = known["title"] if known else local_name(note["about"])
    name = "this run" if note["about"] == document["target"] else name
    return printable(name), printable(" ".join(line(note).split()))


def _summary(document: LineageDocument, kinds: Counter[str]) -> list[str]:
    parts = [plural(kinds[name], one, many) for name, one, many in _NOUNS if kinds[name]]
    if document["gaps"]:
        parts.append(plural(len(document["gaps"]), "gap"))
    if document["hidden"]:
        parts.append(f"{plural(document['hidden'], 'system file')} hidden")
    if started := only_launched(document):
        parts.append(f"{started} not shown")
    if "unmarked" in document:
        parts.append(document["unmarked"])
    return parts


def _changed(document: LineageDocument) -> list[str]:
    """Return notes about the targets: those that are not the current versions, and the reasons why they are stale."""
    found = dict.fromkeys(f"stale: {stale_reason(one)}" for one in document.get("stale", ()))
    wanted = set(targets(document))
    nodes = (node for node in document["nodes"] if node["iri"] in wanted or node["type"] == "Directory")
    changed = [node["changed"] for node in nodes if "changed" in node and "changed" not in document]
    return [*([document["changed"]] if "changed" in document else []), *changed, *found]
