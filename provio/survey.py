"""A large run looked through, one process after the other: run files in; what is to be known of all of it before any of
it is concluded from, and the portions of it that have nothing to do with each other, out.

Two processes have to do with each other where one of them wrote or moved a file that the other touched, or where both
use pipes or sockets. What all of them read and none wrote ties no two: that it was read each portion says by itself.
"""

from __future__ import annotations

import copy as copying
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

from provio import cycles, runfiles
from provio import trace as traces
from provio.digests import Digests
from provio.disjoint import Disjoint
from provio.facts import Event, Hash, Opening, Process, Thread, Trace
from provio.lineage.code import is_history, script_opening
from provio.lineage.launchers import of_ranks
from provio.lineage.model import inode_of
from provio.lineage.phases import Origin, origins
from provio.lineage.spans import COMPILED, PROT_READ
from provio.mount_tables import PREFIX
from provio.packed import Packed
from provio.plain import field, plain, replace
from provio.runfiles import RunFile, RunFiles
from provio.said import Said
from provio.settings import Interpreter
from provio.statx import Facts

TIES = frozenset({"Fork", "Spawn", "Exec", "ExecFailed", "ChildEnd"})  # events that concern other processes
LOOKS = frozenset({"Stat", "List"})  # events that leave a file as it is
CHANNELS = frozenset({"Pipe", "Socket"})
PORTION = 500  # processes that are told at once, where each has nothing to do with the others
STEP = 100  # processes, after which what was read of them is let go
TOGETHER = 0  # the number in the place of all that is told together


class Indivisible(Exception):
    """A run of which what follows from its files cannot be told portion by portion."""


@plain(slots=True)
class Files:
    """The files of all images of one process: the folder that they lie in, and their names."""

    place: Path
    names: tuple[str, ...]

    def all(self) -> Iterator[RunFile]:
        """Yield each."""
        return (runfiles.named(self.place, name) for name in self.names)


@plain()
class Survey:
    """What a run is: `whole` has its processes, but of what they did only what concerns others; `portions` are of
    files; `common` are the inodes (by their hash) that several portions read; `origins` what each image comes from;
    `after` is what was found after the run of openings, by process."""

    whole: Trace
    portions: list[list[Files]] = field(default_factory=list)
    common: set[int] = field(default_factory=set)
    origins: dict[str, Origin] = field(default_factory=dict)
    after: dict[str, dict[str, Packed]] = field(default_factory=dict)

    def read(self, portion: Iterable[Files]) -> Trace:
        """Return the trace of a portion."""
        trace = part_of(self.whole)
        traces.read_files(trace, (file for files in portion for file in files.all()), self.after)
        return trace


def part_of(whole: Trace) -> Trace:
    """Return a trace of the same run in which nothing is."""
    part = copying.copy(whole)
    part.processes, part.gaps, part.tasks, part.unwatched, part.said = {}, [], {}, [], Said()
    part.damages, part.digests = [], Digests()
    return part


def inode_hash(facts: Facts) -> int:
    """Return a number for an inode: two that have one by chance are taken for one file, which does no harm."""
    return hash(inode_of(facts))


def survey(source: RunFiles, interpreters: Mapping[str, Interpreter]) -> Survey:
    """Look through a run that has ended; raises Indivisible where it cannot be divided, or something is damaged."""
    whole, head = traces.begin(source)
    if "endedNs" not in whole.run or any(record.get("a") in ("Gap", "Image") for record in head.values()):
        raise Indivisible
    found = _Surveyor(Survey(whole), interpreters)
    mine = (file for file in source.files(whole.run) if not found.is_late(file))
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
        self.tied = Disjoint(1)
        self.number_of: dict[str, int] = {}  # process → its number
        self.touched: dict[int, list[int] | int] = {}  # inode → the number of who touched it, or of each of several
        self.written: set[int] = set()
        self.changed: list[tuple[int, int, bool]] = []  # (inode, the number of who changed it, whether its name)

    def is_late(self, file: RunFile) -> bool:
        """Take in what was found after the run; tell whether a file holds that."""
        if file.name.startswith(PREFIX):  # the names in other files are to be read by it
            raise Indivisible
        if file.name not in traces.AFTER:
            return False
        for iri, record in traces.records_of(self.whole, file).items():
            process, _, name = iri.rpartition("/")
            if not name:
                raise Indivisible
            if "inode" in record and ("sha256" in record or "reason" in record):
                known = Hash(record.get("sha256", ""), record.get("reason", ""))
                self.whole.hashes[Facts.of(record).key] = known
            else:
                self.survey.after.setdefault(process + "/", {})[iri] = Packed(record)
        return True

    def look(self, files: list[RunFile]) -> None:
        """Look at what one process did."""
        number = self.tied.add()
        place = files[0].path.parent
        place = self.places.setdefault(str(place), place)
        self.files.append(Files(place, tuple(file.name for file in files)))
        part = part_of(self.whole)
        part.digests = self.whole.digests
        traces.read_files(part, files)
        _check(part)
        self.whole.gaps += part.gaps
        for process in part.processes.values():
            self._process(process, number)

    def _process(self, process: Process, number: int) -> None:
        known = self.number_of.setdefault(process.iri, number)
        if known != number:  # files of two processes speak of it
            raise Indivisible
        self.whole.processes[process.iri] = _outline(process, script_opening(process, self.interpreters))
        mapped = {e.record.get("object") for e in process.events
                  if e.kind == "Map" and e.number("protection") & PROT_READ}  # fmt: skip
        for opening in process.openings:
            if opening.kind in CHANNELS:
                self.tied.join(TOGETHER, number)
            elif opening.kind == "FileVersion":
                self._touch(inode_hash(opening.facts), number, not _only_read(opening, mapped))
                if opening.copied_from or (opening.writable and COMPILED.fullmatch(opening.path or b"")):
                    self.tied.join(TOGETHER, number)  # copies have numbers within the run
        for event in process.events:
            self._event(event, number)
        if "inode" in process.record:
            self._touch(inode_hash(Facts.of(process.record)), number, False)

    def _event(self, event: Event, number: int) -> None:
        facts = event.facts() if event.kind not in LOOKS else None
        if facts:
            self.changed.append((inode_hash(facts), number, event.kind == "Rename"))

    def _touch(self, key: int, number: int, written: bool) -> None:
        known = self.touched.get(key)
        if known is None:
            self.touched[key] = number
        elif isinstance(known, list):
            if known[-1] != number:
                known.append(number)
        elif known != number:
            self.touched[key] = [known, number]
        if written:
            self.written.add(key)

    def divide(self) -> None:
        """Put together what has to do with each other."""
        if any(renamed and key not in self.touched for key, _, renamed in self.changed):
            raise Indivisible  # a folder, perhaps: all that lies in it has another name since
        for key, number, _ in self.changed:
            self._touch(key, number, True)
        for key, known in self.touched.items():
            if not isinstance(known, list):
                continue
            if key not in self.written:
                self.survey.common.add(key)
                continue
            for number in known:
                self.tied.join(known[0], number)
        self.survey.origins = origins(self.whole)
        self._join_ancestors()
        self.survey.portions = list(self._portions())

    def _join_ancestors(self) -> None:
        """Who writes into a pipe may do so for whoever it comes from."""
        images: dict[int, list[str]] = {}
        for iri, number in self.number_of.items():
            images.setdefault(self.tied.find(number), []).append(iri)
        waiting = images.pop(TOGETHER, [])
        for iri in waiting:  # which grows
            origin = self.survey.origins.get(iri)
            number = self.tied.find(self.number_of[origin.process.iri]) if origin else TOGETHER
            if number != TOGETHER:
                self.tied.join(TOGETHER, number)
                waiting += images.pop(number)

    def _portions(self) -> Iterator[list[Files]]:
        """Yield portions of such as belong together, the small ones several at a time."""
        sets: dict[int, list[Files]] = {}
        for number, files in enumerate(self.files, start=1):
            sets.setdefault(self.tied.find(number), []).append(files)
        portion = sets.pop(TOGETHER, [])
        for together in sets.values():
            if portion and len(portion) + len(together) > PORTION:
                yield portion
                portion = []
            portion += together
        yield portion


def _check(part: Trace) -> None:
    """Raise Indivisible where something was found of which the portions of a run do not each know what matters."""
    said = part.said
    told = said.metrics or said.checkpoints or said.uses or said.settings or said.holders()
    if told or part.tasks or part.unwatched or part.damages:
        raise Indivisible
    for process in part.processes.values():
        unknown = process.executable and "inode" not in process.record
        if unknown or process.containers or process.within or process.told:
            raise Indivisible


def _only_read(opening: Opening, mapped: set[str | None]) -> bool:
    """Tell whether a file was read, and no more, and remained what it was: then its reader knows the version."""
    read = opening.iri in mapped or opening.copied_to or opening.reads()
    still = opening.at_close is None or opening.at_close.key == opening.facts.key
    return bool(read) and still and not (opening.writable or is_history(opening) or of_ranks(opening))


def _outline(process: Process, script: Opening | None) -> Process:
    """Return what there is to know of a process for others."""
    record = {name: sys.intern(value) for name, value in process.record.items()}
    found = Process(process.iri, process.host, process.pid, process.tick, process.image_number, record)
    found._started, found._ended = process.started, process.ended
    thread = Thread("", found, 0, 0)
    for event in process.events:
        if event.kind in TIES:
            found.events.append(Event(event.iri, event.kind, found, thread, event.at, event.packed))
    prefixes = [one for one in process.openings if one.path and one.path.endswith(b"/pyvenv.cfg")]
    for opening in ([script] if script else []) + prefixes:
        kept = replace(opening, process=found, accesses=[], copied_from=(), copied_to=())
        found.openings.append(kept)
    return found
