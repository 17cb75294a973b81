"""The objects inside hierarchical files: a thread file's records in, the members of the files that a library opened
out, with who read, wrote, made and copied them (`docs/trace-format.md`); nothing is concluded here.
"""

from __future__ import annotations

from provio.facts import Access, Event, Failure, Member, Opening, Process, Thread
from provio.literals import path_of
from provio.packed import Packed
from provio.statx import Record

KINDS = frozenset({"Group", "Dataset", "Attribute", "Datatype", "NamedLink"})
Records = dict[str, Record]


class Members:
    """What a run says of the objects inside files: records are given file by file, then put together. `hold` is how
    the records of accesses are kept."""

    def __init__(self, hold: type[Packed] = Packed) -> None:
        self.hold = hold
        self.containers: dict[str, Opening] = {}
        self.records: Records = {}
        self.found: dict[str, Member] = {}
        self.shown: list[tuple[str, str]] = []  # a virtual dataset, and a source of it

    def takes(self, iri: str, record: Record) -> bool:
        """Keep what a record says, if it is of an object inside a file."""
        if not ("inFile" in record or "virtualSource" in record):
            return False
        if "virtualSource" in record and "object" in record:
            self.shown.append((record["object"], record["virtualSource"]))
            return True
        if record.get("a") in KINDS and "inFile" in record:
            self.records.setdefault(iri, {}).update(record)
            return True
        return False

    def place(self) -> None:
        """Give each object to the file that it was met in, now that all openings are known."""
        of_file: dict[str, list[Member]] = {}
        for iri, record in self.records.items():
            file, path = self.containers.get(record["inFile"]), path_of(record, "path")
            name = path_of(record, "name")
            if file and path is not None and (name is not None) == (record["a"] == "Attribute"):
                self.found[iri] = Member(iri, record["a"], file, path, name, record)
                of_file.setdefault(file.iri, []).append(self.found[iri])
        for iri, members in of_file.items():
            self.containers[iri].members = members
        own = [(iri, record["virtualSource"]) for iri, record in self.records.items() if "virtualSource" in record]
        for iri, source in self.shown + own:
            if iri in self.found and source in self.found:
                self.found[iri].shows.append(self.found[source])

    def told_later(self, iri: str, record: Record) -> bool:
        """Add what another thread said of an object."""
        member = self.found.get(iri)
        if member and "a" not in record:
            member.record.update({name: value for name, value in record.items() if name not in member.record})
        return member is not None

    def access(self, thread: Thread, iri: str, record: Record) -> Access | None:
        """Note what one thread did to an object by one function; None where the record is of none."""
        member = self.found.get(record.get("object", ""))
        if member is None:
            self._summed(thread, iri, record)
            return None
        access = Access(iri[len(thread.iri) :], thread, member.file, self.hold(record)).timed(record)
        source = self.found.get(record.get("source", ""))
        member.accesses.append(access)
        if record["a"] == "Copy" and source:
            member.copied_from.append((source, access))
        return access

    def _summed(self, thread: Thread, iri: str, record: Record) -> None:
        file = self.containers.get(record.get("inFile", ""))
        if file:
            thread.process.summed.append(Access(iri[len(thread.iri) :], thread, file, self.hold(record)))

    def failure(self, thread: Thread, iri: str, record: Record, kind: str, numbers: tuple[int, int]) -> bool:
        """Note calls that failed on an object."""
        member = self.found.get(record.get("object", ""))
        if member:
            failure = Failure(iri, thread, None, kind, record.get("api", ""), *numbers, member)
            thread.process.failures.append(failure)
        return member is not None

    def event(self, event: Event) -> bool:
        """Note what befell a name inside a file."""
        record = event.record
        if "inFile" not in record and record.get("object") not in self.found:
            return False
        event.process.within.append(event)
        return True


def is_container(record: Record) -> bool:
    """Tell whether an opening is of a library that knows what is inside the file."""
    return "format" in record


def adopt(process: Process) -> None:
    """Where nobody saw the library's own openings, its word stands for them."""
    seen = {opening.facts.lasting for opening in process.openings if opening.kind == "FileVersion"}
    shown = {source.iri for file in process.containers for member in file.members for source in member.shows}
    for file in process.containers:
        if file.facts.inode and file.facts.lasting not in seen and not _named_only(file, shown):
            process.openings.append(file)


def _named_only(file: Opening, shown: set[str]) -> bool:
    """Tell whether a file was never opened: a virtual dataset named it as the place of its sources."""
    return bool(file.members) and all(one.iri in shown and not one.accesses for one in file.members)
