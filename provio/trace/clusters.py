"""Which cluster each part of a parallel framework belongs to: event files in, the scheduler of each out.

A run may have several clusters, at once or one after another, which use the same keys for different results. Workers
and clients do not name their scheduler; the scheduler logs the address of each worker and the name of each client.
"""

from __future__ import annotations

from collections.abc import Iterable

from provio.trace.events import EventFile

JOINED = ("add-worker", "add-client", "graph")
SLACK = 1.0  # s by which the clocks of two hosts may differ


class Clusters:
    """The clusters of a run, numbered from 1; 0 is that of all parts whose scheduler is unknown."""

    def __init__(self, files: Iterable[EventFile]) -> None:
        self.own: dict[int, int] = {}  # by the identity of a scheduler's file
        self.joined: dict[str, list[tuple[float, int]]] = {}
        for file in files:
            if file.part != "scheduler":
                continue
            number = self.own[id(file)] = len(self.own) + 1
            for fact in file.facts(*JOINED):
                name = fact.facts.get("worker" if fact.what == "add-worker" else "client")
                self.joined.setdefault(str(name), []).append((fact.at, number))

    @property
    def number(self) -> int:
        """The number of clusters."""
        return len(self.own)

    def of(self, file: EventFile) -> int:
        """Return the number of the cluster of an event file."""
        if self.number < 2:
            return self.number
        if id(file) in self.own:
            return self.own[id(file)]
        start = next(file.facts(file.part), None) if file.part else None
        if start is None:
            return 0
        found = sorted(self.joined.get(str(start.facts.get("id") or start.facts.get("address")), ()))
        if file.part == "client":  # its name is used once
            return found[-1][1] if found else 0
        return next((number for at, number in reversed(found) if at <= start.at + SLACK), found[0][1] if found else 0)
