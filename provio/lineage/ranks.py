"""What launchers of parallel programs say to their ranks: a run's openings in, which of them hold no data out.

`mpirun` and its like tell each rank where the others are, through a connection and through files in a session folder of
their own. What ranks tell the launcher stays a tie: what they print reaches it through terminals, which nobody follows.
Ranks of one host speak to each other through memory whose messages cannot be told apart: a Gap says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable

from provio.base.patterns import pattern
from provio.lineage.model import Conclusions, inode_of
from provio.trace.facts import Member, Opening, Process
from provio.trace.run_facts import Trace

LAUNCHERS = frozenset(
    {b"orterun", b"orted", b"prterun", b"prte", b"prted", b"mpiexec.hydra", b"hydra_pmi_proxy", b"hydra_bstrap_proxy"}
)
SESSION = pattern(rb"/(ompi|prte|openmpi-sessions)[.-][^/]+/")
MEMORY = pattern(rb"/dev/shm/(vader_segment|sm_segment|osc_rdma|mpich_shar|Intel_MPI|psm[23]?_shm)[^/]*")


def is_launcher(process: Process) -> bool:
    """Tell whether a process starts ranks."""
    return (process.executable or b"").rpartition(b"/")[2] in LAUNCHERS


def of_ranks(opening: Opening) -> bool:
    """Tell whether a file lies in a launcher's session folder, or is memory that ranks share."""
    return bool(opening.path and (SESSION.search(opening.path) or MEMORY.match(opening.path)))


def unseen(trace: Trace, conclusions: Conclusions) -> None:
    """Say of each process that shares memory with others of its kind that what these tell it is not followed."""
    for process in trace.processes.values():
        if "rank" in process.record and any(o.path and MEMORY.match(o.path) for o in process.openings):
            reason = "what the other ranks sent it is not followed"
            conclusions.gaps.append((process.iri + "ranks", process.iri, reason))


# Objects that the ranks of a parallel program created together: which ranks only took part in that.


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
