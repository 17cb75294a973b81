"""What a store says of nodes: IRIs in, their properties out, asked in batches and kept for whoever asks next.

A walk and the description of what it found need the same nodes: each is read from the store once, in one look. The
properties that no question about lineage needs (who read a version, in which call …) are not brought along.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from provio.base.turtle import instant_text
from provio.base.vocab import NS, PROV, RDF, RDFS, superclasses, vocabulary
from provio.store import Reader

# What a store says of very many file versions and files: their IRIs in, all that is said of them by the words that
# such have out, read word by word.


MANY = 2_000  # nodes: from here on a sweep is worth it
MOST = 4  # statements of a word for each node that is wanted; a store that holds more of them is asked otherwise

Said = dict[str, dict[str, dict[str, None]]]


def sweep(reader: Reader, said: Said, wanted: Collection[str], words: Iterable[str], classes: Collection[str]) -> bool:
    """Add to `said` what these words say of the wanted nodes and of all files, and their classes but for `classes`.

    Returns False where the store holds so much more that this is not worth it: what was added of the wanted nodes may
    then be a part, of files nothing was.
    """
    files: Said = {}
    kind, file_class = RDF + "type", NS + "File"
    limit = MOST * len(wanted)
    # To count is cheap: every version has a file, and what is said of more of them than that is not read in vain.
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
    """Ask two at a time, for the store does not need Python's lock, and yield the answers in the order of the words."""
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
FEW = 4  # nodes: to parse and plan a query takes longer than to look at each of them
# A set that keeps its order: two runs that saw one thing say the same of it twice.
Properties = Mapping[str, Mapping[str, None]]

# Where lineage leads, and what people want to know; the most frequent first: what is not wanted is compared with all.
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
_TOLD = (NS + "size", NS + "modified")  # by the name of a version, which is made of them
_CLASSES = (NS + "FileVersion", NS + "File", NS + "Phase")  # each told by the form of the name
VERSION = re.compile(r"https://w3id\.org/provio/version/[^/]+/\d+\.\d+\.(\d+)\.(\d+)")
_PHASE = re.compile(r"https://w3id\.org/provio/run/.*\.[0-9a-z]+/phase/\d+(/\d+)?")  # of no Task
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
    """What was read so far: a mapping from IRI to predicate to values."""

    def __init__(self, reader: Reader, without: Iterable[str] = ()) -> None:
        """`without`: words that nobody will ask for, and that need not be read."""
        self.reader, self._without = reader, frozenset(without)
        self._words = [word for word in FILE_WORDS if word not in self._without]
        self._said: dict[str, dict[str, dict[str, None]]] = {}

    def of(self, iris: Iterable[str]) -> Mapping[str, Properties]:
        """Return a mapping that holds what is said of these IRIs (and of all asked about before)."""
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
        """Read what is said of versions and files at once, where they are very many, and take them out of `new`."""
        wanted = {iri for iri, told in new.items() if _TOLD[0] in told or iri.startswith("file://")}
        if len(wanted) > MANY and sweep(self.reader, self._said, wanted, self._words, _CLASSES):
            for iri in wanted:
                del new[iri]

    def _look(self, iri: str) -> None:
        said = self._said[iri]
        left_out, classes = (_TOLD, _CLASSES) if said else ((), ())
        about: Iterable[Sequence[str]] = self.reader.about(iri)
        if USED in self._without and "/run/" in iri:  # it may be very much
            about = self.reader.table(f"SELECT ?p ?o {{ <{iri}> ?p ?o FILTER(?p!=<{USED}>) }}")
        for predicate, value in about:
            if predicate in _KEPT and predicate not in left_out and value not in classes:
                _note(said, predicate, value)

    def _read(self, batch: list[str], wanted: str) -> None:
        # A number stands for each node in the answer: it need not be looked up in the store for every row.
        values = " ".join(f"(<{iri}>{number})" for number, iri in enumerate(batch))
        query = f"SELECT ?n ?p ?o {{ VALUES (?s ?n) {{ {values} }} ?s ?p ?o FILTER({wanted}) }}"
        said = [self._said[iri] for iri in batch]
        for number, predicate, value in self.reader.table(query):
            _note(said[int(number)], predicate, value)


def _note(said: dict[str, dict[str, None]], predicate: str, value: str) -> None:
    """Note a value. What was used as noise was used, too."""
    said.setdefault(predicate, {})[value] = None
    if predicate == USED_AS_NOISE:
        said.setdefault(USED, {})[value] = None


def _told(iri: str) -> dict[str, dict[str, None]]:
    """What the name of a node tells of it, as `identity` makes names; nothing of other names."""
    if version := VERSION.fullmatch(iri):
        return {
            RDF + "type": {_CLASSES[0]: None},
            NS + "modified": {instant_text(int(version[1])): None},
            NS + "size": {version[2]: None},
        }
    kind = _CLASSES[1] if iri.startswith("file://") else _CLASSES[2] if _PHASE.fullmatch(iri) else None
    return {RDF + "type": {kind: None}} if kind else {}
