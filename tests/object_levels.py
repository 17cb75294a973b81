"""Compares the lineage of objects inside files with that of files, and returns disagreements."""

from __future__ import annotations

from functools import cache

from provio.ask.lineage import Scope, lineage
from provio.ask.target import Target
from provio.base.vocab import NS, PROV
from provio.settings.home import Home
from provio.store.embedded.reader import StoreReader

# A link is a name, and no entity that anything comes from.
ENTITIES = f"""SELECT DISTINCT ?v {{ {{ ?v a <{NS}FileVersion> }} UNION {{ ?w <{PROV}hadMember> ?v }}
    FILTER NOT EXISTS {{ ?by <{NS}usedAsNoise> ?v }} FILTER NOT EXISTS {{ ?v a <{NS}NamedLink> }} }}"""


def ancestors(reader: StoreReader, iri: str, *, inside: bool, forward: bool = False) -> set[str]:
    """Return the versions that one was made from (forward: that were made from it), by any part."""
    scope = Scope(forward=forward, everything=True, inside=inside)
    nodes = lineage(reader, [Target(iri)], scope)["nodes"]
    return {node["iri"].partition("#")[0] for node in nodes if "/version/" in node["iri"]}


def disagreements(home: Home) -> list[tuple[str, bool, set[str]]]:
    """Return the entities that have more ancestors or descendants at the level of objects than at that of files."""
    reader = StoreReader(home)
    found = []
    files = cache(lambda iri, forward: ancestors(reader, iri, inside=False, forward=forward))
    for row in reader.rows(ENTITIES):
        iri = row["v"]
        if "/version/" in iri and "/program/" not in iri:
            for forward in (False, True):
                whole = files(iri.partition("#")[0], forward)
                more = ancestors(reader, iri, inside=True, forward=forward) - whole
                if more:
                    found.append((iri, forward, more))
    return found
