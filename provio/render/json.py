"""The lineage document as canonical JSON: the same document gives the same bytes, in ASCII, ending in a newline."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from provio.ask.document import LineageDocument, Node
from provio.base.algorithms import batched
from provio.base.common_names import all_completed, completed

ITEMS = 1_000  # in a piece
_encode = json.JSONEncoder(ensure_ascii=True).encode
_ORDER = tuple(Node.__annotations__)
_SURROGATE = re.compile("[\ud800-\udfff]")


def render(document: LineageDocument) -> str:
    """Return nodes by depth, then IRI; edges and gaps sorted; keys in the order of their definition; one item per
    line."""
    return "".join(pieces(document))


def pieces(document: LineageDocument) -> Iterator[str]:
    """Yield the same text in pieces: that of a large document takes more memory than all other data."""
    nodes = sorted(document["nodes"], key=lambda node: (node.get("depth", 1_000_000), node["iri"]))
    edges = sorted({(edge["subject"], edge["predicate"], edge["object"]) for edge in document["edges"]})
    gaps = sorted(document["gaps"], key=lambda gap: (gap["about"], gap["iri"], gap["reason"]))
    lists = {"nodes": map(_ordered, nodes), "edges": map(_edge, edges), "gaps": iter(gaps)}
    answer: dict[str, Any] = {key: value for key, value in document.items() if key not in (*lists, "runs")}
    first = [key for key in ("target", "direction") if key in answer]
    yield "{\n" + "".join(f"  {_dump(key)}: {_dump(answer.pop(key))},\n" for key in first)
    for place, (key, items) in enumerate(lists.items()):
        yield f"{',' if place else ''}\n  {_dump(key)}: ".lstrip("\n")
        yield from _block(items)
    yield "".join(f",\n  {_dump(key)}: {_dump(answer[key])}" for key in sorted(answer)) + "\n}\n"


def dumped(answer: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
    """Return another answer as JSON, in the order of its keys, ending in a newline."""
    return json.dumps(_whole(all_completed(answer)), ensure_ascii=True, indent=2) + "\n"


def _ordered(node: Mapping[str, Any]) -> dict[str, Any]:
    return completed({key: node[key] for key in _in_order(tuple(node))})


@cache
def _in_order(keys: tuple[str, ...]) -> list[str]:
    return [*(key for key in _ORDER if key in keys), *sorted(set(keys).difference(_ORDER))]


def _edge(edge: tuple[str, str, str]) -> dict[str, str]:
    return dict(zip(("subject", "predicate", "object"), edge, strict=True))


def _block(items: Iterator[Any]) -> Iterator[str]:
    """Yield a list with one item per line, in pieces of several items."""
    begin = "[\n    "
    for some in batched(items, ITEMS):
        yield begin + ",\n    ".join(map(_dump, some))
        begin = ",\n    "
    yield "[]" if begin[0] == "[" else "\n  ]"


def _dump(value: Any) -> str:
    """Return JSON in ASCII; a lone surrogate, which JSON text may not contain, becomes U+FFFD."""
    text = _encode(value)
    return _encode(_whole(value)) if "\\ud" in text else text


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {key: _whole(held) for key, held in value.items()}
    return [_whole(held) for held in value] if isinstance(value, list) else value
