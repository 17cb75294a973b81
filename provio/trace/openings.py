"""Turns the short records of openings that the preload library writes into those with a property for each value.

In: the records of a file, in its order: openings with `:opening`, their counters (`OpeningCounters`, and `AccessSizes`
with `:ofOpening`), which one opening uses after the other, and closes with `:closing`. Out: the same facts as the
records FileVersion, Access and AccessSizes of docs/trace-format.md. A file continues in another one: a close whose
opening is in an earlier file stays as it is, for `closed_access`.
"""

from __future__ import annotations

from collections.abc import Iterator

from provio.base.records import pattern
from provio.system.statx import Record

OPENING = pattern(
    r"(?P<thread>[0-9]{1,9}) (?P<openedNs>[0-9]{1,20}) (?P<flags>[0-9]{1,20}) (?P<openApi>\w+|-)"
    r" (?P<openElapsed>[0-9]{1,20}|-) (?P<readApi>\w+|-) (?P<writeApi>\w+|-)"
    r"(?: (?P<mtimeNs>[0-9]{1,20}) (?P<birthNs>[0-9]{1,20}|=)"
    r" (?P<ctimeNs>[0-9]{1,20}|=) (?P<device>[0-9]{1,10}:[0-9]{1,10}) (?P<inode>[0-9]{1,20}) (?P<size>[0-9]{1,20}))?"
)
CLOSING = pattern(
    r"(?P<closed>[0-9]{1,20})(?: (?P<closedMtimeNs>[0-9]{1,20}) (?P<closedCtimeNs>[0-9]{1,20}|=)"
    r" (?P<closedSize>[0-9]{1,20}) (?P<closedLinks>[0-9]{1,20}))?"
)
COUNTS = pattern(r"(?:\w+|-)(?: (?:[0-9]{1,20}|-)){1,7}")
SIZES = pattern(r"[0-9]{1,2} [0-9]{1,20}(?: [0-9]{1,2}:[0-9]{1,20}){0,10}")
# The properties of the columns of `:reading` and `:writing`; at detail `file` only the first two.
SIDES = {
    "reading": "readApi firstRead reads readBytes lastRead emptyReads readElapsed readLongest".split(),
    "writing": "writeApi firstWrite writes writeBytes lastWrite - writeElapsed writeLongest".split(),
}
FACTS = "device inode birthNs mtimeNs ctimeNs size flags openedNs openApi openElapsed".split()
CLOSED = ("closing", "attempted", *SIDES, "readingSizes", "writingSizes")


class Malformed(ValueError):
    """A record of an opening whose columns are not those of the trace format."""


class Openings:
    """The openings of one file whose close was not read yet, and the counters in use."""

    def __init__(self) -> None:
        self._accesses: dict[str, tuple[str, Record]] = {}  # by the opening's number: the IRI of its access
        self._counters: dict[str, Record] = {}
        self._sizes: dict[tuple[str, str], tuple[str, Record]] = {}  # by number and side: the thread's IRI, the sizes

    def plain(self, iri: str, record: Record) -> Iterator[tuple[str, Record]]:
        """Yield the records for one that was read; raises Malformed."""
        if "opening" in record:
            yield self._opening(iri, record)
        elif "ofOpening" in record:
            self._keep(iri, record)
        elif "closing" in record:
            yield from self._closing(iri, record)
        else:
            yield iri, record

    def end(self) -> Iterator[tuple[str, Record]]:
        """At the end of the file, yield the accesses of openings that were not closed by their threads, and sizes of
        openings in earlier files."""
        for number, (iri, access) in self._accesses.items():
            counters = self._counters.get(number, {})
            yield iri, access | {name: value for name, value in counters.items() if name not in ("a", "ofOpening")}
        for (number, side), (thread, sizes) in self._sizes.items():
            if number:
                yield f"{thread}/o{number}/{side}", {name: sizes[name] for name in sizes if name != "ofOpening"}

    def _opening(self, iri: str, record: Record) -> tuple[str, Record]:
        found = OPENING.fullmatch(record.pop("opening"))
        process, _, number = iri.rpartition("/o")
        if found is None or not number.isdigit():
            raise Malformed("an opening has other columns than the trace format")
        columns = found.groupdict()
        facts = {name: columns[name] for name in FACTS if columns[name] is not None and columns[name] != "-"}
        for name in ("birthNs", "ctimeNs"):
            if facts.get(name) == "=":
                facts[name] = facts["mtimeNs"]
        plain = {name: record.pop(name) for name in ("inherited", "unlinked") if name in record}
        access = {"a": "Access", "object": iri}
        access |= {name: columns[name] for name in ("readApi", "writeApi") if columns[name] != "-"}
        if "task" in record:
            access["task"] = record.pop("task")
        self._accesses[number] = f"{process}/{columns['thread']}/o{number}", access
        return iri, record | facts | plain

    def _keep(self, iri: str, record: Record) -> None:
        number = record["ofOpening"].lstrip("0")
        if record.get("a") == "AccessSizes":
            thread, _, side = iri.rsplit("/", 2)
            self._sizes[number, side] = thread, record
        else:
            self._counters[number] = record

    def _closing(self, iri: str, record: Record) -> Iterator[tuple[str, Record]]:
        number = iri.rpartition("/o")[2]
        closed, counts, sizes = closed_access(record)
        for side in ("read", "write"):
            self._sizes.pop((number, side), None)
        if number not in self._accesses:
            yield iri, record
            return
        name, access = self._accesses.pop(number)
        yield name, access | counts
        yield from ((f"{name}/{side}", one) for side, one in sizes.items())
        if closed:
            yield iri, closed


def closed_access(record: Record) -> tuple[Record, Record, dict[str, Record]]:
    """Return the facts of a file at a close (empty if it did not change), the counters of the opening's access, and the
    sizes of its calls by side; raises Malformed."""
    found = CLOSING.fullmatch(record["closing"])
    if found is None:
        raise Malformed("a close has other columns than the trace format")
    facts = {name: value for name, value in found.groupdict().items() if value is not None}
    if facts.get("closedCtimeNs") == "=":
        facts["closedCtimeNs"] = facts["closedMtimeNs"]
    counts = {"closed": facts.pop("closed")}
    if "attempted" in record:
        counts["attempted"] = record["attempted"]
    sizes = {}
    for side, names in SIDES.items():
        if side in record:
            counts |= _columns(record[side], names)
        if side + "Sizes" in record:
            sizes["read" if side == "reading" else "write"] = _sizes(record[side + "Sizes"])
    return facts, counts, sizes


def _columns(text: str, names: list[str]) -> Record:
    if not COUNTS.fullmatch(text):
        raise Malformed("the counters of a close have other columns than the trace format")
    return {name: value for name, value in zip(names, text.split(" "), strict=False) if "-" not in (name, value)}


def _sizes(text: str) -> Record:
    if not SIZES.fullmatch(text):
        raise Malformed("the sizes of a close have other columns than the trace format")
    usual, jumped, *others = text.split(" ")
    counts = {f"size{number}": count for number, _, count in (other.partition(":") for other in others)}
    return {"a": "AccessSizes", "usualSize": usual, **counts, "jumpedBytes": jumped}


def all_plain(records: dict[str, Record]) -> dict[str, Record]:
    """Return the records of a whole file in plain form; raises Malformed."""
    openings, found = Openings(), dict[str, Record]()
    for iri, record in records.items():
        if "opening" in record and "closing" in record:  # read as one record
            closing = {name: record.pop(name) for name in CLOSED if name in record}
            found.update(openings.plain(iri, record))
            for name, one in openings.plain(iri, closing):
                found.setdefault(name, {}).update(one)
        else:
            found.update(openings.plain(iri, record))
    found.update(openings.end())
    return found
