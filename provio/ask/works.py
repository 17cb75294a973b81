"""Works: processes of a run that made a file together. A lineage in; for a file or for activities, the processes that
worked together, and the files at their ends, out.

`grep -v x raw.txt | awk '{ print $2 }' > clean.csv` is one work. Data pass from process to process through plumbing
(`provio.ask.housekeeping.between`), which forms for people do not show; documents for programs keep it. Processes of a
run with one command line (the workers of a pool, a program and its forks) are one program. If the programs of a work
are no simple pipeline, its command is that of the run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from provio.ask.document import PIPES, RESULT, Edge, Lineage, LineageDocument, Node, command_line, first_line, targets
from provio.ask.housekeeping import between
from provio.ask.started_as import name
from provio.base.vocab import PROV
from provio.lineage.identity import is_earlier_phase

TIES = ("", "carried", "control")
_INFORMED = (("continuedFrom", 0), ("carriedFrom", 1), ("launchedBy", 2))
_KEPT = ("wasRevisionOf", "wasDerivedFrom")
_MOST_EDGES = 10_000
_LONGEST = 6  # programs of a pipeline that is written out
# A fork that only starts programs: its edges, those of others to it, and the members that it must not have.
_FORK = frozenset({"carriedFrom", "wasAssociatedWith"})
_STARTED = frozenset({"carriedFrom", "launchedBy", "used", "partOf"})
_OF_ITS_OWN = frozenset({"failed", "source", "task", "rank", "notebook"})


class Words(NamedTuple):
    """The words for a work: its name, and its command line (or the first line of a cell) as an answer shows it."""

    name: str
    command: str


@dataclass
class Work:
    """Activities that worked together and the files at their ends (backward: used, forward: made), each with its tie.

    `direct` are the ends that also other ties than plumbing lead to, `pooled` those of other processes of the same
    program; `plumbing` is between the activities. `programs`
    are the first activities of each program, `pipes` lead from one program to the next in the direction of the search;
    both are in the order of the search.
    """

    start: list[str]
    activities: dict[str, int] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    direct: set[str] = field(default_factory=set)
    pooled: set[str] = field(default_factory=set)
    plumbing: dict[str, None] = field(default_factory=dict)
    programs: list[str] = field(default_factory=list)
    pipes: dict[tuple[int, int], None] = field(default_factory=dict)


class Works:
    """Finds the works in a lineage; without `plain`, nothing is drawn through."""

    def __init__(self, lineage: Lineage, plain: bool = True) -> None:
        self.lineage, self.plain = lineage, plain
        self.forward = lineage.document["direction"] == "forward"
        self.plumbing = between(lineage) if plain else set()
        self._onward = lineage.subjects if self.forward else lineage.objects
        self._ends, self._through = ("wasGeneratedBy", "used") if self.forward else ("used", "wasGeneratedBy")
        self._beyond: dict[str, list[str]] = {}
        self.control = any(node.get("via") == "control" for node in lineage.node.values())

    def makers(self, file: str) -> list[str]:
        """Return the activities that made a file and the states of it that are one with it."""
        return list(dict.fromkeys(one for same in self.states(file) for one in self._makers(same)))

    def _makers(self, file: str) -> list[str]:
        return self.lineage.objects(file, "wasGeneratedBy")

    def states(self, file: str) -> dict[str, None]:
        """Return the states of a file that its user takes for one: the contributions of earlier phases, the states that
        the same run made one after the other, and the same content with other times."""
        found, waiting = {file: None}, [file]
        while waiting:
            iri = waiting.pop()
            for other in (*self.lineage.objects(iri, *_KEPT), *self._same_content(iri)):
                if other not in found and (is_earlier_phase(iri, other) or (self.plain and self._is_one(iri, other))):
                    found[other] = None
                    waiting.append(other)
        return found

    def same_states(self, file: str) -> dict[str, None]:
        """Return a file and its states that differ only in their times."""
        found, waiting = {file: None}, [file]
        while waiting:
            iri = waiting.pop()
            new = [one for one in self._same_content(iri) if one not in found and self._is_one(iri, one)]
            found.update(dict.fromkeys(new))
            waiting += new
        return found

    def _same_content(self, iri: str) -> list[str]:
        return self.lineage.objects(iri, "alternateOf", "contentFrom") + self.lineage.subjects(iri, "alternateOf")

    def _is_one(self, new: str, old: str) -> bool:
        """Return whether two versions of a name have one content, or one run made both."""
        node = self.lineage.node
        path = node[new].get("path")
        if path is None or path != node[old].get("path") or "#" in new or "#" in old:
            return False
        if old in self._same_content(new):
            return True
        runs = {node[one].get("run") for one in self._makers(new)}
        return bool(runs) and {node[one].get("run") for one in self._makers(old)} == runs

    def of(self, start: Iterable[str], passed: set[str] | None = None) -> Work:
        """Return the work of activities, with all others that data came from (forward: went to) through memory and
        plumbing. Activities in `passed` are only searched if they are tied by data."""
        work = Work(list(start))
        numbers: dict[tuple[str, str], int] = {}
        own = {self._process(iri) for iri in work.start}
        queues = [deque((iri, self._program(iri, work, numbers), False) for iri in work.start), deque(), deque()]
        for tie, queue in enumerate(queues):
            while queue:
                iri, program, piped = queue.popleft()
                if iri in work.activities:
                    continue
                work.activities[iri] = tie
                piped = piped and self._process(iri) not in own
                for predicate, weight in _INFORMED:
                    for other in self._onward(iri, predicate):
                        if not (weight and passed and other in passed):
                            queues[max(tie, weight)].append((other, program, piped))
                for end in self._add_ends(iri, tie, piped, work):
                    joined = self.lineage.node[end]["type"] in PIPES and tie < TIES.index("control")
                    for one in self._next(self.beyond(end), program, work, numbers if joined else None):
                        queues[max(tie, self._is_message(iri, one[0]))].append(one)
        if not any(work.ends[end] == 0 for end in work.direct):  # it only collected the results of its pool
            carried = (end for end in work.pooled - work.direct if TIES[work.ends[end]] == "carried")
            work.ends.update(dict.fromkeys(carried, 0))
        return work

    def _is_message(self, activity: str, other: str) -> bool:
        """Return whether a pipe is between processes of one program, and its reader also used files itself. All
        data from the pipe are then carried, like all that the program had read before."""
        reader = other if self.forward else activity
        if self.program(activity) != self.program(other):
            return False
        return any(used not in self.plumbing for used in self.lineage.objects(reader, "used"))

    def _add_ends(self, activity: str, tie: int, piped: bool, work: Work) -> list[str]:
        """Add the files of an activity, and return its plumbing that is new."""
        if tie == TIES.index("control") and not self.control:
            return []  # the activity is there for its code
        new = []
        for end in self._onward(activity, self._ends):
            if end not in self.plumbing:
                work.ends.setdefault(end, tie)
                if not piped:
                    work.direct.add(end)
                elif self.program(activity) == self.program(work.start[0]):
                    work.pooled.add(end)
            elif end not in work.plumbing:
                work.plumbing[end] = None
                new.append(end)
        return new

    def _next(
        self, activities: list[str], program: int, work: Work, numbers: dict[tuple[str, str], int] | None
    ) -> list[tuple[str, int, bool]]:
        """Return the activities at the other end of a pipe, each with the number of its program: without `numbers`, the
        program at this end."""
        if numbers is None:
            return [(other, program, True) for other in activities]
        following = [(other, self._program(other, work, numbers), True) for other in activities]
        work.pipes.update(((program, number), None) for _, number, _ in following if number != program)
        return following

    def beyond(self, plumbing: str) -> list[str]:
        """Return the activities that made plumbing (forward: used it), also through its parts."""
        if plumbing not in self._beyond:
            found: dict[str, None] = {}
            seen, waiting = {plumbing}, [plumbing]
            while waiting:
                iri = waiting.pop()
                found.update(dict.fromkeys(self._onward(iri, self._through)))
                parts = [*self._onward(iri, *_KEPT), *self._same_content(iri)]
                waiting += [one for one in parts if one in self.plumbing and one not in seen]
                seen.update(parts)
            self._beyond[plumbing] = list(found)
        return self._beyond[plumbing]

    def _process(self, activity: str) -> str:
        return self.lineage.node[activity].get("process", activity)

    def program(self, activity: str) -> tuple[str, str]:
        """Return the program that an activity belongs to: its run and command line; a Task is one of its own."""
        node = self.lineage.node[activity]
        if node["type"] == "Task" or "task" in node or not self.plain:
            return node.get("run", ""), node.get("task") or activity
        own = node.get("command") or node.get("argv") or node.get("process") or activity
        return node.get("run", ""), f"{node.get('rule', '')} {own}"

    def _program(self, activity: str, work: Work, numbers: dict[tuple[str, str], int]) -> int:
        program = self.program(activity)
        if program not in numbers:
            numbers[program] = len(work.programs)
            work.programs.append(activity)
        return numbers[program]

    def words(self, work: Work, arrow: str) -> list[Words]:
        """Return the name and the command line of a work; those of each program, if nothing joins them."""
        node = self.lineage.node
        programs = [node[iri] for iri in (work.programs if self.forward else reversed(work.programs))]
        each = [Words(one["label"], (first_line(one) and f"> {first_line(one)}") or _command(one)) for one in programs]
        if len(each) == 1:
            return each
        runs = {one.get("run", "") for one in programs}
        typed = self.lineage.document.get("runs", {}).get(min(runs), "") if len(runs) == 1 else ""
        own = typed in [one.get("command") or one.get("argv") for one in programs]
        inner = any("/dev/fd/" in one.command for one in each)  # its shell gave it other names
        rules = {one.get("rule", "") for one in programs}
        rule = f"rule {min(rules)}" if len(rules) == 1 and rules != {""} else ""
        if self._is_pipeline(work) and not own and not (inner and typed):
            names = rule or f" {arrow} ".join(one.name for one in each)
            return [Words(names, "$ " + " | ".join(one.command[2:] for one in each))]
        if typed:
            return [Words(rule or name(typed, ""), _command(Node(iri="", type="Run", label="", argv=typed)))]
        return list(dict.fromkeys(each))

    def _is_pipeline(self, work: Work) -> bool:
        return list(work.pipes) == list(_chain(work.programs)) and len(work.programs) <= _LONGEST


def drawn(document: LineageDocument) -> LineageDocument:
    """Return a document without plumbing and results of tasks: an activity uses the one at the other end of a pipe.

    Plumbing with very many ends stays, as it would become very many edges.
    """
    lineage = Lineage(document)
    works = Works(Lineage({**document, "direction": "backward"}))
    left_out: set[str] = set()
    edges: list[Edge] = []
    kept = targets(document)
    results = {iri for iri, node in lineage.node.items() if node["type"] == RESULT and iri not in kept}
    for iri in sorted(between(lineage) | results):
        users, makers = lineage.subjects(iri, "used"), works.beyond(iri)
        if len(users) * len(makers) <= _MOST_EDGES:
            left_out.add(iri)
            edges += [Edge(subject=user, predicate=PROV + "used", object=maker) for user in users for maker in makers]
    left = [edge for edge in document["edges"] if edge["subject"] not in left_out and edge["object"] not in left_out]
    nodes = [node for node in document["nodes"] if node["iri"] not in left_out]
    temporary = sum(lineage.node[iri]["type"] == "FileVersion" for iri in left_out)
    return {**document, "nodes": nodes, "edges": left + edges, "hidden": document["hidden"] + temporary}


def without_forks(document: LineageDocument) -> LineageDocument:
    """Return a document without the forks of a program that used and made nothing.

    The forking phase takes their place as the one that started other programs, wrote to a pipe or opened a file for
    them. Forks that failed, or that someone noted, stay.
    """
    lineage = Lineage(document)
    kept = {*targets(document), *lineage.reasons, *(note["about"] for note in document.get("notes", ()))}
    instead = {iri: parent for iri in lineage.node if iri not in kept and (parent := _forked_by(lineage, iri))}

    def shown(iri: str) -> str:
        while iri in instead:  # a fork of a fork; each parent started earlier
            iri = instead[iri]
        return iri

    edges = {
        (edge["subject"], edge["predicate"], shown(edge["object"])): None
        for edge in document["edges"]
        if edge["subject"] not in instead and edge["subject"] != shown(edge["object"])
    }
    nodes = [node for node in document["nodes"] if node["iri"] not in instead]
    return {**document, "nodes": nodes, "edges": [Edge(subject=s, predicate=p, object=o) for s, p, o in edges]}


def _forked_by(lineage: Lineage, iri: str) -> str | None:
    """Return the first phase that forked a phase, if that is all of a process that used and made nothing."""
    node = lineage.node[iri]
    own, near = lineage.outgoing.get(iri, {}).keys(), lineage.incoming.get(iri, {}).keys()
    if node["type"] != "Phase" or _OF_ITS_OWN & node.keys() or own - _FORK or near - _STARTED or not node.get("argv"):
        return None
    parents = [lineage.node[one] for one in lineage.objects(iri, "carriedFrom")]
    if any(one.get("argv") != node["argv"] or one.get("process") == node.get("process") for one in parents):
        return None
    return min(((one.get("start", ""), one["iri"]) for one in parents), default=("", None))[1]


def _chain(programs: Sequence[str]) -> Iterable[tuple[int, int]]:
    return ((place, place + 1) for place in range(len(programs) - 1))


def _command(node: Node) -> str:
    command = command_line(node)
    return f"$ {command}" if command else ""
