"""Find who read which version and who wrote which inode, and when: the inputs and write spans of a run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from provio.base.records import pattern
from provio.lineage.code import Noise, is_history
from provio.lineage.identity import Identity, without_task
from provio.lineage.model import SECOND, TICK, Conclusions, Input, Span, Version, inode_of
from provio.lineage.ranks import of_ranks
from provio.lineage.reads import Changed, doubt, name_unread, narrow, read_on_the_way
from provio.lineage.unwatched import Held
from provio.system.statx import Facts
from provio.trace.facts import Event, Opening, Process, Stretch
from provio.trace.run_facts import Trace

PROT_READ, PROT_WRITE = 1, 2
STAMP_MAPS = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs"})  # here, a store through a map changes the mtime
# Snakemake's own copy of a file of the workflow, under a temporary name.
CACHED = pattern(rb".*/snakemake/source-cache/.*/file(/.+)[a-z0-9_]{8}", re.DOTALL)
SCRIPT_COPY = pattern(rb".*/\.snakemake/scripts/tmp[^/.]*\.([^/]+)", re.DOTALL)
WORKFLOW = pattern(rb"(.*/)?(Snakefile[^/]*|[^/]+\.(smk|ya?ml))", re.DOTALL)
COMPILED = pattern(rb"(.*/)__pycache__/([^/.]+)\.[^/]*\.pyc(\.\d+)?", re.DOTALL)
BY_NAME = frozenset({"SetTimes", "GetAttribute"})
HANDS_ON = frozenset({"Fork", "Spawn", "Exec"})


def gather(trace: Trace, identity: Identity, conclusions: Conclusions, noise: Noise, ends: dict[str, int]) -> None:
    """Set the inputs, spans and versions of `conclusions`; `ends` is the latest moment at which each image may have
    written."""
    collector = _Collector(trace, identity, conclusions, noise, ends)
    for process in trace.processes.values():
        collector.process(process)
    for one in conclusions.held:
        collector.held(one)
    doubt(trace, conclusions.spans)
    collector.add_final_versions()
    met: set[tuple[str, int]] = set()
    for opening, stretch, facts in read_on_the_way(trace, conclusions.spans):
        collector.on_the_way(opening, stretch, facts)
        met.add((opening.iri, stretch.last))
    narrow(collector.changed, met, conclusions)
    name_unread(collector.unread, trace, identity, conclusions)


def gather_lone(
    part: Trace, identity: Identity, conclusions: Conclusions, noise: Noise, ends: Mapping[str, int]
) -> None:
    """Add the inputs, spans and versions from a part of a run that has openings of lone files only."""
    collector = _Collector(part, identity, conclusions, noise, ends)
    for process in part.processes.values():
        conclusions.inputs[process.iri] = []
        collector.opened(process, set())
        code = {one.version for one in conclusions.programs[process.iri].code}
        conclusions.inputs[process.iri] = [one for one in conclusions.inputs[process.iri] if one.version not in code]
    collector.add_final_versions()


class _Collector:
    """Gathers the inputs and spans of the processes of a run, one process after the other."""

    def __init__(
        self, trace: Trace, identity: Identity, conclusions: Conclusions, noise: Noise, lives: Mapping[str, int]
    ) -> None:
        self.lives, self.run, self.trace = lives, trace.run, trace
        self.unread: list[Opening] = []
        self.changed: list[Changed] = []
        self.over = max(int(trace.run.get("endedNs", 0)), *lives.values(), 0)  # the end of the run, if known
        self.changed_later: list[Opening] = []
        # Of the current process: when it last passed files on, its unmaps, the sources that it may have compiled.
        self.handing_on, self.unmapped, self.sources = -1, dict[str, list[Event]](), dict[bytes, Opening]()
        self.stamps = {mount.get("device", "") for mount in trace.mounts if mount.get("fileSystem") in STAMP_MAPS}
        self.identity = identity
        self.out, self.clock_error = conclusions, conclusions.clocks.clock_error
        self.noise = noise

    def process(self, process: Process) -> None:
        """Gather the inputs and spans of one process."""
        code = self._code(process)
        self.out.inputs[process.iri] = list(self._lone_inputs(process, code))
        self.handing_on = max((e.at for e in process.events if e.kind in HANDS_ON), default=-1)
        self.unmapped = _by_opening(process, "Unmap", "map")
        self.sources = _sources(process)
        self.opened(process, code)
        written = _written(process)
        for event in process.events:
            by_name = event.kind == "Truncate" and "object" not in event.record
            if not (by_name or event.kind in BY_NAME) or self.out.is_separate(event.facts()):
                continue
            if by_name:
                self._truncated_by_name(event)
            elif event.kind == "SetTimes":
                self._times_set(event, written)
            else:
                self._attribute_read(event, written, code)

    def _lone_inputs(self, process: Process, code: set[str]) -> Iterator[Input]:
        """Yield the inputs from lone files that other conclusions need, too, except the process's code; record the
        versions that openings which are not lone may have found."""
        lone = self.out.lone.get(process.iri)
        for one in lone.inputs if lone else ():
            iri = self.identity.version(one.facts)
            if iri in code:
                continue
            if one.path:
                version = self.version(one.facts, None, one.noise, one.opened)
                version.name(self.identity.file(one.path, one.facts.device), one.path, one.opened)
            yield Input(process, iri, one.first, one.last, one.noise)

    def opened(self, process: Process, code: set[str]) -> None:
        """Gather the inputs and spans from the openings of one process; `code` are the versions of the code that it
        ran."""
        maps = _by_opening(process, "Map", "object")
        cuts = _by_opening(process, "Truncate", "object")
        for opening in process.openings:
            separate = of_ranks(opening) or is_history(opening) or self.out.is_separate(opening.facts)
            if opening.kind == "FileVersion" and not separate:
                mapped = maps.get(opening.iri, [])
                if self.identity.version(opening.facts) not in code:
                    reads = opening.reads()
                    self._input(opening, reads, mapped)
                    if not reads:
                        self._perhaps(opening, mapped)
                self._span(opening, mapped, cuts.get(opening.iri, []))

    def _code(self, process: Process) -> set[str]:
        """Record the versions of the code that a process ran, and return their IRIs."""
        code = self.out.programs[process.iri].code
        for one in code:
            version = self.version(one.facts, None, self.noise.of_code(one), process.started)
            version.name(one.file, one.path, process.started)
        return {one.version for one in code}

    def on_the_way(self, opening: Opening, stretch: Stretch, facts: Facts) -> None:
        """Record an input of intermediate content, read during a write: a version of its own with the facts at that
        moment."""
        iri, noise = f"{self.identity.version(opening.facts)}~{stretch.last}", self.noise(opening)
        self.version(facts, opening, noise, stretch.last, iri)
        found = Input(opening.process, iri, stretch.first, stretch.last, noise)
        self.out.inputs[opening.process.iri].append(found)

    def version(self, facts: Facts, opening: Opening | None, noise: bool, seen: int, iri: str = "") -> Version:
        """Return the version of `facts`, recorded as observed through `opening` at the moment `seen`."""
        iri = iri or self.identity.version(facts)
        version = self.out.versions.get(iri)
        if version is None:
            version = self.out.versions[iri] = Version(iri, facts)
        version.noise = version.noise and noise
        if seen < (version.seen or seen + 1):
            version.seen, version.host = seen, opening.process.host if opening else ""
        path = opening.name if opening else None
        if opening and path and not opening.unlinked:
            version.name(self.identity.file(path, facts.device), path, opening.opened)
        return version

    def _perhaps(self, opening: Opening, maps: list[Event]) -> None:
        """Keep an opening of a user's file for reading without an observed read, unless it is passed to a child."""
        plain = not (opening.writable or opening.inherited or maps or opening.copied_to or opening.flags & os.O_PATH)
        unhanded = plain and opening.facts.size and opening.opened > self.handing_on
        if unhanded and not self.noise(opening):
            self.unread.append(opening)

    def _input(self, opening: Opening, reads: list[tuple[int, int]], maps: list[Event]) -> None:
        moments = [moment for times in reads for moment in times]
        moments += [event.at for event in maps if event.number("protection") & PROT_READ]
        if not (moments or opening.copied_to):
            return
        own = opening.writable and (opening.writes() or opening.copied_from or any(map(_stores, maps)))
        grown = opening.at_close
        unchanged = grown is None or own or grown.key == opening.facts.key
        if unchanged and (opening.truncated or (opening.writable and opening.facts.size == 0)):
            return
        noise = self.noise(opening)
        version = self.version(opening.facts, opening, noise, opening.opened)
        if not moments:
            return
        inputs, first, last = self.out.inputs[opening.process.iri], min(moments), max(moments)
        if grown is None or unchanged:
            inputs.append(Input(opening.process, version.iri, first, last, noise))
            return
        error = self.clock_error
        before = [moment for moment in moments if moment < grown.mtime + error]
        after = [moment for moment in moments if moment >= grown.mtime - error]
        inputs.append(Input(opening.process, version.iri, first, max(before, default=first), noise))
        if after:
            version = self.version(grown, opening, noise, opening.closed)
            inputs.append(Input(opening.process, version.iri, min(after), last, noise))
            if not maps:
                self.changed.append(Changed(opening, *inputs[-2:]))

    def _span(self, opening: Opening, maps: list[Event], cuts: list[Event]) -> None:
        shared = [event for event in maps if _stores(event)]
        end, final = self._end(opening, shared)
        if self._stored_nothing(opening, final):
            shared = []
        moments = [moment for times in opening.writes() for moment in times]
        copies = [copy for copy in opening.copied_from if copy.between_files]
        own = bool(moments or shared or cuts)
        moments += [event.at for event in (*shared, *cuts)]
        moments += [moment for copy in copies for moment in (copy.first, copy.last)]
        truncated = max((e.at for e in cuts if e.number("length", 1) == 0), default=None)
        content = min(moments, default=0)
        if opening.truncated or _made(opening):
            moments.append(opening.opened)
            truncated = truncated or opening.opened
        if not moments:
            return
        span = Span(
            opening.process, inode_of(opening.facts), min(moments), end if shared else max(moments), end,
            truncated, final, opening, tuple(self.identity.version(copy.source.facts) for copy in copies),
            bool(copies) and not own, bool(shared), clock_error=self.clock_error, content=content,
        )  # fmt: skip
        sources = self._code_of(opening) if own else []
        if sources:
            span.sources = list(dict.fromkeys(self.identity.version(one.facts) for one in sources))
            span.copied_only = span.by_the_way = True
        self._add(span, opening)

    def _end(self, opening: Opening, shared: list[Event]) -> tuple[int, Facts | None]:
        """Return when the last descriptor or shared writable map ended, and the state of the file then, where it was
        observed."""
        life = self.lives[opening.process.iri]
        ends = [(opening.closed or life, opening.at_close)]
        undone = [self.unmapped.get(event.iri, []) for event in shared]
        ends += [(event.at, opening.facts.later(event.record, "")) for events in undone for event in events]
        if not all(undone):
            ends.append((self._last_store(opening), None))
        end, final = max(ends, key=lambda known: (known[0], known[1] is None))
        if final is None and opening.settled and opening.settled.mtime <= end:
            final = opening.settled
        elif final is None and opening.settled and opening.settled.mtime > self.over + TICK + self.clock_error:
            self.changed_later.append(opening)
        return end, final

    def _last_store(self, opening: Opening) -> int:
        """Return until when a process may have stored through a map that it did not unmap: beyond its last record, if
        it is alive or its end is not known. Add a gap if the file was changed long after that record."""
        life = self.lives[opening.process.iri]
        if not opening.provisional and ("endedNs" in self.run or life < self.over):
            return life
        changed = opening.settled.mtime if opening.settled else 0
        if changed > life + TICK + self.clock_error and not opening.provisional:
            path = (opening.name or b"?").decode("utf-8", "replace")
            reason = f"{path} was mapped by the process and changed after its last record: another may have changed it"
            self.out.gaps.append((opening.iri + "~stored", opening.process.iri, reason))
        return max(life + TICK, changed)

    def _read_by(self, process: Process) -> list[Opening]:
        """Return the files that a process, with its Tasks, opened only for reading."""
        return self._read.get(without_task(process.iri), [])

    @cached_property
    def _read(self) -> dict[str, list[Opening]]:
        found: dict[str, list[Opening]] = {}
        for one in self.trace.openings():
            if one.kind == "FileVersion" and one.path and not one.writable:
                found.setdefault(without_task(one.process.iri), []).append(one)
        return found

    def _code_of(self, opening: Opening) -> list[Opening]:
        """Return the sources of a file of code, which comes from them alone, regardless of other inputs: the Python
        source of a compiled file in `__pycache__`; the file of which Snakemake keeps a copy; of its copy of a script
        with a preamble all scripts of this name, and the files of the workflow."""
        path = opening.path or b""
        if match := COMPILED.fullmatch(path):
            source = self.sources.get(match[1] + match[2] + b".py")
            return [source] if source else []
        if cached := CACHED.fullmatch(path):
            return [one for one in self._read_by(opening.process) if one.path == cached[1]]
        if not (match := SCRIPT_COPY.fullmatch(path)):
            return []
        read = self._read_by(opening.process)
        name = b"/" + match[1]
        code = [one for one in read if (one.path or b"").endswith(name)]
        return code and [*code, *(o for o in read if WORKFLOW.fullmatch(o.path or b"") and not self.noise(o))]

    def _stored_nothing(self, opening: Opening, final: Facts | None) -> bool:
        """Return whether a file's mtime is unchanged on a file system where a store through a map would have changed
        it."""
        if final is None or opening.facts.device not in self.stamps or final.mtime % SECOND == 0:
            return False
        return final.key == opening.facts.key

    def held(self, one: Held) -> None:
        """Add the possible span of an unwatched program that inherited an opening, and the file as its input if the
        process that opened it did not read it."""
        opening, process, life = one.opening, one.program.process, self.lives[one.program.process.iri]
        if opening.kind != "FileVersion" or of_ranks(opening) or self.out.is_separate(opening.facts):
            return
        started = one.program.started
        if opening.writable:
            span = Span(
                process, inode_of(opening.facts), started, life, life, opening=opening, sure=one.sure,
                clock_error=self.clock_error,
            )  # fmt: skip
            self.out.possible.append((span, one.program.name))
            if opening.facts.size and not opening.truncated:
                self.version(opening.facts, opening, False, opening.opened)
            found = opening.settled or opening.at_close
            if found and started - TICK <= found.mtime <= self.over + TICK:
                self.version(found, opening, False, max(life, opening.closed))
        elif opening.facts.size and not (opening.reads() or opening.flags & os.O_PATH):
            noise = self.noise(opening)
            version = self.version(opening.facts, opening, noise, opening.opened)
            self.out.inputs[process.iri].append(Input(process, version.iri, started, life, noise))

    def _add(self, span: Span, opening: Opening) -> None:
        self.out.spans.append(span)
        before = opening.facts
        if before.size and not opening.truncated:
            self.version(before, opening, False, opening.opened)

    def add_final_versions(self) -> None:
        """Record the final versions of the spans; add gaps for files that were changed after the run before they were
        observed."""
        known = set()
        for span in self.out.spans:
            if span.final:
                self.version(span.final, span.opening, False, span.end)
                known.add(span.inode)
        wrote = {span.opening.iri for span in self.out.spans if span.opening and span.inode not in known}
        for opening in (one for one in self.changed_later if one.iri in wrote):
            path = (opening.name or b"?").decode("utf-8", "replace")
            reason = f"{path} was changed after the run, before what the run left in it was looked at"
            self.out.gaps.append((opening.iri + "~later", opening.process.iri, reason))

    def _truncated_by_name(self, event: Event) -> None:
        after = event.facts()
        if after:
            end = event.at + event.number("elapsed")
            empty = event.at if event.number("length", 1) == 0 else None
            self.out.spans.append(
                Span(
                    event.process,
                    inode_of(after),
                    event.at,
                    end,
                    end,
                    empty,
                    after,
                    clock_error=self.clock_error,
                )
            )
            path = event.text("path")
            version = self.version(after, None, False, end)
            if path:
                version.name(self.identity.file(path, after.device), path, end)

    def _attribute_read(self, event: Event, written: dict[tuple[str, int, int], list[Opening]], code: set[str]) -> None:
        """Record a file as an input of a process that got an attribute of it, unless the process was writing it."""
        facts, path = event.facts(), os.path.normpath(event.text("path") or b"")
        if facts is None or event.record.get("directory") == "true" or self.identity.version(facts) in code:
            return
        if any(_making(opening, facts, event.at) for opening in written.get(inode_of(facts), ())):
            return
        noise = self.noise.read(path, None)
        version = self.version(facts, None, noise, event.at)
        version.name(self.identity.file(path, facts.device), path, event.at)
        self.out.inputs[event.process.iri].append(Input(event.process, version.iri, event.at, event.at, noise))

    def _times_set(self, event: Event, written: dict[tuple[str, int, int], list[Opening]]) -> None:
        """Record both keys of a content with newly set times; they are alternates of each other."""
        after, path = event.facts(), event.text("path")
        if after is None or path is None or event.record.get("directory") == "true":
            return
        before = after.at(event.number("previousMtimeNs", after.mtime), after.ctime, after.size)
        if before.mtime == after.mtime:
            return
        made = any(_making(opening, before, event.at) for opening in written.get(inode_of(before), ()))
        for facts in (after,) if made else (before, after):
            version = self.version(facts, None, False, event.at)
            version.name(self.identity.file(os.path.normpath(path), facts.device), os.path.normpath(path), event.at)
        if not made:
            version = self.version(after, None, False, event.at)
            version.retimed = [*version.retimed, (event.at, self.identity.version(before))]


def _stores(event: Event) -> bool:
    """Return whether a map is shared and writable."""
    return bool(event.number("protection") & PROT_WRITE) and event.record.get("shared") == "true"


def _made(opening: Opening) -> bool:
    """Return whether this opening created the file; without a birth time in the file system, whether it may have: the
    file was empty."""
    created = opening.writable and opening.flags & os.O_CREAT and opening.facts.size == 0 and not opening.inherited
    birth = opening.facts.birth
    return bool(created) and (birth == 0 or birth >= opening.opened - opening.elapsed - TICK)


def _written(process: Process) -> dict[tuple[str, int, int], list[Opening]]:
    """Return the openings for writing by inode: an archive's extractor sets the times of each of its many files."""
    found: dict[tuple[str, int, int], list[Opening]] = {}
    for opening in process.openings:
        if opening.kind == "FileVersion" and opening.writable:
            found.setdefault(inode_of(opening.facts), []).append(opening)
    return found


def _making(opening: Opening, before: Facts, moment: int) -> bool:
    """Return whether the file was still being written through this opening: then `before` is no finished content."""
    still = opening.opened <= moment <= (opening.closed or moment)
    return still and (_made(opening) or opening.truncated or opening.facts.mtime != before.mtime)


def _sources(process: Process) -> dict[bytes, Opening]:
    """Return the first opening for reading of each Python source, by its path."""
    found: dict[bytes, Opening] = {}
    for o in process.openings:
        if o.path and o.path.endswith(b".py") and o.kind == "FileVersion" and not o.writable:
            found.setdefault(o.path, o)
    return found


def _by_opening(process: Process, kind: str, name: str) -> dict[str, list[Event]]:
    found: dict[str, list[Event]] = {}
    for event in process.events:
        if event.kind == kind and name in event.record:
            found.setdefault(event.record[name], []).append(event)
    return found
