"""The steps of a lineage tree: from a file to the works that made it and their sources, forward to the works that used
it and their products.

In: a lineage, and whether plumbing is drawn through (`provio.ask.works`). Out: the steps below a node, in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from provio.ask.document import ACTIVITIES, RESULT, Lineage, targets
from provio.ask.works import TIES, Work, Works
from provio.lineage.identity import is_earlier_phase

_MANY = 20  # targets
_MANY_ACTIVITIES = 2_000
_VIA_ORDER = {"": 0, "shown": 1, "revised": 1, "same content": 2, "part": 3, "carried": 4, "control": 5, "code": 6}


class Step(NamedTuple):
    """A step from a node to the next one: its IRI, and the tie (`carried`, `control`, `revised` …; data: empty)."""

    iri: str
    how: str = ""


class Steps:
    """Finds the steps below each node."""

    def __init__(self, lineage: Lineage, plain: bool) -> None:
        self.lineage = lineage
        self.works = Works(lineage, plain)
        self.plain = plain
        self.forward = lineage.document["direction"] == "forward"
        self.passed: set[str] = set()
        self.shown: set[str] = set()
        self._below: dict[str, list[Step]] = {}
        self._made: dict[str, list[Work]] = {}
        self._together: dict[str, list[str]] = {}  # the activities of a program that used a file, by the first one

    @cached_property
    def targets(self) -> list[str]:
        """The targets of the query."""
        return targets(self.lineage.document)

    @cached_property
    def target_set(self) -> set[str]:
        """The targets, for fast search."""
        return set(self.targets)

    @cached_property
    def many(self) -> bool:
        """Whether there are so many targets or activities that carried inputs are shown only once."""
        activities = sum(node["type"] in ACTIVITIES for node in self.lineage.document["nodes"])
        return len(self.target_set) > _MANY or activities > _MANY_ACTIVITIES

    def is_activity(self, iri: str) -> bool:
        """Return whether a node is an activity."""
        return self.lineage.node[iri]["type"] in ACTIVITIES

    def roots(self) -> list[str]:
        """Return the targets, those that other targets lead to at the end."""
        inner = {iri for iri in self.targets if not self.forward and self.lineage.subjects(iri, "used")}
        return [iri for iri in self.targets if iri not in inner] + [iri for iri in self.targets if iri in inner]

    def made(self, file: str) -> list[Work]:
        """Return the works that made a file: a single one where plumbing is drawn through."""
        if self.lineage.is_end(file, forward=False):
            return []
        if file not in self._made:
            makers = self.works.makers(file) if self.plain else self.lineage.objects(file, "wasGeneratedBy")
            starts = [makers] if self.plain else [[one] for one in makers]
            if "files" in self.lineage.node[file]:
                starts = self._by_name(makers)
            self._made[file] = [self._work(start) for start in starts if start]
        return self._made[file]

    def _by_name(self, activities: list[str]) -> list[list[str]]:
        """Return the makers of a folder in the order of their starts, those of one name together."""
        found: dict[str, list[str]] = {}
        for activity in sorted(activities, key=lambda one: self.lineage.node[one].get("start", "")):
            found.setdefault(self.lineage.node[activity]["label"], []).append(activity)
        return list(found.values())

    def together(self, activity: str) -> list[str]:
        """Return the activities that one step leads to."""
        return self._together.get(activity, [activity])

    def used(self, activity: str) -> Work:
        """Return the work of the activities that one step leads to."""
        if activity not in self._made:
            self._made[activity] = [self._work(self.together(activity))]
        return self._made[activity][0]

    def _work(self, start: list[str]) -> Work:
        work = self.works.of(start, self.passed)
        if self.many:
            self.passed |= work.activities.keys()
        return work

    def next(self, iri: str) -> list[Step]:
        """Return the steps below a node, the strongest tie first, then by name."""
        if iri not in self._below:
            continues = iri in self.target_set or not self.lineage.is_end(iri, self.forward)
            self._below[iri] = self._following(iri) if continues and iri in self.lineage.node else []
        return self._below[iri]

    def _following(self, iri: str) -> list[Step]:
        ways = (self._outputs if self.is_activity(iri) else self._uses) if self.forward else self._origins
        if self.lineage.document.get("only") == "roots":
            ways = self._roots
        return self.ordered((step for step in ways(iri)), {iri})

    def ordered(self, steps: Iterable[Step], own: set[str]) -> list[Step]:
        """Return the steps to each other node, by the strongest tie, in order."""
        best: dict[str, str] = {}
        for step in steps:
            known = step.how == "same content" and step.iri in self.shown  # it is where one comes from
            if step.iri not in own and not known:
                before = best.setdefault(step.iri, step.how)
                if before != step.how:
                    best[step.iri] = min(before, step.how, key=lambda how: _VIA_ORDER.get(how, 9))
        marked = [Step(one, how or self._weakest(one)) for one, how in best.items()]
        return sorted(marked, key=lambda step: (_VIA_ORDER.get(step.how, 9), self._sort_name(step.iri), step.iri))

    def _weakest(self, iri: str) -> str:
        via = self.lineage.node[iri].get("via", "data")
        return "" if via == "data" else via

    def _sort_name(self, iri: str) -> tuple[str, str]:
        node = self.lineage.node[iri]
        return node.get("start", "") if self.is_activity(iri) else "", node.get("path") or node["label"]

    def _roots(self, iri: str) -> Iterator[Step]:
        """Yield all other nodes below the last target."""
        if iri == self.targets[-1]:
            yield from (Step(one) for one in self.lineage.node if one not in self.target_set)

    def _origins(self, iri: str) -> Iterator[Step]:
        """Yield the origins of a file: the inputs of its works, and the versions whose content it kept."""
        lineage, states = self.lineage, self.works.states(iri)
        yield from (step for step in self._sources(iri, states) if step.iri not in states)
        for state in states:
            shown = lineage.objects(state, "mapsOnto")
            yield from (Step(source, "shown") for source in shown)
            for old in lineage.objects(state, "wasRevisionOf", "wasDerivedFrom"):
                if old not in shown and old not in states and not is_earlier_phase(state, old):
                    yield Step(old, "part" if old.startswith((state + "#", state + "/")) else "revised")
            same = chain(lineage.objects(state, "contentFrom"), self._equal_content(state))
            yield from (Step(other, "same content") for other in same if other not in states)
            yield from (Step(whole, "part") for whole in lineage.subjects(state, "hadMember"))

    def _sources(self, iri: str, states: Iterable[str]) -> Iterator[Step]:
        if self.is_activity(iri):
            works = [self.used(iri)]
        elif self.plain:
            works = self.made(iri)
        else:
            works = [work for state in states for work in self.made(state)]
        for work in works:
            known = self._behind(work)
            yield from (Step(used, self._how(iri, used, tie)) for used, tie in work.ends.items() if used not in known)
            ran = ((one, tie) for one in work.activities for tie in self.lineage.objects(one, "ran"))
            yield from (Step(program, "code") for _, program in ran)

    def _how(self, iri: str, used: str, tie: int) -> str:
        """Return the tie of a source; an earlier version of the file itself is revised."""
        path = self.lineage.node[iri].get("path")
        is_earlier = path is not None and self.lineage.node[used].get("path") == path and not self.is_activity(iri)
        return "revised" if is_earlier else TIES[tie]

    def _behind(self, work: Work) -> set[str]:
        """Return the sources that only messages tie to the maker, and that are sources of its other sources: a worker
        that reports a file that it made."""
        if self.forward or len(work.direct) == len(work.ends):
            return set()
        return {step.iri for end in work.direct for step in self.next(end)} - work.direct

    def _uses(self, iri: str) -> Iterator[Step]:
        """Yield the uses of a file, with those of the same content with other times: the works that used it, and its
        revisions."""
        states = self.works.same_states(iri) if self.plain else {iri: None}
        yield from (step for state in states for step in self._uses_of(state) if step.iri not in states)

    def _uses_of(self, iri: str) -> Iterator[Step]:
        lineage = self.lineage
        for predicate, how in (("used", ""), ("ran", "code")):
            yield from (Step(activity, how) for activity in self._by_program(lineage.subjects(iri, predicate)))
        shown = lineage.subjects(iri, "mapsOnto")
        yield from (Step(virtual, "shown") for virtual in shown)
        for new in lineage.subjects(iri, "wasRevisionOf", "wasDerivedFrom"):
            if new not in shown:
                yield Step(new, "as a whole" if iri.startswith(new + "#") else "revised")
        yield from (Step(copy, "same content") for copy in lineage.subjects(iri, "contentFrom"))
        yield from (Step(other, "same content") for other in self._equal_content(iri))
        yield from (Step(part, "part") for part in lineage.objects(iri, "hadMember"))

    def _by_program(self, activities: list[str]) -> list[str]:
        """Return the first activity of each program; its step leads to all of them."""
        found: dict[tuple[str, str], list[str]] = {}
        for activity in activities:
            found.setdefault(self.works.program(activity), []).append(activity)
        for same in found.values():
            self._together.setdefault(same[0], same)
        first = [same[0] for same in found.values()]
        if not (self.plain and self.forward):
            return first
        node, leading = self.lineage.node, {one for one in first if self._leads_on(one)}
        runs = {node[one].get("run") for one in leading}  # of a run with products, processes without one are omitted
        return [one for one in first if one in leading or node[one].get("run") not in runs]

    def _leads_on(self, activity: str) -> bool:
        """Return whether there are steps below an activity. These are not searched: chains of tasks are long, and those
        of processes may lead back."""
        if activity not in self.target_set and self.lineage.is_end(activity, forward=True):
            return False
        files, results = self._products(activity)
        return bool(files) or any(user != activity for one in results for user in self.lineage.subjects(one, "used"))

    def _equal_content(self, iri: str) -> Iterable[str]:
        return chain(self.lineage.objects(iri, "alternateOf"), self.lineage.subjects(iri, "alternateOf"))

    def _outputs(self, iri: str) -> Iterator[Step]:
        """Yield the products of an activity: its own (data), of a later phase (carried), of launched ones (control).

        A checkpoint is stated on the line of its file, and the result of a task leads to the tasks that used it."""
        ends = self.used(iri).ends
        files, results = self._products(iri)
        yield from (Step(made, TIES[ends[made]]) for made in files)
        for made in results:
            yield from (step._replace(how=step.how or TIES[ends[made]]) for step in self.next(made))

    def _products(self, activity: str) -> tuple[list[str], list[str]]:
        """Return the products of an activity that have a line, and the results of tasks, which lead on."""
        node, ends = self.lineage.node, self.used(activity).ends
        if not self.plain:
            return [*ends], []
        saved = {one["iri"] for end in ends for one in node[end].get("checkpoints", ())}
        results = [one for one in ends if node[one]["type"] == RESULT]
        return [one for one in ends if one not in saved and node[one]["type"] != RESULT], results
