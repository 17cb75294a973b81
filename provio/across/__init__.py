"""What follows from the facts of several runs: a store in, the triples of the derived graph out.

A reader in one run of what a writer in another was still writing; two runs joined by a pipe; a file that changed
between two runs unseen. All of it is computed anew for each inode and channel that a merge touches, from what the
runs' own graphs say, so that neither the order of merges nor the removal of a run changes any answer.

    known       what is asked of the store
    elsewhere   which inodes a run shares with others
    inodes      versions: made on the way, kept beneath, untracked
    channels    pipes and connections between runs
    beside      what is renewed by rules of its own: content, configurations (`latest`: of a run that came last)
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator
from itertools import accumulate, chain, islice

import pyoxigraph as ox

from provio.across import channels, inodes
from provio.across.elsewhere import shared
from provio.across.known import DERIVED, Facts, Kept, Known, nanoseconds
from provio.graph_lines import bundle_iri
from provio.lineage import Conclusions
from provio.plain import field, plain
from provio.vocab import NS, PROV, RDF, RUN_BASE, local_name

__all__ = ["DERIVED", "Derived", "Known", "Open", "Runs", "conclude", "during", "shared", "touched_in"]


FEW = 1_000  # versions of a run that are kept at hand
Statement = tuple[str, str, str]  # subject, predicate, object: IRIs, or lexical forms


@plain(frozen=True)
class Runs:
    """When each run went on: (start, end, id), in ns since 1970, by their starts."""

    times: list[tuple[int, int, str]]
    latest_ends: list[int]
    kept: dict[str, list[tuple[int, str]]] = field(default_factory=dict)  # `versions` of runs that know few

    @staticmethod
    def of(known: Known) -> Runs:
        """Read them from the store; those whose end is not known are left out."""
        times = sorted(_times(known, ""))
        return Runs(times, list(accumulate((end for _, end, _ in times), max)))

    def renew(self, known: Known, graph: str) -> None:
        """Read anew what the store says of the run of a graph."""
        run = graph.removeprefix(RUN_BASE).partition("/")[0]
        kept = [one for one in self.times if one[2] != run]
        for one in _times(known, f"VALUES ?run {{ <{RUN_BASE}{run}> }}"):
            insort(kept, one)
        self.times[:] = kept
        self.latest_ends[:] = accumulate((end for _, end, _ in kept), max)
        self.kept.pop(run, None)

    def versions(self, known: Known, run: str) -> Iterable[tuple[int, str]]:
        """Return of each version that a run knows when it was made (ns since 1970, whole microseconds), and its
        inode."""
        if run in self.kept:
            return self.kept[run]
        found = map(inodes.VERSION.match, known.members(_bundle(run), NS + "inode"))
        made = ((int(one["mtime"]) // 1000 * 1000, one["inode"]) for one in found if one)
        few = list(islice(made, FEW))
        if len(few) < FEW:
            self.kept[run] = few
            return few
        return chain(few, made)

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


@plain(frozen=True)
class Open:
    """The inodes and channels of a run of which its own graph does not say all that there is to say: versions that no
    recorded process of its own made, where that is no mere root; pipes and connections. `roots` are the inodes with one
    version that nobody made, and when it was made: they are open where a run went on then."""

    keys: set[str]
    roots: list[tuple[str, int]]

    @staticmethod
    def of(conclusions: Conclusions) -> Open:
        """Return what a run leaves open."""
        made = {version.iri.partition("~")[0] for version in conclusions.contributions}
        made |= conclusions.contributed
        made |= {version.iri for version in conclusions.told() if version.generated_by or version.noise}
        times: dict[str, list[int | None]] = {}
        for version in conclusions.told():
            found = inodes.VERSION.match(version.iri)
            if found and not version.noise:
                times.setdefault(found["inode"], []).append(None if version.iri in made else version.facts.mtime)
        several = {key for key, all_ in times.items() if len(all_) > 1 and any(time is not None for time in all_)}
        channels = {name for names in conclusions.channels.values() for name in names if name}
        roots = [(key, time) for key, (time, *more) in times.items() if time is not None and not more]
        return Open(several | channels | {alias for alias, _ in conclusions.aliases}, roots)

    def take(self, other: Open) -> None:
        """Add what another part of the run leaves open."""
        self.keys.update(other.keys)
        self.roots.extend(other.roots)

    def beside(self, runs: Runs) -> set[str]:
        """Return all that is open, beside these runs."""
        return self.keys | {key for key, time in self.roots if runs.at(time)}


def touched_in(known: Known, graph: str) -> set[str]:
    """Return the inodes and channels that a run's graph in the store speaks of, by all their names."""
    versions = {inodes.key_of(version) for version in known.members(graph, NS + "inode")}
    facts = Facts(known)
    called = (channels.names(facts, channel) for channel in known.members(graph, RDF + "type", NS + "Channel"))
    return {key for key in versions if key}.union(*called)


def during(known: Known, graphs: Iterable[str], runs: Runs) -> set[str]:
    """Return the inodes of which other runs, that ended after one of these began, know a version made while it went
    on."""
    named = set(graphs)
    own = [times for times in runs.times if _bundle(times[2]) in named]
    found: set[str] = set()
    if not own:
        return found
    first = own[0][0]
    for other in (run for _, ended, run in runs.times if ended >= first and _bundle(run) not in named):
        for moment, key in runs.versions(known, other):
            if any(start <= moment <= end for start, end, _ in own):
                found.add(key)
    return found


def _bundle(run: str) -> str:
    return bundle_iri(RUN_BASE + run)


class Derived:
    """What the derived graph says, by the inode or channel because of which; of parts of phases by the part."""

    def __init__(self, known: Known) -> None:
        self.of: dict[str, set[Statement]] = {}
        self.parts: dict[str, set[Statement]] = {}
        self._add(known.statements(DERIVED))

    def _add(self, statements: Iterable[Statement]) -> None:
        for subject, predicate, object_ in statements:
            key = _about(subject, predicate, object_)
            place = self.parts.setdefault(subject, set()) if key is None else self.of.setdefault(key, set())
            place.add((subject, predicate, object_))

    def renew(self, store: Kept, keys: set[str], lines: list[str]) -> None:
        """Have these lines (N-Triples) in place of all that was said because of some inodes and channels."""
        store.withdraw(DERIVED, self._taken(keys))
        store.add(DERIVED, lines)
        self._add(_statements(lines))

    def _taken(self, keys: set[str]) -> list[Statement]:
        said = [statement for key in keys for statement in self.of.pop(key, ())]
        parts = {o for _, p, o in said if p == PROV + "wasGeneratedBy" and "~" in o}
        return said + [statement for part in parts for statement in self.parts.pop(part, ())]


def _statements(lines: list[str]) -> Iterator[Statement]:
    for quad in ox.parse("".join(lines).encode(), ox.RdfFormat.N_TRIPLES) if lines else ():
        if not isinstance(quad.subject, ox.Triple) and not isinstance(quad.object, ox.Triple):
            yield quad.subject.value, quad.predicate.value, quad.object.value


def _about(subject: str, predicate: str, object_: str) -> str | None:
    """The inode or channel because of which the derived graph says something; None of a part of a phase."""
    if predicate == PROV + "used" and "~" not in subject:
        return channels.channel_of(object_)
    return channels.gap_of(subject) or inodes.key_of(subject)


def conclude(known: Known, keys: Iterable[str], runs: Runs) -> list[str]:
    """Return N-Triples lines: what follows for these inodes and channels."""
    facts = Facts(known)
    lines: list[str] = []
    for key in keys:
        lines += inodes.conclude(facts, key, runs.at) if _is_inode(key) else channels.conclude(facts, key)
    return lines


def _is_inode(key: str) -> bool:
    return key.startswith("https://w3id.org/provio/version/")
