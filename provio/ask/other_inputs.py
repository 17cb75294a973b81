"""Inputs that have changed since the steps to repeat read them: a repeated step would read other content.

In: the products to be made again, and a store. Out: these inputs, each with the products that were made from it.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import TypedDict

from provio.ask import run_uses
from provio.ask.content import MISSING, SAME
from provio.ask.redo import is_cache
from provio.ask.sources import HOUSEKEEPING
from provio.ask.version_names import Names
from provio.store import Reader

# From a process to the files that it, or a part of it, used as data.
USED = "?v (^provio:partOf)?/prov:used ?a"


class OtherInput(TypedDict):
    """A file from which `products` were made. Its present content is another (`changed`), or cannot be compared
    (`unknown`), or there is none (`missing`)."""

    path: str
    state: str
    products: list[str]


def of_processes(
    reader: Reader, names: Names, made: Mapping[str, Sequence[str]], known: Container[str], paths: Container[bytes]
) -> list[OtherInput]:
    """Return the changed inputs of processes, which `made` these products, by path. `known` versions, and files at
    `paths`, do not count: they are those that change, or that the steps make again."""
    products: dict[str, set[str]] = {}
    for process, version in run_uses.pairs(reader, USED, made):
        if "/version/" in version and "#" not in version and version not in known:
            products.setdefault(version, set()).update(made[process])
    names.load(products)
    at = {version: names.known[version][0][1] for version in products if names.known[version]}
    at = {version: path for version, path in at.items() if path not in paths and not HOUSEKEEPING.search(path)}
    names.contents.load(at, at.values())
    sources = at.keys() - {version for version, _ in run_uses.pairs(reader, "?v prov:wasGeneratedBy ?a", at)}
    found: dict[tuple[str, str], set[str]] = {}
    for version, path in at.items():
        name = path.decode("utf-8", "replace")
        if names.same(version, names.current(path)) or is_cache(name):
            continue
        state = names.contents.file(version, path).state
        if state != SAME and (state != MISSING or version in sources):
            found.setdefault((name, state), set()).update(products[version])
    return [OtherInput(path=path, state=state, products=sorted(found[path, state])) for path, state in sorted(found)]
