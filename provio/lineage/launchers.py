"""What launchers of parallel programs say to their ranks: a run's openings in, which of them hold no data out.

`mpirun` and its like tell each rank where the others are, through a connection and through files in a session folder of
their own. What ranks tell the launcher stays a tie: what they print reaches it through terminals, which nobody follows.
Ranks of one host speak to each other through memory whose messages cannot be told apart: a Gap says so.
"""

from __future__ import annotations

from provio.facts import Opening, Process
from provio.lineage.model import Conclusions
from provio.patterns import pattern
from provio.run_facts import Trace

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
