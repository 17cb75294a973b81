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
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

from provio.ask import fold
from provio.ask.document import (
    ACTIVITIES,
    RESULT,
    Lineage,
    LineageDocument,
    Node,
    Note,
    Stale,
    named_reason,
    not_stale,
    saved_as,
    stale_reason,
)
from provio.ask.notes import is_on_run, newest
from provio.ask.notes import line as note_line
from provio.ask.works import Words, Work
from provio.base.text import duration, fit, moment, shorter_path, size
from provio.lineage.identity import POOLED, SEALED
from provio.render import closing
from provio.render.steps import Step, Steps

_COLOURS = {"file": "1", "program": "32", "faint": "2", "warning": "33", "bad": "31"}
_LEAST_TEXT = 40
_DEEPEST = 60
STALE = "stale: "


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
    plain: bool = True,
) -> str:
    """Return the tree as text that ends in a newline.

    `width` is the terminal's, in columns (None: nothing is cut); paths are shown relative to `folder` where that is
    shorter; without `unicode` the text is ASCII. `fold` combines many files of a folder on one
    line. Without `plain`, pipes and other plumbing are shown (`provio.ask.works`).
    """
    lines = list(_Tree(document, unicode, folder, fold, plain).lines(width))
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


class _Tree:
    def __init__(self, document: LineageDocument, unicode: bool, folder: str | None, fold: bool, plain: bool) -> None:
        self.lineage = Lineage(document)
        self.steps = Steps(self.lineage, plain)
        self.unicode, self.folder, self.fold = unicode, folder, fold
        self.now = datetime.now(UTC).isoformat()
        self.shown = self.steps.shown
        self.commands: set[str] = set()  # of framework's tasks, that were shown
        self.forward = self.steps.forward
        self.target_set = self.steps.target_set

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

    @cached_property
    def notes(self) -> dict[str, list[Note]]:
        """The notes of users, by their targets; each is shown once, and then removed."""
        found: dict[str, list[Note]] = {}
        for note in self.lineage.document.get("notes", ()):
            found.setdefault(note["about"], []).append(note)
        return found

    def _notes_of_users(self, iris: Iterable[str]) -> list[Line]:
        """Return the lines of the notes about nodes, their Tasks and runs that were not shown before."""
        if not self.notes:
            return []
        nodes = [self.lineage.node[iri] for iri in iris]
        about = [iri for one in nodes for iri in (one["iri"], one.get("task", ""), one.get("run", ""))]
        found = []
        for notes in filter(None, (self.notes.pop(iri, ()) for iri in dict.fromkeys(about))):
            on = "note on the run" if is_on_run(notes[0]) else "note"
            texts, others = newest([f"{on} {' '.join(note_line(one).split())}" for one in notes])
            found += [Line(text) for text in (*texts, others) if text]
        return found

    def lines(self, width: int | None) -> Iterator[tuple[str, Line]]:
        """Yield (strokes, line) for the answer: the tree, continued branches, gaps of other nodes, counts."""
        deepest = min(_DEEPEST, max((width or 1_000_000) - _LEAST_TEXT, 6))
        roots = deque(self._groups([Step(iri) for iri in self.steps.roots()]))
        first = True
        while roots:
            group = [step for step in roots.popleft() if step.iri not in self.shown]
            if group:
                if not first:
                    yield "", Line("")
                yield from self._branch(group, deepest, roots)
                first = False
        yield from (("", line) for line in self._closing())

    def _branch(self, root: Sequence[Step], deepest: int, later: deque[Sequence[Step]]) -> Iterator[tuple[str, Line]]:
        pens = UNICODE if self.unicode else ASCII
        stack: list[tuple[Sequence[Step], str, str]] = [(root, "", "")]
        while stack:
            group, first, rest = stack.pop()
            step = group[0]
            new = [one for one in group if one.iri not in self.shown]
            following = self._below(new) if new else []
            if len(rest) >= deepest and following:
                yield first, self._head(step, "below") if len(group) == 1 else self._folded(group, "below")
                later.append(new)
                continue
            head, *more = self._about(step, not new) if len(group) == 1 else self._about_group(group, new)
            yield first, head
            groups = self._groups(following) if following else []
            beside = rest + (pens.beside if groups else "  ")
            yield from ((beside, line) for line in more)
            for place, below in reversed(list(enumerate(groups))):
                end = place == len(groups) - 1
                stack.append((below, rest + (pens.last if end else pens.tee), rest + ("   " if end else pens.down)))

    def _below(self, steps: Sequence[Step]) -> list[Step]:
        """Return the steps below several nodes that are one line."""
        if len(steps) == 1:
            return self.steps.next(steps[0].iri)
        own = {step.iri for step in steps}
        return self.steps.ordered((below for step in steps for below in self.steps.next(step.iri)), own)

    def _groups(self, steps: Sequence[Step]) -> list[Sequence[Step]]:
        return list(fold.fold(steps, self._fold_key)) if self.fold else [[one] for one in steps]

    def _fold_key(self, step: Step) -> Hashable:
        """Return the kind of a line; lines of one kind are combined. None if a node has facts of its own to show."""
        iri, node = step.iri, self.lineage.node[step.iri]
        if iri in self.notes or iri in self.noted - self.target_set or node.get("changed") or node.get("checkpoints"):
            return None
        how = step.how
        if node["type"] in ACTIVITIES:
            return None if "task" in node or node["type"] == "Task" else (how, node["label"], node.get("run"))
        folder = fold.folder_of(node)
        if folder is None or (iri in self.target_set and "only" in self.lineage.document):
            return None
        if iri in self.shown:
            return how, folder, "above"
        below = self.steps.next(iri)
        if self.forward:
            users = {self.lineage.node[one.iri]["label"] for one in below if self.steps.is_activity(one.iri)}
            return (how, folder, *sorted(users)) if bool(users) == bool(below) else None
        makers = {self.lineage.node[one]["label"] for work in self.steps.made(iri) for one in work.start}
        return (how, folder, *sorted(makers)) if makers or not below else None

    def _folded(self, steps: Sequence[Step], where: str = "") -> Line:
        """Return the line for several nodes: files of one folder, or processes of one program."""
        nodes = [self.lineage.node[step.iri] for step in steps]
        carried = sum(step.how == "carried" for step in steps)
        some = "carried" if carried == len(steps) else f"{carried:,} carried" if carried else steps[0].how
        marks = [some, f"({where})" if where else ""]
        if nodes[0]["type"] in ACTIVITIES:
            timing = "" if where else _timing(nodes)
            return Line(nodes[0]["label"], _style(steps[0], "program"), _joined([_times(len(nodes)), timing, *marks]))
        name = fold.folder_name(nodes[0]["path"], self.folder)
        return Line(name, _style(steps[0], "file"), _joined([fold.facts(nodes), *marks]), path=True)

    def _about_group(self, steps: Sequence[Step], new: Sequence[Step]) -> list[Line]:
        nodes = [self.lineage.node[step.iri] for step in steps]
        above = not new and bool(self.steps.next(steps[0].iri) or self.steps.made(steps[0].iri))
        head = self._folded(steps, "above" if above else "")
        self.shown.update(step.iri for step in steps)
        if nodes[0]["type"] in ACTIVITIES:
            return [head, *self._commands([self.steps.used(step.iri) for step in new])]
        works = [] if self.forward else [work for step in new for work in self.steps.made(step.iri)]
        return [head, *(self._makers(works) if works else ())]

    def _makers(self, works: Sequence[Work]) -> list[Line]:
        """Return the lines of the works that made the files of one line."""
        start = list(dict.fromkeys(iri for work in works for iri in work.start))
        words = list(dict.fromkeys(self._words(work)[0] for work in works))
        if all(iri in self.shown for iri in start):
            return [Line(words[0].name, "program", "(above)")]
        self.shown.update(start)
        nodes = [self.lineage.node[iri] for iri in start]
        started = {node.get("process", node["iri"]) for node in nodes if not self._is_worker(node)}
        times = _times(len(started)) if len(started) > 1 else ""
        facts = _joined([times, _timing(nodes)])
        return [Line(words[0].name, "program", facts), *_command_lines(words[0].command), *self._notes(start)]

    def _is_worker(self, node: Node) -> bool:
        """Return whether a process is named like the run's program, which started it."""
        return "command" in node or node.get("argv") == self.lineage.document.get("runs", {}).get(node.get("run", ""))

    def _commands(self, works: Sequence[Work]) -> list[Line]:
        self.shown.update(iri for work in works for iri in work.start)
        return [line for work in works[:1] for line in _command_lines(self._words(work)[0].command)]

    def _words(self, work: Work) -> list[Words]:
        return self.steps.works.words(work, "→" if self.unicode else "->")

    def _about(self, step: Step, again: bool) -> list[Line]:
        node = self.lineage.node.get(step.iri)
        if node is None:
            return [Line(step.iri)]
        if again:
            return [self._head(step, "above")]
        self.shown.add(step.iri)
        if node["type"] in ACTIVITIES:
            work = self.steps.used(step.iri)
            self.shown.update(work.start)
            words = self._words(work)
            commands = [line for one in words for line in self._command(work, one)]
            return [self._head(step, "", work, words), *commands, *self._notes([step.iri, *work.activities])]
        if node["type"] == RESULT and not self.forward:
            start = [iri for work in self.steps.made(step.iri) for iri in work.start]
            self.shown.update(start)
            return [self._head(step, ""), *self._notes(start)]
        lines = [self._head(step, ""), *(map(Line, saved_as(node)) if "checkpoints" in node else ())]
        for work in [] if self.forward else self.steps.made(step.iri):
            lines += self._makers([work]) if "files" in node else self._maker(work)
        return lines + self._warnings(node) + self._notes_of_users([step.iri])

    def _maker(self, work: Work) -> list[Line]:
        """Return the lines of a work that made a file; if it was shown before, only its name."""
        words = self._words(work)
        first = Step(work.start[0])
        if all(iri in self.shown for iri in work.start):
            return [self._head(first, "above", work, words)]
        self.shown.update(work.start)
        heads = [self._head(first, "", work, [one]) for one in words]
        lines = [line for head, one in zip(heads, words, strict=True) for line in (head, *self._command(work, one))]
        return [*lines, *self._notes([*work.start, *work.plumbing, *work.activities])]

    def _command(self, work: Work, words: Words) -> list[Line]:
        """Return the line of a command; that of a framework's tasks, which is the run's, only once."""
        if all(self.lineage.node[iri].get("kind") in SEALED for iri in work.start):
            if words.command in self.commands:
                return []
            self.commands.add(words.command)
        return _command_lines(words.command)

    def _notes(self, iris: Iterable[str]) -> list[Line]:
        """Return the notes of the nodes of a work."""
        iris = dict.fromkeys(iris)
        noted = [iri for iri in iris if iri in self.noted]
        self.shown.update(noted)
        warnings = dict.fromkeys(line for iri in noted for line in self._warnings(self.lineage.node[iri]))
        return [*warnings, *self._notes_of_users(iris)]

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
            if not self.steps.next(node["iri"]) and (self.forward or not self.steps.made(node["iri"])):
                return [*map(_warning, reasons), Line(f"no recorded {'use' if self.forward else 'origin'}", "faint")]
        return [_warning(reason) for reason in reasons]

    def _stale(self, iri: str) -> list[str]:
        """Return the reasons why a product is stale, except those that a stale source of it has, too."""
        found = self.stale.get(iri, ())
        if self.steps.plain and not self.forward:
            near = {step.iri for step in self.steps.next(iri)}
            of_sources = {two["input"] for one in found for two in self.stale.get(one["input"], ())}
            near.add(iri)  # a folder: its files may come from each other
            found = [one for one in found if "code" in one or one["input"] in near or one["input"] not in of_sources]
        return [
            f"{STALE}{reason}" for reason in dict.fromkeys(stale_reason(one, self.folder, self.now) for one in found)
        ]

    def _nothing(self, iri: str) -> list[Line]:
        """Return a line for an empty answer to `--roots` or `--stale`."""
        document = self.lineage.document
        if document.get("only") == "roots" and iri == self.steps.targets[-1] and not self.steps.next(iri):
            return [Line(closing.no_root(document), "faint")]
        if document.get("only") == "stale" and not document["stale"] and iri == document["target"]:
            return [Line(not_stale(document), "faint")]
        return []

    def _head(self, step: Step, where: str, work: Work | None = None, words: Sequence[Words] = ()) -> Line:
        node = self.lineage.node[step.iri]
        marks = [step.how, f"({where})" if where else ""]
        if node["type"] in ACTIVITIES:
            acting = self._acting(work) if work else [node]
            facts = [] if where else [_timing(acting)]
            codes = [one["exitCode"] for one in acting if one.get("exitCode") and one.get("kind") not in SEALED]
            ended = f"exit code {codes[0]}" if codes and not where else ""
            program = self.lineage.program(step.iri)
            if (
                "task" in node
                and "rule" not in node
                and "command" not in node
                and program
                and not where
                and node.get("kind") not in POOLED
            ):
                facts.insert(0, f"of {node.get('notebook', program['label'])}")
            name = ", ".join(one.name for one in words) or node["label"]
            return Line(name, _style(step, "program"), _joined([*facts, *marks, ended]), "bad" if ended else "faint")
        if node["type"] == RESULT:
            return Line(node["label"], _style(step, "program"), _joined(["" if where else _timing([node]), *marks]))
        if node["type"] == "Program":
            marks.insert(0, "program")
        elif "path" not in node and node["label"] != node["type"].lower():
            marks.insert(0, node.get("kind") or node["type"].lower())
        facts = [size(node["size"])] if "size" in node and not where and "path" in node else []
        name = shorter_path(node.get("path") or node["label"], self.folder)
        if "files" in node:
            facts = [] if where else [fold.count(node["files"]), *facts]
            name = fold.folder_name(f"{node['path'].rstrip('/')}/", self.folder)
        return Line(name, _style(step, "file"), _joined([*facts, *marks]), path="path" in node)

    def _acting(self, work: Work) -> list[Node]:
        """Return the activities whose times are those of a work: of a single program those that the step leads to."""
        if len(work.programs) > 1 or work.plumbing:
            node = self.lineage.node
            runs = {node[iri].get("run") for iri in work.start}
            return [node[iri] for iri, tie in work.activities.items() if tie == 0 and node[iri].get("run") in runs]
        return [self.lineage.node[iri] for iri in work.start]

    def _closing(self) -> Iterator[Line]:
        document = self.lineage.document
        if self.steps.passed:
            yield Line("carried inputs are shown only once (--as table shows all)", "faint")
        for gap in document["gaps"]:
            if gap["about"] not in self.shown:
                file = shorter_path(gap["path"], self.folder) if "path" in gap else ""
                yield _warning(named_reason(file, gap["reason"]) if file else f"{gap['reason']} ({gap['about']})")
        temporary = sum(self.lineage.node[iri]["type"] == "FileVersion" for iri in self.steps.works.plumbing)
        yield from (Line(text, "faint") for text in closing.lines(document, temporary, self.steps.works.plain))


def _style(step: Step, style: str) -> str:
    return "faint" if step.how in ("carried", "control") else style


def _joined(facts: Iterable[str]) -> str:
    return ", ".join(fact for fact in facts if fact)


def _timing(nodes: Sequence[Node]) -> str:
    """Return the time and the duration of activities, from the first start to the last end."""
    starts = [node["start"] for node in nodes if node.get("start")]
    if not starts:
        return ""
    return _joined([moment(min(starts)), duration(min(starts), max(node.get("end", "") for node in nodes))])


def _times(number: int) -> str:
    return f"{number:,} times"


def _command_lines(command: str) -> list[Line]:
    return [Line(command)] if command else []


def _warning(reason: str) -> Line:
    return Line(f"! {reason}", "warning", path=reason.startswith(STALE))
