"""What follows from the facts of several runs: a store in, the triples of the derived graph out.

A reader in one run of what a writer in another was still writing; two runs joined by a pipe; a file that changed
between two runs unseen. All of it is computed anew for each inode and channel that a merge touches, from what the
runs' own graphs say, so that neither the order of merges nor the removal of a run changes any answer.

    known       what is asked of the store
    inodes      versions: made on the way, kept beneath, untracked
    channels    pipes and connections between runs
"""

from __future__ import annotations

from collections.abc import Iterable

from provio.across import channels, inodes
from provio.across.known import DERIVED, Facts, Known
from provio.lineage import Conclusions
from provio.vocab import NS, PROV, RDF

__all__ = ["DERIVED", "Known", "conclude", "concluded", "touched_by", "touched_in", "uses"]


def touched_by(conclusions: Conclusions) -> set[str]:
    """Return the inodes and channels that a run touched, as the names under which they are known here."""
    versions = {inodes.key_of(version.iri) for version in conclusions.versions.values() if not version.noise}
    channels = {name for names in conclusions.channels.values() for name in names}
    return {key for key in versions if key} | channels | {alias for alias, _ in conclusions.aliases}


def touched_in(known: Known, graph: str) -> set[str]:
    """Return the inodes and channels that a run's graph in the store speaks of."""
    versions = {inodes.key_of(version) for version in known.members(graph, NS + "inode")}
    return {key for key in versions if key} | set(known.members(graph, RDF + "type", NS + "Channel"))


def concluded(known: Known, keys: Iterable[str]) -> set[str]:
    """Return the subjects of which the derived graph speaks because of these inodes and channels, or might."""
    facts = Facts(known)
    return {
        subject
        for key in keys
        for subject in (inodes.concluded(facts, key) if _is_inode(key) else channels.concluded(facts, key))
    }


def uses(known: Known, keys: Iterable[str]) -> set[tuple[str, str]]:
    """Return the (phase, segment) of which the derived graph says that one used the other, because of these."""
    facts = Facts(known)
    return {
        (phase, segment)
        for key in keys
        if not _is_inode(key)
        for segment, _ in channels.segments(facts, channels.names(facts, key))
        for phase, graph in known.subjects(PROV + "used", segment)
        if graph == DERIVED and "~" not in phase
    }


def conclude(known: Known, keys: Iterable[str], runs: list[tuple[int, int, str]]) -> list[str]:
    """Return N-Triples lines: what follows for these inodes and channels; `runs` are (start, end, id) of every run."""
    facts = Facts(known)
    lines: list[str] = []
    for key in keys:
        lines += inodes.conclude(facts, key, runs) if _is_inode(key) else channels.conclude(facts, key)
    return lines


def _is_inode(key: str) -> bool:
    return key.startswith("https://w3id.org/provio/version/")
