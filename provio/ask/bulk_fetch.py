"""Bulk reads for queries with very many nodes: each property of all wanted nodes in one query, and all inputs of
activities in one query.

Bound: a lineage of 100,000 files in seconds. The plain way reads nodes in batches (`provio.ask.nodes`) and follows each
input (`provio.ask.walk`); `tests/ask/test_leaves.py` and `tests/render/test_view.py` hold both to the same answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from provio.ask.document import Node
from provio.ask.walk import FILE_WORDS, NAMED_BY_FILE, USED, VERSION
from provio.base.turtle import instant_text
from provio.base.vocab import NS, PROV, RDF, superclasses, vocabulary
from provio.store import Reader

MOST_STATEMENTS = 4  # statements of a property per wanted node; a store with more of them is queried by node
MOST_VERSIONS = 8  # versions in the store per input; in a store with more, looking up each input costs less
Known = dict[str, dict[str, dict[str, None]]]
_PATHS = f"{{ SELECT ?v ?f {{ ?v <{NAMED_BY_FILE}> ?f }} }} {{ SELECT ?f ?path {{ ?f <{NS}path> ?path }} }}"


def add_files(
    reader: Reader, known: Known, wanted: Collection[str], predicates: Iterable[str], classes: Collection[str]
) -> bool:
    """Add to `known` these properties of the wanted nodes and of all files, and their classes except `classes`.

    Return False if the store holds so much more than the wanted nodes that a bulk read is not worthwhile. In that
    case `known` may hold a part of the properties of the wanted nodes, and none of files.
    """
    files: Known = {}
    kind, file_class = RDF + "type", NS + "File"
    limit = MOST_STATEMENTS * len(wanted)
    # A count is cheap: every version has a file, so the number of versions bounds the other properties, and nothing
    # is read in vain.
    versions = f"SELECT ?s {{ ?s <{PROV}specializationOf> ?f }} LIMIT {limit + 1}"
    if int(next(iter(reader.table(f"SELECT (COUNT(?s) AS ?n) {{ {{ {versions} }} }}")))[0]) > limit:
        return False
    kinds = " ".join(f"<{kind}>" for kind in entities() if kind not in classes)
    queries = [(word, f"SELECT ?s ?o {{ ?s <{word}> ?o }} LIMIT {limit + 1}") for word in predicates]
    queries.append((RDF + "type", f"SELECT ?s ?o {{ VALUES ?o {{ {kinds} }} ?s a ?o }} LIMIT {limit + 1}"))
    for word, rows in _answers(reader, queries):
        for subject, value in rows:
            if subject in wanted:
                node = known[subject]
            elif subject in files:
                node = files[subject]
            elif subject.startswith("file://"):
                node = files[subject] = {kind: {file_class: None}}
            else:
                continue
            if word in node:
                node[word][value] = None
            else:
                node[word] = {value: None}
        if len(rows) > limit:
            return False
    for iri in files.keys() - known.keys():
        known[iri] = files[iri]
    return True


def _answers(reader: Reader, queries: Iterable[tuple[str, str]]) -> Iterator[tuple[str, list[list[str]]]]:
    """Run two queries at a time (the store does not need Python's lock) and yield the results in order."""
    with ThreadPoolExecutor(2) as pool:
        running = [(word, pool.submit(lambda text: list(reader.table(text)), query)) for word, query in queries]
        try:
            for word, answer in running:
                yield word, answer.result()
        finally:
            for _, answer in running:
                answer.cancel()


def entities() -> list[str]:
    """Return the classes that a file, or a version of one, may have."""
    return sorted(kind for kind in vocabulary().parents if PROV + "Entity" in superclasses(kind))


class Inputs(NamedTuple):
    """The inputs of activities: for each activity its leaves by IRI, and (activity, entity) for all other inputs."""

    leaves: dict[str, dict[str, Node]]
    others: list[tuple[str, str]]


def inputs(reader: Reader, activities: list[str], depth: int) -> Inputs | None:
    """Return the inputs of activities, without those used as noise.

    A leaf is a version that leads no further. Return None if the store is so much larger that looking up each input
    costs less. The query joins whole sub-selects: the store would look up a plain second pattern for every row of the
    first.
    """
    values = " ".join(f"(<{iri}>{number})" for number, iri in enumerate(activities))
    used = f"{{ SELECT ?n ?v {{ VALUES (?a ?n) {{ {values} }} ?a <{USED}> ?v }} }}"
    limit = MOST_VERSIONS * _count(reader, used)
    if _count(reader, f"{{ SELECT ?v {{ ?v <{NAMED_BY_FILE}> ?f }} LIMIT {limit + 1} }}") > limit:
        return None
    more = f"SELECT DISTINCT ?v {{ {used} {{ SELECT ?v {{ {' UNION '.join(_not_leaves())} }} }} }}"
    inner = {row[0] for row in reader.table(more)}
    leaves: dict[str, dict[str, Node]] = {str(number): {} for number in range(len(activities))}
    others: dict[tuple[str, str], None] = {}
    for number, iri, path in reader.table(f"SELECT ?n ?v ?path {{ {used} OPTIONAL {{ {_PATHS} }} }}"):
        own, version, name = leaves[number], VERSION.fullmatch(iri), path.rpartition("/")[2]
        if iri in inner or version is None or not name or (iri in own and own[iri]["path"] != path):
            others[activities[int(number)], iri] = None
        else:
            own[iri] = {
                "iri": iri, "type": "FileVersion", "label": name, "path": path, "size": int(version[2]),
                "modified": instant_text(int(version[1])), "depth": depth,
            }  # fmt: skip
    found = dict(zip(activities, leaves.values(), strict=True))
    for activity, iri in others:
        found[activity].pop(iri, None)
    return Inputs(found, [*others])


def _count(reader: Reader, pattern: str) -> int:
    return int(next(iter(reader.table(f"SELECT (COUNT(?v) AS ?count) {{ {pattern} }}")))[0])


def _not_leaves() -> Iterator[str]:
    """Yield the patterns of entities that are no leaves, or that have more properties to show."""
    classes = " ".join(f"<{kind}>" for kind in entities() if kind != NS + "FileVersion")
    yield f"{{ ?v a ?class VALUES ?class {{ {classes} }} }}"
    yield f"{{ ?x <{PROV}alternateOf> ?v }}"
    yield from (f"{{ ?v <{word}> ?x }}" for word in FILE_WORDS if word != NAMED_BY_FILE)
