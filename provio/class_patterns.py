"""A SPARQL query in, the same out with each pattern that names an implied class of PROV led through the stored ones.

`?x a prov:Entity` becomes `?x a/provio:impliesClass prov:Entity`: a node of the store has provio's class alone
(`implied`). A text that is not understood stays as it is, as do patterns inside GRAPH and SERVICE (`sparql_patterns`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from provio import implied
from provio.sparql_patterns import TYPE, Path, Property, Unclear, properties
from provio.vocab import RDFS

STEP = f"<{implied.IMPLIES}>"
Edit = tuple[int, int, str]


@lru_cache(maxsize=256)
def widened(text: str) -> str:
    """Return a query that finds a node by the classes of PROV that its stored class implies."""
    if not any(name.rpartition("#")[2] in text for name in implied.names()):
        return text
    try:
        found = properties(text)
    except (Unclear, SyntaxError):
        return text
    return _edited(text, (edit for one in found for edit in _edits(one, text)))


def _edited(text: str, edits: Iterable[Edit], offset: int = 0) -> str:
    for start, end, new in sorted(edits, reverse=True):
        text = text[: start - offset] + new + text[end - offset :]
    return text


def _edits(one: Property, text: str) -> Iterator[Edit]:
    """Yield what changes: an object that is wanted by another path than the one before it has a verb of its own."""
    start, end = one.path.start, one.path.end
    current = text[start:end]
    backwards = _ends(one.path, text, forward=False) if one.subject in implied.names() else []
    for number, (value, *comma) in enumerate(one.objects):
        forwards = _ends(one.path, text) if value in implied.names() else []
        verb = _edited(text[start:end], [*forwards, *backwards], start)
        if verb != current:
            yield (comma[0], comma[1], f"; {verb} ") if number else (start, end, verb)
        current = verb


def _ends(path: Path, text: str, *, forward: bool = True) -> list[Edit]:
    """What leads a path's last step (or its first, taken backwards) through the stored classes, where it is a class."""
    if path.what == TYPE:
        return [(path.start, path.end, f"{text[path.start : path.end]}/{STEP}")] if forward else []
    if path.what == "|":
        return [edit for part in path.parts for edit in _ends(part, text, forward=forward)]
    if path.what == "/":
        before, last = path.parts[-2:]
        if forward and before.what == TYPE and last.what in "*+" and last.parts[0].what == RDFS + "subClassOf":
            step = last.parts[0]
            return [(step.start, step.end, f"({text[step.start : step.end]}|{STEP})")]
        return _ends(path.parts[-1 if forward else 0], text, forward=forward)
    if path.what == "^":
        inner = path.parts[0]
        found = _ends(inner, text, forward=not forward)
        return [*found, (inner.start, inner.start, "("), (inner.end, inner.end, ")")] if found else []
    return []
