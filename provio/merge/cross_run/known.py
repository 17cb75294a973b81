"""What the rules across runs need of a store: the objects and the subjects of a property, each with its graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from provio.base.vocab import NS, PROV

if TYPE_CHECKING:
    from provio.store.versions import Versions

# The graph of what follows from several runs together. It asserts nothing of its own: it is computed from the runs'.
DERIVED = "https://w3id.org/provio/derived"
CONTENT = (
    "https://w3id.org/provio/derived/content"  # what equal content and equal values say, apart: by rules of their own
)
EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


class Known(Protocol):
    """A store that can be asked for single triples of the runs' graphs, and of the derived one; `versions` is the index
    of the versions that the runs' lists have."""

    @property
    def versions(self) -> Versions:
        """The index."""

    def listed(self, graph: str) -> str:
        """Return the name of the list of a run's graph; empty where there is none."""

    def objects(self, subject: str, predicate: str) -> list[tuple[str, str]]:
        """Return the objects of a subject's property, each with its graph; literals by their lexical form."""

    def subjects(self, predicate: str, object_: str | int) -> list[tuple[str, str]]:
        """Return the subjects that have this object (an IRI, or an integer), each with its graph."""

    def members(self, graph: str, predicate: str, object_: str | None = None) -> Iterator[str]:
        """Yield the subjects that have a property in a graph."""

    def statements(self, graph: str) -> Iterator[tuple[str, str, str]]:
        """Yield all that a graph says."""

    def rows(self, sparql: str) -> Iterator[dict[str, str]]:
        """Yield the solutions of a SELECT over the union of all graphs."""


class Kept(Known, Protocol):
    """A store that can be asked what has a text, and in which a graph is renewed piece by piece."""

    def has(self, predicate: str) -> bool:
        """Tell whether anything is said by a property."""

    def stating(self, predicate: str, text: str) -> list[str]:
        """Return the subjects that have this text in any graph."""

    def about(self, graph: str, subject: str) -> Iterator[tuple[str, str, str]]:
        """Yield all that a graph says of a subject."""

    def withdraw(self, graph: str, statements: Iterable[tuple[str, str, str]]) -> None:
        """Remove these statements from a graph."""

    def add(self, graph: str, lines: Iterable[str]) -> None:
        """Add N-Triples to a graph."""


class Facts:
    """Reads a `Known` by the words of PROV and provio; what the derived graph says is left out."""

    def __init__(self, known: Known) -> None:
        self.known = known

    def all(self, subject: str, term: str) -> list[tuple[str, str]]:
        """Return (object, graph) for each value of `term` (`prov:used`, `partOf` …)."""
        return [found for found in self.known.objects(subject, iri(term)) if found[1] not in (DERIVED, CONTENT)]

    def values(self, subject: str, term: str) -> list[str]:
        """Return each value of `term` once."""
        return list(dict.fromkeys(value for value, _ in self.all(subject, term)))

    def one(self, subject: str, term: str) -> str | None:
        """Return a value of `term`, where there is one."""
        return next(iter(self.values(subject, term)), None)

    def subjects(self, term: str, object_: str | int) -> list[tuple[str, str]]:
        """Return (subject, graph) for each subject with this object."""
        return [found for found in self.known.subjects(iri(term), object_) if found[1] not in (DERIVED, CONTENT)]

    def moments(self, activity: str) -> tuple[int, int]:
        """Return when an activity started and ended, in ns since 1970; both the same where only one is stated."""
        start = self.one(activity, "prov:startedAtTime")
        end = self.one(activity, "prov:endedAtTime")
        first = nanoseconds(start or end)
        return first, nanoseconds(end) if end else first + int(self.one(activity, "elapsed") or 0)


def iri(term: str) -> str:
    """Return the IRI of `prov:name`, or of a word of provio's."""
    return PROV + term[5:] if term.startswith("prov:") else NS + term


def nanoseconds(instant: str | None) -> int:
    """Return an xsd:dateTime as nanoseconds since 1970 (it states microseconds); 0 for none."""
    if instant is None:
        return 0
    return (datetime.fromisoformat(instant) - EPOCH) // timedelta(microseconds=1) * 1000
