"""Write the objects inside files into a run's graph, through the functions of `provio.graph.run`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from provio.base import turtle
from provio.base.records import frozen
from provio.graph.lines import Pair
from provio.lineage.identity import member_iri
from provio.lineage.model import Conclusions, MemberVersion, Phase
from provio.trace.facts import Access, Event, Member, Process

TEXTS = ("shape", "datatype", "chunks", "filters")
SUMMED = frozenset({"Close"})  # summed over all objects: only the total time matters


@frozen
class Hand:
    """The functions of `provio.graph.run` for writing: a typed node and its properties, an I/O activity, an access's
    counters, a program where programs are recorded."""

    node: Callable[..., None]
    activity: Callable[..., None]
    counters: Callable[[Access, str], dict[str, int]]
    program: Callable[[str], str | None]


class MemberGraph:
    """Writes the objects inside files and the activities on them."""

    def __init__(self, out: Conclusions, hand: Hand) -> None:
        self.out, self.hand = out, hand
        self.held: set[str] = set()

    def members(self) -> Iterator[None]:
        """Write the objects of versions, each as a member of the object that contains it; yield after each."""
        for member in self.out.members.values():
            if member.file not in self.out.elsewhere:
                self._member(member)
            yield

    def _member(self, member: MemberVersion) -> None:
        record = member.record if member.kind == "Dataset" else {}
        wider = record.get("maxShape") if record.get("maxShape") != record.get("shape") else None
        texts = [(name, turtle.literal(record[name])) for name in TEXTS if record.get(name)]
        self.hand.node(
            member.iri,
            member.kind or ("Attribute" if member.name is not None else "DataObject"),
            turtle.text_or_encoded("path", member.path),
            turtle.text_or_encoded("name", member.name) if member.name is not None else ("name", None),
            *texts,
            ("maxShape", turtle.literal(wider) if wider else None),
            ("prov:wasGeneratedBy", f"<{member.generated_by}>" if member.generated_by else None),
            ("prov:wasAttributedTo", self.hand.program(member.program) if member.program else None),
            *_both(("prov:wasRevisionOf", "prov:wasDerivedFrom"), member.revision_of),
            *_both(("mapsOnto", "prov:wasDerivedFrom"), member.shows),
            *_both(("leadsTo", "prov:alternateOf"), member.leads_to),
        )
        self._hold(member)

    def _hold(self, member: MemberVersion) -> None:
        """State the containers of an object, up to the version: groups, or the object that has the attribute."""
        iri, path = member.iri, member.path
        if member.name is None:
            path = os.path.dirname(path)
        while iri not in self.held:
            self.held.add(iri)
            last = path in (b"/", b"") and not (iri == member.iri and member.name is not None)
            holder = member.file if last else member_iri(member.file, path)
            if not last and holder not in self.out.members:
                kind = "DataObject" if iri == member.iri and member.name is not None and path != b"/" else "Group"
                self.hand.node(holder, kind, turtle.text_or_encoded("path", path))
            self.hand.node(holder, "", ("prov:hadMember", f"<{iri}>"))
            if last:
                break
            iri, path = holder, os.path.dirname(path)

    def activities(self, process: Process) -> Iterator[None]:
        """Write the activities of a process on objects: reads, writes, other counted calls, and changes of names;
        yield from time to time."""
        for container in process.containers:
            for member in container.members:
                for access in member.accesses:
                    self._access(member, access)
                yield
        self._sums(process)
        paths = {container.iri: container.path or b"" for container in process.containers}
        for event in process.within:
            self._event(event, paths)
        yield

    def _access(self, member: Member, access: Access) -> None:
        read, made = self.out.read_as.get(member.iri), self.out.made_as.get(member.iri)
        for kind, first, last, entity in (
            ("Read", access.first_read, access.last_read, read or made),
            ("Write", access.first_write, access.last_write, made or read),
        ):
            if first:
                side = kind.lower()
                api = access.counts.get(side + "Api", side)
                counters = self.hand.counters(access, side)
                self._activity(access, f"{access.iri}/{side}", kind, api, counters, (first, last), entity)
        if access.count("count") and access.operation not in SUMMED and access.counts["a"] == "Access":
            self._called(access, access.operation, made or read)
        elif access.count("count") and access.counts["a"] == "Copy":
            self._called(access, "Write", made or read)

    def _sums(self, process: Process) -> None:
        """Write one activity for each thread and function with summed calls, from the first of them to the last."""
        sums: dict[tuple[str, str], list[Access]] = {}
        members = (member for container in process.containers for member in container.members)
        each = (access for member in members for access in member.accesses)  # only at detail `call`
        for access in (*process.summed, *each):
            if access.operation in SUMMED and access.count("count"):
                sums.setdefault((access.thread.iri, access.counts.get("api", "")), []).append(access)
        for (_, api), parts in sums.items():
            counters = {name: sum(part.count(name) for part in parts) for name in ("count", "elapsed")}
            if counters["count"] > 1:
                counters["maxElapsed"] = max(part.count("longest") for part in parts)
            moments = min(part.moments()[0] for part in parts), max(part.moments()[1] for part in parts)
            self._activity(parts[0], parts[0].iri + "/call", parts[0].operation, api, counters, moments, None)

    def _called(self, access: Access, kind: str, entity: str | None) -> None:
        names: tuple[str, ...] = ("count", "bytes", "elapsed")
        counters = {name: access.count(name) for name in names if name in access.counts}
        if counters["count"] > 1:
            counters["maxElapsed"] = access.count("longest")
        api = access.counts.get("api", "")
        self._activity(access, access.iri + "/call", kind, api, counters, access.moments(), entity)

    def _activity(
        self, access: Access, iri: str, kind: str, api: str, counters: dict[str, int], moments: tuple[int, int],
        entity: str | None,
    ) -> None:  # fmt: skip
        process, (first, last) = self.out.acting(access.thread.process, access.task), moments
        phase = self._phase(process, first)
        self.hand.activity(iri, kind, process, access.thread.iri, api, counters, first, entity, last, phase)

    def _phase(self, process: Process, moment: int) -> Phase | None:
        return self.out.finer_at(process, moment) if process.iri in self.out.finer else None

    def _event(self, event: Event, paths: dict[str, bytes]) -> None:
        """Write a call on a name, or a resize. Names follow the file's path and `#`, as they are not names of the
        file system."""
        entity = self.out.made_as.get(event.record.get("object", ""))
        api = event.record.get("api", event.kind.lower())
        counters = {"elapsed": event.number("elapsed")}
        acting = self.out.acting(event.process, event.task)
        phase = self._phase(acting, event.at)
        where = (acting, event.thread.iri)
        self.hand.activity(event.iri, event.kind, *where, api, counters, event.at, entity, None, phase)
        file = paths.get(event.record.get("inFile", ""), b"")
        pairs: list[Pair] = [("shape", turtle.literal(event.record["shape"]))] if "shape" in event.record else []
        holder, name = event.text("path"), event.text("name")
        for word in ("from", "to", "path"):
            value = event.text(word)
            if value is not None and not (word == "path" and event.kind == "Rename"):
                whole = holder + b"@" + value if holder and word != "path" else value
                whole += b"@" + name if name is not None and word == "path" else b""
                pairs.append(turtle.text_or_encoded(word, file + b"#" + whole))
        self.hand.node(event.iri, "", *pairs)


def _both(names: tuple[str, str], values: dict[str, None]) -> Iterator[Pair]:
    for value in values:
        yield from ((name, f"<{value}>") for name in names)
