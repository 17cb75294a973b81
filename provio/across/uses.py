"""When versions of configurations were in use: a store in, the uses of some versions, or in some series, out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from provio.across.known import Kept, nanoseconds
from provio.vocab import NS, PROV

SERIES, ENTITY, TIME = NS + "series", PROV + "entity", PROV + "atTime"
BATCH = 200  # of what one query asks about


class Use(NamedTuple):
    """When a version was in use; `order` is that of uses at one moment."""

    at: int
    order: tuple[int, str]
    series: str
    version: str


def iris(names: Iterable[str]) -> Iterator[str]:
    """Return names as terms."""
    return (f"<{name}>" for name in names)


def batches(terms: Iterable[str]) -> Iterator[str]:
    """Yield terms, as many together as one query asks about."""
    rest = iter(sorted(terms))
    while some := " ".join(islice(rest, BATCH)):
        yield some


def uses(store: Kept, variable: str, terms: Iterable[str]) -> Iterator[Use]:
    """Yield the uses of these versions (`?v`), in these series (`?s`), or by these names of their own (`?u`)."""
    for some in batches(terms):
        query = f"""SELECT DISTINCT ?u ?s ?v ?t {{ VALUES {variable} {{ {some} }}
            ?u <{ENTITY}> ?v ; <{SERIES}> ?s ; <{TIME}> ?t }}"""
        for row in store.rows(query):
            yield Use(nanoseconds(row["t"]), (len(row["u"]), row["u"]), row["s"], row["v"])
