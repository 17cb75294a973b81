"""Which activities of two runs are the same. In: the activities of both. Out: pairs, and those of one run only.

An activity is known by its properties and by its place in the graph: a hash of its program, arguments, the names of its
inputs and results, then of the hashes of the activities before and after it (Weisfeiler and Lehman, 1968). Ids, times
and the order of starts do not matter. Activities with the same hash are paired in the order of ranks and starts; those
that remain are paired by less: without their place in the graph, by the files that they made, with one argument that
differs, without arguments and inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from provio.compare.side import Activity, Side

WORDS = 12  # of a command line, of which one may differ
ROUNDS = 4  # of the hash: the distance in the graph that is regarded
Label = Callable[[Activity], Hashable]
Key = Callable[[int, int], Hashable]  # of a side and the number of an activity


@dataclass
class Alignment:
    """Pairs of numbers of activities, in the order of the first run; `only` are those without a partner."""

    pairs: list[tuple[int, int]]
    only: tuple[list[int], list[int]]


def _without(place: int) -> Label:
    """Return the label of an activity without one of its arguments."""
    return lambda one: (one.is_task, one.what, one.rank, len(one.words), one.words[:place] + one.words[place + 1 :])


def _by_results(one: Activity) -> Hashable:
    return _by_files(one, one.results)


def _by_inputs(one: Activity) -> Hashable:
    return _by_files(one, one.inputs)


def _by_files(one: Activity, names: Mapping[str, str]) -> Hashable:
    """Return the label of an activity by its files, without those with temporary names; its own if it has none."""
    files = tuple(sorted(name for name, iri in names.items() if "/version/" in iri and "*" not in name))
    return (one.is_task, one.what, one.rank, files) if files else one.iri


LABELS: tuple[Label, ...] = (
    lambda one: (one.is_task, one.what, one.words, one.rank, tuple(sorted(one.inputs)), tuple(sorted(one.results))),
    lambda one: (one.is_task, one.what, one.words, one.rank, tuple(sorted(one.results))),
    lambda one: (one.is_task, one.what, one.words, one.rank),
    _by_results,
    *(_without(place) for place in range(WORDS, 0, -1)),
    _by_inputs,
    lambda one: (one.is_task, one.what, one.rank, tuple(sorted(one.results))),
    lambda one: (one.is_task, one.what, one.rank),
    lambda one: (one.is_task, one.what),
)


def aligned(first: Side, second: Side) -> Alignment:
    """Return which activities correspond."""
    sides = first, second
    waiting = tuple(set(range(len(side.activities))) for side in sides)
    pairs: dict[int, int] = {}
    for label in (LABELS[0], LABELS[2]):
        hashes = [_hashes(side, label) for side in sides]
        for rounds in range(ROUNDS, -1, -1):
            _pair(sides, _by_hash(hashes, rounds), waiting, pairs, exact=True)
    for label in LABELS:
        _pair(sides, _by_label(sides, label), waiting, pairs, exact=False)
    return Alignment(sorted(pairs.items()), (sorted(waiting[0]), sorted(waiting[1])))


def _by_hash(hashes: Sequence[Sequence[Sequence[Hashable]]], rounds: int) -> Key:
    return lambda side, number: hashes[side][rounds][number]


def _by_label(sides: Sequence[Side], label: Label) -> Key:
    return lambda side, number: label(sides[side].activities[number])


def _hashes(side: Side, label: Label) -> list[list[Hashable]]:
    """Return the hashes of all activities after each round."""
    now: list[Hashable] = [hash(label(one)) for one in side.activities]
    found = [now]
    for _ in range(ROUNDS):
        before, after = (_of_versions(ties, now) for ties in (side.makers, side.users))
        now = [
            hash((now[number], _together(before, one.used), _together(after, one.made)))
            for number, one in enumerate(side.activities)
        ]
        found.append(now)
    return found


def _of_versions(ties: Mapping[str, Sequence[int]], now: Sequence[Hashable]) -> dict[str, int]:
    """Return a hash of the activities that are tied to each version."""
    return {iri: hash(tuple(sorted(hash(now[number]) for number in numbers))) for iri, numbers in ties.items()}


def _together(hashes: Mapping[str, int], versions: Sequence[str]) -> tuple[int, ...]:
    return tuple(sorted(hashes[iri] for iri in versions if iri in hashes))


def _pair(
    sides: Sequence[Side], key: Key, waiting: Sequence[set[int]], pairs: dict[int, int], exact: bool
) -> None:  # fmt: skip
    """Pair the activities that wait for a partner and have equal keys; if `exact`, only as many as both runs have."""
    groups: dict[Hashable, tuple[list[int], list[int]]] = {}
    for side, free in enumerate(waiting):
        for number in sorted(free):
            groups.setdefault(key(side, number), ([], []))[side].append(number)
    for group in groups.values():
        if exact and len(group[0]) != len(group[1]):
            continue
        for own, numbers in zip(sides, group, strict=True):
            numbers.sort(key=partial(_order, own))
        for one, other in zip(*group, strict=False):
            pairs[one] = other
            waiting[0].discard(one)
            waiting[1].discard(other)


def _order(side: Side, number: int) -> tuple[int, str, str]:
    one = side.activities[number]
    return int(one.rank) if one.rank.isdigit() else -1, one.start, one.iri
