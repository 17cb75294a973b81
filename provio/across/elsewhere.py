"""Which inodes several runs know: a store and a run's graph in, those of which others know another version out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from provio.across import inodes
from provio.across.known import Known
from provio.vocab import NS

BATCH = 500  # of what one query asks about
DID = """{ ?by prov:used ?v } UNION { ?v prov:wasGeneratedBy|provio:wasReadBy|provio:wasWrittenBy|provio:wasOpenedBy|
    provio:wasModifiedBy|provio:wasCreatedBy|provio:wasFlushedBy ?by }"""


def shared(known: Known, graph: str) -> set[str]:
    """Return the inodes of which a run's graph knows one version and another run's a different one."""
    # There may be a hundred thousand: their names are kept in pages, and of each inode its versions as a sum of hashes.
    pages = ["\n".join(some) for some in _batches(known.members(graph, NS + "inode"))]
    if len(pages) > 1 and not _others(known, graph):
        return set()
    own: dict[int, int] = {}
    several: set[int] = set()
    for key, version in chain.from_iterable(map(_keyed, pages)):
        if hash(key) in own:
            several.add(hash(key))
        own[hash(key)] = own.get(hash(key), 0) + hash(version)
    found: set[str] = set()
    for page in pages:
        told = _told(known, (key for key, _ in _keyed(page)))
        found |= {key for key, all_ in told.items() if all_ and sum(map(hash, all_)) != own[hash(key)]}
    for page in pages if several else ():
        twice = [version for key, version in _keyed(page) if hash(key) in several]
        elsewhere = map(inodes.key_of, _elsewhere(known, graph, twice))
        found |= {key for key in elsewhere if key}
    return found


def _others(known: Known, graph: str) -> bool:
    """Tell whether there is another run; the first run of a store is told so by one query."""
    query = f"?other a provio:Run FILTER(?other != <{graph.removesuffix('/bundle')}>)"
    return any(known.rows(f"SELECT ?other {{ {query} }} LIMIT 1"))


def _keyed(page: str) -> Iterator[tuple[str, str]]:
    """Yield the versions of a page, each with its inode."""
    for version in page.split("\n"):
        if key := inodes.key_of(version):
            yield key, version


def _told(known: Known, keys: Iterable[str]) -> dict[str, set[str]]:
    """Return the versions of some inodes that any graph knows."""
    told: dict[str, set[str]] = {key: set() for key in keys}
    numbers = " ".join(str(inodes.number_of(key)) for key in told)
    for row in known.rows(f"SELECT DISTINCT ?v {{ VALUES ?inode {{ {numbers} }} ?v <{NS}inode> ?inode }}"):
        found = inodes.key_of(row["v"])
        if found in told:
            told[found].add(row["v"])
    return told


def _elsewhere(known: Known, graph: str, versions: list[str]) -> Iterator[str]:
    """Yield those of a run's versions that another run used, made or did something to."""
    run = graph.removesuffix("bundle")
    for some in _batches(versions):
        named = " ".join(f"<{version}>" for version in some)
        query = f"VALUES ?v {{ {named} }} {DID} FILTER(!STRSTARTS(STR(?by), '{run}'))"
        yield from (row["v"] for row in known.rows(f"SELECT DISTINCT ?v {{ {query} }}"))


def _batches(values: Iterable[str]) -> Iterator[tuple[str, ...]]:
    rest = iter(values)
    while some := tuple(islice(rest, BATCH)):
        yield some
