"""Exclude the data that launchers send to ranks, and mark the messages between ranks that are not followed.

`mpirun` and similar launchers send each rank the addresses of the others, through a connection and through files in a
session folder: this is no data. The connections from ranks to the launcher remain ties, because the output of ranks
reaches it through terminals, which are not followed. Ranks of one host exchange messages through shared memory, where
the messages cannot be separated: a gap states this. Several ranks may create one object together; only some of them
count as its makers.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Container, Iterable

from provio.base.records import pattern
from provio.lineage.model import Conclusions, inode_of
from provio.trace.facts import Member, Opening, Process
from provio.trace.run_facts import Trace

LAUNCHERS = frozenset(
    {b"orterun", b"orted", b"prterun", b"prte", b"prted", b"mpiexec.hydra", b"hydra_pmi_proxy", b"hydra_bstrap_proxy"}
)
SESSION = pattern(rb"/(ompi|prte|openmpi-sessions)[.-][^/]+/")
# Memory of the transports between ranks, by its name: Open MPI, MPICH, Intel MPI, MVAPICH, PSM, UCX, NCCL, CUDA.
MEMORY = pattern(
    rb"/dev/shm/(vader_segment|sm_segment|osc_rdma|osc_sm|mpich_|Intel_MPI|impi-shm|ib_shmem|ib_pool|"
    rb"psm[23]?_shm|ucx_|hcoll|nccl-|cuda\.shm\.)[^/]*"
)
# Memory by which the processes of a library find each other: PMIx, semaphores, OpenMP, LTTng, the JVM, LMDB.
COORDINATION = pattern(
    rb"/dev/shm/(pmix|sem\.|__KMP_REGISTERED_LIB_|lttng-ust-)[^/]*|(/.*)?/pmix_dstor_[^/]+/[^/]+|"
    rb"/.*/[^/]*pmix_shared-segment[^/]*|/.*/hsperfdata_[^/]+/[0-9]+|/.*/lock\.mdb",
    re.DOTALL,
)
# The gaps about ways of memory (interceptors/posix/unfollowed.c).
TRANSPORT = frozenset({
    "shares memory without a file with other processes: data in it is not followed",
    "reads the memory of another process: this data is not followed",
})  # fmt: skip
INDEX = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW  # how SQLite opens the index of a write-ahead log


def is_launcher(process: Process) -> bool:
    """Return whether a process is a launcher of ranks."""
    return (process.executable or b"").rpartition(b"/")[2] in LAUNCHERS


def of_ranks(opening: Opening) -> bool:
    """Return whether a file is in a launcher's session folder, or is memory that ranks or a library's processes share
    to communicate."""
    path = opening.path
    if not path:
        return False
    index = path.endswith(b"-shm") and opening.flags & INDEX == INDEX
    return bool(index or SESSION.search(path) or MEMORY.match(path) or COORDINATION.fullmatch(path))


def unseen(trace: Trace, conclusions: Conclusions) -> None:
    """Add a gap to each rank that shares memory with other ranks: their messages are not followed. It replaces the
    gaps about the ways of memory that their transport uses."""
    ranks = {iri: process for iri, process in trace.processes.items() if "rank" in process.record}
    ways = {gap for gap in trace.gaps if gap[1] in ranks and gap[2] in TRANSPORT}
    trace.gaps[:] = [gap for gap in trace.gaps if gap not in ways]  # the list of the whole run, which others share
    others = {about for _, about, _ in ways}
    for process in ranks.values():
        if process.iri in others or any(o.path and MEMORY.match(o.path) for o in process.openings):
            reason = "what the other ranks sent it is not followed"
            conclusions.gaps.append((process.iri + "ranks", process.iri, reason))


# Objects that ranks created together.


Inode = tuple[str, int, int]
Key = tuple[Inode, bytes, bytes | None]


def took_part(members: Iterable[Member], makers: Container[tuple[str, Inode]]) -> set[str]:
    """Return the records of objects that their rank did not make but only took part in creating.

    `makers` has (process, inode) of each file of which a process made versions.
    """
    created: dict[Key, dict[int, list[Member]]] = defaultdict(lambda: defaultdict(list))
    for member in members:
        process, inode = member.file.process, inode_of(member.file.facts)
        if member.created and "rank" in process.record and (process.iri, inode) in makers:
            created[inode, member.path, member.name][int(process.record["rank"])].append(member)
    found: set[str] = set()
    for ranks in created.values():
        for known in ranks.values():
            known.sort(key=Member.made)
        for number in range(max(map(len, ranks.values()))):  # all ranks make the calls in the same order
            found |= _took_part([ranks[rank][number] for rank in sorted(ranks) if number < len(ranks[rank])])
    return found


def _took_part(creations: list[Member]) -> set[str]:
    """Return these records for one creation by several ranks, with the lowest rank first.

    The set is empty if the file was never open in all of them at the same time.
    """
    files = [member.file for member in creations]
    if max(file.opened for file in files) > min(file.closed or file.process.ended for file in files):
        return set()
    wrote = [member.iri for member in creations if member.stretches("write") or member.copied_from]
    stand = wrote or [creations[0].iri]
    return {member.iri for member in creations if member.iri not in stand}
