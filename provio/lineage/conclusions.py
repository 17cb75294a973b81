"""Conclude the lineage of a run from its facts: which process image used and which generated which entity.

The modules, in the order in which `conclude` uses them on the trace of a run or of a partition of it:

  code           the program of each process; which inputs belong to the system (noise)
  clocks         the possible offset between the clocks of hosts
  tasks          the actions within a Task as a process of its own (a strand), and the ties of strands
  spans          inputs and write spans: who read which version, who wrote which inode, and when
  writing        an index of the write spans of an inode
  reads          which content was read while a file was open and changed
  names          the paths of each version
  same_key       contents that share one key, separated by time
  shared_inodes  files that several partitions of a run have in common
  contents       parameters and metrics that files contain
  declarations   declared configurations, uses, products and checkpoints (`declared` has the types)
  task_results   results of a framework's tasks: who made and who used them
  pool_tasks     calls of pools: who submitted them, and who received their results
  attributes     extended attributes of files: their states, and who used them
  memory         memory that processes share through a file; forks that may have written it
  channels       writers and readers of each pipe and connection
  positions      the byte positions of the data that they wrote and read
  phases         the cuts between phases, carried data, launches
  versions       which phase generated each version; revisions; the end of life of each process image
  members        finer phases, and the phase that made each object inside a file
  objects        which objects inside files a process read; moves of these objects
  pipes          segments between phases; answers of system programs
  unwatched      possible effects of programs that provio could not watch; submitted jobs that are not observed
  ranks          data of launchers and ranks that is not followed

`identity` computes the IRIs, `model` has the types of the conclusions.
"""

from __future__ import annotations

from provio.base.records import plain
from provio.lineage import attributes, contents, memory, pool_tasks, task_results, unwatched
from provio.lineage.channels import channels_of
from provio.lineage.clocks import Clocks
from provio.lineage.code import Noise, programs
from provio.lineage.declarations import save, say
from provio.lineage.identity import Identity
from provio.lineage.members import members
from provio.lineage.model import FOREVER, Conclusions, Contents, ProgramFacts
from provio.lineage.names import name
from provio.lineage.phases import Origin, cut, origins, tie
from provio.lineage.pipes import answers, connect
from provio.lineage.ranks import unseen
from provio.lineage.same_key import part
from provio.lineage.shared_inodes import Shared
from provio.lineage.spans import gather, gather_lone
from provio.lineage.tasks import begin, join, strands
from provio.lineage.unwatched import hide, suspect
from provio.lineage.versions import attribute, exited, lives
from provio.settings.schema import Config
from provio.trace import hosts
from provio.trace.run_facts import Trace

__all__ = ["Conclusions", "Known", "conclude", "conclude_lone", "hashed"]


@plain()
class Known:
    """The facts about a complete run that every partition of it needs before anything is concluded.

    `programs` are the programs of the processes and `ends` the latest moments (ns since 1970) at which they may have
    written. `origins` state which process each image comes from; with None, the trace itself contains the origins.
    `alone` are the processes that submitted unobserved jobs, `exited` the programs that ended with an exit code.
    `shared` holds the conclusions about files that many processes use.
    """

    programs: dict[str, ProgramFacts]
    ends: dict[str, int]
    noise: Noise
    origins: dict[str, Origin] | None = None
    alone: frozenset[str] = frozenset()
    exited: frozenset[str] = frozenset()
    shared: Shared | None = None
    contents: Contents | None = None

    @staticmethod
    def of(trace: Trace, identity: Identity, settings: Config) -> Known:
        """Derive these facts from the trace of a complete run; of its openings, only those of scripts and of
        `pyvenv.cfg` are needed."""
        return Known(
            programs(trace, identity, settings),
            lives(trace),
            Noise(trace, settings),
            alone=unwatched.alone(trace),
            exited=exited(trace),
        )


def conclude(
    trace: Trace, identity: Identity, settings: Config | None = None, known: Known | None = None
) -> Conclusions:
    """Return the conclusions from the facts of one run, under the settings that concern conclusions.

    `trace` may also be a partition of a run that is independent of the others; `known` then has all that matters of
    the rest of the run.
    """
    known = known or Known.of(trace, identity, settings or Config())
    conclusions = Conclusions(known.programs, clocks=Clocks(hosts.clock_uncertainty(trace.hosts)))
    ends, noise, shared, whole = known.ends, known.noise, known.shared or Shared(), trace
    conclusions.separate, conclusions.noise, conclusions.ends = shared.inodes, noise, ends
    conclusions.exited, conclusions.contents = known.exited, known.contents
    if whole.lone:
        read = whole.lone.moments
        conclusions.lone = {process.iri: read(process, noise.read) for process in whole.processes.values()}
    trace = strands(whole, conclusions, ends)
    started = origins(trace) if known.origins is None else known.origins
    conclusions.held = tuple(unwatched.held(trace, started))
    gather(trace, identity, conclusions, noise, ends)
    name(trace, identity, conclusions)
    part(trace, conclusions)
    shared.join(trace, identity, conclusions)
    contents.parameters(trace, conclusions)
    say(trace, identity, conclusions)
    task_results.follow(trace, conclusions)
    attributes.follow(trace, identity, conclusions)
    pool_tasks.follow(trace, conclusions)
    memories = memory.memories(trace, identity, conclusions, ends, started)
    channels = channels_of(trace, identity, conclusions)
    begin(channels, conclusions)
    cut(trace, channels, memories, conclusions)
    tie(trace, conclusions, started)
    join(conclusions)
    attribute(conclusions)
    shared.make(trace, conclusions)
    contents.metrics(trace, conclusions)
    save(trace, conclusions)
    members(trace, identity, channels, conclusions)
    connect(trace, channels, conclusions)
    memory.connect(memories, conclusions)
    suspect(whole, conclusions, ends)
    hide(whole, identity, conclusions)
    unseen(whole, conclusions)
    unwatched.unseen(whole, known.alone, conclusions)
    answers(trace, channels, noise, conclusions)
    hashed(whole, conclusions)
    conclusions.gaps += conclusions.clocks.gaps(without=conclusions.elsewhere)
    return conclusions


def conclude_lone(part: Trace, others: dict[str, bool], identity: Identity, whole: Conclusions) -> Conclusions:
    """Return the conclusions about lone files. `part` is the part of the trace that holds them, and `others` its
    openings whose files another opening describes (`trace.read.lone_files`); `whole` are the conclusions about the rest
    of the run, which receive the gaps."""
    found = Conclusions(whole.programs, phases=whole.phases, clocks=whole.clocks, contents=whole.contents)
    if whole.noise:
        gather_lone(part, identity, found, whole.noise, whole.ends)
    read = {identity.version(one.facts): others[one.iri] for one in part.openings() if one.iri in others}
    for iri in (iri for iri, written in read.items() if written and iri in found.versions):
        found.versions[iri].noise = False
    here = {identity.version(one.at_close or one.facts) for one in part.openings() if one.iri not in others}
    found.elsewhere = set(read) - here
    attribute(found)
    hashed(part, found)
    whole.gaps += found.gaps
    return found


def hashed(trace: Trace, conclusions: Conclusions) -> None:
    """Set the SHA-256 of the versions for which it was computed after the run, the metadata that was read, and the
    packages; add a gap where a SHA-256 could not be computed."""
    if conclusions.contents:
        conclusions.contents.read_versions(trace, conclusions)
    for version in conclusions.described() if trace.hashes else ():
        found = trace.hashes.get(version.facts.key) if version.until == FOREVER else None
        version.sha256 = found.sha256 or None if found else None
        if found and found.reason:
            reason = f"{found.reason}: its SHA-256 is not known"
            conclusions.gaps.append((version.iri + "~unhashed", version.iri, reason))
    for version in conclusions.described() if trace.contents else ():
        content = trace.contents.get(version.facts.key) if version.until == FOREVER else None
        version.metadata = content.metadata if content else version.metadata
    for version in conclusions.described() if trace.packages else ():
        if version.until == FOREVER:
            version.member = trace.packages.get(version.facts.key)
