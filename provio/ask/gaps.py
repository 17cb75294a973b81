"""The gaps of a lineage. In: versions and a store. Out: the gaps about them, and those of products that were changed
outside of provio.

Something else may have written into the file of a product, also under another name (the record states the version
before the change), or have put another file in its place.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Container, Iterator, Mapping, Set
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from provio.ask import run_uses
from provio.ask.content import SAME
from provio.ask.document import EDITED, EDITED_PRODUCT, Gap, Lineage
from provio.ask.target import newest_at
from provio.lineage.identity import earliest
from provio.store import Reader

if TYPE_CHECKING:
    from provio.ask.version_names import Names

# ?a is a version of the file of ?v that a recorded program made.
MADE_TOO = "?v prov:specializationOf ?f . ?a prov:specializationOf ?f ; prov:wasGeneratedBy ?maker"
MADE = "?v prov:wasGeneratedBy ?a"
ORIGINS = "?v prov:wasGeneratedBy|prov:alternateOf|prov:wasRevisionOf|provio:contentFrom ?a"
CHANGES = "SELECT DISTINCT ?v ?a { ?gap provio:changedFrom ?a ; provio:about ?v }"
PROCESS = re.compile(r"/run/[^/]+/[^/]+/\d+\.(\d+)\.")  # the start tick of a process
# The file of ?v got other times outside of provio, but no other content.
NOT_CHANGED = "?gap provio:about ?v ; provio:changedFrom ?a . ?v provio:sha256 ?h . ?a provio:sha256 ?h"


def gaps(reader: Reader, shown: set[str], leaves: Container[str] = ()) -> list[Gap]:
    """Return the gaps about anything shown, or about the process or run to which it belongs.

    `leaves` are complete versions, which are shown, too. If a file was edited that a recorded program had made, the
    reason states this. A file that only got other times has no gap.
    """
    query = """SELECT DISTINCT ?gap ?about ?reason {
        ?gap a provio:Gap ; provio:about ?about ; provio:reason ?reason }"""
    gaps, known = [], sorted(shown)
    for row in reader.rows(query):
        near = (
            row["about"]
            if row["about"] in shown or row["about"] in leaves
            else _first_below(known, row["about"].rstrip("/") + "/")
        )
        near = near or _first_below(known, row["about"] + "#")
        if near:
            gaps.append(Gap(iri=row["gap"], about=near, reason=row["reason"]))
    edited = {gap["about"] for gap in gaps if gap["reason"].startswith(EDITED)}
    same = {version for version, _ in run_uses.pairs(reader, NOT_CHANGED, edited)}
    gaps = [gap for gap in gaps if gap["about"] not in same]
    products = {one for one, other in _products_before(reader, edited) if earliest(other) < earliest(one)}
    for gap in gaps:
        if gap["about"] in products:
            gap["reason"] = gap["reason"].replace(EDITED, EDITED_PRODUCT)
    return sorted(gaps, key=lambda gap: gap["iri"])


def replaced(reader: Reader, files: Mapping[str, str]) -> Iterator[Gap]:
    """Yield a gap for each of some present versions (with their paths) that have no recorded origin, but whose file a
    recorded program had made last with another content."""
    last: dict[str, str] = {}
    for one, product in _products_before(reader, files):
        last[one] = max(product, last.get(one, product), key=earliest)
    equal = set(run_uses.pairs(reader, "?v provio:sha256 ?h . ?a provio:sha256 ?h", last))
    for one in sorted(without_origin(reader, last.keys() - {one for one, other in equal if last[one] == other})):
        yield _changed_product(one, files[one])


def changed_products(names: Names, absent: Set[str], known: Container[str]) -> Iterator[Gap]:
    """Yield the gaps, with their paths, of files that came from products which are absent now, in an unrecorded way: of
    those that are there, and of those from which something was made that is there. `known` are the versions that the
    answer contains."""
    if not absent:
        return
    reader = names.reader
    files = {now: path for iri in absent for _, path in names.known[iri] if (now := names.current(path))}
    later = {one for one in _later(names, absent) if one not in known and one not in files}
    names.load(later)
    files |= {one: names.known[one][0][1] for one in _leading_to_present(names, later, known) if names.known[one]}
    paths = {one: os.fsdecode(path) for one, path in files.items() if one not in known}
    found = gaps(reader, set(paths)) if paths else []
    for gap in found:
        yield {**gap, "path": paths[gap["about"]]}
    stated = {paths[gap["about"]] for gap in found}
    others = {one: path for one, path in paths.items() if path not in stated}
    yield from replaced(reader, others)
    recorded = {one for one, _ in run_uses.pairs(reader, "?v prov:specializationOf ?a", others)}
    for one in sorted(others.keys() - recorded):
        last = newest_at(reader, [os.fsencode(others[one])])
        if not last or names.contents.file(last[0], os.fsencode(others[one])).state != SAME:
            yield _changed_product(one, others[one])


def _changed_product(version: str, path: str) -> Gap:
    return Gap(iri=f"{version}~untracked", about=version, reason=EDITED_PRODUCT, path=path)


def without_origin(reader: Reader, versions: Set[str]) -> Set[str]:
    """Return those of some versions that have no recorded origin."""
    return versions - {version for version, _ in run_uses.pairs(reader, ORIGINS, versions)}


def _products_before(reader: Reader, versions: Collection[str]) -> set[tuple[str, str]]:
    """Return (version, product): for some versions, the products that had the same name, or that were the same file
    before unrecorded changes."""
    found = set(run_uses.pairs(reader, MADE_TOO, versions))
    before = dict(reader.table(CHANGES)) if versions else {}
    earlier = {(one, other) for one in versions for other in _chain(before, one)}
    made = {one for one, _ in run_uses.pairs(reader, MADE, {other for _, other in earlier})}
    return found | {(one, other) for one, other in earlier if other in made}


def _later(names: Names, products: Set[str]) -> Set[str]:
    """Return the recorded versions that came from products by unrecorded changes of them or of their names."""
    after = defaultdict[str, list[str]](list)
    for changed, before in names.reader.table(CHANGES):
        after[before].append(changed)
    same, pending = set[str](), [*products]
    while pending:
        found = after.pop(pending.pop(), [])
        same.update(found)
        pending += found
    first: dict[str, int] = {}
    for iri in products:
        for file, _ in names.known[iri]:
            first[file] = min(earliest(iri), first.get(file, earliest(iri)))
    named = {
        version
        for values in run_uses.values("f", first)
        for file, version in names.reader.table(f"SELECT DISTINCT ?f ?v {{ {values} ?v prov:specializationOf ?f }}")
        if first[file] < earliest(version)
    }
    return same | without_origin(names.reader, named)


def _chain(before: Mapping[str, str], version: str) -> dict[str, None]:
    """Return the versions before a version, the latest first."""
    found: dict[str, None] = {}
    while (version := before.get(version, "")) and version not in found:
        found[version] = None
    return found


def _leading_to_present(names: Names, versions: Set[str], known: Container[str]) -> Set[str]:
    """Return those of some versions that are there, or from which something was made that is there."""
    from provio.ask.lineage import Scope, lineage
    from provio.ask.paths import Ways, order
    from provio.ask.target import Target

    if not versions:
        return set()
    document = Lineage(lineage(names.reader, [*map(Target, sorted(versions))], Scope(forward=True, code=True)))
    recorded = {iri for iri, node in document.node.items() if node["type"] == "FileVersion"}
    names.load(recorded)
    ways, found = Ways(document), set[str]()
    for iri in order(ways):
        if (iri in recorded and names.is_there(iri, known)) or any(step[-1] in found for step in ways.onward(iri)):
            found.add(iri)
    return versions & found


def _first_below(known: list[str], folder: str) -> str | None:
    """Return the node below a process, or the one of the process of a run that started first; None if there is none."""
    start = bisect_left(known, folder)
    below = takewhile(lambda iri: iri.startswith(folder), islice(known, start, None))
    return min(below, key=lambda iri: (_start_tick(iri), iri), default=None)


def _start_tick(iri: str) -> int:
    found = PROCESS.search(iri)
    return int(found[1]) if found else 0
