"""The lineage document as a tree for a terminal.

The first line is a file, the next ones are the process that made it, below them are the inputs of that process, and so
on:

    xcorr.h5  4.2 MB
    │ xcorr.py  2026-11-20 12:19:58 UTC, 3.2 s
    │ $ python3 xcorr.py decimate.h5 xcorr.h5
    ├─ decimate.h5
    └─ taper.txt  carried

Forward, the processes that used a file are below it, and their products below each. A node that was shown before has
only its name and `(above)`; branches that would leave too few columns for text continue below under their own heading.
Many files of a folder, without other facts to show, are one line (`provio.ask.fold`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from provio.ask import fold
from provio.ask.document import (
    ACTIVITIES,
    Lineage,
    LineageDocument,
    Node,
    Stale,
    command_line,
    first_line,
    not_stale,
    saved_as,
    stale_reason,
    targets,
)
from provio.base.text import duration, fit, moment, plural, shorter_path, size
from provio.lineage.identity import is_earlier_phase

_COLOURS = {"file": "1", "program": "32", "faint": "2", "warning": "33", "bad": "31"}
_LEAST_TEXT = 40
_DEEPEST = 60
_MANY = 20
_Neighbours = Callable[..., list[str]]
_VIA_ORDER = {"": 0, "shown": 1, "revised": 1, "same content": 2, "part": 3, "carried": 4, "control": 5, "code": 6}


class Step(NamedTuple):
    """A step from a node to the next one: its IRI, and the tie (`carried`, `control`, `revised` …; data: empty)."""

    iri: str
    how: str = ""


class Line(NamedTuple):
    """One line: if it is too long, `text` is cut first (a path in its middle), then `facts`."""

    text: str
    style: str = ""
    facts: str = ""
    facts_style: str = "faint"
    path: bool = False


@dataclass(frozen=True)
class Pens:
    """The strokes of the tree, in Unicode or ASCII, each three columns wide."""

    tee: str
    last: str
    down: str
    beside: str


UNICODE = Pens("├─ ", "└─ ", "│  ", "│ ")
ASCII = Pens("|- ", "`- ", "|  ", "| ")


def render(
    document: LineageDocument,
    *,
    width: int | None = 80,
    color: bool = False,
    unicode: bool = True,
    folder: str | None = None,
    fold: bool = False,
) -> str:
    """Return the tree as text that ends in a newline.

    `width` is the terminal's, in columns (None: nothing is cut); paths are shown relative to `folder` where that is
    shorter; without `unicode` the text is ASCII. `fold` combines many files of a folder on one line.
    """
    lines = list(_Tree(Lineage(document), unicode, folder, fold).lines(width))
    room = width if width is not None else 1_000_000
    cut = [fit(line.text, line.facts, max(room - len(strokes), 20), unicode, line.path) for strokes, line in lines]
    page = []
    for (strokes, line), (text, facts) in zip(lines, cut, strict=True):
        gap = "  " if text and facts else ""
        parts = [(strokes, "faint"), (text, line.style), (gap, ""), (facts, line.facts_style)]
        page.append("".join(_dyed(*part) if color else part[0] for part in parts).rstrip() + "\n")
    return "".join(page)


def _dyed(text: str, style: str) -> str:
    return f"\x1b[{_COLOURS[style]}m{text}\x1b[0m" if style and text else text


@dataclass
class _Tree:
    lineage: Lineage
    unicode: bool
    folder: str | None
    fold: bool
    shown: set[str] = field(default_factory=set)
    passed: set[str] = field(default_factory=set)
    below: dict[str, list[Step]] = field(default_factory=dict)

    @cached_property
    def targets(self) -> list[str]:
        """The targets of the query."""
        return targets(self.lineage.document)

    @cached_property
    def target_set(self) -> set[str]:
        """The targets, for fast search."""
        return set(self.targets)

    @cached_property
    def stale(self) -> dict[str, list[Stale]]:
        """The stale products, by IRI."""
        found: dict[str, list[Stale]] = {}
        for one in self.lineage.document.get("stale", ()):
            found.setdefault(one["product"], []).append(one)
        return found

    @cached_property
    def noted(self) -> set[str]:
        """The nodes with notes."""
        failed = (iri for iri, node in self.lineage.node.items() if "failed" in node)
        return {*self.target_set, *self.stale, *self.lineage.reasons, *failed}

    def _objects(self, iri: str, *predicates: str) -> list[str]:
        """Return the objects of a node by these predicates, each once."""
        known = self.lineage.outgoing.get(iri, {})
        return list(dict.fromkeys(end for name in predicates for end in known.get(name, ())))

    def _subjects(self, iri: str, *predicates: str) -> list[str]:
        """Return the subjects that point to a node by these predicates, each once."""
        known = self.lineage.incoming.get(iri, {})
        return list(dict.fromkeys(end for name in predicates for end in known.get(name, ())))

    @property
    def many(self) -> bool:
        """Whether there are so many targets that carried inputs are shown only once."""
        return len(self.target_set) > _MANY

    @property
    def forward(self) -> bool:
        return self.lineage.document["direction"] == "forward"

    def lines(self, width: int | None) -> Iterator[tuple[str, Line]]:
        """Yield (strokes, line) for the answer: the tree, continued branches, gaps of other nodes, counts."""
        deepest = min(_DEEPEST, max((width or 1_000_000) - _LEAST_TEXT, 6))
        roots = deque(Step(iri) for iri in self.targets)
        while roots:
            yield from self._branch(roots.popleft(), deepest, roots)
            if roots:
                yield "", Line("")
        yield from (("", line) for line in self._closing())

    def _branch(self, root: Step, deepest: int, later: deque[Step]) -> Iterator[tuple[str, Line]]:
        pens = UNICODE if self.unicode else ASCII
        stack: list[tuple[Sequence[Step], str, str]] = [([root], "", "")]
        while stack:
            (step, *others), first, rest = stack.pop()
            if others:
                yield first, self._folded([step, *others])
                continue
            if len(rest) >= deepest and step.iri not in self.shown and self._next(step.iri):
                yield first, self._head(step, "below")
                later.append(Step(step.iri))
                continue
            again = step.iri in self.shown
            following = [] if again else self._next(step.iri)
            head, *more = self._about(step, again)
            yield first, head
            beside = rest + (pens.beside if following else "  ")
            yield from ((beside, line) for line in more)
            groups = list(fold.fold(following, self._folder_of)) if self.fold else [[one] for one in following]
            for place, group in reversed(list(enumerate(groups))):
                end = place == len(groups) - 1
                stack.append((group, rest + (pens.last if end else pens.tee), rest + ("   " if end else pens.down)))

    def _folder_of(self, step: Step) -> tuple[str, bytes] | None:
        """Return the tie and the folder of a file, or None if it has more facts to show than its name and size."""
        iri, node = step.iri, self.lineage.node[step.iri]
        folder = fold.folder_of(node)
        if folder is None or iri in self.noted or node.get("changed") or node.get("checkpoints") or self._next(iri):
            return None
        made = not self.forward and self._objects(iri, "wasGeneratedBy")
        return None if made else (step.how, folder)

    def _folded(self, steps: Sequence[Step]) -> Line:
        """Return the line for several files of one folder."""
        self.shown.update(step.iri for step in steps)
        nodes = [self.lineage.node[step.iri] for step in steps]
        name = fold.folder_name(nodes[0]["path"], self.folder)
        return Line(name, _style(steps[0], "file"), _joined([fold.facts(nodes), steps[0].how]), path=True)

    def _about(self, step: Step, again: bool) -> list[Line]:
        node = self.lineage.node.get(step.iri)
        if node is None:
            return [Line(step.iri)]
        if again:
            return [self._head(step, "above" if self._next(step.iri) else "")]
        self.shown.add(step.iri)
        lines = [self._head(step, ""), *(map(Line, saved_as(node)) if "checkpoints" in node else ())]
        if node["type"] in ACTIVITIES:
            lines += _command(node)
        elif not self.forward:
            for maker in self._objects(step.iri, "wasGeneratedBy"):
                lines += self._maker(maker)
        return lines + self._warnings(node)

    def _maker(self, iri: str) -> list[Line]:
        """Return the lines of the process that made a file; if it was shown before, only its name."""
        if iri in self.shown:
            return [self._head(Step(iri), "above")]
        self.shown.add(iri)
        node = self.lineage.node[iri]
        return [self._head(Step(iri), ""), *_command(node), *self._warnings(node)]

    def _warnings(self, node: Node) -> list[Line]:
        document = self.lineage.document
        if not (node["iri"] in self.noted or node.get("changed")):
            return []
        reasons = [*self._stale(node["iri"]), *self.lineage.reasons.get(node["iri"], ())]
        if "failed" in node:
            reasons.insert(0, f"made by a command that failed ({node['failed']})")
        if node.get("changed"):
            reasons.insert(0, node["changed"])
        if node["iri"] in self.target_set:
            changed = document.get("changed") if node["iri"] == document["target"] else None
            reasons = [*([changed] if changed else []), *reasons]
            if "only" in document:
                return [*map(_warning, reasons), *self._nothing(node["iri"])]
            if not self._next(node["iri"]) and not self._objects(node["iri"], "wasGeneratedBy"):
                return [*map(_warning, reasons), Line(f"no recorded {'use' if self.forward else 'origin'}", "faint")]
        return [_warning(reason) for reason in reasons]

    def _stale(self, iri: str) -> list[str]:
        """Return the reasons why a product is stale."""
        found = self.stale.get(iri, ())
        return [f"stale: {reason}" for reason in dict.fromkeys(stale_reason(one, self.folder) for one in found)]

    def _nothing(self, iri: str) -> list[Line]:
        """Return a line for an empty answer to `--roots` or `--stale`."""
        document = self.lineage.document
        if document.get("only") == "roots" and iri == self.targets[-1] and not self._next(iri):
            return [Line(_no_root(document), "faint")]
        if document.get("only") == "stale" and not document["stale"] and iri == document["target"]:
            return [Line(not_stale(document), "faint")]
        return []

    def _head(self, step: Step, where: str) -> Line:
        node = self.lineage.node[step.iri]
        marks = [step.how, f"({where})" if where else ""]
        if node["type"] in ACTIVITIES:
            program = self.lineage.program(step.iri)
            facts = [] if where else [_timing(node)]
            ended = f"exit code {node['exitCode']}" if node.get("exitCode") and not where else ""
            task = "task" in node
            name = (node if task else program or node)["label"]
            if task and program and not where:
                facts.insert(0, f"of {program['label']}")
            return Line(name, _style(step, "program"), _joined([*facts, *marks, ended]), "bad" if ended else "faint")
        if node["type"] == "Program":
            marks.insert(0, "program")
        elif "path" not in node and node["label"] != node["type"].lower():
            marks.insert(0, node.get("kind") or node["type"].lower())
        facts = [size(node["size"])] if "size" in node and not where and "path" in node else []
        name = shorter_path(node.get("path") or node["label"], self.folder)
        return Line(name, _style(step, "file"), _joined([*facts, *marks]), path="path" in node)

    def _next(self, iri: str) -> list[Step]:
        """Return the steps below a node, the strongest tie first, then by name."""
        if iri not in self.below:
            continues = iri in self.target_set or not self.lineage.is_end(iri, self.forward)
            self.below[iri] = self._following(iri) if continues and iri in self.lineage.node else []
        return self.below[iri]

    def _following(self, iri: str) -> list[Step]:
        activity = self.lineage.node[iri]["type"] in ACTIVITIES
        ways = (self._outputs if activity else self._uses) if self.forward else self._origins
        if self.lineage.document.get("only") == "roots":
            ways = self._roots
        best: dict[str, str] = {}
        for step in ways(iri):
            known = step.how == "same content" and step.iri in self.shown  # it is where one comes from
            if step.iri != iri and not known:
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
        return node.get("start", "") if node["type"] in ACTIVITIES else "", node.get("path") or node["label"]

    def _roots(self, iri: str) -> Iterator[Step]:
        """Yield all other nodes below the last target."""
        if iri == self.targets[-1]:
            yield from (Step(one) for one in self.lineage.node if one not in self.target_set)

    def _origins(self, iri: str) -> Iterator[Step]:
        """Yield the origins of a file: the inputs of its makers, and the versions whose content it kept. The inputs of
        earlier phases of its maker are among its own."""
        revised = self._objects(iri, "wasRevisionOf", "wasDerivedFrom")
        earlier = [old for old in revised if is_earlier_phase(iri, old)]
        makers = [activity for made in (iri, *earlier) for activity in self._objects(made, "wasGeneratedBy")]
        start = [iri] if self.lineage.node[iri]["type"] in ACTIVITIES else makers
        for how, activity in self._activities(start, self._objects):
            yield from (Step(used, how) for used in self._objects(activity, "used"))
            yield from (Step(program, "code") for program in self._objects(activity, "ran"))
        shown = self._objects(iri, "mapsOnto")
        yield from (Step(source, "shown") for source in shown)
        excluded = {*shown, *earlier}
        for old in revised:
            if old not in excluded:
                yield Step(old, "part" if old.startswith((iri + "#", iri + "/")) else "revised")
        yield from (Step(first, "same content") for first in self._objects(iri, "contentFrom"))
        yield from self._equal_content(iri)
        yield from (Step(whole, "part") for whole in self._subjects(iri, "hadMember"))

    def _uses(self, iri: str) -> Iterator[Step]:
        """Yield the uses of a file: the activities that used it, and its revisions."""
        yield from (Step(activity) for activity in self._subjects(iri, "used"))
        yield from (Step(activity, "code") for activity in self._subjects(iri, "ran"))
        shown = self._subjects(iri, "mapsOnto")
        yield from (Step(virtual, "shown") for virtual in shown)
        for new in self._subjects(iri, "wasRevisionOf", "wasDerivedFrom"):
            if new not in shown:
                yield Step(new, "as a whole" if iri.startswith(new + "#") else "revised")
        yield from (Step(copy, "same content") for copy in self._subjects(iri, "contentFrom"))
        yield from self._equal_content(iri)
        yield from (Step(part, "part") for part in self._objects(iri, "hadMember"))

    def _equal_content(self, iri: str) -> Iterable[Step]:
        same = chain(self._objects(iri, "alternateOf"), self._subjects(iri, "alternateOf"))
        return (Step(other, "same content") for other in same)

    def _outputs(self, iri: str) -> Iterator[Step]:
        """Yield the products of an activity: its own (data), of a later phase (carried), of launched ones (control)."""
        for how, activity in self._activities([iri], self._subjects):
            yield from (Step(made, how) for made in self._subjects(activity, "wasGeneratedBy"))

    def _activities(self, start: list[str], neighbours: _Neighbours) -> Iterator[tuple[str, str]]:
        """Yield (tie, activity) for all activities that may have passed on the data: itself, carried, control."""
        seen = set(start)
        waiting = deque(("", iri) for iri in start)
        while waiting:
            how, iri = waiting.popleft()
            yield how, iri
            for predicate, mark in (("continuedFrom", ""), ("carriedFrom", "carried"), ("launchedBy", "control")):
                for other in neighbours(iri, predicate):
                    if other not in seen and not (mark and other in self.passed):
                        seen.add(other)
                        waiting.append((max(how, mark, key=("", "carried", "control").index), other))
        if self.many:
            self.passed |= seen

    def _closing(self) -> Iterator[Line]:
        document = self.lineage.document
        if self.passed:
            yield Line("carried inputs are shown only once (--as table shows all)", "faint")
        for gap in document["gaps"]:
            if gap["about"] not in self.shown:
                yield _warning(f"{gap['reason']} ({gap['about']})")
        if document["hidden"]:
            yield Line(f"{plural(document['hidden'], 'system file')} hidden (--all)", "faint")
        if document["control"]:
            kin = "descendant" if self.forward else "ancestor"
            yield Line(f"{plural(document['control'], f'control {kin}')} (--via control)", "faint")


def _no_root(document: LineageDocument) -> str:
    """Return the statement of an answer without a primary source."""
    if document["gaps"]:
        return "no primary source is recorded, but not everything was"
    if "code" in document:
        return "no primary source among the inputs, but programs that ran have sources (--code)"
    return "no primary source: recorded programs made it from nothing else"


def _style(step: Step, style: str) -> str:
    return "faint" if step.how in ("carried", "control") else style


def _joined(facts: Iterable[str]) -> str:
    return ", ".join(fact for fact in facts if fact)


def _timing(node: Node) -> str:
    if not node.get("start"):
        return ""
    return _joined([moment(node["start"]), duration(node["start"], node.get("end", ""))])


def _command(node: Node) -> list[Line]:
    if node.get("source"):
        return [Line(f"> {first_line(node)}")]
    command = command_line(node)
    return [Line(f"$ {command}")] if command else []


def _warning(reason: str) -> Line:
    return Line(f"! {reason}", "warning")
