"""The leaves of a walk, read at once: activities that used very many files, and a store in; the nodes of those files
from which nothing leads on, and what else the activities used, out.

All that is to be shown of a leaf is its name, with what the IRI of the version tells: nobody who was recorded made it,
it kept nothing, and it has one path and no other key.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from provio.document import Node
from provio.nodes import FILE_WORDS, NAMED_BY_FILE, USED, VERSION
from provio.store import Reader
from provio.sweep import MANY, entities
from provio.turtle import instant_text
from provio.vocab import NS, PROV

MOST = 8  # versions in the store for each input: of more, to look at each input costs less
_PATHS = f"{{ SELECT ?v ?f {{ ?v <{NAMED_BY_FILE}> ?f }} }} {{ SELECT ?f ?path {{ ?f <{NS}path> ?path }} }}"


class Inputs(NamedTuple):
    """What activities used: of each activity the leaves by their IRIs, and (activity, entity) for all others."""

    leaves: dict[str, dict[str, Node]]
    others: list[tuple[str, str]]


def inputs(reader: Reader, activities: list[str], depth: int) -> Inputs | None:
    """Return what activities used, as noise apart; None where it is not very much, or the store is so much larger.

    The joins are of whole sub-selects: a pattern beside another is looked up for every row of that.
    """
    values = " ".join(f"(<{iri}>{number})" for number, iri in enumerate(activities))
    used = f"{{ SELECT ?n ?v {{ VALUES (?a ?n) {{ {values} }} ?a <{USED}> ?v }} }}"
    count = _count(reader, used)
    if count <= MANY:
        return None
    limit = MOST * count
    if _count(reader, f"{{ SELECT ?v {{ ?v <{NAMED_BY_FILE}> ?f }} LIMIT {limit + 1} }}") > limit:
        return None
    more = f"SELECT DISTINCT ?v {{ {used} {{ SELECT ?v {{ {' UNION '.join(_leading_on())} }} }} }}"
    inner = {row[0] for row in reader.table(more)}
    leaves: dict[str, dict[str, Node]] = {str(number): {} for number in range(len(activities))}
    others: dict[tuple[str, str], None] = {}
    for number, iri, path in reader.table(f"SELECT ?n ?v ?path {{ {used} OPTIONAL {{ {_PATHS} }} }}"):
        mine, told, name = leaves[number], VERSION.fullmatch(iri), path.rpartition("/")[2]
        if iri in inner or told is None or not name or (iri in mine and mine[iri]["path"] != path):
            others[activities[int(number)], iri] = None
        else:
            mine[iri] = {
                "iri": iri, "type": "FileVersion", "label": name, "path": path, "size": int(told[2]),
                "modified": instant_text(int(told[1])), "depth": depth,
            }  # fmt: skip
    found = dict(zip(activities, leaves.values(), strict=True))
    for activity, iri in others:
        found[activity].pop(iri, None)
    return Inputs(found, [*others])


def _count(reader: Reader, pattern: str) -> int:
    return int(next(iter(reader.table(f"SELECT (COUNT(?v) AS ?count) {{ {pattern} }}")))[0])


def _leading_on() -> Iterable[str]:
    """Patterns of what is no leaf, or has more to be shown of it."""
    classes = " ".join(f"<{kind}>" for kind in entities() if kind != NS + "FileVersion")
    yield f"{{ ?v a ?class VALUES ?class {{ {classes} }} }}"
    yield f"{{ ?x <{PROV}alternateOf> ?v }}"
    yield from (f"{{ ?v <{word}> ?x }}" for word in FILE_WORDS if word != NAMED_BY_FILE)
