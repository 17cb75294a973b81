"""Read the runs' graphs for the rules across runs: objects and subjects of a property, each with its graph."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from provio.base.vocab import NS, PROV

if TYPE_CHECKING:
    from provio.store import Writer

# The graph of conclusions from several runs together. It contains no recorded facts: it is computed from their graphs.
DERIVED = "https://w3id.org/provio/derived"
# The graph of conclusions from equal content and equal values, which has update rules of its own.
CONTENT = "https://w3id.org/provio/derived/content"
EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


class Facts:
    """Reads a store by terms of PROV and of provio's vocabulary; omits the derived graphs."""

    def __init__(self, store: Writer) -> None:
        self.store = store

    def all(self, subject: str, term: str) -> list[tuple[str, str]]:
        """Return (object, graph) for each value of `term` (`prov:used`, `partOf` …)."""
        return [found for found in self.store.objects(subject, iri(term)) if found[1] not in (DERIVED, CONTENT)]

    def values(self, subject: str, term: str) -> list[str]:
        """Return each value of `term` once."""
        return list(dict.fromkeys(value for value, _ in self.all(subject, term)))

    def one(self, subject: str, term: str) -> str | None:
        """Return a value of `term`; None if there is none."""
        return next(iter(self.values(subject, term)), None)

    def subjects(self, term: str, object_: str | int) -> list[tuple[str, str]]:
        """Return (subject, graph) for each subject with this object."""
        return [found for found in self.store.subjects(iri(term), object_) if found[1] not in (DERIVED, CONTENT)]

    def moments(self, activity: str) -> tuple[int, int]:
        """Return start and end of an activity in ns since 1970. With only one of them, both are equal, or the end is
        the start plus `elapsed`."""
        start = self.one(activity, "prov:startedAtTime")
        end = self.one(activity, "prov:endedAtTime")
        first = nanoseconds(start or end)
        return first, nanoseconds(end) if end else first + int(self.one(activity, "elapsed") or 0)


def iri(term: str) -> str:
    """Return the IRI of `prov:name`, or of a term of provio's vocabulary."""
    return PROV + term[5:] if term.startswith("prov:") else NS + term


def nanoseconds(instant: str | None) -> int:
    """Return an xsd:dateTime as ns since 1970 (its resolution is microseconds); 0 for None."""
    if instant is None:
        return 0
    return (datetime.fromisoformat(instant) - EPOCH) // timedelta(microseconds=1) * 1000
