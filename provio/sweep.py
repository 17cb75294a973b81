"""What a store says of very many file versions and files: their IRIs in, all that is said of them by the words that
such have out, read word by word.

To look at each of a hundred thousand takes ten times as long as to read everything that a word says of anything, as
long as that is not much more than what is wanted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from provio.store import Reader
from provio.vocab import NS, PROV, RDF, superclasses, vocabulary

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
