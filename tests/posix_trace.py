"""The shim on its own: built here, preloaded by hand, its thread files read back as plain facts."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pyoxigraph

from provio.trace import openings

ROOT = Path(__file__).parent.parent
POSIX = ROOT / "interceptors" / "posix"
PROGRAMS = ROOT / "tests" / "programs"
NS = "https://w3id.org/provio/ns#"

Facts = dict[str, str]


def clock() -> str:
    """Return the clock source that the supervisor would pass: the processor's counter only if the kernel trusts it."""
    source = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    return "tsc" if source.exists() and source.read_text().strip() == "tsc" else "sys"


@dataclass
class Trace:
    """One run folder below `root`: variables for the shim, and its output."""

    root: Path
    shim: Path
    clock: str = field(default_factory=clock)
    detail: str = "op"
    limits: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def home(self) -> Path:
        return self.root / ".provio"

    @property
    def folder(self) -> Path:
        return self.root / ".provio" / "runs" / "r1" / "node"

    def environment(self, **more: str) -> dict[str, str]:
        """The caller's environment, with the shim preloaded."""
        fields = ["1", self.detail, self.clock, "r1", "node", str(self.home), str(self.folder), *self.limits]
        trace = ";".join(part.replace("%", "%25").replace(";", "%3B") for part in fields)
        return {**os.environ, "LD_PRELOAD": str(self.shim), "PROVIO_TRACE": trace, **more}

    def run(self, *command: str | bytes | Path, **options: object) -> subprocess.CompletedProcess[bytes]:
        """Run a command under the shim to its end."""
        more = options.pop("env", {})
        options.setdefault("timeout", 120)
        options.setdefault("capture_output", True)
        return subprocess.run(command, env=self.environment(**more), **options)  # type: ignore[call-overload,no-any-return]

    def clear(self) -> None:
        """Delete all files of the trace."""
        shutil.rmtree(self.folder)
        self.folder.mkdir()

    def files(self) -> list[Path]:
        return sorted(path for path in self.folder.glob("*.ttl") if not path.name.endswith(".calls.ttl"))

    def calls(self) -> dict[str, Facts]:
        """Every line of the files of single calls."""
        subjects: dict[str, Facts] = defaultdict(dict)
        for path in sorted(self.folder.glob("*.calls.ttl")):
            for subject, name, value in parsed(path.read_bytes()):
                subjects[subject][name] = value
        return dict(subjects)

    def gaps(self) -> dict[str, str]:
        """The reasons of the symbolic links that stand for files which could not be made."""
        return {path.name: os.readlink(path) for path in self.folder.glob("*.gap")}

    def facts(self) -> dict[str, Facts]:
        """Every subject of every file, with its properties' local names and values."""
        subjects: dict[str, Facts] = defaultdict(dict)
        for path in self.files():
            for subject, facts in facts_of(path.read_bytes()).items():
                subjects[subject].update(facts)
        for iri, access in subjects.items():
            opening = subjects.get(access.get("object", ""), {})
            if "closed" in access and (int(opening["flags"]) & os.O_ACCMODE or "closedSize" in opening):
                epoch = int(subjects[f"{iri.rpartition('/')[0]}/"]["epochNs"])
                opening["closedNs"] = str(epoch + int(access["closed"]))
        return dict(subjects)


# Programs that print the facts which their trace must hold, one of each row of the table.
FACT_PROGRAMS = ("families", "alternative_names", "metadata", "maps", "aio", "standard", "sockets", "processes")


def facts_printed(built: Path, work: Path) -> list[str]:
    """Return the output of these programs without recording."""
    lines: list[str] = []
    for name in FACT_PROGRAMS:
        folder = work / f"{name} alone"
        folder.mkdir()
        given = folder / "in"
        given.write_text(STANDARD_INPUT)
        with given.open() as stdin:
            done = subprocess.run(
                [built / name, folder], stdin=stdin, capture_output=True, timeout=60, text=True, check=True
            )
        lines += (done.stderr if name == "standard" else done.stdout).splitlines()
    return [line for line in lines if len(line.split()) > 1]


# Lines of 50 bytes.
STANDARD_INPUT = "01234567 line of fifty bytes, numbers in front\n".rjust(50) * 20


def parsed(data: bytes) -> Iterator[tuple[str, str, str]]:
    """The triples of a thread file: subject, local name of the property, value."""
    for quad in pyoxigraph.parse(data, format=pyoxigraph.RdfFormat.TURTLE):
        value = quad.object.value
        yield quad.subject.value, quad.predicate.value.split("#")[-1], value.removeprefix(NS)


def facts_of(data: bytes) -> dict[str, Facts]:
    """The facts of a thread file by subject; those of openings in plain form."""
    found: dict[str, Facts] = defaultdict(dict)
    for subject, name, value in parsed(data):
        found[subject]["a" if name == "type" else name] = value
    records = openings.all_plain(found)
    return {subject: {"type" if name == "a" else name: value for name, value in record.items()}
            for subject, record in records.items()}  # fmt: skip


def name_of(facts: Facts, name: str = "path") -> bytes:
    """A name as bytes, however it was written."""
    if f"{name}Encoded" in facts:
        return unquote_to_bytes(facts[f"{name}Encoded"])
    return facts.get(name, "").encode()


@dataclass(frozen=True)
class Count:
    """The operations of one function on one object."""

    side: str
    api: str
    path: bytes
    count: int
    size: int


def counts(facts: dict[str, Facts]) -> list[Count]:
    """All counted calls, summed over threads and openings."""
    sums: dict[tuple[str, str, bytes], list[int]] = defaultdict(lambda: [0, 0])
    for access in facts.values():
        path = name_of(facts.get(access.get("object", ""), {}))
        if access.get("type") == "Failure":
            continue
        for side, api, count, size in (
            ("R", "readApi", "reads", "readBytes"),
            ("W", "writeApi", "writes", "writeBytes"),
            ("O", "api", "count", "bytes"),
        ):
            if api in access and count in access:
                total = sums[side, access[api], path]
                total[0] += int(access[count])
                total[1] += int(access[size])
    return [Count(*key, *total) for key, total in sorted(sums.items()) if total[0]]


def of_class(facts: dict[str, Facts], *names: str) -> dict[str, Facts]:
    """The subjects of a class."""
    return {iri: one for iri, one in facts.items() if one.get("type") in names}


def rows_without_a_test(rows: tuple[str, ...], module: dict[str, object]) -> list[str]:
    """The titles that begin no docstring of a module's tests."""
    told = [one.__doc__ or "" for name, one in module.items() if name.startswith("test_")]
    return [row for row in rows if not any(text.startswith(f"{row}:") for text in told)]


def events_of(facts: dict[str, dict[str, str]]) -> set[tuple[str, str, bytes]]:
    """(function, class or "open", file) of everything that is recorded as a single call."""
    found = set()
    for one in facts.values():
        about = facts[one["map"]] if "map" in one else one
        thing = facts[about["object"]] if "object" in about else about
        if "openApi" in one:
            found.add((one["openApi"], "open", name_of(one)))
        if "at" in one:
            found.add((one["api"], one["type"], name_of(thing, "to") or name_of(thing)))
    return found


def assert_held(printed: list[str], facts: dict[str, dict[str, str]], work: Path) -> None:
    """Each fact that a program printed is in its trace: the file, the function, its calls and its bytes."""
    found = {(c.side, c.api, c.path): c for c in counts(facts)}
    events = events_of(facts)
    for line in printed:
        kind, api, *words = line.split()
        if kind == "U":
            continue
        if kind == "N":
            assert (api, "open") in {event[:2] for event in events}, line
            continue
        if kind == "E":
            assert (api, words[0], os.fsencode(work / words[1])) in events, line
            continue
        name, count, size = (*words[-2:], "0") if kind == "O" else words
        match = found.get((kind, api, os.fsencode(work / name)))
        assert match is not None and match.count == int(count), f"{line}: {match}"
        assert int(size) in (0, match.size), f"{line}: {match}"
