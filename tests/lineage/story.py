"""Run folders with every moment as a test states it: processes, openings, counters and calls in; Turtle out.

Times are milliseconds since the run's start (fractions are allowed). A file is stated as `x@-9+512`: the name below
`/data`, the mtime, the size; its inode follows from the name.
"""

from __future__ import annotations

import os
import re
from itertools import pairwise
from pathlib import Path

from synthetic_traces import EPOCH as START
from synthetic_traces import STEP as MILLI

from provio.base import turtle
from provio.base.vocab import NS, RUN_BASE
from provio.system import node_local

ID = "01a1fe26-0000-7000-8000-000000000001"
FLAGS = {
    "r": 0,
    "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    "r+": os.O_RDWR,
    "a": os.O_WRONLY | os.O_APPEND | os.O_CREAT,
}
BIRTH = -10_000  # when every file came into being


def at(moment: float) -> int:
    """Nanoseconds since 1970."""
    return START + round(moment * MILLI)


def since(moment: float) -> str:
    """A counter's 16 digits: nanoseconds since the run's start."""
    return f"{round(moment * MILLI):016}"


def inode(name: str) -> int:
    """The inode of a file; `x'` is another file under the name `x`."""
    return 1000 + sum(ord(letter) * 31**place for place, letter in enumerate(name)) % 100_000


def facts(stated: str, prefix: str = "") -> str:
    """The facts of `name@mtime+size`: all of them, or with a prefix those of a close."""
    name, mtime, size = re.fullmatch(r"([^@]+)@(-?[\d.]+)\+(\d+)", stated).groups()  # type: ignore[union-attr]
    time = at(float(mtime))
    if prefix:
        return f":{prefix}MtimeNs {time} ; :{prefix}CtimeNs {time} ; :{prefix}Size {size}"
    device, own = ':device "8:1"', f":inode {inode(name)} ; :birthNs {at(BIRTH)}"
    return f"{device} ; {own} ; :mtimeNs {time} ; :ctimeNs {time} ; :size {size}"


class Story:
    """A run of one host or several."""

    def __init__(self, home: Path, start: float = 0, end: float = 1000, number: int = 1, **facts: str) -> None:
        self.id = f"{ID[:-1]}{number}"
        self.folder, self.start, self.end = home / self.id, start, end
        self.facts = "".join(f" ; :{name} {turtle.literal(value)}" for name, value in facts.items())
        self.processes: list[Process] = []
        self.settled: list[str] = []
        self.hashes: list[str] = []
        self.within: float | None = None  # the error of the hosts' clocks

    def process(self, name: str, moment: float = 0, image: str = "exec", **more: str | int) -> Process:
        """Begin a process; `pid`, `number` (of the image), `host` and any other fact may be given."""
        one = Process(self, name, moment, image, dict(more))
        self.processes.append(one)
        return one

    def hashes_to(self, stated: str, digest: str) -> None:
        """State the SHA-256 of a file that was computed after the run."""
        name = f"{RUN_BASE}{self.id}/node/hash/{inode(stated.partition('@')[0])}.{len(self.hashes)}"
        self.hashes.append(f'<{name}> {facts(stated)} ; :sha256 "{digest * 64}" .\n')

    def write(self) -> Path:
        """Write the run folder, and return it."""
        head = f'@prefix : <{NS}> .\n<{RUN_BASE}{self.id}> a :Run ; :host "node" ; :bootId "boot" ; :user "ada" ; '
        head += (
            f':startedNs {at(self.start)} ; :endedNs {at(self.end)} ; :cwd "/data" ; :commandLine "job"{self.facts} .\n'
        )
        for process in self.processes:
            (self.folder / process.host).mkdir(parents=True, exist_ok=True)
            file = self.folder / process.host / f"{process.pid}.1.{process.number}.0.ttl"
            file.write_text("".join(process.lines), encoding="utf-8")
        (self.folder / "run.ttl").write_text(head, encoding="utf-8")
        for host in {process.host for process in self.processes} if self.within is not None else ():
            mark = f'@prefix : <{NS}> .\n<{RUN_BASE}{self.id}/{host}/host> a :Host ; :name "{host}" ; '
            mark += f":clockOffset 0 ; :clockWithin {round(self.within * MILLI)} .\n"
            (self.folder / host / node_local.MARK).write_text(mark, encoding="utf-8")
        if self.settled:
            prefix = f"@prefix : <{NS}> .\n"
            (self.folder / "node" / "settled.ttl").write_text(prefix + "".join(self.settled), encoding="utf-8")
        if self.hashes:
            text = f"@prefix : <{NS}> .\n" + "".join(self.hashes)
            (self.folder / "node" / "hashes.ttl").write_text(text, encoding="utf-8")
        return self.folder


class Process:
    """An image of one thread."""

    def __init__(self, story: Story, name: str, moment: float, image: str, more: dict[str, str | int]) -> None:
        self.story, self.name = story, name
        self.pid, self.number = int(more.pop("pid", len(story.processes) + 1)), more.pop("number", 0)
        self.host = str(more.pop("host", "node"))
        self.count = 0
        self.iri = f"{RUN_BASE}{story.id}/{self.host}/{self.pid}.1.{self.number}/"
        told = "".join(
            f" ; :{key} {value if isinstance(value, int) else turtle.literal(value)}" for key, value in more.items()
        )
        self.lines = [
            f"@prefix : <{NS}> . @base <{self.iri}0/> .\n",
            f'<../> a :Process ; :pid {self.pid} ; :startTick 1 ; :image "{image}" ; :executable "/usr/bin/{name}" ; '
            f':argv "{name}" ; :host "{self.host}" ; :cwd "/data" ; :startedNs {at(moment)}{told} .\n',
            f"<> a :Thread ; :tid {self.pid} ; :epochNs {at(0)} .\n",
        ]

    def say(self, line: str) -> None:
        """Add a statement."""
        self.lines.append(line + " .\n")

    def opens(
        self, stated: str, moment: float, mode: str = "r", kind: str = "FileVersion", **more: str | int
    ) -> Opening:
        """Open a file; of `kind` Pipe, `stated` is its number."""
        self.count += 1
        told = "".join(
            f" ; :{key} {value if isinstance(value, int) else turtle.literal(value)}" for key, value in more.items()
        )
        path = os.path.join("/data", stated.partition("@")[0].rstrip("'"))
        what = f":path {turtle.literal(path)} ; {facts(stated) if kind == 'FileVersion' else ''}"
        if kind != "FileVersion":
            what = f':device "0:12" ; :inode {stated} ; :birthNs 0 ; :mtimeNs 0 ; :ctimeNs 0 ; :size 0'
        flags = {"r": 0, "w": 1}[mode] if kind != "FileVersion" else FLAGS[mode]
        api = "" if "inherited" in more else ' ; :openApi "open" ; :openElapsed 5'
        self.say(f"<../o{self.count}> a :{kind} ; {what} ; :flags {flags} ; :openedNs {at(moment)}{api}{told}")
        return Opening(self, f"../o{self.count}")

    def event(self, kind: str, moment: float, more: str = "") -> str:
        """Record a call; return its name."""
        self.count += 1
        self.say(f"<e{self.count}> a :{kind} ; :at {since(moment)} ; :elapsed 9{' ; ' if more else ''}{more}")
        return f"e{self.count}"

    def configures(self, moment: float, name: str, **settings: int) -> None:
        """Declare a configuration."""
        self._settings(f"../g{self._tell('g', 'Configuration', moment, name)}", settings)

    def entity(self, moment: float, name: str, identifier: str, **settings: int) -> str:
        """Declare an entity that is no file; return its name."""
        more = f" ; :identifier {turtle.literal(identifier)}" if identifier else ""
        iri = f"../e{self._tell('e', 'DataObject', moment, name, more)}"
        self._settings(iri, settings)
        return iri

    def tells(self, moment: float, what: str, made: bool = False) -> None:
        """Declare the use of an entity or a path, or that it was `made`."""
        about = f":path {turtle.literal(what)}" if what.startswith("/") else f":object <{what}>"
        self.event("GeneratedSaid" if made else "UsedSaid", moment, about)

    def _tell(self, letter: str, kind: str, moment: float, name: str, more: str = "") -> int:
        self.count += 1
        self.say(f"<../{letter}{self.count}> a :{kind} ; :startedNs {at(moment)} ; :name {turtle.literal(name)}{more}")
        return self.count

    def _settings(self, iri: str, settings: dict[str, int]) -> None:
        for number, (key, value) in enumerate(settings.items(), 1):
            self.say(f"<{iri}/{number}> a :Setting ; :partOf <{iri}> ; :name {turtle.literal(key)} ; :value {value}")
        self.say(f"<{iri}> :complete true")

    def unwatched(self, pid: int, moment: float, end: float, executable: str, number: int = 90) -> None:
        """Start a program that cannot be observed; `number` is that of the gap."""
        self.event("Spawn", moment, f":childPid {pid} ; :childTick 1")
        self.say(
            f'<e{number}> a :Gap ; :at {since(moment)} ; :elapsed 9 ; :api "execve" ; :about <../../{pid}.1.0/> ; '
            f':reason "is statically linked" ; :executable "{executable}" ; :argv "{Path(executable).name}"'
        )
        self.event("ChildEnd", end, f":childPid {pid} ; :exitCode 0")

    def begins(self, moment: float, end: float, name: str) -> str:
        """Have a Task from one moment to another; return its name."""
        self.count += 1
        task = f"../t{self.count}"
        self.say(f"<{task}> a :Task ; :name {turtle.literal(name)} ; :startedNs {at(moment)}")
        self.say(f'<{task}> :endedNs {at(end)} ; :status "ok"')
        return task

    def forks(self, child: str, moment: float, **more: str | int) -> Process:
        """Fork at a moment; the child begins then."""
        one = self.story.process(child, moment, "fork", **more)
        self.event("Fork", moment, f":childPid {one.pid} ; :childTick 1")
        return one

    def starts(self, child: str, moment: float, **more: str | int) -> Process:
        """Start a program."""
        one = self.story.process(child, moment, **more)
        self.event("Spawn", moment, f":childPid {one.pid} ; :childTick 1")
        return one

    def copies(self, source: Opening, target: Opening, first: float, last: float) -> None:
        """Have the kernel copy."""
        self.count += 1
        times = f":count 1 ; :bytes 9 ; :elapsed 9 ; :last {since(last)} ; :first {since(first)} ; :longest 9"
        self.say(
            f'<a{self.count}> a :Copy ; :source <{source.name}> ; :object <{target.name}> ; :api "sendfile" ; {times}'
        )


class Opening:
    """An open file."""

    def __init__(self, process: Process, name: str) -> None:
        self.process, self.name = process, name

    def does(self, side: str, *stretches: tuple[float, float, int], longest: float = 0.001, task: str = "") -> Opening:
        """Read or write in stretches of (first, last, bytes); between two of them the process did the opposite. A
        `task` is that of `begins`."""
        process = self.process
        process.count += 1
        name, title = f"a{process.count}", side.capitalize()
        total = sum(size for _, _, size in stretches)
        process.say(
            f'<{name}> a :Access ; :object <{self.name}> ; :{side}Api "{side}" ; :{side}s {len(stretches):016} ; '
            f":{side}Bytes {total:016} ; :{side}Elapsed {7:016} ; :last{title} {since(stretches[-1][1])} ; "
            f":first{title} {since(stretches[0][0])} ; :{side}Longest {since(longest)}"
            + (f" ; :task <{task}> ; :closed {since(0)}" if task else "")
        )
        done = 0
        for number, ((_, last, size), (first, _, _)) in enumerate(pairwise(stretches)):
            done += size
            process.say(
                f"<{name}/{side}/{number}> a :Turn ; :last {since(last)} ; :bytes {done:016} ; :first {since(first)}"
            )
        return self

    def closes(self, moment: float, stated: str = "") -> None:
        """Close it, with the facts of the file at that time, if they are stated."""
        more = f" ; {facts(stated, 'closed')} ; :closedLinks 1" if stated else ""
        self.process.say(f"<{self.name}> :closedNs {at(moment)}{more}")

    def settles(self, stated: str) -> None:
        """State the facts of the file after the run."""
        iri = self.process.iri + self.name.removeprefix("../")
        self.process.story.settled.append(f"<{iri}> {facts(stated, 'settled')} .\n")
