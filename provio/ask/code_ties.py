"""Ties by code. A walk from files in; the nodes that only programs tie to the shown ones, out.

A program is tied to all that it made, and to all that programs made which it launched.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from provio.ask.walk import USED, WEIGHTS, Walk
from provio.base.vocab import NS, local_name
from provio.lineage.identity import without_task

INFORMS = frozenset({"carriedFrom", "continuedFrom", "launchedBy"})
FIRST = re.compile(r"(.*/t\d+/)phase/0")  # the first phase of a Task
Ways = dict[str, list[tuple[str, str, int]]]


def tied_by_code(walk: Walk, shown: set[str], limit: int) -> set[str]:
    """Return the nodes that only code ties to the shown nodes, over steps not weaker than `limit`.

    The search reaches a node in one of two ways: only as a link to code (a process that launched another: `whole` is
    false), or with all its origins or products.
    """
    onward = _onward(walk)
    checks = _checksums(walk) if walk.forward else set()
    direct = {subject for subject, predicate, _ in walk.edges if predicate == USED} if checks else walk.activities
    waiting = [(iri, iri in walk.activities and (iri in checks or iri not in direct)) for iri in shown]
    found = set(waiting)
    while waiting:
        iri, whole = waiting.pop()
        for state in _next(onward.get(iri, []), walk.forward, whole, limit):
            if state not in found:
                found.add(state)
                waiting.append(state)
    return {iri for iri, _ in found} - shown


def _onward(walk: Walk) -> Ways:
    ways: Ways = {}
    for subject, predicate, object_ in walk.edges:
        kind, weight = local_name(predicate), WEIGHTS.get(predicate, 0)
        source, goal = (object_, subject) if walk.forward else (subject, object_)
        ways.setdefault(source, []).append((goal, kind, weight))
        if kind == "alternateOf":
            ways.setdefault(goal, []).append((source, kind, weight))
    return ways


def _next(ways: list[tuple[str, str, int]], forward: bool, whole: bool, limit: int) -> Iterator[tuple[str, bool]]:
    for goal, kind, weight in ways:
        if kind == "ran":
            yield goal, not forward
        elif kind in INFORMS:
            if not (forward and whole):
                yield goal, False
            if whole and weight <= limit:
                yield goal, True
        elif whole or forward:
            yield goal, True


def _checksums(walk: Walk) -> set[str]:
    """Return the phases of Snakemake's main process, after it started the first job, that only read files which jobs of
    the same run read, too: it read them for their checksums, and the jobs that it started then do not depend on
    them."""
    tasks = {match[1] for subject, _, _ in walk.edges if (match := FIRST.fullmatch(subject))}
    kinds = walk.known.of(tasks)
    engines = {without_task(task) for task in tasks if "rule" in kinds[task].get(NS + "kind", ())}
    used: dict[str, set[str]] = {}
    users: dict[str, set[str]] = {}
    for subject, predicate, object_ in walk.edges if engines else ():
        if predicate == USED:
            used.setdefault(subject, set()).add(object_)
            users.setdefault(object_, set()).add(subject)
    first = {engine: _number(min(_before(walk, engine + "t1/phase/0"), default="")) for engine in engines}
    found = set[str]()
    for phase, files in used.items():
        engine = phase.rpartition("phase/")[0]
        run = "/".join(engine.split("/")[:6])
        jobs = ({one for one in users[file] if one.startswith(run) and not one.startswith(engine)} for file in files)
        if engine in engines and _number(phase) > first[engine] and all(jobs):
            found.add(phase)
    return found


def _before(walk: Walk, phase: str) -> Iterable[str]:
    return walk.known.of([phase])[phase].get(NS + "carriedFrom", ())


def _number(phase: str) -> int:
    """Return the number of a phase of a process: they are in the order of time."""
    return int(phase.rpartition("/")[2] or 0)
