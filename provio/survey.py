"""A large run looked through, one process after the other: run files in; what is to be known of all of it before any of
it is concluded from, and the portions of it that have nothing to do with each other (`dividing`), out.
"""

from __future__ import annotations

import copy as copying
import errno
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

from provio import cycles, environment, going, hosts, jobs, settle, turtle
from provio import trace as traces
from provio.captured import MARK
from provio.digests import Changed, Digests
from provio.dividing import TOGETHER, Ties
from provio.facts import Event, Opening, Process, Thread
from provio.identity import without_task
from provio.lineage.code import is_history, script_opening
from provio.lineage.launchers import of_ranks
from provio.lineage.model import inode_hash
from provio.lineage.phases import Origin, origins
from provio.lineage.spans import HANDS_ON, PROT_READ
from provio.lineage.tasks import divide
from provio.mount_tables import PREFIX, MountTables
from provio.packed import Loose, Packed
from provio.plain import field, plain, replace
from provio.run_facts import Hash, Task, Trace, Unwatched
from provio.runfiles import RunFile, RunFiles
from provio.said import Said, Use
from provio.settings import Interpreter
from provio.statx import Facts

TIES = frozenset({"Fork", "Spawn", "Exec", "ExecFailed", "ChildEnd"})  # events that concern other processes
LOOKS = frozenset({"Stat", "List"})  # events that leave a file as it is
PORTION = 150  # processes that are told at once, where each has nothing to do with the others
WIDE = 100  # processes, of which more have to do with a file that is told before they are
COPIED = re.compile(rb"/__pycache__/[^/]+$")  # what is kept compiled is a copy of what was compiled
STEP = 100  # processes, after which what was read of them is let go


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


@plain()
class Survey:
    """What a run is: `whole` has its processes, but of what they did only what concerns others; `portions` are of
    files; `common` are the inodes (by their hash) that several portions read, `wide` those that many touched and one
    wrote, `touching` what was done to these by all of them; `origins` what each image comes from; `after` is what was
    found after the run of openings and programs, by process."""

    whole: Trace
    source: RunFiles
    tables: MountTables
    portions: list[list[Files]] = field(default_factory=list)
    common: set[int] = field(default_factory=set)
    wide: frozenset[int] = frozenset()
    touching: Trace | None = None
    origins: dict[str, Origin] = field(default_factory=dict)
    after: dict[str, dict[str, Packed]] = field(default_factory=dict)

    def read(self, portion: Iterable[Files]) -> Trace:
        """Return the trace of a portion; raises Changed where its files are not what they were."""
        trace = part_of(self.whole)
        trace.digests = Digests()
        files = [file for files in portion for file in files.all(self.source.named)]
        traces.read_files(trace, files, self.after, self.tables)
        traces.lost(trace)
        if not trace.digests.same(self.whole.digests, ((file.host, file.name) for file in files)):
            raise OSError(errno.EIO, "what was read of it is lost") if self.source.fixed else Changed
        own = {program.gap: program for program in trace.unwatched}
        trace.unwatched = [own.get(program.gap, program) for program in self.whole.unwatched]
        return trace


def part_of(whole: Trace) -> Trace:
    """Return a trace of the same run in which nothing is."""
    part = copying.copy(whole)
    part.processes, part.gaps, part.tasks, part.unwatched, part.said = {}, [], {}, [], Said()
    part.damages = []
    return part


def survey(source: RunFiles, interpreters: Mapping[str, Interpreter]) -> Survey:
    """Look through a run; raises Indivisible where it says nothing of itself, Written where it goes on."""
    whole, head = traces.begin(source)
    if not whole.run:
        raise Indivisible
    here = "endedNs" not in whole.run and going.here(whole.run)
    if here and not source.fixed and going.going(source.place, whole.run):
        raise Written
    traces.gaps_of(whole, head)
    if whole.processes:  # of which the run itself says something
        raise Indivisible
    found = _Surveyor(Survey(whole, source, MountTables(whole.mounts)), interpreters)
    mine = (file for file in source.files(whole.run) if not found.is_beside(file))
    for file in source.files(whole.run):
        found.beside(file)
    hosts.finish(whole.run, whole.iri, whole.hosts, whole.gaps)
    for number, (_, files) in enumerate(groupby(mine, key=_image)):
        found.look(list(files))
        if number % STEP == 0:
            cycles.let_go()
    found.divide()
    cycles.let_go()
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
        traces.lost(part)
        self._said(part.said, number)
        for process in part.processes.values():
            self._process(process, part, number)
        if part.tasks or part.unwatched or part.said.uses:
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
            self.kept[number] = hot, [_concerning(process, hot) for process in part.processes.values()]

    def _part(self, files: Iterable[RunFile], digests: Digests) -> Trace:
        part = part_of(self.whole)
        part.digests = digests
        traces.read_files(part, files, self.survey.after, self.survey.tables, Loose)
        return part

    def _said(self, said: Said, number: int) -> None:
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
        found = _outline(process, script)
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
        traces.contain(self.whole, self.survey.tables)
        if os.access(self.whole.folder, os.W_OK):
            settle.look(self.whole, turtle.segment(environment.host()))
        self.survey.origins = _origins(self.whole)
        for iri, process in self.whole.processes.items():
            if "inode" in process.record:
                self._runs(Facts.of(process.record), self.number_of[iri])
            script = self._script(iri)
            if script:
                self._runs(script, self.number_of[iri])
        self._mean()
        self.ties.close()
        if self.meant and self.ties.moved:
            raise Indivisible  # what lies below has other paths than those that anybody saw
        for number, above in self.above:
            self.ties.sets.join(number, self.number_of.get(above, number))
        self._join_lines()
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
                settle.look(part, turtle.segment(environment.host()))
            if any(path in there or path.startswith(below) for path in _paths(part)):
                self.ties.bound.add(number)
                self.ties.sets.join(TOGETHER, number)
            if number % STEP == 0:
                cycles.let_go()

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
                found.processes.update((one.iri, _concerning(one, self.survey.wide)) for one in kept)
                continue
            files = list(self.files[number - 1].all(self.survey.source.named))
            part = self._part(files, digests)
            traces.lost(part)
            for process in part.processes.values():
                found.processes[process.iri] = _concerning(process, self.survey.wide)
            if not digests.same(self.whole.digests, ((file.host, file.name) for file in files)):
                raise Written
            if step % STEP == 0:
                cycles.let_go()
        return found

    def _script(self, iri: str) -> Facts | None:
        """What a process has of a script: a fork runs its parent's."""
        line, origin = [iri], self.survey.origins.get(iri)
        while line[-1] not in self.scripts and origin and origin.fork and len(line) < len(self.number_of):
            line.append(without_task(origin.process.iri))
            origin = self.survey.origins.get(line[-1])
        found = self.scripts.get(line[-1])
        for one in line if found else ():
            self.scripts[one] = found
        return found

    def _look_again(self, iri: str) -> None:
        """Look at a process once more, by all files that speak of it."""
        number = self.ties.sets.find(self.number_of[iri])
        files = [files for place, files in enumerate(self.files, start=1) if self.ties.sets.find(place) == number]
        part = self._part((file for one in files for file in one.all(self.survey.source.named)), Digests())
        traces.lost(part)
        self.whole.unwatched = [one for one in self.whole.unwatched if one.process.iri != iri]
        self._outlined(part.processes[iri], part)

    def _join_lines(self) -> None:
        """Between who asks by a pipe and who answers there may be others; a fork has what its parent has in memory of
        what lies in a file; a program that could not be watched has what it was started with."""
        for iri in dict.fromkeys(self.piped):
            self._join_line(iri, self._hears(iri), forks=False)
        for iri, origin in self.survey.origins.items() if self.inside else ():
            if origin.fork:
                self._join_line(iri, self.inside.__contains__, forks=True)
        unwatched = {self.number_of[one.process.iri] for one in self.whole.unwatched}
        for iri, origin in self.survey.origins.items() if unwatched else ():
            if self.number_of[iri] in unwatched:
                self.ties.sets.join(self.number_of[iri], self.number_of[without_task(origin.process.iri)])

    def _hears(self, iri: str) -> Callable[[str], bool]:
        find, number = self.ties.sets.find, self.number_of[iri]
        return lambda above: find(self.number_of[above]) == find(number)

    def _join_line(self, iri: str, ends: Callable[[str], bool], forks: bool) -> None:
        """Put a process together with those that it comes from, up to the last at which the line ends."""
        line, known, origin = [iri], {iri}, self.survey.origins.get(iri)
        while origin and (origin.fork or not forks):
            above = without_task(origin.process.iri)
            if above in known:
                break
            known.add(above)
            line.append(above)
            if ends(above):
                for one in line:
                    self.ties.sets.join(self.number_of[above], self.number_of[one])
                line = [above]
            origin = self.survey.origins.get(above)

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


def _concerning(process: Process, files: frozenset[int]) -> Process:
    """Leave of a process what concerns some files alone, by the hash of their inodes."""
    process._started, process._ended = process.started, process.ended
    process.openings = [one for one in process.openings if inode_hash(one.facts) in files]
    process.containers = [one for one in process.containers if inode_hash(one.facts) in files]
    known = {one.iri for one in process.openings}
    maps = {e.iri for e in process.events if e.record.get("object") in known}
    process.events = [e for e in process.events if _concerns(e, files, known, maps)]
    process.failures, process.within, process.summed = [], [], []
    process.record = {name: process.record[name] for name in ("image", "rank") if name in process.record}
    _pack(process)
    for member in (member for file in process.containers for member in file.members):
        member.record = {name: member.record[name] for name in ("created",) if name in member.record}
    return process


def _pack(process: Process) -> None:
    """Have small what is kept of a process."""
    for event in process.events:
        event.packed = event.packed.packed()
    for opening in (*process.openings, *process.containers):
        for access in (*opening.accesses, *(access for member in opening.members for access in member.accesses)):
            access.packed = access.packed.packed()


def _concerns(event: Event, files: frozenset[int], openings: set[str], maps: set[str]) -> bool:
    if event.kind in HANDS_ON or event.record.get("object") in openings or event.record.get("map") in maps:
        return True
    facts = event.facts()
    return facts is not None and inode_hash(facts) in files


def _origins(whole: Trace) -> dict[str, Origin]:
    """What each image comes from: a Task is where its process launched others."""
    divided = divide(whole).trace
    for iri, process in whole.processes.items():
        divided.processes[iri]._started = process.started
    return origins(divided)


def _outline(process: Process, script: Opening | None) -> Process:
    """Return what there is to know of a process for others."""
    record = {name: sys.intern(value) for name, value in process.record.items()}
    found = Process(process.iri, process.host, process.pid, process.tick, process.image_number, record)
    found._started, found._ended = process.started, process.ended
    thread = Thread("", found, 0, 0)
    for event in process.events:
        if event.kind in TIES:
            found.events.append(Event(event.iri, event.kind, found, thread, event.at, event.packed.packed()))
    prefixes = [one for one in process.openings if one.path and one.path.endswith(b"/pyvenv.cfg")]
    for opening in ([script] if script else []) + prefixes:
        kept = replace(opening, process=found, accesses=[], copied_from=(), copied_to=(), members=())
        found.openings.append(kept)
    return found
