"""What a survey of a large run finds: what is to be known of all of it before any of it is concluded from, and the
portions of it that have nothing to do with each other.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

from provio.base import gc_pause, turtle
from provio.base.records import plain
from provio.lineage.code import is_history, script_opening
from provio.lineage.model import inode_hash
from provio.lineage.ranks import of_ranks
from provio.lineage.spans import PROT_READ
from provio.merge.large.partition import TOGETHER, Descent, Ties, concerning, origins_of, outline
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
from provio.trace.mount_names import PREFIX, MountTables
from provio.trace.run_facts import Hash, Task, Trace, Unwatched
from provio.trace.run_source import RunFile, RunFiles


class Indivisible(Exception):
    """A run of which what follows from its files cannot be told portion by portion."""


class Written(Indivisible):
    """One whose files are written meanwhile: as they were once, they may be."""


@plain(slots=True)
class Files:
    """The files of all images of one process: the folder that they lie in, and their names."""

    place: Path
    names: tuple[str, ...]

    def all(self, named: Callable[[Path, str], RunFile]) -> Iterator[RunFile]:
        """Yield each."""
        return (named(self.place, name) for name in self.names)


class Survey(Partitions):
    """A large run in parts, which are read when they are wanted; of its processes `whole` has only what concerns
    others; a portion is the files of a part."""

    def __init__(self, whole: Trace, source: RunFiles) -> None:
        super().__init__(whole)
        self.source, self.tables = source, MountTables(whole.mounts)
        self.portions: list[list[Files]] = []

    def each(self) -> Iterator[Trace]:
        """Yield the parts; raises Changed where the files of one are not what they were."""
        for process in self.whole.processes.values():
            process.record, process.events, process.openings = {}, [], []
            process._arguments = None
        self.whole.processes = {}
        for portion in self.portions:
            yield self.read(portion)
            gc_pause.let_go()

    def read(self, portion: Iterable[Files]) -> Trace:
        """Return the trace of a portion; raises Changed where its files are not what they were."""
        trace = part_of(self.whole)
        trace.digests = Digests()
        files = [file for files in portion for file in files.all(self.source.named)]
        traces.read_files(trace, files, self.after, self.tables)
        traces.add_lost_processes(trace)
        if not trace.digests.equal(self.whole.digests, ((file.host, file.name) for file in files)):
            raise OSError(errno.EIO, "what was read of it is lost") if self.source.fixed else Changed
        own = {program.gap: program for program in trace.unwatched}
        trace.unwatched = [own.get(program.gap, program) for program in self.whole.unwatched]
        return trace


# A large run looked through, one process after the other: run files in; a Survey out, with the portions that have
# nothing to do with each other (`dividing`).


LOOKS = frozenset({"Stat", "List"})  # events that leave a file as it is
PORTION = 150  # processes that are told at once, where each has nothing to do with the others
WIDE = 100  # processes, of which more have to do with a file that is told before they are
COPIED = re.compile(rb"/__pycache__/[^/]+$")  # what is kept compiled is a copy of what was compiled
STEP = 100  # processes, after which what was read of them is let go


def survey(source: RunFiles, interpreters: Mapping[str, Interpreter]) -> Survey:
    """Look through a run; raises Indivisible where it says nothing of itself, Written where it goes on."""
    whole, head = traces.start_trace(source)
    if not whole.run:
        raise Indivisible
    here = "endedNs" not in whole.run and liveness.began_here(whole.run)
    if here and not source.fixed and liveness.in_progress(source.place, whole.run):
        raise Written
    traces.add_run_gaps(whole, head)
    if whole.processes:  # of which the run itself says something
        raise Indivisible
    found = _Surveyor(Survey(whole, source), interpreters)
    mine = (file for file in source.files(whole.run) if not found.is_beside(file))
    for file in source.files(whole.run):
        found.beside(file)
    hosts.correct_run(whole.run, whole.iri, whole.hosts, whole.gaps)
    for number, (_, files) in enumerate(groupby(mine, key=_image)):
        found.look(list(files))
        if number % STEP == 0:
            gc_pause.let_go()
    found.divide()
    gc_pause.let_go()
    return found.survey


def _image(file: RunFile) -> tuple[str, str]:
    """What the files of all images of one process have in common; in the order of names they follow each other."""
    return file.host, ".".join(file.name.split(".", 2)[:2])


class _Surveyor:
    """Looks through the processes of a run, and notes which have to do with each other."""

    def __init__(self, found: Survey, interpreters: Mapping[str, Interpreter]) -> None:
        self.survey, self.whole, self.interpreters = found, found.whole, interpreters
        self.files: list[Files] = []
        self.places: dict[str, Path] = {}
        self.ties = Ties(WIDE)
        self.number_of: dict[str, int] = {}  # process → its number
        self.shared: set[str] = set()  # processes of which the files of several speak
        self.inside: set[str] = set()  # those that met objects inside files
        self.piped: list[str] = []
        self.kept: dict[int, tuple[frozenset[int], list[Process]]] = {}  # what some did to files likely to be wide
        self.scripts: dict[str, Facts | None] = {}  # process → the script that it runs
        self.above: list[tuple[int, str]] = []  # (who, what a Task of it was begun in)
        self.meant: list[Use] = []  # of what lies at a path

    @staticmethod
    def is_beside(file: RunFile) -> bool:
        """Tell whether a file is of no process."""
        return file.name in (*traces.AFTER, MARK) or file.name.startswith((PREFIX, jobs.PREFIX))

    def beside(self, file: RunFile) -> None:
        """Take in what a file of no process says: mounts, what was found after the run."""
        if not self.is_beside(file):
            return
        records = traces.records_of(self.whole, file)
        if file.name == MARK:
            hosts.takes(self.whole.hosts, file.name, file.host, records)
            return
        if jobs.takes(self.whole.jobs, file.name, records) or self.survey.tables.takes(
            records, file.name, f"{self.whole.iri}/{file.host}/"
        ):
            return
        for iri, record in records.items():
            if "inode" in record and ("sha256" in record or "reason" in record):
                known = Hash(record.get("sha256", ""), record.get("reason", ""))
                self.whole.hashes[Facts.of(record).key] = known
            else:
                process = iri.rpartition("/")[0] + "/"
                self.survey.after.setdefault(process, {})[iri] = Packed(record)

    def look(self, files: list[RunFile]) -> None:
        """Look at what one process did."""
        number = self.ties.sets.add()
        place = files[0].path.parent
        place = self.places.setdefault(str(place), place)
        self.files.append(Files(place, tuple(file.name for file in files)))
        part = self._part(files, self.whole.digests)
        self.whole.gaps += part.gaps
        self.whole.damages += part.damages
        traces.add_lost_processes(part)
        self._said(part.declarations, number)
        for process in part.processes.values():
            self._process(process, part, number)
        if part.tasks or part.unwatched or part.declarations.uses:
            self.ties.bound.add(number)
        for task in part.tasks.values():
            if not task.part_of.startswith(task.process.iri):
                self.above.append((number, task.part_of.rpartition("/")[0] + "/"))
        self._keep(part, number)

    def _keep(self, part: Trace, number: int) -> None:
        """Keep what will be asked for, most likely: it then need not be read once more."""
        openings = (inode_hash(one.facts) for process in part.processes.values() for one in process.openings)
        hot = frozenset(filter(self.ties.is_hot, openings))
        if hot:
            self.kept[number] = hot, [concerning(process, hot) for process in part.processes.values()]

    def _part(self, files: Iterable[RunFile], digests: Digests) -> Trace:
        part = part_of(self.whole)
        part.digests = digests
        traces.read_files(part, files, self.survey.after, self.survey.tables, Loose)
        return part

    def _said(self, said: Declarations, number: int) -> None:
        if said.entities or said.uses:  # their states have one order in all of the run
            self.ties.sets.join(TOGETHER, number)
        for use in said.uses:
            if use.path is not None:
                self.meant.append(use)
            if use.facts:
                self.ties.touch(use.facts, number, use.made)
        if said.configurations or said.metrics:
            self.ties.told.add(number)
        self.ties.saved += [(number, one.path) for one in said.checkpoints]

    def _process(self, process: Process, part: Trace, number: int) -> None:
        known = self.number_of.setdefault(process.iri, number)
        if known != number:
            self.ties.sets.join(known, number)
            self.ties.bound |= {known, number}
            self.shared.add(process.iri)
        self._outlined(process, part)
        mapped = {e.record.get("object") for e in process.events
                  if e.kind == "Map" and e.number("protection") & PROT_READ}  # fmt: skip
        for opening in process.openings:
            if opening.kind == "Socket" or (opening.kind == "Pipe" and (opening.reads() or opening.writes())):
                self.ties.channel(opening, number)
                self.piped.append(process.iri)
            elif opening.kind == "FileVersion" and not of_ranks(opening):
                self.ties.touch(opening.facts, number, not _only_read(opening, mapped))
                if opening.copied_from or opening.copied_to or COPIED.search(opening.path or b""):
                    self.ties.tied.add(inode_hash(opening.facts))
                for path in {opening.path, opening.name}:
                    self.ties.lies(path, number)
        for container in process.containers:
            self._container(container, number)
        for event in process.events:
            if event.kind not in LOOKS:
                self.ties.change(event, number)

    def _outlined(self, process: Process, part: Trace) -> None:
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
        """An object is where its file is; what it shows of others has to do with whoever touches those."""
        self.inside.add(container.process.iri)
        if container.facts.inode:
            changed = any(member.changes() for member in container.members)
            self.ties.touch(container.facts, number, changed or not _still(container))
        for source in (source for member in container.members for source in member.shows):
            self.ties.touch(source.file.facts, number, True)
            self.ties.tied.add(inode_hash(source.file.facts))

    def divide(self) -> None:
        """Put together what has to do with each other."""
        for iri in self.shared:
            self._look_again(iri)
        self.whole.gaps += traces.damage_gaps(self.whole)
        traces.note_mount_namespaces(self.whole, self.survey.tables)
        if os.access(self.whole.folder, os.W_OK):
            post_run.inspect(self.whole, turtle.segment(environment.host()))
        descent = Descent(origins_of(self.whole), self.number_of, self.ties)
        self.survey.origins = descent.origins
        for iri, process in self.whole.processes.items():
            if "inode" in process.record:
                self._runs(Facts.of(process.record), self.number_of[iri])
            script = descent.script(iri, self.scripts)
            if script:
                self._runs(script, self.number_of[iri])
        self._mean()
        self.ties.close()
        if self.meant and self.ties.moved:
            raise Indivisible  # what lies below has other paths than those that anybody saw
        for number, above in self.above:
            self.ties.sets.join(number, self.number_of.get(above, number))
        unwatched = {self.number_of[one.process.iri] for one in self.whole.unwatched}
        descent.join_lines(self.piped, self.inside, unwatched)
        self.survey.common, self.survey.wide = self.ties.common, frozenset(self.ties.wide)
        self.survey.touching = self._touching() if self.ties.wide else None
        self.survey.portions = list(self._portions())

    def _mean(self) -> None:
        """Put together with who said by path what it used or made all that saw anything there, or below: that may be
        meant. By which paths is known when each is read once more."""
        below = tuple({one.path.rstrip(b"/") + b"/" for one in self.meant if one.path})
        there = {one.path for one in self.meant if not one.facts}
        for number, files in enumerate(self.files if self.meant else (), start=1):
            part = self._part(files.all(self.survey.source.named), Digests())
            if os.access(self.whole.folder, os.W_OK):
                post_run.inspect(part, turtle.segment(environment.host()))
            if any(path in there or path.startswith(below) for path in _paths(part)):
                self.ties.bound.add(number)
                self.ties.sets.join(TOGETHER, number)
            if number % STEP == 0:
                gc_pause.let_go()

    def _runs(self, code: Facts, number: int) -> None:
        """A process runs what lies in a file."""
        self.ties.touch(code, number, False)
        self.ties.tied.add(inode_hash(code))

    def _touching(self) -> Trace:
        """Return what processes did to files that many of them have to do with; what was not kept is read once more."""
        found, digests = part_of(self.whole), Digests()
        for step, (number, keys) in enumerate(sorted(self.ties.touched_wide().items())):
            hot, kept = self.kept.pop(number, (frozenset(), []))
            if keys <= hot:
                found.processes.update((one.iri, concerning(one, self.survey.wide)) for one in kept)
                continue
            files = list(self.files[number - 1].all(self.survey.source.named))
            part = self._part(files, digests)
            traces.add_lost_processes(part)
            for process in part.processes.values():
                found.processes[process.iri] = concerning(process, self.survey.wide)
            if not digests.equal(self.whole.digests, ((file.host, file.name) for file in files)):
                raise Written
            if step % STEP == 0:
                gc_pause.let_go()
        return found

    def _look_again(self, iri: str) -> None:
        """Look at a process once more, by all files that speak of it."""
        number = self.ties.sets.find(self.number_of[iri])
        files = [files for place, files in enumerate(self.files, start=1) if self.ties.sets.find(place) == number]
        part = self._part((file for one in files for file in one.all(self.survey.source.named)), Digests())
        traces.add_lost_processes(part)
        self.whole.unwatched = [one for one in self.whole.unwatched if one.process.iri != iri]
        self._outlined(part.processes[iri], part)

    def _portions(self) -> Iterator[list[Files]]:
        """Yield portions of such as belong together, the small ones several at a time."""
        sets: dict[int, list[Files]] = {}
        for number, files in enumerate(self.files, start=1):
            sets.setdefault(self.ties.sets.find(number), []).append(files)
        portion = sets.pop(TOGETHER, [])
        for together in sets.values():
            if portion and len(portion) + len(together) > PORTION:
                yield portion
                portion = []
            portion += together
        yield portion


def _paths(part: Trace) -> Iterator[bytes]:
    """The paths at which a part of a run saw anything."""
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
    """Tell whether a file was not open for writing, and remained what it was."""
    return not opening.writable and (opening.at_close is None or opening.at_close.key == opening.facts.key)


def _only_read(opening: Opening, mapped: set[str | None]) -> bool:
    """Tell whether a file was read, and no more, and remained what it was: then its reader knows the version."""
    if not _still(opening) or is_history(opening):
        return False
    read = any(access.first_read for access in opening.accesses) or opening.copied_to
    return bool(read or opening.iri in mapped or opening.reads())
