"""The properties of nodes: IRIs in, their properties out, queried in batches and cached.

A walk and the description of its result need the same nodes: each node is read from the store once, with all its
properties in one lookup. Properties that no lineage query needs (which process read a version, in which call …) are
not read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from provio.base.turtle import instant_text
from provio.base.vocab import NS, PROV, RDF, RDFS, superclasses, vocabulary
from provio.store import Reader

# Bulk reads: for a very large number of file versions and files, each property is read for all of them at once.


MANY = 2_000  # nodes: from this number on a bulk read is worthwhile
MOST = 4  # statements of a property per wanted node; a store with more of them is queried by node

Said = dict[str, dict[str, dict[str, None]]]


def sweep(reader: Reader, said: Said, wanted: Collection[str], words: Iterable[str], classes: Collection[str]) -> bool:
    """Add to `said` these properties (`words`) of the wanted nodes and of all files, and their classes except
    `classes`.

    Return False if the store holds so much more than the wanted nodes that a bulk read is not worthwhile. In that
    case `said` may hold a part of the properties of the wanted nodes, and none of files.
    """
    files: Said = {}
    kind, file_class = RDF + "type", NS + "File"
    limit = MOST * len(wanted)
    # A count is cheap: every version has a file, so the number of versions bounds the other properties, and nothing
    # is read in vain.
    versions = f"SELECT ?s {{ ?s <{PROV}specializationOf> ?f }} LIMIT {limit + 1}"
    if int(next(iter(reader.table(f"SELECT (COUNT(?s) AS ?n) {{ {{ {versions} }} }}")))[0]) > limit:
        return False
    kinds = " ".join(f"<{kind}>" for kind in entities() if kind not in classes)
    questions = [(word, f"SELECT ?s ?o {{ ?s <{word}> ?o }} LIMIT {limit + 1}") for word in words]
    questions.append((RDF + "type", f"SELECT ?s ?o {{ VALUES ?o {{ {kinds} }} ?s a ?o }} LIMIT {limit + 1}"))
    for word, rows in _answered(reader, questions):
        for subject, value in rows:
            if subject in wanted:
                known = said[subject]
            elif subject in files:
                known = files[subject]
            elif subject.startswith("file://"):
                known = files[subject] = {kind: {file_class: None}}
            else:
                continue
            if word in known:
                known[word][value] = None
            else:
                known[word] = {value: None}
        if len(rows) > limit:
            return False
    for iri in files.keys() - said.keys():
        said[iri] = files[iri]
    return True


def _answered(reader: Reader, questions: Iterable[tuple[str, str]]) -> Iterator[tuple[str, list[list[str]]]]:
    """Run two queries at a time (the store does not need Python's lock) and yield the results in order."""
    with ThreadPoolExecutor(2) as pool:
        asked = [(word, pool.submit(lambda text: list(reader.table(text)), question)) for word, question in questions]
        try:
            for word, answer in asked:
                yield word, answer.result()
        finally:
            for _, answer in asked:
                answer.cancel()


def entities() -> list[str]:
    """Return the classes that a file, or a version of one, may have."""
    return sorted(kind for kind in vocabulary().parents if PROV + "Entity" in superclasses(kind))


BATCH = 2_000
USED, USED_AS_NOISE = PROV + "used", NS + "usedAsNoise"
NAMED_BY_FILE = PROV + "specializationOf"
FEW = 4  # nodes: to parse and plan a query takes longer than a lookup of each of them
# An ordered set: two runs that observed the same thing state the same properties twice.
Properties = Mapping[str, Mapping[str, None]]

# The properties that lead to other nodes or describe a node. The most frequent ones come first: the filter compares
# an unwanted property with all of them.
WANTED = (
    *(
        PROV + name
        for name in "used wasGeneratedBy specializationOf wasAssociatedWith startedAtTime endedAtTime".split()
    ),
    *(NS + name for name in "partOf path carriedFrom launchedBy continuedFrom noise pathEncoded".split()),
    *(NS + name for name in "usedAsNoise ranAsNoise".split()),
    *(PROV + name for name in "wasRevisionOf wasDerivedFrom alternateOf".split()),
    *(
        NS + name
        for name in "sameContentAs contentFrom mapsOnto madeIn format leadsTo without name nameEncoded".split()
    ),
    *(NS + name for name in "argv cwd host pid rank exitCode kind number sourceText status version".split()),
    RDFS + "label",
)
_OF_PROCESSES = frozenset(
    (
        *(PROV + name for name in "used wasAssociatedWith startedAtTime endedAtTime".split()),
        *(NS + name for name in "usedAsNoise ranAsNoise partOf carriedFrom launchedBy continuedFrom".split()),
        *(NS + name for name in "argv cwd host pid rank exitCode sourceText status".split()),
    )
)
FILE_WORDS = tuple(word for word in WANTED if word not in _OF_PROCESSES)
_TOLD = (NS + "size", NS + "modified")  # part of the name of a version
_CLASSES = (NS + "FileVersion", NS + "File", NS + "Phase")  # each recognisable by the form of the name
VERSION = re.compile(r"https://w3id\.org/provio/version/[^/]+/\d+\.\d+\.(\d+)\.(\d+)")
_PHASE = re.compile(r"https://w3id\.org/provio/run/.*\.[0-9a-z]+/phase/\d+(/\d+)?")  # not of a Task
_KEPT = frozenset((RDF + "type", *_TOLD, *WANTED))


def _any(predicates: Iterable[str]) -> str:
    return "||".join(f"?p=<{iri}>" for iri in predicates)


_REST = f"||?p=<{RDF}type>&&?o NOT IN(" + ",".join(f"<{iri}>" for iri in _CLASSES) + ")"


def batches(nodes: Iterable[str]) -> Iterator[list[str]]:
    """Yield the nodes in lists short enough for one query."""
    known = list(nodes)
    for start in range(0, len(known), BATCH):
        yield known[start : start + BATCH]


class Nodes:
    """The nodes that were read so far: a mapping from IRI to predicate to values."""

    def __init__(self, reader: Reader, without: Iterable[str] = ()) -> None:
        """Start with an empty cache; `without` are properties that the caller does not need, and that are not read."""
        self.reader, self._without = reader, frozenset(without)
        self._words = [word for word in FILE_WORDS if word not in self._without]
        self._said: dict[str, dict[str, dict[str, None]]] = {}

    def of(self, iris: Iterable[str]) -> Mapping[str, Properties]:
        """Return a mapping with the properties of these IRIs (and of all IRIs requested before)."""
        new = {iri: _told(iri) for iri in iris if iri not in self._said}
        self._said.update(new)
        if len(new) <= FEW:
            for iri in new:
                self._look(iri)
            return self._said
        if len(new) > MANY:
            self._sweep(new)
        wanted = [word for word in WANTED if word not in self._without]
        for batch in batches(iri for iri, told in new.items() if told):
            self._read(batch, _any(wanted) + _REST)
        for batch in batches(iri for iri, told in new.items() if not told):
            self._read(batch, _any((RDF + "type", *_TOLD, *wanted)))
        return self._said

    def _sweep(self, new: dict[str, dict[str, dict[str, None]]]) -> None:
        """Read versions and files in bulk if they are very many, and remove them from `new`."""
        wanted = {iri for iri, told in new.items() if _TOLD[0] in told or iri.startswith("file://")}
        if len(wanted) > MANY and sweep(self.reader, self._said, wanted, self._words, _CLASSES):
            for iri in wanted:
                del new[iri]

    def _look(self, iri: str) -> None:
        said = self._said[iri]
        left_out, classes = (_TOLD, _CLASSES) if said else ((), ())
        about: Iterable[Sequence[str]] = self.reader.about(iri)
        if USED in self._without and "/run/" in iri:  # there may be very many
            about = self.reader.table(f"SELECT ?p ?o {{ <{iri}> ?p ?o FILTER(?p!=<{USED}>) }}")
        for predicate, value in about:
            if predicate in _KEPT and predicate not in left_out and value not in classes:
                _note(said, predicate, value)

    def _read(self, batch: list[str], wanted: str) -> None:
        # A number stands for each node in the result: the store need not look up the node's text for every row.
        values = " ".join(f"(<{iri}>{number})" for number, iri in enumerate(batch))
        query = f"SELECT ?n ?p ?o {{ VALUES (?s ?n) {{ {values} }} ?s ?p ?o FILTER({wanted}) }}"
        said = [self._said[iri] for iri in batch]
        for number, predicate, value in self.reader.table(query):
            _note(said[int(number)], predicate, value)


def _note(said: dict[str, dict[str, None]], predicate: str, value: str) -> None:
    """Add a value. A file used as noise counts as used, too."""
    said.setdefault(predicate, {})[value] = None
    if predicate == USED_AS_NOISE:
        said.setdefault(USED, {})[value] = None


def _told(iri: str) -> dict[str, dict[str, None]]:
    """Return the properties that follow from the name of a node, as `identity` makes names; {} for other names."""
    if version := VERSION.fullmatch(iri):
        return {
            RDF + "type": {_CLASSES[0]: None},
            NS + "modified": {instant_text(int(version[1])): None},
            NS + "size": {version[2]: None},
        }
    kind = _CLASSES[1] if iri.startswith("file://") else _CLASSES[2] if _PHASE.fullmatch(iri) else None
    return {RDF + "type": {kind: None}} if kind else {}
