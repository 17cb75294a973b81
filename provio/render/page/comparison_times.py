"""Two runs in one time line. In: their comparison, and the marks of the graph. Out: lanes of bars and areas.

Both runs start at 0. A few activities have a lane each, with the bar of the first run above that of the second. Many
have a lane by kind, in which the height states how many ran at the same time; those where the runs differ first keep
lanes of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from provio.base.text import cut_end, elapsed, plural, printable, seconds
from provio.compare.answer import Answer
from provio.compare.side import Activity, Side

SINGLE, KINDS, FIRST = 40, 30, 12  # lanes: of single activities, of kinds, of the places where the runs differ
PARTS, TICKS, LONGEST = 250, 5, 120
TAGS: Final = {"differs": "differs first", "reached": "reached", "first": "only A", "second": "only B"}


class Bar(NamedTuple):
    """An activity in a time line: its start and end in seconds after the start of its run."""

    one: Activity
    start: float
    end: float


def bars(side: Side) -> list[Bar | None]:
    """Return the bars of all activities of a run; None for one without a start."""
    began, ended = (side.facts.facts.get(key, "") for key in ("startedAtTime", "endedAtTime"))
    found: list[Bar | None] = []
    for one in side.activities:
        start, end = seconds(began, one.start), seconds(began, one.end or ended)
        found.append(None if start is None else Bar(one, start, max(start, start if end is None else end)))
    return found


def picture(found: Answer, marks: dict[str, str]) -> dict[str, Any] | None:
    """Return the time line for the template; None if no start is known."""
    first, second = (bars(side) for side in found.comparison.sides)
    only = found.comparison.alignment.only
    pairs: list[tuple[Bar | None, Bar | None]] = [(first[a], second[b]) for a, b in found.comparison.alignment.pairs]
    pairs += [(first[number], None) for number in only[0]] + [(None, second[number]) for number in only[1]]
    pairs = sorted((pair for pair in pairs if any(pair)), key=lambda pair: min(bar.start for bar in pair if bar))
    if not pairs:
        return None
    length = max([1e-6, *(bar.end for pair in pairs for bar in pair if bar)])
    scale = _Scale(length, marks)
    if len(pairs) <= SINGLE:
        lanes, folded = [scale.single(pair) for pair in pairs], ""
    else:
        lanes, folded = scale.folded(pairs)
    ticks = [figure(length * place / TICKS) if place else "0" for place in range(TICKS + 1)]
    return {"lanes": lanes, "ticks": ticks, "folded": folded}


def figure(length: float) -> str:
    """Format a number of seconds: `812 µs`, `3.2 s`."""
    return elapsed(length * 1e9)


class _Scale:
    def __init__(self, length: float, marks: dict[str, str]) -> None:
        self.length, self.marks = length, marks

    def single(self, pair: tuple[Bar | None, Bar | None]) -> dict[str, Any]:
        """Return the lane of an activity in both runs, or in one."""
        one = next(bar.one for bar in pair if bar)
        mark = self.marks.get(one.iri, "")
        sides = [None if bar is None else self._bar(bar, name) for bar, name in zip(pair, "AB", strict=True)]
        took = [f"{name} {figure(bar.end - bar.start)}" for bar, name in zip(pair, "AB", strict=True) if bar]
        called = next((at for at, word in enumerate(one.words[:4]) if word.rpartition("/")[2] == one.label), -1)
        command = printable(" ".join(one.words[called + 1 :]))
        return {
            "name": cut_end(printable(one.label), LONGEST), "more": cut_end(command, LONGEST), "mark": mark,
            "tags": [TAGS[mark]] if mark else [], "sides": sides, "areas": [], "text": " · ".join(took),
        }  # fmt: skip

    def _bar(self, bar: Bar, name: str) -> dict[str, Any]:
        width = max(0.25, 100 * (bar.end - bar.start) / self.length)
        took = f"{name}: {figure(bar.start)} to {figure(bar.end)}, {figure(bar.end - bar.start)}"
        return {"x": round(min(100 * bar.start / self.length, 100 - width), 3), "width": round(width, 3), "title": took}

    def folded(self, pairs: Sequence[tuple[Bar | None, Bar | None]]) -> tuple[list[dict[str, Any]], str]:
        """Return lanes by kind, after those where the runs differ first, and a sentence about these kinds."""
        differ = [pair for pair in pairs if any(bar and self.marks.get(bar.one.iri) == "differs" for bar in pair)]
        kinds: dict[str, tuple[list[Bar], list[Bar]]] = {}
        for pair in pairs:
            for side, bar in enumerate(pair):
                if bar:
                    kinds.setdefault(bar.one.what, ([], []))[side].append(bar)
        longest = sorted(
            kinds, key=lambda kind: -sum(bar.end - bar.start for bar in (*kinds[kind][0], *kinds[kind][1]))
        )
        own = {id(bar) for pair in differ[:FIRST] for bar in pair if bar}
        shown = {kind for kind in longest[:KINDS] if any(id(bar) not in own for side in kinds[kind] for bar in side)}
        partner = {id(bar.one): pair[0].one.iri for pair in pairs if pair[0] for bar in pair if bar}
        lanes = [self.single(pair) for pair in differ[:FIRST]]
        lanes += [self._kind(kind, sides, partner) for kind, sides in kinds.items() if kind in shown]
        text = (
            f"{plural(len(pairs), 'activity', 'activities')} are drawn by kind: the height is the number at one time."
        )
        if len(differ) > FIRST:
            text += f" {len(differ) - FIRST:,} more places where the runs differ are only in the lanes of their kinds."
        if len(kinds) > KINDS:
            text += f" {plural(len(kinds) - KINDS, 'kind')} with less time not shown."
        return lanes, text

    def _kind(self, kind: str, sides: tuple[list[Bar], list[Bar]], partner: dict[int, str]) -> dict[str, Any]:
        counts = [self._counts(side) for side in sides]
        most = max(max(one) for one in counts) or 1
        areas, seen = [], dict.fromkeys(TAGS, 0)
        for name, side, count in zip("ab", sides, counts, strict=True):
            areas.append((name, _area(count, most, name == "b")))
            marked: dict[str, list[Bar]] = {}
            for bar in side:
                mark = self.marks.get(partner.get(id(bar.one), bar.one.iri), "")
                if mark:
                    marked.setdefault(mark, []).append(bar)
            for mark, inside in marked.items():
                seen[mark] = max(seen[mark], len(inside))
                if mark in ("differs", "reached"):
                    areas.append((mark, _area(self._counts(inside), most, name == "b")))
        numbers = " · ".join(f"{name} {len(side):,}" for name, side in zip("AB", sides, strict=True))
        return {
            "name": cut_end(printable(kind), LONGEST), "more": "", "mark": "", "sides": [], "areas": areas,
            "tags": [f"{number:,} {TAGS[mark]}" for mark, number in seen.items() if number],
            "text": f"{numbers} · at most {most:,} at once",
        }  # fmt: skip

    def _counts(self, inside: Iterable[Bar]) -> list[int]:
        """Return how many ran in each part of the time."""
        steps = [0] * (PARTS + 1)
        for bar in inside:
            begin = min(int(PARTS * bar.start / self.length), PARTS - 1)
            steps[max(begin, 0)] += 1
            steps[max(min(int(PARTS * bar.end / self.length), PARTS - 1), begin) + 1] -= 1
        found, now = [], 0
        for step in steps[:PARTS]:
            now += step
            found.append(now)
        return found


def _area(counts: Sequence[int], most: int, below: bool) -> str:
    """Return the path of an area above, or below, the middle of a lane of the height 32 and the width `PARTS`."""
    middle, height = (16.5, 15) if below else (15.5, -15)
    path, before = [f"M0 {middle}"], 0
    for place, count in enumerate(counts):
        if count != before:
            path.append(f"H{place}V{round(middle + height * count / most, 1)}")
            before = count
    return "".join(path) + f"H{len(counts)}V{middle}Z"
