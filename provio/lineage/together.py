"""Objects that the ranks of a parallel program created together: which ranks only took part in that.

Creating is a collective call: each rank makes it, one object comes of it. It is the work of those that wrote into the
object, or of the lowest rank where none did.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable

from provio.facts import Member
from provio.lineage.model import inode_of

Inode = tuple[str, int, int]
Key = tuple[Inode, bytes, bytes | None]


def took_part(members: Iterable[Member], makers: Container[tuple[str, Inode]]) -> set[str]:
    """Return the records of objects whose rank only took part in creating them; `makers` are the processes that made
    versions of a file, and the file."""
    created: dict[Key, dict[int, list[Member]]] = defaultdict(lambda: defaultdict(list))
    for member in members:
        process, inode = member.file.process, inode_of(member.file.facts)
        if member.created and "rank" in process.record and (process.iri, inode) in makers:
            created[inode, member.path, member.name][int(process.record["rank"])].append(member)
    found: set[str] = set()
    for ranks in created.values():
        for known in ranks.values():
            known.sort(key=Member.made)
        for number in range(max(map(len, ranks.values()))):  # the calls of all ranks come in one order
            found |= _took_part([ranks[rank][number] for rank in sorted(ranks) if number < len(ranks[rank])])
    return found


def _took_part(creations: list[Member]) -> set[str]:
    """Of one creation by several ranks, the lowest first; of none where the file was never open in all of them."""
    files = [member.file for member in creations]
    if max(file.opened for file in files) > min(file.closed or file.process.ended for file in files):
        return set()
    wrote = [member.iri for member in creations if member.stretches("write") or member.copied_from]
    stand = wrote or [creations[0].iri]
    return {member.iri for member in creations if member.iri not in stand}
