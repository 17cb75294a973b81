"""A compact form of a lineage document, a few dozen bytes per file, which packed.js decodes.

Each key of the nodes is a column. Numbers inside texts are stored as differences from the line before, because IRIs and
names often differ only in numbers; repeated texts are stored once; edges are indices of nodes. The result is deflated
(RFC 1951) and in base64.
"""

from __future__ import annotations

import base64
import json
import re
import shlex
import zlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from operator import sub
from typing import Any, Final

from provio.ask.document import ACTIVITIES, Edge, LineageDocument, Node, targets

DIGITS: Final = re.compile(r"([0-9]{1,10}(?=[0-9]{9}(?![0-9]))|[0-9]{1,15})")  # each part fits into a double
HOLE: Final = "\x00;"
_NONE: Final[Callable[[str], re.Match[str] | None]] = re.compile("(?!)").fullmatch
HEAD: Final = ("target", "targets", "direction", "gaps", "hidden", "control", "changed", "notes")


def packed(document: LineageDocument) -> str:
    """Return the text, without labels and times that follow from a node's path or the IRI of a version."""
    nodes = sorted(document["nodes"], key=lambda node: (node["type"], node.get("path", ""), node["iri"]))
    place = {node["iri"]: at for at, node in enumerate(nodes)}
    columns: dict[str, list[Any]] = {
        key: [node.get(key) for node in nodes] for key in dict.fromkeys(chain.from_iterable(nodes))
    }
    _leave_out(nodes, columns)
    known = sorted(
        (place[edge["subject"]], edge["predicate"], place[edge["object"]])
        for edge in document["edges"]
        if edge["subject"] in place and edge["object"] in place
    )
    whole = {
        "head": {key: document[key] for key in HEAD if key in document},
        "count": len(nodes),
        "nodes": {key: _column(values) for key, values in columns.items()},
        "edges": [
            _differences([one[0] for one in known]),
            _column([one[1] for one in known]),
            _differences([one[2] for one in known]),
        ],
    }
    text = json.dumps(whole, separators=(",", ":"), ensure_ascii=True).encode()
    return base64.b64encode(zlib.compress(text, 6)).decode()


def _leave_out(nodes: Sequence[Node], columns: dict[str, list[Any]]) -> None:
    """Remove from the columns the values that follow from a node's path or the IRI of a version."""
    paths = columns.get("path", [None] * len(nodes))
    columns["label"] = [
        None if path is not None and path.rsplit("/", 1)[-1] == label else label
        for path, label in zip(paths, columns.get("label", ()), strict=False)
    ]
    if "modified" in columns:
        columns["modified"] = [
            None if kind == "FileVersion" else time
            for kind, time in zip(columns["type"], columns["modified"], strict=True)
        ]


def _column(values: Sequence[Any]) -> Any:
    """Return a column: plain values; or each different value once with its places; or texts without their numbers."""
    if not set(map(type, values)) <= {str, type(None)}:
        return {"plain": values}
    unique = dict.fromkeys(values)
    if len(unique) * 4 < len(values):
        at = {value: place for place, value in enumerate(unique)}
        return {"of": _column(list(unique)), "at": [at[value] for value in values]}
    folders = [None if value is None else value[: value.rfind("/") + 1] for value in values]
    if len(set(folders)) * 4 < len(values) and any(folders):
        names = [value if value is None else value[value.rfind("/") + 1 :] for value in values]
        return {"folders": _column(folders), "names": _texts(names)}
    return _texts(values)


def _texts(values: Sequence[str | None]) -> dict[str, Any]:
    r"""Return the forms (texts without numbers), the form of each line, and the differences of the numbers.

    `shot-007.h5` is `shot-\x003;.h\x00;`: the form keeps the width of a number with leading zeros, and of the rest of a
    split number.
    """
    forms: dict[str | None, int] = {}
    before: dict[int, list[int]] = {}
    lines: list[int] = []
    numbers: list[int] = []
    alike, number = _NONE, -1
    for value in values:
        # Most texts have the form of the two before: to check that takes half as long as to compute the form.
        if value is not None and (found := alike(value)):
            now = list(map(int, found.groups()))
        else:
            form, now = _form(value)
            last, number = number, forms.setdefault(form, len(forms))
            alike = _NONE if form is None or number != last else _pattern(form)
        lines.append(number)
        numbers += map(sub, now, before[number]) if number in before else now
        before[number] = now
    return {"forms": list(forms), "lines": lines, "numbers": numbers}


def _form(value: str | None) -> tuple[str | None, list[int]]:
    """Return a text without its numbers, and the numbers."""
    if value is None:
        return None, []
    parts = DIGITS.split(value.replace("\x00", "\ufffd"))
    now = [int(digits) for digits in parts[1::2]]
    parts[1::2] = [
        f"\x00{len(digits)};" if not between or (digits[0] == "0" and digits != "0") else HOLE
        for between, digits in zip(parts[::2], parts[1::2], strict=False)
    ]
    return "".join(parts), now


@lru_cache(maxsize=1024)
def _pattern(form: str) -> Callable[[str], re.Match[str] | None]:
    """Return a function that matches the texts of a form, with the numbers as groups."""
    literal, *holes = form.split("\x00")
    made = [re.escape(literal)]
    for hole in holes:
        width, _, literal = hole.partition(";")
        made.append((f"([0-9]{{{width}}})" if width else "(0|[1-9][0-9]{0,14})") + re.escape(literal))
    return re.compile("".join(made), re.ASCII).fullmatch


def _differences(values: Sequence[int]) -> list[int]:
    return [value - before for before, value in zip([0, *values], values, strict=False)]


# Very large documents: one node for many files.


MOST: Final = 120_000


def carried(document: LineageDocument, most: int = MOST) -> LineageDocument:
    """Return the document, with one node for many files if it has more than `most` nodes."""
    if len(document["nodes"]) <= most:
        return document
    groups = _groups(document, most)
    kept = {iri: iri for iri in (node["iri"] for node in document["nodes"])}
    nodes: list[Node] = []
    for key, members in groups.items():
        if len(members) == 1:
            nodes.append(members[0])
            continue
        fold = _fold(f"fold:{len(nodes)}:{'/'.join(key[:2])}", members)
        nodes.append(fold)
        kept.update((member["iri"], fold["iri"]) for member in members)
    ends: dict[tuple[str, str, str], None] = {}
    for edge in document["edges"]:
        subject, object_ = kept.get(edge["subject"]), kept.get(edge["object"])
        if subject and object_ and subject != object_:
            ends[subject, edge["predicate"], object_] = None
    edges = [Edge(subject=s, predicate=p, object=o) for s, p, o in ends]
    return {**document, "nodes": nodes, "edges": edges}


def _groups(document: LineageDocument, most: int) -> dict[tuple[str, ...], list[Node]]:
    """Return groups of nodes: files by folder and neighbours, or by folder; if still too many, processes by program."""
    near: dict[str, set[str]] = defaultdict(set)
    for edge in document["edges"]:
        near[edge["subject"]].add(edge["object"])
        near[edge["object"]].add(edge["subject"])
    whole = set(targets(document))
    found: dict[tuple[str, ...], list[Node]] = {}
    for coarse in range(3):
        found = defaultdict(list)
        for node in document["nodes"]:
            found[_key(node, near[node["iri"]], coarse) if node["iri"] not in whole else (node["iri"],)].append(node)
        if len(found) <= most:
            break
    return found


def _key(node: Node, near: set[str], coarse: int) -> tuple[str, ...]:
    if node["type"] in ACTIVITIES:
        return (
            (node["type"], node.get("prefix") or node.get("program", node["label"])) if coarse == 2 else (node["iri"],)
        )
    if "path" not in node or node["type"] == "Program":
        return (node["iri"],)
    folder = node["path"].rpartition("/")[0]
    return (node["type"], folder) if coarse else (node["type"], folder, *sorted(near))


def _fold(iri: str, members: list[Node]) -> Node:
    first = members[0]
    folder = first.get("path", "").rpartition("/")[0]
    path = "" if first["type"] in ACTIVITIES else folder + "/"
    fold: dict[str, Any] = {"iri": iri, "type": "Fold", "of": first["type"], "count": len(members), "path": path}
    fold["label"] = f"{path.rstrip('/').rpartition('/')[2]}/" if path else first["label"]
    fold["size"] = sum(member.get("size", 0) for member in members)
    fold["command"] = "provio lineage " + shlex.quote(first["path"]) if "path" in first else "provio runs"
    for key in ("start", "run", "via"):
        if key in first:
            fold[key] = first[key]
    return fold  # type: ignore[return-value]
