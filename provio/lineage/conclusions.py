"""Facts with identities in, conclusions out: what merge may say of who used and who generated what.

    clocks          by how much the clocks of hosts may differ
    code            the program of each process, and which inputs are the system's own (noise)
    tasks           reads and writes of each Task, as if it were a process
    spans           which version was read, which inode written, and when; until when each image may have written
    reads           which of two contents was read; what was read of a file while it was written
    names           names of files
    same_key        contents that have one key, told apart
    shared_inodes   of a partition of a run: files that many others have to do with
    declarations    what programs declared: configurations, uses, products; checkpoints
    ranks           input that a launcher passes to ranks, and is no data; objects that ranks created together
    channels        who wrote to and read from which pipe or connection, and which of its bytes
    phases          where a process is cut, what carried on, who launched whom
    versions        which phase generated each version, what it is a revision of
    objects         which objects inside files a process read, and their names
    members         finer phases: which of them made each object, and what it keeps of another
    pipes           segments between phases; which pipes are answers of the system
    unwatched       what programs that could not be watched may have done; submitted jobs that are not seen

`conclude` runs them in this order over one run's trace.
"""

from __future__ import annotations

from provio.base.records import plain
from provio.lineage import unwatched
from provio.lineage.channels import channels_of
from provio.lineage.clocks import Clocks
from provio.lineage.code import Noise, programs
from provio.lineage.declarations import save, say
from provio.lineage.identity import Identity
from provio.lineage.members import members
from provio.lineage.model import FOREVER, Conclusions, ProgramFacts
from provio.lineage.names import name
from provio.lineage.phases import Origin, cut, tie
from provio.lineage.pipes import answers, connect
from provio.lineage.ranks import unseen
from provio.lineage.same_key import part
from provio.lineage.shared_inodes import Shared
from provio.lineage.spans import gather, gather_lone
from provio.lineage.tasks import begin, join, strands
from provio.lineage.unwatched import hide, suspect
from provio.lineage.versions import attribute, lives
from provio.settings.schema import Config
from provio.trace import hosts
from provio.trace.run_facts import Trace

__all__ = ["Conclusions", "Known", "conclude", "conclude_lone", "hashed"]


@plain()
class Known:
    """What is to be known of all of a run before anything is concluded from a part of it: the program of each process,
    until when it may have written, what it comes from (None: that is in the part), and what is noise; which processes
    submitted jobs that are not seen; and what became of files that many of them have to do with."""

    programs: dict[str, ProgramFacts]
    ends: dict[str, int]
    noise: Noise
    origins: dict[str, Origin] | None = None
    alone: frozenset[str] = frozenset()
    shared: Shared | None = None

    @staticmethod
    def of(trace: Trace, identity: Identity, settings: Config) -> Known:
        """Tell it from a whole run's trace; of its openings those of scripts and of `pyvenv.cfg` are asked for."""
        return Known(
            programs(trace, identity, settings), lives(trace), Noise(trace, settings), alone=unwatched.alone(trace)
        )


def conclude(
    trace: Trace, identity: Identity, settings: Config | None = None, known: Known | None = None
) -> Conclusions:
    """Return what follows from the facts of one run, under the settings that concern conclusions; or of a part of it
    that has nothing to do with the others, of which all is `known` that matters here."""
    known = known or Known.of(trace, identity, settings or Config())
    conclusions = Conclusions(known.programs, clocks=Clocks(hosts.apart(trace.hosts)))
    ends, noise, shared, whole = known.ends, known.noise, known.shared or Shared(), trace
    conclusions.apart, conclusions.noise, conclusions.ends = shared.inodes, noise, ends
    if whole.lone:
        read = whole.lone.moments
        conclusions.lone = {process.iri: read(process, noise.read) for process in whole.processes.values()}
    trace = strands(whole, conclusions, ends)
    gather(trace, identity, conclusions, noise, ends)
    name(trace, identity, conclusions)
    part(trace, conclusions)
    shared.join(trace, identity, conclusions)
    say(trace, identity, conclusions)
    channels = channels_of(trace, identity, conclusions)
    begin(channels, conclusions)
    cut(trace, channels, conclusions)
    tie(trace, conclusions, known.origins)
    join(conclusions)
    attribute(conclusions)
    shared.make(trace, conclusions)
    save(trace, conclusions)
    members(trace, identity, channels, conclusions)
    connect(trace, channels, conclusions)
    suspect(whole, conclusions, ends)
    hide(whole, identity, conclusions)
    unseen(whole, conclusions)
    unwatched.unseen(whole, known.alone, conclusions)
    answers(trace, channels, noise, conclusions)
    hashed(whole, conclusions)
    conclusions.gaps += conclusions.clocks.gaps(without=conclusions.elsewhere)
    return conclusions


def conclude_lone(part: Trace, identity: Identity, whole: Conclusions) -> Conclusions:
    """Return what follows from lone files, of which a `part` of the trace is (`trace.lone_files`); of all else in the
    run is known what follows."""
    found = Conclusions(whole.programs, phases=whole.phases, clocks=whole.clocks)
    if whole.noise:
        gather_lone(part, identity, found, whole.noise, whole.ends)
    attribute(found)
    hashed(part, found)
    whole.gaps += found.gaps
    return found


def hashed(trace: Trace, conclusions: Conclusions) -> None:
    """Give versions their SHA-256, where it was computed after the run."""
    for version in conclusions.versions.values() if trace.hashes else ():
        found = trace.hashes.get(version.facts.key) if version.until == FOREVER else None
        version.sha256 = found.sha256 or None if found else None
        if found and found.reason:
            reason = f"{found.reason}: its SHA-256 is not known"
            conclusions.gaps.append((version.iri + "~unhashed", version.iri, reason))
