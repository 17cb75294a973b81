"""The origins of all files at once. In: a store. Out: the edges of lineage, and the reasons why a file is stale.

`provio.ask.stale` answers for one target, from its lineage document. To answer for all files of a record, the edges are
read once, and each activity is visited once: it keeps at most MOST reasons, and the files that it made take them over.
Only those from which files were made that their programs updated may be visited again: they keep all their reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from provio.ask.nodes import PHASE
from provio.base.vocab import RUN_BASE
from provio.lineage.identity import earliest
from provio.store import Reader

MOST = 4  # reasons that are kept of an activity
Edges = dict[str, list[str]]


class Reason(NamedTuple):
    """Why a file is stale: the version that it was made from, the path that has another content, and the version that
    is there `now`. Of `code`, it is a program or script; if `sure` is false, the contents could not be compared."""

    source: str
    path: bytes
    code: bool
    sure: bool
    now: str


class Origins:
    """The edges of lineage between files and activities, without objects inside files."""

    def __init__(self, reader: Reader) -> None:
        self.makers = _edges(reader, "?s prov:wasGeneratedBy ?o")
        self.used = _edges(reader, "?s prov:used ?o")
        self.ran = _edges(reader, "?s provio:ran ?o")
        self.before = _edges(reader, "?s provio:carriedFrom ?o")
        for later, earlier in _edges(reader, "?s provio:continuedFrom ?o").items():
            self.before.setdefault(later, []).extend(earlier)
        self.launched = _edges(reader, "?s provio:launchedBy ?o")
        self.kept = _edges(reader, "?s prov:wasDerivedFrom ?o")
        for version, earlier in _edges(reader, "?s provio:contentFrom ?o").items():
            self.kept.setdefault(version, []).extend(earlier)
        self.data = {version for versions in self.used.values() for version in versions}
        self.code = {version for versions in self.ran.values() for version in versions}
        self.other_keys = self._other_keys(reader)
        # For versions that were made again with the same content: the version that is there.
        self.made_again: dict[str, str] = {}

    def _other_keys(self, reader: Reader) -> Edges:
        """Return the other keys of the same content of each version that has some; equal hashes are no lineage."""
        equal = {(one, other) for one, other in reader.table("SELECT ?s ?o { ?s provio:sameContentAs ?o }")}
        found: Edges = {}
        for one, others in _edges(reader, "?s prov:alternateOf ?o").items():
            for other in others:
                if (one, other) not in equal:
                    found.setdefault(one, []).append(other)
                    found.setdefault(other, []).append(one)
        return found

    def is_file(self, version: str) -> bool:
        """Return whether a version is one of a user's file: some activity made, used or ran it."""
        return version in self.makers or version in self.data or version in self.code

    def is_entity(self, node: str) -> bool:
        """Return whether a node is no activity."""
        return node in self.makers or node in self.kept or node in self.other_keys

    def is_only_code(self, version: str) -> bool:
        """Return whether a version is that of a program which no one read or made."""
        return version in self.code and version not in self.data and version not in self.makers

    def onward(self, node: str) -> Iterator[str]:
        """Yield the nodes to which lineage leads from a file or an activity."""
        for edges in (
            self.makers, self.used, self.ran, self.before, self.launched, self.kept, self.other_keys
        ):  # fmt: skip
            yield from edges.get(node, ())
        if node in self.made_again:
            yield self.made_again[node]

    def processes(self, version: str) -> set[str]:
        """Return the processes whose phases made a version."""
        return {PHASE.sub("", maker) for maker in self.makers.get(version, ()) if PHASE.search(maker)}


def _edges(reader: Reader, pattern: str) -> Edges:
    found: Edges = {}
    for subject, object_ in reader.table(f"SELECT ?s ?o {{ {pattern} }}"):
        if "#" not in subject and "#" not in object_:
            found.setdefault(subject, []).append(object_)
    return found


def reached(origins: Origins, starts: Iterable[str]) -> list[str]:
    """Return the nodes that lineage leads to from some versions, each after those that it leads to."""
    done: dict[str, None] = {}
    visited: set[str] = set()
    for start in starts:
        stack = [] if start in visited else [(start, origins.onward(start))]
        visited.add(start)
        while stack:
            node, rest = stack[-1]
            following = next((one for one in rest if one not in visited), None)
            if following is None:
                done[node] = None
                stack.pop()
            else:
                visited.add(following)
                stack.append((following, origins.onward(following)))
    return list(done)


class Now(NamedTuple):
    """The state of a version: `present`, `changed`, `unsure` or `missing`, or `ended` if its own origins do not count;
    its path, and the version that is there."""

    state: str
    path: bytes = b""
    version: str = ""


class Staleness:
    """The reasons of stale versions. `now` is the state of a file that a run used, `paths` are the names of files.

    `code` are the reasons of an activity by its program, and by the programs and scripts that led to it: the script
    that started a program is a reason for the products of that program.
    """

    def __init__(self, origins: Origins, now: Callable[[str, str], Now], paths: Mapping[str, set[bytes]]) -> None:
        self.origins, self.now, self.paths = origins, now, paths
        self.why: dict[str, list[Reason]] = {}
        self.code: dict[str, list[Reason]] = {}
        self.of_replaced: dict[str, list[Reason]] = {}  # the reasons of files that an activity read and replaced
        self.inputs: dict[str, set[bytes]] = {}
        self.updated: set[str] = set()  # the versions of which some reasons do not count for a product
        self.whole: set[str] = set()  # the nodes that keep all their reasons
        self.short = False  # whether reasons that were not kept may be needed

    def visit(self, order: Iterable[str]) -> dict[str, list[Reason]]:
        """Return the reasons of each stale version and activity among the nodes from `reached`."""
        nodes = list(order)
        while True:
            for node in nodes:
                found = self._of_version(node) if self.origins.is_entity(node) else self._of_activity(node)
                if found:
                    self.why[node] = found
            if not self.short or self.updated <= self.whole:
                return self.why
            self.whole.update(reached(self.origins, self.updated))
            self.why, self.code, self.of_replaced = {}, {}, {}

    def _of_activity(self, node: str) -> list[Reason]:
        run, before = run_of(node), self.origins.before.get(node, ())
        code = {
            reason: None for one in self.origins.ran.get(node, ()) for reason in self._of_source(one, run, code=True)
        }
        for other in (*before, *self.origins.launched.get(node, ())):
            code.update(dict.fromkeys(self.code.get(other, ())))
        if code:
            self.code[node] = self._first(node, code)
        found, of_replaced = dict(code), dict[Reason, None]()
        for source in self.origins.used.get(node, ()):
            if self._replaces(node, source):
                self.updated.add(source)
                of_replaced.update(dict.fromkeys(self.why.get(source, ())))
            else:
                found.update(dict.fromkeys(self._of_source(source, run, code=False)))
        for earlier in before:
            found.update(dict.fromkeys(self.why.get(earlier, ())))
            of_replaced.update(dict.fromkeys(self.of_replaced.get(earlier, ())))
        if of_replaced:
            self.of_replaced[node] = self._not_read_again([node], of_replaced)
        return self._first(node, found)

    def _of_version(self, node: str) -> list[Reason]:
        found: dict[Reason, None] = {}
        run = next(map(run_of, self.origins.makers.get(node, ())), "")
        for key in (node, *self.origins.other_keys.get(node, ())):
            makers = self.origins.makers.get(key, ())
            for maker in makers:
                found.update(dict.fromkeys(self.why.get(maker, ())))
                found.update(dict.fromkeys(self._not_read_again(makers, self.of_replaced.get(maker, ()))))
            for source in self.origins.kept.get(key, ()):
                own = self.paths.get(source, set()) & self.paths.get(node, set())
                reasons = self._of_own(node, source) if own else self._of_source(source, run, code=False)
                found.update(dict.fromkeys(reasons))
        kept = [one for reason in found for one in self._without_own(node, reason)]
        if len(kept) < MOST <= len(found):
            self.updated.add(node)
            self.short = True
        return kept if node in self.whole else kept[:MOST]

    def _of_source(self, source: str, run: str, code: bool) -> list[Reason]:
        state = self.now(source, run)
        if state.state in ("changed", "unsure"):
            return [Reason(source, state.path, code, state.state == "changed", state.version)]
        return [] if state.state == "ended" else self.why.get(self.origins.made_again.get(source, source), [])

    def _without_own(self, node: str, reason: Reason) -> list[Reason]:
        """Return the reason; of a file that the product, or its process, replaced itself, the reasons of that file."""
        own = self.origins.processes(node) & self.origins.processes(reason.now)
        replaced = own and (reason.source in self.origins.makers or earliest(node) >= earliest(reason.now))
        return self._of_own(node, reason.source) if replaced or reason.path in self.paths.get(node, ()) else [reason]

    def _of_own(self, node: str, source: str) -> list[Reason]:
        """Return the reasons of an earlier version of a product. A process that did not read it kept its content."""
        found, own = self.why.get(source, []), self.origins.processes(node)
        read = own & (self.origins.processes(source) | self._readers.get(source, set()))
        if not read:
            return found
        self.updated.add(source)
        return self._not_read_again(self.origins.makers.get(node, ()), found)

    def _replaces(self, activity: str, source: str) -> bool:
        """Return whether the process of an activity replaced a file that it had read, and whose inputs decide: of a
        file that no recorded program made, it depends on the product."""
        process, state = PHASE.sub("", activity), self.now(source, run_of(activity))
        if state.state in ("changed", "unsure"):
            keys = (state.version, *self.origins.other_keys.get(state.version, ()))
            made = source in self.origins.makers
            return made and any(process in self.origins.processes(key) for key in keys)
        return bool(self.paths.get(source, set()) & self._made.get(process, set()))

    def _not_read_again(self, activities: Iterable[str], reasons: Collection[Reason]) -> list[Reason]:
        """Return the reasons without the files that these activities read with their present content."""
        found = [one for one in reasons if not any(one.path in self._present_inputs(each) for each in activities)]
        self.short = self.short or len(found) < MOST <= len(reasons)
        return found

    def _present_inputs(self, activity: str) -> set[bytes]:
        """Return the paths whose present content an activity read, directly or through pipes and missing files."""
        if activity not in self.inputs:
            found, waiting, seen = self.inputs.setdefault(activity, set()), [activity], {activity}
            for one in waiting:  # grows during the loop
                new = [*self.origins.makers.get(one, ()), *self.origins.before.get(one, ())]
                for source in (*self.origins.used.get(one, ()), *self.origins.ran.get(one, ())):
                    state = self.now(source, run_of(one)).state
                    if state == "present":
                        found |= self.paths.get(source, set())
                    elif state == "missing":
                        new.append(source)
                waiting += [other for other in dict.fromkeys(new) if other not in seen]
                seen.update(new)
        return self.inputs[activity]

    def _first(self, node: str, reasons: Iterable[Reason]) -> list[Reason]:
        """Return the reasons that a node keeps: certain ones, then those by code, by path."""
        found = sorted(reasons, key=lambda one: (not one.sure, not one.code, one.path))
        return found if node in self.whole else found[:MOST]

    @cached_property
    def _made(self) -> dict[str, set[bytes]]:
        """The paths of the files that each process made."""
        found: dict[str, set[bytes]] = {}
        for version, paths in self.paths.items():
            for process in self.origins.processes(version):
                found.setdefault(process, set()).update(paths)
        return found

    @cached_property
    def _readers(self) -> dict[str, set[str]]:
        """The processes that read each earlier version of a product."""
        earlier = {source for sources in self.origins.kept.values() for source in sources}
        found: dict[str, set[str]] = {}
        for activity, sources in self.origins.used.items():
            for source in earlier.intersection(sources):
                found.setdefault(source, set()).add(PHASE.sub("", activity))
        return found


def run_of(activity: str) -> str:
    """Return the id of the run of an activity."""
    return activity[len(RUN_BASE) :].partition("/")[0]


def process_of(activity: str) -> str:
    """Return the IRI of the process of an activity."""
    return "/".join(activity.split("/")[:8]) + "/"
