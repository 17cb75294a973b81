"""Synthetic traces: operations of processes on files, and inside them, in; run folders out.

Each operation takes a millisecond. A dictionary holds the files; their versions are like those of a file system.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import count

from provio.base import turtle
from provio.base.vocab import NS, RUN_BASE
from provio.settings.home import Home

HOST, EPOCH, STEP = "node", 1_795_176_900_000_000_000, 1_000_000
O_RDWR, O_CREAT, O_TRUNC = 2, 0o100, 0o1000
inodes, starts = count(1000), count()


@dataclass
class File:
    """A file with its present `stat` data."""

    path: str
    inode: int = field(default_factory=lambda: next(inodes))
    birth: int = EPOCH - 10_000 * STEP
    mtime: int = EPOCH - 9_000 * STEP
    size: int = 4096

    @property
    def facts(self) -> str:
        """Its identity, as a trace states it."""
        times = f":birthNs {self.birth} ; :mtimeNs {self.mtime} ; :ctimeNs {self.mtime} ; :size {self.size}"
        return f':device "8:1" ; :inode {self.inode} ; {times}'


class Run:
    """A run: its processes in order, with one clock; `facts` are additional properties (`name`, `exitCode`), `lines`
    additional statements."""

    def __init__(self, home: Home, number: int, command: str = "job", **facts: str | int) -> None:
        said = {"user": "ada", "commandLine": command} | facts
        self.facts = "".join(f" ; :{name} {value if isinstance(value, int) else turtle.literal(value)}"
                             for name, value in said.items())  # fmt: skip
        self.lines: list[str] = []
        self.hashes: list[str] = []
        self.id = f"01a1fe26-0000-7000-8000-{number:012}"
        self.folder = home.runs / self.id
        self.now = self.start = EPOCH + number * 1_000_000 * STEP
        self.processes: list[Process] = []

    def environment(self, name: str, value: str) -> None:
        """Record the value of a variable."""
        iri = f"<{RUN_BASE}{self.id}/environment/{name}>"
        self.lines.append(f"{iri} a :Environment ; :name {turtle.literal(name)} ; :value {turtle.literal(value)} .\n")

    def hash(self, file: File, digest: str) -> None:
        """State the SHA-256 of a file as it is now: 64 times a digit."""
        iri = f"{RUN_BASE}{self.id}/{HOST}/hash/{file.inode}.{file.mtime}"
        facts = (
            f':device "8:1" ; :inode {file.inode} ; :birthNs {file.birth} ; :mtimeNs {file.mtime} ; :size {file.size}'
        )
        self.hashes.append(f'<{iri}> {facts} ; :sha256 "{64 * digest}" .\n')

    def tick(self) -> int:
        """Let a millisecond pass; return the time since the start of the run in ns."""
        self.now += STEP
        return self.now - self.start

    def process(self, *argv: str, image: str = "exec") -> Process:
        """Start a process."""
        self.tick()
        process = Process(self, len(self.processes) + 1, argv or ("job",), image)
        self.processes.append(process)
        return process

    def end(self) -> None:
        """End the processes; this closes their open files."""
        for process in self.processes:
            process.end()

    def write(self) -> None:
        """Write the run folder."""
        self.end()
        (self.folder / HOST).mkdir(parents=True)
        head = f'@prefix : <{NS}> .\n<{RUN_BASE}{self.id}> a :Run ; :host "{HOST}" ; :bootId "boot" ; '
        head += f':startedNs {self.start} ; :endedNs {self.now + STEP} ; :cwd "/data"{self.facts} .\n'
        (self.folder / "run.ttl").write_text(head + "".join(self.lines), encoding="utf-8")
        if self.hashes:
            text = f"@prefix : <{NS}> .\n{''.join(self.hashes)}"
            (self.folder / HOST / "hashes.ttl").write_text(text, encoding="utf-8")
        for process in self.processes:
            name = f"{process.pid}.1.0.0.ttl"
            (self.folder / HOST / name).write_text("".join(process.lines), encoding="utf-8")


class Process:
    """A process of one thread."""

    def __init__(self, run: Run, pid: int, argv: tuple[str, ...], image: str) -> None:
        self.run, self.pid = run, pid
        self.serial, self.accesses = count(1), count(1)
        self.open: list[Handle | Plain] = []
        self.tasks, self.task, self.tasks_begun = count(1), "", False
        self.told = {letter: count(1) for letter in "gmce"}
        base = f"{RUN_BASE}{run.id}/{HOST}/{pid}.1.0/0/"
        self.lines = [
            f"@prefix : <{NS}> . @base <{base}> .\n",
            f'<../> a :Process ; :pid {pid} ; :startTick 1 ; :image "{image}" ; :executable "/usr/bin/{argv[0]}" ; '
            f':argv "{" ".join(argv)}" ; :host "{HOST}" ; :cwd "/data" ; :startedNs {run.now} .\n',
            f"<> a :Thread ; :tid {pid} ; :epochNs {run.start} .\n",
        ]

    def say(self, line: str) -> None:
        """Add a statement."""
        self.lines.append(line + " .\n")

    def begin(self, name: str, **facts: str | int) -> None:
        """Begin a Task within the one that is going on, and enter it."""
        self.enter()
        self.run.tick()
        within, self.task, self.tasks_begun = self.task, f"../t{next(self.tasks)}", True
        said = {"name": name} | facts | {"startedNs": self.run.now}
        words = (f":{word} {one if isinstance(one, int) else turtle.literal(one)}" for word, one in said.items())
        self.say(" ; ".join([f"<{self.task}> a :Task", *words, *([f":partOf <{within}>"] if within else [])]))

    def finish(self, status: str = "ok", back: str = "") -> None:
        """End the Task; later operations belong to the named one, or to none."""
        self.run.tick()
        self.say(f"<{self.task}> :endedNs {self.run.now} ; :status {turtle.literal(status)}")
        self.enter(back)

    def enter(self, task: str | None = None) -> None:
        """Let later operations belong to a Task, or to none; None: only state those so far."""
        for handle in self.open:
            for one in (handle, handle.plain if isinstance(handle, Handle) else None):
                if one and one.used:
                    one.count()
        self.task = self.task if task is None else task

    @property
    def within(self) -> str:
        """The Task of an operation, as a trace states it."""
        return f" ; :task <{self.task}>" if self.task else ""

    def configure(
        self, configuration: str, kind: str = "", whole: bool = True, /, **settings: str | float | bool
    ) -> None:
        """Declare a configuration; not `whole`: the program ended before all settings were declared."""
        name = self._tell("g", "Configuration", [f":name {turtle.literal(configuration)}", *_kind(kind)])
        self._settings(name, settings)
        if whole:
            self.say(f"<{name}> :complete true")

    def metric(self, metric: str, value: float, step: int | None = None, kind: str = "", of: str = "") -> None:
        """Declare the value of a metric; `of`: given with a checkpoint."""
        said = [f":name {turtle.literal(metric)}", *_kind(kind), f":value {_value(value)}"]
        said += [f":step {step}"] if step is not None else []
        self._tell("m", "Metric", said + ([f":partOf <{of}>"] if of else []))

    def checkpoint(self, path: str, step: int | None = None, **metrics: float) -> None:
        """Declare a file or folder as a checkpoint."""
        said = [f":path {turtle.literal(path)}", *([f":step {step}"] if step is not None else [])]
        name = self._tell("c", "Checkpoint", said)
        for metric, value in metrics.items():
            self.metric(metric, value, of=name)

    def entity(self, named: str, kind: str = "", identifier: str = "", /, **settings: str | float | bool) -> str:
        """Declare an entity that is not a file; return its name."""
        said = [f":name {turtle.literal(named)}", *_kind(kind)]
        said += [f":identifier {turtle.literal(identifier)}"] if identifier else []
        name = self._tell("e", "DataObject", said)
        self._settings(name, settings)
        return name

    def used(self, what: str | File, made: bool = False) -> None:
        """Declare that the program used (or `made`) a declared entity, a path, or a file with its facts."""
        at, kind = self.run.tick(), "GeneratedSaid" if made else "UsedSaid"
        name, more = (what.path, f" ; {what.facts}") if isinstance(what, File) else (what, "")
        about = f":path {turtle.literal(name)}{more}" if name.startswith("/") else f":object <{name}>"
        self.say(f"<e{next(self.accesses)}> a :{kind} ; :at {at} ; {about}{self.within}")

    def _tell(self, letter: str, kind: str, said: list[str]) -> str:
        self.run.tick()
        name = f"../{letter}{next(self.told[letter])}"
        self.say(" ; ".join([f"<{name}> a :{kind}", f":startedNs {self.run.now}", *said]) + self.within)
        return name

    def _settings(self, name: str, settings: dict[str, str | float | bool]) -> None:
        for number, (key, value) in enumerate(settings.items(), 1):
            about = f":partOf <{name}> ; :name {turtle.literal(key)} ; :value {_value(value)}"
            self.say(f"<{name}/{number}> a :Setting ; {about}")

    def fork(self) -> Process:
        """Make a child."""
        at = self.run.tick()
        child = self.run.process(image="fork")
        self.say(f"<e{next(self.accesses)}> a :Fork ; :at {at} ; :childPid {child.pid} ; :childTick 1{self.within}")
        return child

    def launch(self, *argv: str) -> Process:
        """Start a program."""
        at = self.run.tick()
        child = self.run.process(*argv)
        self.say(f"<e{next(self.accesses)}> a :Spawn ; :at {at} ; :childPid {child.pid} ; :childTick 1{self.within}")
        return child

    def h5(self, file: File, mode: str = "r", seen: bool = True) -> Handle:
        """Open a file with the HDF5 library; `seen`: the open of its driver is recorded too."""
        handle = Handle(self, file, mode, seen)
        self.open.append(handle)
        return handle

    def plain(self, file: File, mode: str = "r") -> Plain:
        """Open a file by a system call, and read or write all of it, at once."""
        plain = Plain(self, file, mode)
        self.open.append(plain)
        return plain

    def end(self) -> None:
        """Close open files."""
        for handle in list(self.open):
            handle.close()


class Plain:
    """A descriptor: counters of its reads and writes."""

    def __init__(self, process: Process, file: File, mode: str) -> None:
        self.process, self.file, self.mode = process, file, mode
        self.reads: list[int] = []
        self.writes: list[int] = []
        self.opened, self.made_in = process.run.tick(), process.task
        if mode == "w":
            file.size, file.mtime = 0, process.run.now
        flags = {"r": 0, "r+": O_RDWR, "w": O_RDWR | O_CREAT | O_TRUNC}[mode]
        self.name = f"../o{next(process.serial)}"
        process.say(
            f"<{self.name}> a :FileVersion ; :path {turtle.literal(file.path)} ; {file.facts} ; :flags {flags} ; "
            f':openedNs {process.run.now} ; :openApi "open" ; :openElapsed 5'
        )

    def read(self) -> Plain:
        """Read from it."""
        self.reads.append(self.process.run.tick())
        return self

    def write(self) -> Plain:
        """Write to it."""
        self.writes.append(self.process.run.tick())
        self.file.mtime, self.file.size = self.process.run.now, self.file.size + 512
        return self

    def close(self) -> None:
        """Close it, with its counters."""
        if self not in self.process.open:
            return
        self.process.open.remove(self)
        self.state()

    def leave(self) -> None:
        """Leave it open, with its counters; the close is not observed."""
        self.process.open.remove(self)
        self.count()

    @property
    def used(self) -> bool:
        """Whether it has counters that are not yet stated."""
        return bool(self.reads or self.writes or (self.process.task and self.process.task == self.made_in))

    def count(self) -> None:
        """State the counters."""
        line = f'<a{next(self.process.accesses)}> a :Access ; :object <{self.name}> ; :readApi "read" ; '
        line += _side("read", self.reads) + ' ; :writeApi "write" ; ' + _side("write", self.writes)
        if self.process.task:
            line += self.process.within + (f" ; :closed {0:016}" if self.process.task == self.made_in else "")
        self.process.say(line)
        self.reads, self.writes = [], []

    def state(self) -> None:
        """State the counters, and the close."""
        self.count()
        closed = self.process.run.tick() + self.process.run.start
        self.process.say(f"<{self.name}> {closing(self.file, closed)}")


def _side(side: str, moments: list[int]) -> str:
    first, last = (moments[0], moments[-1]) if moments else (0, 0)
    title, number = side.capitalize(), len(moments)
    return (
        f":{side}s {number:016} ; :{side}Bytes {number * 512:016} ; :{side}Elapsed {number * 7:016} ; "
        f":last{title} {last:016} ; :first{title} {first:016} ; :{side}Longest {7 if moments else 0:016}"
    )


def _kind(kind: str) -> list[str]:
    return [f":kind {turtle.literal(kind)}"] if kind else []


def _value(value: str | float | bool) -> str:
    """A value as a trace has it, of its type."""
    if isinstance(value, str):
        return turtle.literal(value)
    if isinstance(value, float) and not math.isfinite(value):
        text = {math.inf: "INF", -math.inf: "-INF"}.get(value, "NaN")
        return f'"{text}"^^<{turtle.XSD}double>'
    return f"{value:E}" if isinstance(value, float) else str(value).lower()


def closing(file: File, moment: int) -> str:
    """Return the facts of a file at its close."""
    facts = f":closedMtimeNs {file.mtime} ; :closedCtimeNs {file.mtime} ; :closedSize {file.size} ; :closedLinks 1"
    return f":closedNs {moment} ; {facts}"


@dataclass
class Object:
    """An object of a file in one opening, with its reads and writes."""

    name: str
    reads: list[int] = field(default_factory=list)
    writes: list[int] = field(default_factory=list)


class Handle:
    """A file that the HDF5 library has open."""

    def __init__(self, process: Process, file: File, mode: str, seen: bool) -> None:
        self.process, self.file, self.mode, self.seen = process, file, mode, seen
        self.plain = Plain(process, file, mode) if seen else None
        if not seen and mode == "w":
            file.size, file.mtime = 0, process.run.now
        if self.plain and mode != "w":
            self.plain.read()
        self.objects: dict[tuple[str, str | None], Object] = {}
        self.name = f"../o{next(process.serial)}"
        self.wrote = mode == "w"
        process.run.tick()
        flags = {"r": 0, "r+": O_RDWR, "w": O_RDWR | O_CREAT | O_TRUNC}[mode]
        process.say(
            f'<{self.name}> a :FileVersion ; :path {turtle.literal(file.path)} ; :format "HDF5" ; {file.facts} ; '
            f':flags {flags} ; :openedNs {process.run.now} ; :openApi "H5Fopen" ; :openElapsed 9'
        )

    def met(self, path: str, attribute: str | None = None, kind: str = "Dataset", *facts: str) -> Object:
        """Return an object, announced when it is met first."""
        known = self.objects.get((path, attribute))
        if known is None:
            known = self.objects[path, attribute] = Object(f"../o{next(self.process.serial)}")
            names = f":path {turtle.literal(path)}"
            if attribute is not None:
                kind, names = "Attribute", f"{names} ; :name {turtle.literal(attribute)}"
            facts = facts or ((':shape "4"', ':datatype "float64"') if kind == "Dataset" else ())
            self.process.say(" ; ".join([f"<{known.name}> a :{kind} ; :inFile <{self.name}>", names, *facts]))
        return known

    def read(self, path: str, attribute: str | None = None) -> Handle:
        """Read an object's content."""
        found = self.met(path, attribute)
        if self.plain:
            self.plain.read()
        found.reads.append(self.process.run.tick())
        return self

    def create(self, path: str, attribute: str | None = None, kind: str = "Dataset") -> Handle:
        """Make an object."""
        self.objects.pop((path, attribute), None)
        made = self.met(path, attribute, kind, ":created true", ':shape "4"')
        at = self.process.run.tick()
        self._counted(made.name, "Create", "H5Dcreate2", at)
        self.wrote = True
        return self

    def write(self, path: str, attribute: str | None = None, whole: bool = False, new: bool = False) -> Handle:
        """Write to an object: a `new` one, or the `whole` of it."""
        if new:
            self.create(path, attribute)
        found = self.met(path, attribute)
        if self.plain and self.process.tasks_begun:
            self.plain.write()
        found.writes.append(self.process.run.tick())
        if whole:
            self.process.say(f"<{found.name}> :replacedNs {self.process.run.now}")
        self.wrote = True
        return self

    def copy(self, path: str, to: Handle, new: str, kind: str = "Dataset") -> Handle:
        """Copy an object within the library."""
        source, made = self.met(path, None, kind), to.met(new, None, kind, ":created true")
        if self.plain:
            self.plain.read()
        at, to.wrote = self.process.run.tick(), True
        times = f":count 1 ; :elapsed 9 ; :last {at} ; :first {at} ; :longest 9"
        self.process.say(
            f"<a{next(self.process.accesses)}> a :Copy ; :source <{source.name}> ; :object <{made.name}> ; "
            f':api "H5Ocopy" ; {times}{self.process.within}'
        )
        return self

    def shows(self, path: str, source: Handle, other: str) -> Handle:
        """Make a virtual dataset, or meet one: it shows a dataset of another file."""
        found = self.met(path)
        shown = f":object <{found.name}> ; :virtualSource <{source.met(other).name}>"
        self.process.say(f"<v{next(self.process.accesses)}> {shown}")
        return self

    def link(self, path: str, target: str, file: str = "") -> Handle:
        """Make a link."""
        facts = [":created true", f":target {turtle.literal(target)}"]
        self.met(path, None, "NamedLink", *facts, *([f":targetFile {turtle.literal(file)}"] if file else []))
        self.process.run.tick()
        self.wrote = True
        return self

    def hard(self, path: str, target: str) -> Handle:
        """Give an object a second name."""
        self._counted(self.met(target).name, "Link", "H5Olink", self.process.run.tick())
        return self.link(path, target)

    def move(self, old: str, new: str, holder: str = "") -> Handle:
        """Move an object, or an attribute of `holder`."""
        names = f"{f':path {turtle.literal(holder)} ; ' if holder else ''}:from {turtle.literal(old)}"
        self._event("Rename", "H5Lmove", f"{names} ; :to {turtle.literal(new)}")
        return self

    def delete(self, path: str, attribute: str | None = None) -> Handle:
        """Delete an object or an attribute."""
        name = f" ; :name {turtle.literal(attribute)}" if attribute is not None else ""
        self._event("Delete", "H5Ldelete", f":path {turtle.literal(path)}{name}")
        self.objects.pop((path, attribute), None)
        return self

    used = True

    def count(self) -> None:
        """State the counters of objects."""
        for known in self.objects.values():
            if known.reads or known.writes:
                line = f'<a{next(self.process.accesses)}> a :Access ; :object <{known.name}> ; :readApi "H5Dread" ; '
                line += _side("read", known.reads) + ' ; :writeApi "H5Dwrite" ; ' + _side("write", known.writes)
                self.process.say(line + self.process.within)
                known.reads, known.writes = [], []

    def close(self) -> None:
        """Close the file, which writes the data that the library buffered."""
        if self not in self.process.open:
            return
        self.process.open.remove(self)
        self.count()
        if self.wrote:
            if self.plain:
                self.plain.write()
            self.process.run.tick()
            self.file.mtime, self.file.size = self.process.run.now, self.file.size + 512
            if self.plain:
                self.plain.write()
        if self.plain:
            self.plain.state()
        self.process.say(f"<{self.name}> {closing(self.file, self.process.run.tick() + self.process.run.start)}")

    def _counted(self, name: str, term: str, api: str, at: int) -> None:
        times = f":count 1 ; :elapsed 9 ; :last {at} ; :first {at} ; :longest 9"
        what = f':object <{name}> ; :operation :{term} ; :api "{api}"'
        self.process.say(f"<a{next(self.process.accesses)}> a :Access ; {what} ; {times}{self.process.within}")

    def _event(self, kind: str, api: str, names: str) -> None:
        self.wrote = True
        at = f":at {self.process.run.tick()} ; :elapsed 9{self.process.within}"
        self.process.say(
            f'<e{next(self.process.accesses)}> a :{kind} ; {at} ; :api "{api}" ; :inFile <{self.name}> ; {names}'
        )
