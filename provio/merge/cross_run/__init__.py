"""What follows from the facts of several runs: a store in, the triples of the derived graph out.

A reader in one run of what a writer in another was still writing; two runs joined by a pipe; a file that changed
between two runs unseen. All of it is computed anew for each version and channel that a merge may have changed the
neighbours of, from what the runs' own graphs say, so that neither the order of merges nor the removal of a run changes
any answer, and that what a merge costs does not grow with what was merged before.

    known       what is asked of the store
    versions    which versions of each inode the runs know, in the order of time
    inodes      versions: made on the way, kept beneath, untracked
    channels    pipes and connections between runs
    beside      what is renewed by rules of its own: content, configurations (`latest`: of a run that came last)
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate

from provio.base.records import plain
from provio.base.vocab import PROV, RUN_BASE, local_name
from provio.graph.lines import bundle_iri
from provio.lineage.conclusions import Conclusions
from provio.lineage.identity import VERSION
from provio.merge.cross_run import channels, configurations, derived_content, inodes
from provio.merge.cross_run.known import DERIVED, Facts, Kept, Known, nanoseconds

__all__ = ["DERIVED", "Derived", "Known", "Runs", "called", "concerned", "conclude", "left_open"]


SECOND = 1_000  # ns in the microsecond to which a run's times are stated
Statement = tuple[str, str, str]  # subject, predicate, object: IRIs, or lexical forms


@plain(frozen=True)
class Runs:
    """When each run went on: (start, end, id), in ns since 1970, by their starts."""

    times: list[tuple[int, int, str]]
    latest_ends: list[int]

    @staticmethod
    def of(known: Known) -> Runs:
        """Read them from the store; those whose end is not known are left out."""
        times = sorted(_times(known, ""))
        return Runs(times, list(accumulate((end for _, end, _ in times), max)))

    def renew(self, known: Known, graph: str) -> None:
        """Read anew what the store says of the run of a graph."""
        run = _run_of(graph)
        kept = [one for one in self.times if one[2] != run]
        for one in _times(known, f"VALUES ?run {{ <{RUN_BASE}{run}> }}"):
            insort(kept, one)
        self.times[:] = kept
        self.latest_ends[:] = accumulate((end for _, end, _ in kept), max)

    def when(self, graph: str) -> tuple[int, int] | None:
        """Return when the run of a graph began and ended; None where that is not known."""
        run = _run_of(graph)
        return next(((start, end) for start, end, one in self.times if one == run), None)

    def at(self, moment: int) -> str | None:
        """Return a run that went on at a moment."""
        place = bisect_right(self.times, moment, key=lambda run: run[0]) - 1
        while place >= 0 and self.latest_ends[place] >= moment:
            if self.times[place][1] >= moment:
                return self.times[place][2]
            place -= 1
        return None


def _times(known: Known, where: str) -> Iterator[tuple[int, int, str]]:
    rows = known.rows(
        f"SELECT ?run ?start ?end {{ {where} ?run a provio:Run ; prov:startedAtTime ?start ; prov:endedAtTime ?end }}"
    )
    for row in rows:
        yield nanoseconds(row["start"]), nanoseconds(row["end"]), local_name(row["run"])


def _run_of(graph: str) -> str:
    return graph.removeprefix(RUN_BASE).partition("/")[0]


def left_open(conclusions: Conclusions) -> set[str]:
    """Return the pipes and connections of a run, of which its own graph does not say all that there is to say."""
    channels = {name for names in conclusions.channels.values() for name in names if name}
    return channels | {alias for alias, _ in conclusions.aliases}


def concerned(known: Known, graph: str, runs: Runs, derived: Derived | None = None) -> set[str]:
    """Return the versions of which something else may follow once a run's graph is put into the store or taken out; of
    those that other runs know as well only what `derived` says something of, where a run is put in that was not there.
    """
    name, versions = known.listed(graph), known.versions
    again = versions.elsewhere(name)
    found = set(versions.neighbours(name)).union(again if derived is None else filter(derived.tells_of, again))
    if runs.times:
        last = runs.latest_ends[-1] + SECOND
        unmade = ((iri, VERSION.match(iri)) for iri in versions.unmade(name, runs.times[0][0], last))
        found.update(iri for iri, its in unmade if its and runs.at(int(its["mtime"])))
    own = runs.when(graph)
    for _, ended, run in runs.times if own else ():
        if own and ended >= own[0]:
            found.update(versions.unmade(known.listed(bundle_iri(RUN_BASE + run)), own[0], own[1] + SECOND))
    return found


def called(known: Known, names: Iterable[str]) -> set[str]:
    """Return channels by all their names."""
    facts = Facts(known)
    return {name for channel in names for name in channels.names(facts, channel)}


class Derived:
    """What the derived graph says, by the version or channel because of which."""

    def __init__(self, store: Kept) -> None:
        self.store = store
        self.is_empty = next(store.statements(DERIVED), None) is None

    def tells_of(self, version: str) -> bool:
        """Tell whether it says anything because of a version."""
        return not self.is_empty and next(self._of_version(version), None) is not None

    def renew(self, keys: set[str], lines: list[str]) -> None:
        """Have these lines (N-Triples) in place of all that was said because of some versions and channels."""
        if not self.is_empty:
            self.store.withdraw(DERIVED, [said for key in keys for said in self._of(key)])
        if lines:
            self.is_empty = False
            vars(self).pop("_of_channels", None)
            self.store.add(DERIVED, lines)

    def _of(self, key: str) -> Iterator[Statement]:
        if not _is_version(key):
            yield from self._of_channels.get(key, ())
            return
        for said in list(self._of_version(key)):
            yield said
            _, predicate, part = said
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


def conclude(known: Known, keys: Iterable[str], runs: Runs) -> list[str]:
    """Return N-Triples lines: what follows for these versions and channels."""
    facts = Facts(known)
    lines: list[str] = []
    for key in keys:
        lines += inodes.conclude(facts, key, runs.at) if _is_version(key) else channels.conclude(facts, key)
    return lines


def _is_version(key: str) -> bool:
    return key.startswith("https://w3id.org/provio/version/")


# What follows from several runs beside their inodes and channels: equal content, versions of configurations, states
# of what no file shows.


@plain(frozen=True)
class Touched:
    """What runs' graphs speak of: versions by their hashes, versions of configurations, things with identifiers."""

    content: dict[str, set[str]]
    configurations: set[str]
    things: dict[str, set[str]]

    def with_(self, other: Touched) -> Touched:
        """Return both together."""
        both = self.configurations | other.configurations, self.things | other.things
        return Touched(self.content | other.content, *both)


def touched(store: Kept, *graphs: str) -> Touched:
    """Return what runs' graphs speak of."""
    own = configurations.touched(store, *graphs), configurations.touched_states(store, *graphs)
    return Touched(derived_content.touched(store, *graphs), *own)


def renew(store: Kept, graph: str | None, before: Touched) -> bool:
    """Say anew what follows for what a run's graph speaks of (None: it is gone), or spoke of `before`; tell whether
    that is anything."""
    said = derived_content.renew(store, graph, before.content)
    said |= configurations.renew(store, graph, before.configurations)
    return configurations.renew_states(store, graph, before.things) or said
