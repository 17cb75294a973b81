"""Survey a large run: read its processes one after the other, keep the facts that conclusions about several processes
need, and divide the processes into independent partitions.

In: the files of a run. Out: a `Survey`, which reads each partition when it is requested.
"""

from __future__ import annotations

import errno
import gc
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

from provio.base import turtle
from provio.base.records import plain
from provio.lineage.code import is_history, script_opening
from provio.lineage.model import inode_hash
from provio.lineage.ranks import of_ranks
from provio.lineage.spans import PROT_READ
from provio.merge.large.partition import SINGLE_GROUP, Ancestry, Groups, origins_of, outline, restrict
from provio.merge.partitions import Partitions, part_of
from provio.settings.types import Interpreter
from provio.system import jobs
from provio.system.node_local import MARK
from provio.system.statx import Facts
from provio.trace import environment, hosts, liveness, post_run
from provio.trace import read as traces
from provio.trace.declarations import Declarations, Use
from provio.trace.digests import Changed, Digests
from provio.trace.facts import Opening, Process
from provio.trace.fast.compact_record import Loose, Packed
from provio.trace.mount_names import LIBRARIES, PREFIX, MountTables
from provio.trace.run_facts import Hash, Task, Trace, Unwatched
from provio.trace.run_source import LIST, RunFile, RunFiles


class Indivisible(Exception):
    """The run cannot be merged in partitions."""


class InProgress(Indivisible):
    """Files of the run are still being written; a copy of them can be divided."""


@plain(slots=True)
class ProcessFiles:
    """The files of all images of one process: their folder and their names."""

    place: Path
    names: tuple[str, ...]

    def all(self, named: Callable[[Path, str], RunFile]) -> Iterator[RunFile]:
        """Return the files."""
        return (named(self.place, name) for name in self.names)


class Survey(Partitions):
    """A large run in partitions, each read when it is requested; `groups` are the files of each partition. The
    processes of `whole` have only the facts that other processes need."""

    def __init__(self, whole: Trace, source: RunFiles) -> None:
        super().__init__(whole)
        self.source, self.tables = source, MountTables(whole.mounts)
        self.groups: list[list[ProcessFiles]] = []

    def each(self) -> Iterator[Trace]:
        """Yield the partitions; raises Changed if files of one have changed since the survey."""
        for process in self.whole.processes.values():
            process.record, process.events, process.openings = {}, [], []
            process._arguments = process._executable = None
        self.whole.processes = {}
        for group in self.groups:
            yield self.read(group)
            gc.collect(0)

    def read(self, group: Iterable[ProcessFiles]) -> Trace:
        """Return the trace of a partition; raises Changed if its files have changed since the survey."""
        trace = part_of(self.whole)
        trace.digests = Digests()
        files = [file for files in group for file in files.all(self.source.named)]
        traces.read_files(trace, files, self.after, self.tables)
        traces.add_lost_processes(trace)
        if not trace.digests.equal(self.whole.digests, ((file.host, file.name) for file in files)):
            raise OSError(errno.EIO, "the copy of its files is damaged") if self.source.fixed else Changed
        own = {program.gap: program for program in trace.unwatched}
        trace.unwatched = [own.get(program.gap, program) for program in self.whole.unwatched]
        return trace


READ_ONLY = frozenset({"Stat", "List"})  # events that do not change a file
PARTITION_SIZE = 150  # processes in a partition, if they are independent of each other
WIDE = 100  # a written file that more processes than this used is evaluated before the partitions
COMPILED = re.compile(rb"/__pycache__/[^/]+$")  # byte code: a copy of its source
STEP = 100  # processes after which the memory of read files is released


def survey(source: RunFiles, interpreters: Mapping[str, Interpreter]) -> Survey:
    """Survey a run; raises Indivisible if it has no record of itself, InProgress if it is still in progress."""
    whole, head = traces.start_trace(source)
    if not whole.run:
        raise Indivisible
    here = "endedNs" not in whole.run and liveness.began_here(whole.run)
    if here and not source.fixed and liveness.in_progress(source.place, whole.run):
        raise InProgress
    traces.add_run_gaps(whole, head)
    if whole.processes or any(source.events(whole.run)):  # the run's own record describes some, or events tie Tasks
        raise Indivisible
    found = _Surveyor(Survey(whole, source), interpreters)
    mine = (file for file in source.files(whole.run) if not found.is_shared(file))
    for file in traces.watched(whole, source):
        found.read_shared(file)
    hosts.correct_run(whole.run, whole.iri, whole.hosts, whole.gaps)
    for number, (_, files) in enumerate(groupby(mine, key=_image)):
        found.read_process(list(files))
        if number % STEP == 0:
            gc.collect(0)
    whole.damages += whole.files.unlisted() if whole.files else ()
    found.divide()
    gc.collect(0)
    return found.survey


def _image(file: RunFile) -> tuple[str, str]:
    """Return the key that the files of all images of a process share; sorted by name, they are adjacent."""
    return file.host, ".".join(file.name.split(".", 2)[:2])


class _Surveyor:
    """Reads the processes of a run and groups those that depend on each other."""

    def __init__(self, found: Survey, interpreters: Mapping[str, Interpreter]) -> None:
        self.survey, self.whole, self.interpreters = found, found.whole, interpreters
        self.files: list[ProcessFiles] = []
        self.places: dict[str, Path] = {}
        self.groups = Groups(WIDE)
        self.number_of: dict[str, int] = {}  # process → its number
        self.split: set[str] = set()  # processes with records in the files of several processes
        self.object_users: set[str] = set()  # processes that used objects inside files
        self.channel_users: list[str] = []
        self.kept: dict[int, tuple[frozenset[int], list[Process]]] = {}  # accesses to files that are probably wide
        self.scripts: dict[str, Facts | None] = {}  # process → the script that it runs
        self.above: list[tuple[int, str]] = []  # (process, the process in which its Task was started)
        self.declared_paths: list[Use] = []

    @staticmethod
    def is_shared(file: RunFile) -> bool:
        """Return whether a file belongs to no single process."""
        return file.name in (*traces.AFTER, MARK, LIST) or file.name.startswith((PREFIX, LIBRARIES, jobs.PREFIX))

    def read_shared(self, file: RunFile) -> None:
        """Read a file that belongs to no single process: mounts, jobs, facts recorded after the run."""
        if not self.is_shared(file):
            return
        records = traces.records_of(self.whole, file)
        if traces.takes(self.whole, file, records, self.survey.tables):
            return
        for iri, record in records.items():
            if "inode" in record and ("sha256" in record or "reason" in record):
                known = Hash(record.get("sha256", ""), record.get("reason", ""))
                self.whole.hashes[Facts.of(record).key] = known
            else:
                process = iri.rpartition("/")[0] + "/"
                self.survey.after.setdefault(process, {})[iri] = Packed(record)

    def read_process(self, files: list[RunFile]) -> None:
        """Read the files of one process."""
        number = self.groups.sets.add()
        place = files[0].path.parent
        place = self.places.setdefault(str(place), place)
        self.files.append(ProcessFiles(place, tuple(file.name for file in files)))
        part = self._part(files, self.whole.digests)
        self.whole.gaps += part.gaps
        self.whole.damages += part.damages
        traces.add_lost_processes(part)
        self._declarations(part.declarations, number)
        for process in part.processes.values():
            self._process(process, part, number)
        if part.tasks or part.unwatched or part.declarations.uses:
            self.groups.excluded.add(number)
        for task in part.tasks.values():
            if not task.part_of.startswith(task.process.iri):
                self.above.append((number, task.part_of.rpartition("/")[0] + "/"))
        self._keep(part, number)

    def _keep(self, part: Trace, number: int) -> None:
        """Keep the accesses that `_wide_accesses` will probably need, so that the files need not be read again."""
        openings = (inode_hash(one.facts) for process in part.processes.values() for one in process.openings)
        probably_wide = frozenset(filter(self.groups.is_wide_so_far, openings))
        if probably_wide:
            self.kept[number] = probably_wide, [restrict(process, probably_wide) for process in part.processes.values()]

    def _part(self, files: Iterable[RunFile], digests: Digests) -> Trace:
        part = part_of(self.whole)
        part.digests = digests
        traces.read_files(part, files, self.survey.after, self.survey.tables, Loose)
        return part

    def _declarations(self, declared: Declarations, number: int) -> None:
        if declared.entities or declared.uses:  # their states have one order in the whole run
            self.groups.sets.join(SINGLE_GROUP, number)
        for use in declared.uses:
            if use.path is not None:
                self.declared_paths.append(use)
            if use.facts:
                self.groups.add_use(use.facts, number, use.made)
        if declared.configurations or declared.metrics:
            self.groups.declarers.add(number)
        self.groups.checkpoints += [(number, one.path) for one in declared.checkpoints]

    def _process(self, process: Process, part: Trace, number: int) -> None:
        known = self.number_of.setdefault(process.iri, number)
        if known != number:
            self.groups.sets.join(known, number)
            self.groups.excluded |= {known, number}
            self.split.add(process.iri)
        self._outline(process, part)
        maps = [event for event in process.events if event.kind == "Map"]
        mapped = {e.record.get("object") for e in maps if e.number("protection") & PROT_READ}
        self._memory(process, {event.record.get("object") for event in maps})
        for opening in process.openings:
            used = opening.reads() or opening.writes() or opening.unreturned()
            if opening.kind == "Socket" or (opening.kind == "Pipe" and used):
                self.groups.add_channel(opening, number)
                self.channel_users.append(process.iri)
            elif opening.kind == "FileVersion" and not of_ranks(opening):
                self.groups.add_use(opening.facts, number, not _only_read(opening, mapped))
                if opening.copied_from or opening.copied_to or COMPILED.search(opening.path or b""):
                    self.groups.excluded_inodes.add(inode_hash(opening.facts))
                for path in {opening.path, opening.name}:
                    self.groups.add_path(path, number)
        for container in process.containers:
            self._container(container, number)
        for event in process.events:
            if event.kind not in READ_ONLY:
                self.groups.add_event(event, number)

    def _memory(self, process: Process, mapped: set[str | None]) -> None:
        """Note mapped files: the processes that share their memory, and forks of these, are in one group."""
        for opening in process.openings if mapped else ():
            if opening.iri in mapped and not of_ranks(opening):
                self.groups.excluded_inodes.add(inode_hash(opening.facts))
                self.object_users.add(process.iri)

    def _outline(self, process: Process, part: Trace) -> None:
        script = script_opening(process, self.interpreters)
        found = outline(process, script)
        if script:
            self.scripts[process.iri] = script.facts
        self.whole.processes[process.iri] = found
        acting = {event.task for event in found.events}
        for task in part.tasks.values():
            if task.process is process and (task.iri in acting or task.record.get("kind") == "cell"):
                self.whole.tasks[task.iri] = Task(task.iri, found, task.record)
        for one in part.unwatched:
            if one.process is process:
                self.whole.unwatched.append(Unwatched(found, one.gap, one.name, one.started))

    def _container(self, container: Opening, number: int) -> None:
        """Add the objects of a file: an object is in the group of its file and of the files with the data it shows."""
        self.object_users.add(container.process.iri)
        if container.facts.inode:
            changed = any(member.changes() for member in container.members)
            self.groups.add_use(container.facts, number, changed or not _still(container))
        for source in (source for member in container.members for source in member.shows):
            self.groups.add_use(source.file.facts, number, True)
            self.groups.excluded_inodes.add(inode_hash(source.file.facts))

    def divide(self) -> None:
        """Join the processes that depend on each other, and set the survey's partitions."""
        for iri in self.split:
            self._read_again(iri)
        self.whole.gaps += traces.damage_gaps(self.whole, self.whole.processes.get)
        traces.note_mount_namespaces(self.whole, self.survey.tables)
        if os.access(self.whole.folder, os.W_OK):
            post_run.inspect(self.whole, turtle.segment(environment.host()))
        ancestry = Ancestry(origins_of(self.whole), self.number_of, self.groups)
        self.survey.origins = ancestry.origins
        for iri, process in self.whole.processes.items():
            if "inode" in process.record:
                self._runs(Facts.of(process.record), self.number_of[iri])
            script = ancestry.script(iri, self.scripts)
            if script:
                self._runs(script, self.number_of[iri])
        self._join_declared_paths()
        self.groups.join()
        if self.declared_paths and self.groups.folder_renamed:
            raise Indivisible  # files below the folder have paths that no process used
        for number, above in self.above:
            self.groups.sets.join(number, self.number_of.get(above, number))
        unwatched = {self.number_of[one.process.iri] for one in self.whole.unwatched}
        ancestry.join(self.channel_users, self.object_users, unwatched)
        self.survey.common, self.survey.wide = self.groups.common, frozenset(self.groups.wide)
        self.survey.wide_accesses = self._wide_accesses() if self.groups.wide else None
        self.survey.groups = list(self._partitions())

    def _join_declared_paths(self) -> None:
        """Join the processes that declared inputs or outputs by path with all that used this path or a path below it.
        The used paths are only known after all files are read again."""
        below = tuple({one.path.rstrip(b"/") + b"/" for one in self.declared_paths if one.path})
        there = {one.path for one in self.declared_paths if not one.facts}
        for number, files in enumerate(self.files if self.declared_paths else (), start=1):
            part = self._part(files.all(self.survey.source.named), Digests())
            if os.access(self.whole.folder, os.W_OK):
                post_run.inspect(part, turtle.segment(environment.host()))
            if any(path in there or path.startswith(below) for path in _paths(part)):
                self.groups.excluded.add(number)
                self.groups.sets.join(SINGLE_GROUP, number)
            if number % STEP == 0:
                gc.collect(0)

    def _runs(self, code: Facts, number: int) -> None:
        """Add the use of a file as code."""
        self.groups.add_use(code, number, False)
        self.groups.excluded_inodes.add(inode_hash(code))

    def _wide_accesses(self) -> Trace:
        """Return the accesses to wide files; those that were not kept are read again."""
        found, digests = part_of(self.whole), Digests()
        for step, (number, keys) in enumerate(sorted(self.groups.users_of_wide().items())):
            probably_wide, kept = self.kept.pop(number, (frozenset(), []))
            if keys <= probably_wide:
                found.processes.update((one.iri, restrict(one, self.survey.wide)) for one in kept)
                continue
            files = list(self.files[number - 1].all(self.survey.source.named))
            part = self._part(files, digests)
            traces.add_lost_processes(part)
            for process in part.processes.values():
                found.processes[process.iri] = restrict(process, self.survey.wide)
            if not digests.equal(self.whole.digests, ((file.host, file.name) for file in files)):
                raise InProgress
            if step % STEP == 0:
                gc.collect(0)
        return found

    def _read_again(self, iri: str) -> None:
        """Read a process again, from all files that contain records of it."""
        number = self.groups.sets.find(self.number_of[iri])
        files = [files for place, files in enumerate(self.files, start=1) if self.groups.sets.find(place) == number]
        part = self._part((file for one in files for file in one.all(self.survey.source.named)), Digests())
        traces.add_lost_processes(part)
        self.whole.unwatched = [one for one in self.whole.unwatched if one.process.iri != iri]
        self._outline(part.processes[iri], part)

    def _partitions(self) -> Iterator[list[ProcessFiles]]:
        """Yield the files of each partition; small groups share a partition."""
        sets: dict[int, list[ProcessFiles]] = {}
        for number, files in enumerate(self.files, start=1):
            sets.setdefault(self.groups.sets.find(number), []).append(files)
        partition = sets.pop(SINGLE_GROUP, [])
        for group in sets.values():
            if partition and len(partition) + len(group) > PARTITION_SIZE:
                yield partition
                partition = []
            partition += group
        yield partition


def _paths(part: Trace) -> Iterator[bytes]:
    """Yield the paths that the processes of a trace used."""
    for process in part.processes.values():
        seen = [process.executable]
        for opening in process.openings:
            seen += [opening.path, opening.name]
        for event in process.events:
            seen += [event.text(name) for name in ("path", "from", "to")]
        for path in filter(None, seen):
            yield path
            yield os.path.normpath(path)


def _still(opening: Opening) -> bool:
    """Return whether a file was not open for writing and did not change."""
    return not opening.writable and (opening.at_close is None or opening.at_close.key == opening.facts.key)


def _only_read(opening: Opening, mapped: set[str | None]) -> bool:
    """Return whether a file was only read and did not change: its reader then knows the version."""
    if not _still(opening) or is_history(opening):
        return False
    read = any(access.first_read for access in opening.accesses) or opening.copied_to
    return bool(read or opening.iri in mapped or opening.reads())
