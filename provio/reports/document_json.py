"""The lineage document as canonical JSON: the same document gives the same bytes, in ASCII, ending in a newline."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from provio.document import LineageDocument, Node

_ORDER = tuple(Node.__annotations__)
_SURROGATE = re.compile("[\ud800-\udfff]")


def render(document: LineageDocument) -> str:
    """Nodes by depth, then IRI; edges and gaps sorted; keys in the order of their definition; one item a line."""
    nodes = sorted(document["nodes"], key=lambda node: (node.get("depth", 1_000_000), node["iri"]))
    edges = sorted({(edge["subject"], edge["predicate"], edge["object"]) for edge in document["edges"]})
    gaps = sorted(document["gaps"], key=lambda gap: (gap["about"], gap["iri"], gap["reason"]))
    answer: dict[str, Any] = {key: value for key, value in document.items() if key not in ("nodes", "edges", "gaps")}
    lists: dict[str, list[Any]] = {
        "nodes": [_ordered(node) for node in nodes],
        "edges": [dict(zip(("subject", "predicate", "object"), edge, strict=True)) for edge in edges],
        "gaps": gaps,
    }
    parts = [f"  {_dump(key)}: {_dump(answer.pop(key))}" for key in ("target", "direction") if key in answer]
    parts += [f"  {_dump(key)}: {_block(items)}" for key, items in lists.items()]
    parts += [f"  {_dump(key)}: {_dump(answer[key])}" for key in sorted(answer)]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def dumped(answer: Mapping[str, Any]) -> str:
    """Return an answer that is no lineage document as JSON, in the order of its keys, ending in a newline."""
    return json.dumps(_whole(answer), ensure_ascii=True, indent=2) + "\n"


def _ordered(node: Mapping[str, Any]) -> dict[str, Any]:
    known = {key: node[key] for key in _ORDER if key in node}
    return known | {key: node[key] for key in sorted(node) if key not in known}


def _block(items: list[Any]) -> str:
    return "[\n    " + ",\n    ".join(_dump(item) for item in items) + "\n  ]" if items else "[]"


def _dump(value: Any) -> str:
    """JSON in ASCII; half a character, which no JSON text may hold, becomes U+FFFD."""
    return json.dumps(_whole(value), ensure_ascii=True)


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {key: _whole(held) for key, held in value.items()}
    return [_whole(held) for held in value] if isinstance(value, list) else value
