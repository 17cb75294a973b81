"""Derive the triples that follow from several runs together, and keep them in the derived graph of the store.

Examples: a run reads a file while another run writes it; a pipe joins two runs; a file changed unobserved between two
runs. A merge derives these triples again for each version and channel with neighbours that it may have changed. They
depend only on the runs' own graphs, so neither the order of merges nor the removal of a run changes an answer, and
the cost of a merge does not grow with the number of runs merged before.

  facts             reads the runs' graphs
  store.versions    an index of the versions of each inode in all runs, in time order
  inodes            versions: made while a writer was at work, content kept from other writers, untracked changes
  channels          pipes and connections between runs
  derived_content   equal content of versions; updated by rules of its own, like `configurations`
  configurations    revisions of configurations, states of things that are no files; has a shortcut for the latest run
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate

from provio.base.records import frozen
from provio.base.vocab import PROV, RUN_BASE, local_name
from provio.graph.lines import bundle_iri
from provio.lineage.conclusions import Conclusions
from provio.lineage.identity import earliest
from provio.merge.cross_run import channels, configurations, derived_content, inodes
from provio.merge.cross_run.facts import DERIVED, Facts, nanoseconds
from provio.store import Writer

__all__ = ["DERIVED", "Derived", "Runs", "affected", "conclude", "open_channels", "with_all_names"]


SECOND = 1_000  # ns: the resolution of a run's times is one microsecond
Statement = tuple[str, str, str]  # subject, predicate, object: IRIs, or lexical forms


@frozen
class Runs:
    """The time spans of the runs: (start, end, id) in ns since 1970, sorted by start."""

    times: list[tuple[int, int, str]]
    latest_ends: list[int]

    @staticmethod
    def of(store: Writer) -> Runs:
        """Read the spans from the store; omit runs with an unknown end."""
        times = sorted(_times(store, ""))
        return Runs(times, list(accumulate((end for _, end, _ in times), max)))

    def update(self, store: Writer, graph: str) -> None:
        """Read the span of the run of a graph again from the store."""
        run = _run_of(graph)
        kept = [one for one in self.times if one[2] != run]
        for one in _times(store, f"VALUES ?run {{ <{RUN_BASE}{run}> }}"):
            insort(kept, one)
        self.times[:] = kept
        self.latest_ends[:] = accumulate((end for _, end, _ in kept), max)

    def when(self, graph: str) -> tuple[int, int] | None:
        """Return start and end of the run of a graph, in ns since 1970; None if unknown."""
        run = _run_of(graph)
        return next(((start, end) for start, end, one in self.times if one == run), None)

    def at(self, moment: int) -> str | None:
        """Return the id of a run in progress at a moment (ns since 1970); None if there is none."""
        place = bisect_right(self.times, moment, key=lambda run: run[0]) - 1
        while place >= 0 and self.latest_ends[place] >= moment:
            if self.times[place][1] >= moment:
                return self.times[place][2]
            place -= 1
        return None


def _times(store: Writer, where: str) -> Iterator[tuple[int, int, str]]:
    rows = store.rows(
        f"SELECT ?run ?start ?end {{ {where} ?run a provio:Run ; prov:startedAtTime ?start ; prov:endedAtTime ?end }}"
    )
    for row in rows:
        yield nanoseconds(row["start"]), nanoseconds(row["end"]), local_name(row["run"])


def _run_of(graph: str) -> str:
    return graph.removeprefix(RUN_BASE).partition("/")[0]


def open_channels(conclusions: Conclusions) -> set[str]:
    """Return the pipes and connections of a run about which the graphs of other runs may contain more."""
    channels = {name for names in conclusions.channels.values() for name in names if name}
    return channels | {alias for alias, _ in conclusions.aliases}


def affected(store: Writer, graph: str, runs: Runs, derived: Derived | None = None) -> set[str]:
    """Return the versions for which the conclusions may change when the graph of a run is added to the store or
    removed. Of the versions that other runs know too, include only those that `derived` has statements about, if
    it is given: that suffices when the run is new in the store."""
    name, versions = store.listed(graph), store.versions
    again = versions.elsewhere(name)
    found = set(versions.neighbours(name)).union(again if derived is None else filter(derived.has_statements_of, again))
    if runs.times:
        last = runs.latest_ends[-1] + SECOND
        found.update(iri for iri in versions.unmade(name, runs.times[0][0], last) if runs.at(earliest(iri)))
    own = runs.when(graph)
    for _, ended, run in runs.times if own else ():
        if own and ended >= own[0]:
            found.update(versions.unmade(store.listed(bundle_iri(RUN_BASE + run)), own[0], own[1] + SECOND))
    return found


def with_all_names(store: Writer, names: Iterable[str]) -> set[str]:
    """Return channels with all their names."""
    facts = Facts(store)
    return {name for channel in names for name in channels.names(facts, channel)}


class Derived:
    """The content of the derived graph, by the version or channel that causes each statement."""

    def __init__(self, store: Writer) -> None:
        self.store = store
        self.is_empty = next(store.statements(DERIVED), None) is None

    def has_statements_of(self, version: str) -> bool:
        """Return whether the graph contains statements caused by a version."""
        return not self.is_empty and next(self._of_version(version), None) is not None

    def update(self, keys: set[str], lines: list[str]) -> None:
        """Replace all statements caused by some versions and channels by these lines (N-Triples)."""
        if not self.is_empty:
            self.store.remove_statements(DERIVED, [statement for key in keys for statement in self._of(key)])
        if lines:
            self.is_empty = False
            vars(self).pop("_of_channels", None)
            self.store.add(DERIVED, lines)

    def _of(self, key: str) -> Iterator[Statement]:
        if not _is_version(key):
            yield from self._of_channels.get(key, ())
            return
        for statement in list(self._of_version(key)):
            yield statement
            _, predicate, part = statement
            if predicate == PROV + "wasGeneratedBy" and "~" in part and self._makes_alone(part, key):
                yield from self.store.about(DERIVED, part)

    def _of_version(self, version: str) -> Iterator[Statement]:
        yield from self.store.about(DERIVED, version)
        yield from self.store.about(DERIVED, version + inodes.UNTRACKED)

    def _makes_alone(self, part: str, version: str) -> bool:
        made = self.store.subjects(PROV + "wasGeneratedBy", part)
        return all(one == version for one, graph in made if graph == DERIVED)

    @cached_property
    def _of_channels(self) -> dict[str, list[Statement]]:
        found: dict[str, list[Statement]] = {}
        for subject, predicate, object_ in self.store.statements(DERIVED):
            used = predicate == PROV + "used" and "~" not in subject
            key = channels.channel_of(object_) if used else channels.gap_of(subject)
            if key:
                found.setdefault(key, []).append((subject, predicate, object_))
        return found


def conclude(store: Writer, keys: Iterable[str], runs: Runs) -> list[str]:
    """Return the conclusions for these versions and channels, as N-Triples lines."""
    facts = Facts(store)
    lines: list[str] = []
    for key in keys:
        lines += inodes.conclude(facts, key, runs.at) if _is_version(key) else channels.conclude(facts, key)
    return lines


def _is_version(key: str) -> bool:
    return key.startswith("https://w3id.org/provio/version/")


# ---- equal content, versions of configurations, and states of things that are no files


@frozen
class Touched:
    """The subjects of runs' graphs that have rules of their own: hashes with their versions, versions of
    configurations, and things with identifiers."""

    content: dict[str, set[str]]
    configurations: set[str]
    things: dict[str, set[str]]

    def with_(self, other: Touched) -> Touched:
        """Return the union of both."""
        both = self.configurations | other.configurations, self.things | other.things
        return Touched(self.content | other.content, *both)


def touched(store: Writer, *graphs: str) -> Touched:
    """Return these subjects of runs' graphs."""
    own = configurations.touched_series(store, *graphs), configurations.touched_states(store, *graphs)
    return Touched(derived_content.touched(store, *graphs), *own)


def update(store: Writer, graph: str | None, before: Touched) -> bool:
    """Derive these triples again for the subjects that a run's graph contains now (None: the graph is removed) or
    contained `before`; return whether there are any triples."""
    exists = derived_content.update(store, graph, before.content)
    exists |= configurations.update(store, graph, before.configurations)
    return configurations.update_states(store, graph, before.things) or exists
