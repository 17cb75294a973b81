"""Derive conclusions about a file's version from the graphs of all runs, and from the neighbour versions of its
inode.

If a run reads a version while a writer of another run is at work, the version comes from the inputs that the writer
had read by then. A version keeps the content of versions that others made in the file while its own writer was at
work. A version without an observed maker is a Gap, if an earlier version is recorded or a run was in progress.
"""

from __future__ import annotations

from collections.abc import Callable

from provio.base import turtle
from provio.base.records import frozen, plain
from provio.base.text import moment
from provio.base.vocab import NS, RDF, RUN_BASE
from provio.graph.lines import Graph
from provio.lineage.identity import VERSION, earliest, without_task
from provio.lineage.model import TICK
from provio.merge.cross_run.facts import Facts

PROGRAM = NS + "Program"
UNTRACKED = "~untracked"  # suffix of a version's IRI: the Gap for an unobserved change
LOOKS = ("wasReadBy", "wasOpenedBy")
CHANGES = ("wasWrittenBy", "wasModifiedBy")
RunAt = Callable[[int], str | None]
# The properties that a part of a phase inherits from the phase.
SAME = ("partOf", "prov:wasAssociatedWith", "carriedFrom", "continuedFrom", "launchedBy", "prov:wasInformedBy")


@plain()
class Version:
    """A version, the activities that made it (by graph), and the earlier versions of which it keeps content."""

    iri: str
    mtime: int
    made_by: dict[str, str]
    earlier: list[str]


@frozen
class Writing:
    """A Write, or another change, of the version `of`, from `start` to `end` (ns since 1970) in a phase; `graph`
    contains it."""

    of: Version
    phase: str
    start: int
    end: int
    graph: str


def conclude(facts: Facts, iri: str, run_at: RunAt) -> list[str]:
    """Return the conclusions about a version as N-Triples lines; `run_at` returns the run in progress at a moment (ns
    since 1970)."""
    graph = Graph()
    if "~" not in iri and facts.store.versions.is_known(iri):
        version = _version(facts, iri)
        if version.made_by:
            _join(facts, graph, version)
        elif not _is_explained(facts, iri):
            _unmade(facts, graph, version, run_at)
    return graph.lines


def _version(facts: Facts, iri: str) -> Version:
    made_by = {graph: activity for activity, graph in facts.all(iri, "prov:wasGeneratedBy")}
    return Version(iri, _mtime(iri), made_by, facts.values(iri, "prov:wasRevisionOf"))


def _writings(facts: Facts, version: Version) -> list[Writing]:
    found = []
    for activity, graph in facts.all(version.iri, "wasWrittenBy"):
        phase = facts.one(activity, "partOf")
        if phase:
            found.append(Writing(version, phase, *facts.moments(activity), graph))
    return found


def _is_explained(facts: Facts, iri: str) -> bool:
    """Return whether a run states the origin of a version that no activity made."""
    alternates = facts.all(iri, "prov:alternateOf")
    unwatched = facts.all(iri + "~unwatched", "about")
    return bool(alternates or unwatched or facts.store.versions.is_contributed(iri))


def _unmade(facts: Facts, graph: Graph, version: Version, run_at: RunAt) -> None:
    writing = _enclosing(facts, version)
    if writing:
        _made_on_the_way(facts, graph, version, writing)
        return
    retimed = [version.iri]
    for one in retimed:  # the loop extends `retimed`
        found = [later for later, _ in facts.subjects("prov:alternateOf", one)]
        retimed += [later for later in dict.fromkeys(found) if later not in retimed]
    others = (iri for iri in facts.store.versions.earlier(version.iri) if iri not in retimed)
    earlier = (iri for iri in others if not _follows(facts, iri, version))
    during = run_at(earliest(version.iri))
    reason, before = None, next(earlier, None)
    if before is not None:
        reason = f"edited outside provio, {moment(turtle.instant_text(earliest(version.iri)))}"
    elif _is_set_back(facts, version, retimed):
        reason = "its time or size was set back by something that was not seen: no recorded writer made this content"
    elif during:
        reason = f"made while run {during} went on, by something that was not seen"
    if reason:
        gap = version.iri + UNTRACKED
        graph.node(gap, "Gap", ("reason", turtle.literal(reason)), ("about", f"<{version.iri}>"))
        if before is not None:
            graph.add(gap, ("changedFrom", f"<{before}>"))


def _follows(facts: Facts, iri: str, version: Version) -> bool:
    """Return whether a version with an earlier time is in fact a later one, because its time was set back (as
    `rsync --inplace` does): one host observed the other version before it observed or made this one at all."""
    looks, others = _looks(facts, version.iri), _looks(facts, iri)
    changes = [change for term in CHANGES for change in facts.values(iri, term)]
    known = [facts.moments(look)[0] for look in others] + [facts.moments(change)[1] for change in changes]
    hosts = {one.removeprefix(RUN_BASE).split("/")[1] for one in (*looks, *others, *changes)}
    seen = min((facts.moments(look)[0] for look in looks), default=None)
    return seen is not None and bool(known) and seen < min(known) and len(hosts) == 1


def _is_set_back(facts: Facts, version: Version, retimed: list[str]) -> bool:
    """Return whether another version of the inode, with the same or a later time, was observed before this one was:
    the time was set back, or the size at that time changed.

    A process may read much later than it opened the file: only the start of the process is certainly before.
    """
    looks = _looks(facts, version.iri)
    others = (iri for iri in facts.store.versions.not_earlier(version.iri) if iri not in retimed)
    known = {one for iri in others for term in (*LOOKS, *CHANGES) for one in facts.values(iri, term)}
    seen = min((facts.moments(_process(look))[0] for look in looks), default=None)
    one_host = len({one.removeprefix(RUN_BASE).split("/")[1] for one in (*looks, *known)}) == 1
    return seen is not None and one_host and any(facts.moments(one)[1] < seen for one in known)


def _process(activity: str) -> str:
    """Return the process of an activity."""
    return "/".join(activity.split("/")[: RUN_BASE.count("/") + 3]) + "/"


def _looks(facts: Facts, version: str) -> list[str]:
    return [activity for term in LOOKS for activity in facts.values(version, term)]


def _enclosing(facts: Facts, version: Version) -> Writing | None:
    """Return the writing that was in progress when a version without a maker came into existence, and that ended in a
    later version; None if there is none."""
    later = (_version(facts, iri) for iri in facts.store.versions.reaching(version.iri))
    return max(
        (
            writing
            for one in later
            if one.made_by and all(_mtime(earlier) < version.mtime for earlier in one.earlier)
            for writing in _writings(facts, one)
            if writing.start - TICK <= version.mtime <= writing.end
        ),
        key=lambda writing: (writing.start, writing.of.iri, writing.phase),
        default=None,
    )


def _mtime(version: str) -> int:
    found = VERSION.match(version)
    return int(found["mtime"]) if found else 0


def _made_on_the_way(facts: Facts, graph: Graph, version: Version, writing: Writing) -> None:
    """Derive the origin of a version that another run read while its writer was still at work: the inputs that the
    writer had read by then."""
    maker = writing.of.made_by.get(writing.graph) or next(iter(writing.of.made_by.values()))
    if "/copy/" not in maker:
        maker = _so_far(facts, graph, version, writing)
    graph.add(version.iri, ("prov:wasGeneratedBy", f"<{maker}>"))
    for agent in facts.values(writing.phase, "prov:wasAssociatedWith"):  # its thread, its rank too
        if any(kind == PROGRAM for kind, _ in facts.store.objects(agent, RDF + "type")):
            graph.add(version.iri, ("prov:wasAttributedTo", f"<{agent}>"))
    for earlier in writing.of.earlier:
        _revision(graph, version.iri, earlier)


def _so_far(facts: Facts, graph: Graph, version: Version, writing: Writing) -> str:
    """Return the part of the writer's phase up to the version, or the phase itself if all its inputs were read by
    then."""
    phase = writing.phase
    seen = min((facts.moments(look)[0] for look in _looks(facts, version.iri)), default=writing.end)
    moment = min(max(version.mtime, writing.start) + TICK, max(seen, writing.start), writing.end)
    used = [(word, entity) for word in ("prov:used", "usedAsNoise") for entity in facts.values(phase, word)]
    by_then = [(word, f"<{entity}>") for word, entity in used if _first_use(facts, entity, phase) <= moment]
    if len(by_then) == len(used):
        return phase
    stretch = _stretch(phase, version.mtime)
    start = facts.moments(phase)[0]
    same = [(term, f"<{value}>") for term in SAME for value in facts.values(phase, term)]
    graph.node(
        stretch, "Phase", *same, ("prov:startedAtTime", turtle.instant(start)),
        ("prov:endedAtTime", turtle.instant(max(start, moment))), *by_then,
    )  # fmt: skip
    return stretch


def _stretch(phase: str, moment: int) -> str:
    return f"{phase}~{moment}"


def _first_use(facts: Facts, entity: str, phase: str) -> int:
    """Return when the phase's process first read an entity (ns since 1970); an entity without a known time counts as
    used from the start."""
    process = without_task(facts.one(phase, "partOf") or phase)
    moments = [
        facts.moments(activity)[0] for activity in facts.values(entity, "wasReadBy") if activity.startswith(process)
    ]
    if moments:
        return min(moments)
    makers = facts.values(entity, "prov:wasGeneratedBy")  # a pipe's segment: used after its start
    return min((facts.moments(maker)[0] for maker in makers), default=0)


def _join(facts: Facts, graph: Graph, version: Version) -> None:
    """Add revisions: a version keeps content that writers of other runs wrote while its own writer was at work, and
    follows the versions that were read in that time."""
    versions = facts.store.versions
    kept = max(map(_mtime, version.earlier), default=None)
    since = kept if kept is not None else min((one.start for one in _writings(facts, version)), default=version.mtime)
    for iri in versions.between(version.iri, versions.writer_start(version.iri)):
        other = _version(facts, iri)
        if other.made_by:
            follows = other.mtime > since and not other.made_by.keys() & version.made_by.keys()
        else:
            writing = None if _is_explained(facts, iri) else _enclosing(facts, other)
            follows = writing is not None and writing.of.iri == version.iri
        if follows and iri not in version.earlier:
            _revision(graph, version.iri, iri)


def _revision(graph: Graph, later: str, earlier: str) -> None:
    graph.add(later, ("prov:wasRevisionOf", f"<{earlier}>"), ("prov:wasDerivedFrom", f"<{earlier}>"))
