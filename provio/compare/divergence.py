"""The first divergence of two runs. In: a comparison. Out: the earliest activities whose inputs are equal and whose
results differ, their causes, and all that they reached.

If an input of the runs differs, that input is a divergence too. Activities with the same causes are one divergence.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from provio.compare.command_words import named
from provio.compare.comparison import Comparison, Row
from provio.compare.differences import STOPS, rows
from provio.compare.side import END, Activity

CAUSES = ("environment", "code", "parameters", "schedule")


@dataclass
class Divergence:
    """A place where the runs part: activities (of the first and the second run), or an input (none). `results` are the
    names of their results that differ, `causes` the differences at this place, `reached` the names of the files that
    came from it, `reached_activities` the activities of the first run that used these. `unknown` are the inputs of the
    activities whose contents could not be compared."""

    name: str
    activities: list[tuple[Activity, Activity]] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    causes: list[Row] = field(default_factory=list)
    reached: list[str] = field(default_factory=list)
    reached_activities: list[Activity] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    iris: dict[str, None] = field(default_factory=dict)  # the same activities and data, and the first ones, by IRI


def first(found: Comparison) -> list[Divergence]:
    """Return the first divergences: inputs, then activities in the order of their starts; none if no result differs."""
    states = _States(found)
    every = [_of_source(states, row) for row in rows(found, ["inputs"]) if not row.expected]
    places: dict[tuple[object, ...], tuple[list[int], list[Row]]] = {}
    reached: set[str] = set()
    for place in states.first():
        one = states.pairs[place][0]
        if one.iri in reached and None in states.inputs[place].values():
            continue  # an input that could not be compared came from an earlier divergence
        if found.unknown:
            reached.update(after.iri for after in _reached(states, states.diverged(place))[1])
        causes = list(states.causes(place))
        key = tuple(causes) or (one.what,)
        places.setdefault(key, ([], causes))[0].append(place)
    return every + [_of_activities(states, *one) for one in places.values()]


class _States:
    """Which inputs and results of the pairs are equal: True, False, or None where the record does not tell."""

    def __init__(self, found: Comparison) -> None:
        self.found = found
        self.pairs = found.pairs
        self.inputs = [self._same(one.inputs, other.inputs) for one, other in self.pairs]
        self.results = [self._same(one.results, other.results) for one, other in self.pairs]
        self.place_of = {one: place for place, (one, _) in enumerate(found.alignment.pairs)}
        self.by_iri = {pair[0].iri: pair for pair in self.pairs}
        self.downstream = self._downstream()
        self._add_ends()
        for place, further in list(self._starts()):
            self.results[place][further] = False

    def _add_ends(self) -> None:
        """Add other ends of programs to their results; not of those that started such a program, they end like it."""
        unlike = {one.iri: place for place, (one, other) in enumerate(self.pairs) if one.ends_unlike(other)}
        for place in list(unlike.values()):
            for above, _ in self._above(self.pairs[place][0]):
                unlike.pop(above.iri, None)
        for place in unlike.values():
            if not {pair.exit for pair in self.pairs[place]} & STOPS:
                self.results[place][END] = False

    def _above(self, one: Activity) -> Iterator[tuple[Activity, Activity]]:
        """Yield the pairs that started an activity, the nearest first."""
        seen, above = {one.iri}, self.by_iri.get(one.parent)
        while above and above[0].iri not in seen:
            seen.add(above[0].iri)
            yield above
            above = self.by_iri.get(above[0].parent)

    def _same(self, first: dict[str, str], second: dict[str, str]) -> dict[str, bool | None]:
        found: dict[str, bool | None] = {}
        for name in first.keys() | second.keys():
            if not self.found.expected.matches("results", name):
                known = name in first and name in second
                found[name] = self.found.equal(first[name], second[name]) if known else False
        return found

    def _starts(self) -> Iterator[tuple[int, str]]:
        """Yield the pairs of which only one started a program with results of its own, as a further result."""
        for number, side in enumerate(self.found.sides):
            own = side.kept.keys() - self.found.sides[1 - number].kept.keys()
            own = {name for name in own if not self.found.expected.matches("results", name)}
            every = {one.iri: one for one in side.activities}
            places = {pair[number].iri: place for place, pair in enumerate(self.pairs)}
            for one in (side.activities[alone] for alone in self.found.alignment.only[number]):
                above, seen = one.parent, {one.iri}
                while above in every and above not in places and above not in seen:
                    seen.add(above)
                    above = every[above].parent
                if above in places and not one.is_task and own & one.results.keys():
                    yield places[above], f"{one.what} started only in the {('first', 'second')[number]} run"

    def first(self) -> Iterator[int]:
        """Yield the pairs whose inputs are equal, and of whose results one differs."""
        for number, place in self.place_of.items():
            inputs, results = self.inputs[place].values(), self.results[place].values()
            if False in results and False not in inputs and number not in self.downstream:
                yield place

    def diverged(self, place: int) -> list[str]:
        """Return the data of the first run that an activity made, without the files that are equal in both runs."""
        one, names = self.pairs[place][0], self.found.sides[0].names
        return [iri for iri in one.made if self.results[place].get(names.get(iri, "")) is not True]

    def _downstream(self) -> set[int]:
        """Return the numbers of the activities with data, through pipes or in memory, from one with other inputs."""
        side, found = self.found.sides[0], set[int]()
        waiting = [number for number, place in self.place_of.items() if False in self.inputs[place].values()]
        while waiting:
            made = side.activities[waiting.pop()].made
            users = {user for iri in made if "/version/" not in iri for user in side.users.get(iri, ())}
            waiting += users - found
            found |= users
        return found

    @cached_property
    def rows(self) -> list[Row]:
        """The differences that can be causes."""
        return [row for row in rows(self.found, CAUSES) if not row.expected]

    def causes(self, place: int) -> Iterator[Row]:
        """Yield the differences at a pair of activities, then the parameters of those that started them. Numbers of
        threads and hosts differ between equal runs, too: they are named only if nothing else differs."""
        one, other = self.pairs[place]
        mine, yours = (named(side.typed, side.what) for side in (one, other))
        equal = {key for key, value in mine.items() if yours.get(key) == value}  # the row is of another activity
        causes = [row for row in self.rows if self._belongs(row, one, other)
                  and not (row.configuration == one.what and row.key in equal)]  # fmt: skip
        for above, partner in self._above(one):
            causes += [row for row in self.rows if row.kind == "parameters" and row.activity == above.what
                       and above.words != partner.words and row not in causes]  # fmt: skip
        yield from causes
        if not causes:
            for key in ("threads", "host"):
                values = getattr(one, key), getattr(other, key)
                if values[0] != values[1]:
                    yield Row("schedule", one.what, key, *values, True, activity=one.what)

    def _belongs(self, row: Row, one: Activity, other: Activity) -> bool:
        if row.configuration == "file":
            return row.key in one.code or row.key in other.code
        if row.configuration == "order of writers":
            return row.key in one.results or row.key in one.inputs
        return row.activity in ("", one.what)


def _of_source(states: _States, row: Row) -> Divergence:
    sides = states.found.sides
    side = sides[0] if row.key in sides[0].sources else sides[1]
    names, activities, iris = _reached(states, [side.sources[row.key]])
    return Divergence(row.key, causes=[row], reached=names, reached_activities=activities, iris=iris)


def _of_activities(states: _States, places: list[int], causes: list[Row]) -> Divergence:
    pairs = [states.pairs[place] for place in places]
    differ = sorted({name for place in places for name, equal in states.results[place].items() if equal is False})
    versions = [iri for place in places for iri in states.diverged(place)]
    names, activities, iris = _reached(states, versions)
    labels = ", ".join(dict.fromkeys(one.label for one, _ in pairs))
    reached = [name for name in names if name not in set(differ)]
    unknown = sorted({name for place in places for name, equal in states.inputs[place].items() if equal is None})
    return Divergence(labels, pairs, differ, causes, reached, activities, unknown, iris)


def _reached(states: _States, versions: Iterable[str]) -> tuple[list[str], list[Activity], dict[str, None]]:
    """Return the names of all files that came from some versions, the activities that used these, and the IRIs of both.
    A file that is equal in both runs was not reached, and nothing was through it; expected and temporary files are not
    named."""
    side, expected = states.found.sides[0], states.found.expected
    names: dict[str, None] = {}
    seen: dict[int, None] = {}
    iris = dict.fromkeys(versions)
    waiting = deque(iris)
    while waiting:
        for user in side.users.get(waiting.popleft(), ()):
            if user in seen:
                continue
            seen[user] = None
            one, place = side.activities[user], states.place_of.get(user)
            equal = {} if place is None else states.results[place]
            iris[one.iri] = None
            for name, iri in sorted((side.names.get(iri, ""), iri) for iri in one.made):
                if equal.get(name) is not True:
                    iris[iri] = None
                    waiting.append(iri)
                    if "/version/" in iri and iri not in side.facts.deleted and not expected.matches("results", name):
                        names[name] = None
    return list(names), [side.activities[number] for number in seen], iris
