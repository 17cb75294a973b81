"""Whole traces of small programs, line by line: each record with all its properties, and no other record.

Times, inodes, devices and numbers of processes differ from run to run: the lines have names instead of inodes, and no
times. Times are compared with each other and with those of the files.

`whole_traces.txt` has the expected lines, in parts that begin with `== MODE`. To write it again:
`cd tests && PYTHONPATH=. ../.venv/bin/python interceptors/test_whole_traces.py`. A new mode needs its line `== MODE`
there first.
"""

from __future__ import annotations

import os
import platform
import re
import resource
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from conftest import SHIM, compile_programs
from posix_trace import Facts, Trace, name_of, of_class, parsed

TIME = re.compile("(Ns|Tick|[eE]lapsed|[lL]ongest|^last.*|^first.*|^closed|^at)$")
NUMBER = re.compile("[0-9]{16}")
ADDRESSES = Path("/proc/net/if_inet6")
IPV6 = ADDRESSES.exists() and " lo" in ADDRESSES.read_text()
ENVIRONMENT = {} if IPV6 else {"WITHOUT_IPV6": "1"}
OMITTED = set("device wasAssociatedWith actedOnBehalfOf startedAtTime executable argv cwd host childPid type".split())


def recorded(built: Path, trace: Trace, work: Path, mode: str, detail: str = "op") -> list[str]:
    """Run `whole`, at a level of detail, and return the lines of its trace."""
    trace.detail = detail
    if 0 <= resource.getrlimit(resource.RLIMIT_NOFILE)[1] <= 5000:
        pytest.skip("a process may open at most 5,000 files")
    ignored = trace.home / "ignored"
    ignored.write_bytes(bytes(1000))
    program, _, argument = mode.partition(" ")
    command: list[str | Path] = [built / "whole", program, work, ignored]
    if argument:
        command = [built / "objects", argument]
    if program == "closed":
        run_closed(trace, command, work)
    else:
        trace.run(*command, cwd=work, check=True, env=ENVIRONMENT)
    assert not trace.gaps()
    assert_names(trace)
    facts = trace.facts()
    assert_times(facts)
    stated = [triple[:2] for path in trace.files() for triple in parsed(path.read_bytes())]
    assert [one for one, count in Counter(stated).items() if count > 1] == []
    assert ("openElapsed" in str(facts)) == ("-" not in detail)
    lines = Lines(facts, work)
    return [*lines.all(), *calls_of(trace, lines)]


def run_closed(trace: Trace, command: list[str | Path], work: Path) -> None:
    """Run the threads of `closed`; each starts when those before it wait in a call."""
    with subprocess.Popen(command, env=trace.environment(), cwd=work, stdin=subprocess.PIPE) as running:
        assert running.stdin
        tasks, end = Path(f"/proc/{running.pid}/task"), time.monotonic() + 60
        try:
            for waiting in range(2, 7):
                seen = 0
                while seen < 10:  # a thread may also wait for a moment for the file system
                    states = [(one / "stat").read_text().rpartition(")")[2][1] for one in tasks.iterdir()]
                    seen = seen + 1 if states == ["S"] * waiting else 0
                    assert running.poll() is None and time.monotonic() < end
                    time.sleep(0.001)
                running.stdin.write(b"x")
                running.stdin.flush()
            assert running.wait(60) == 0
        finally:
            running.kill()


def assert_names(trace: Trace) -> None:
    """The name of each file of a thread has the numbers of its process image and of its thread."""
    for path in trace.files():
        process, _, thread = path.stem.rpartition(".")
        bases = re.findall(rb"@base <[^>]*/([^/]+)/([0-9]+)/>", path.read_bytes())
        assert (os.fsencode(process), os.fsencode(thread)) in bases, path.name


def calls_of(trace: Trace, lines: Lines) -> Iterator[str]:
    """The lines of the files of calls, those of an access together: its number of calls, offsets and bytes."""
    found: dict[str, list[Facts]] = {}
    for iri, one in trace.calls().items():
        assert int(one["at"]) > 0
        found.setdefault(iri.rstrip("0123456789"), []).append(one)
    for iri, several in found.items():
        shown = [" ".join(one.get(word, "") for word in ("offset", "bytes", "errno")).strip() for one in several]
        assert [int(one["at"]) for one in several] == sorted(int(one["at"]) for one in several)
        yield f"{lines.short(iri)} {len(several)}: {', '.join(shown[:10])}"


def nanoseconds(date: str) -> int:
    """A date of `stat -c %w`, or of a trace, as a number."""
    seconds, _, rest = date.replace(" ", "T").partition(".")
    part = re.match("[0-9]+", rest)
    assert part
    return int(datetime.fromisoformat(seconds).replace(tzinfo=UTC).timestamp()) * 10**9 + int(part[0].ljust(9, "0"))


def assert_times(facts: dict[str, Facts]) -> None:
    """The times of each access are in order, between those of its thread, its opening and its close."""
    for iri, one in facts.items():
        if "startedAtTime" not in one or one["type"] not in ("Access", "Failure"):
            continue
        thread = facts[iri.rpartition("/")[0] + "/"]
        epoch, opening = int(thread["epochNs"]), facts.get(one.get("object", ""), {})
        opened = int(opening.get("openedNs", epoch))
        started = nanoseconds(one["startedAtTime"])
        times = {word: int(value) for word, value in one.items() if TIME.search(word) and value.isdigit()}
        if "closed" in one:
            assert opened // 1000 * 1000 == started
        assert started >= opened // 1000 * 1000
        for side, count in (("Read", "reads"), ("Write", "writes"), ("", "count")):
            if not int(one.get(count, 0)) or one["type"] == "Failure":
                continue
            names = [f"first{side}", f"last{side}", f"{side.lower()}Elapsed", f"{side.lower()}Longest"]
            first, last, elapsed, longest = (times.get(name if side else name.lower(), -1) for name in names)
            ended = times.get("closed", 0) or last
            assert opened - epoch <= first <= last <= ended, one
            assert longest <= elapsed <= last - first + longest * (side == "Read"), one
            if int(one[count]) == 1 and elapsed != -1:
                assert (longest, last - first) == (elapsed, 0 if side == "Read" else elapsed), one
        if times.get("closed") and "closedNs" in opening:
            assert epoch + times["closed"] == int(opening["closedNs"])
        if "closedNs" in opening:
            assert int(opening["closedNs"]) > opened + int(opening.get("openElapsed", 0))


class Lines:
    """The lines of a trace."""

    def __init__(self, facts: dict[str, Facts], work: Path) -> None:
        self.facts, self.work = facts, work
        self.inodes: dict[tuple[str, str], str] = {}
        starts = sorted((int(one["startedNs"]), iri) for iri, one in facts.items() if one.get("type") == "Process")
        self.processes = {iri: f"p{number}" for number, (_, iri) in enumerate(starts)}
        names = [path for path in work.rglob("*") if path.is_file()]
        births = subprocess.check_output(["stat", "-c", "%w", "--", work, *names], text=True, env={"TZ": "UTC"})
        self.births = dict(zip([work, *names], births.splitlines(), strict=True))

    def all(self) -> list[str]:
        """Return all lines, those of each process together."""
        lines = [self.line(iri, one) for iri, one in self.facts.items() if one.get("type") != "Thread"]
        return sorted(lines, key=lambda line: line.partition("/")[0])

    def line(self, iri: str, one: Facts) -> str:
        """Return the name of a record, its class, and its properties without times."""
        words = [self.short(iri), one.get("type", "-")]
        if words[1] == "Process":
            return f"{words[0]} Process image={one['image']}"
        if "directory" in one or words[1] == "Directory":
            one = {word: value for word, value in one.items() if word != "size"}
        words += [
            f"{word}={self.shown(word, value, one.get('device', ''))}"
            for word, value in one.items()
            if word not in OMITTED
        ]
        shown = [word for word in words if not TIME.search(word.partition("=")[0]) and not word.endswith("=")]
        touched = [f"first{side}" for side in ("Read", "Write") if self.touched(one, side)]
        return " ".join([*shown, *touched, *self.of_file(one)])

    def touched(self, one: Facts, side: str) -> bool:
        """Return whether there is only the time of the first call."""
        return int(one.get(f"first{side}", 0)) > 0 and f"{side.lower()}s" not in one

    def of_file(self, one: Facts) -> list[str]:
        """Compare the facts of an opening with those of its file, and return whether it changed."""
        path = Path(os.fsdecode(name_of(one)))
        if "openedNs" not in one or path not in self.births or one["inode"] != str(path.stat().st_ino):
            return []
        found, birth = path.stat(), self.births[path]
        assert one["device"] == f"{os.major(found.st_dev)}:{os.minor(found.st_dev)}"
        assert birth == "-" or int(one["birthNs"]) == nanoseconds(birth)
        creates = int(one["flags"]) & os.O_CREAT and "openApi" in one
        times = {one["mtimeNs"], one["ctimeNs"], *([] if birth == "-" else [one["birthNs"]])}
        words = ["new"] if creates and len(times) == 1 else []
        if "closedMtimeNs" in one:
            closed = (int(one["closedMtimeNs"]), int(one["closedCtimeNs"]))
            words += ["final" if closed == (found.st_mtime_ns, found.st_ctime_ns) else "changed"]
        return words

    def short(self, iri: str) -> str:
        """Return an IRI with the number of its process."""
        for process, name in self.processes.items():
            if iri.startswith(process):
                return f"{name}/{iri.removeprefix(process)}"
        return iri

    def shown(self, word: str, value: str, device: str) -> str:
        """Return a value, nothing for a counter of 0; `device` is that of an inode."""
        if NUMBER.fullmatch(value):
            return value.lstrip("0")
        if "node" in word:
            return self.inodes.setdefault((device, value), f"i{len(self.inodes) + 1}")
        if value.startswith("http"):
            return self.short(value)
        if word == "peerPid":
            return next(name for iri, name in self.processes.items() if self.facts[iri]["pid"] == value)
        if value.startswith("terminal."):
            return value.partition(".")[0] + "…" + value.rpartition(".")[2]
        if word == "localAddress":
            return value.rpartition(":")[0]
        value = re.sub("@[0-9]+", "@0", value.replace(str(self.work), ".")).replace("\n", "|")
        return re.sub(r"([a-z])\1{49,}", lambda found: f"{found[1]}*{len(found[0])}", value)


def summary(lines: list[str]) -> list[str]:
    """Count the lines that differ only in numbers of records and of files."""
    counted = Counter(re.sub(r"\b([oaicf])[0-9]+", r"\1*", line) for line in lines)
    return [f"{count} {line}" for line, count in counted.items()]


EXPECTED = Path(__file__).with_name("whole_traces.txt")
PARTS = EXPECTED.read_text(encoding="utf-8").split("== ")[1:]
LINES = {part.split("\n")[0]: part.split("\n")[1:-1] for part in PARTS}
RUNS = {  # (mode, detail): the parts of the expected lines
    **{(mode, "op"): [mode] for mode in LINES if " at " not in mode and "without" not in mode},
    **{(mode, "op,-duration"): [mode] for mode in ("files", "sizes", "streams", "fork")},
    **{(mode, "call"): [mode, f"{mode} at call"] for mode in ("files", "copies")},
    ("files", "call,-duration"): ["files", "files at call"],
    ("objects each", "op,-duration"): ["objects each"],
    **{(mode, "file"): [f"{mode} at file"] for mode in ("files", "streams")},
    ("files", "op,-api,-duration"): ["files without functions"],
}


@pytest.mark.parametrize(("mode", "detail"), RUNS)
def test_whole(built: Path, trace: Trace, work: Path, mode: str, detail: str) -> None:
    """Every record of a program, and nothing else."""
    expected = [line for part in RUNS[mode, detail] for line in LINES[part]]
    if mode == "sockets" and not IPV6:
        expected = expected[:-6]
    if mode == "nested" and platform.machine() != "x86_64":
        pytest.skip("only x86-64 calls a handler after each instruction")
    assert shown(recorded(built, trace, work, mode, detail), mode) == expected


def shown(lines: list[str], mode: str) -> list[str]:
    """Return the lines of a mode as they are expected."""
    return summary(lines) if mode in ("many", "vfork", "fork") else lines


NO_MEMORY, MANY_FILES = "no memory was left for the trace", 300


@pytest.mark.parametrize("more", [0, *(1 << power for power in (12, 16, 18, 19, 20, 21)), 1 << 40])
def test_without_memory_the_program_goes_on(built: Path, trace: Trace, work: Path, more: int) -> None:
    """The trace ends wherever memory ends, states so, and has no broken record."""
    ignored = trace.home / "ignored"
    ignored.write_bytes(bytes(1000))
    done = trace.run(built / "whole", "all", work, ignored, str(more), env=ENVIRONMENT)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    facts = trace.facts()
    gaps = {*trace.gaps().values(), *(one["reason"] for one in of_class(facts, "Gap").values())}
    assert gaps == ({NO_MEMORY} if more < 1 << 40 else set())
    assert {one["object"] for one in facts.values() if "object" in one} <= facts.keys()
    assert more < 1 << 40 or len(of_class(facts, "FileVersion")) > MANY_FILES


def test_each_image_without_a_file_leaves_a_gap(built: Path, trace: Trace, work: Path) -> None:
    """Two images of one process, which have the same number, may not write any file; another one may not open one."""
    (work / "in").write_text("text")
    command = 'ulimit -f 0; exec sh -c "read -r line < in; exec cat in"'
    assert trace.run("bash", "-c", command, cwd=work, check=True).stdout == b"text"
    reason = "the file-size limit was reached"
    gaps = {name.split(".", 2)[2]: found for name, found in trace.gaps().items()}
    assert gaps == {"0.0.gap": reason, "1.0.gap": reason}
    limited = Trace(trace.root / "limited", trace.shim)
    assert limited.run(built / "whole", "limited", work, "-", check=True).stdout == bytes(7)
    assert list(limited.gaps().values()) == ["no descriptor was left to open the trace with"]
    assert not limited.facts()


def write() -> None:
    """Write the present lines."""
    assert IPV6 and platform.machine() == "x86_64", "this system cannot run all modes"
    found: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder, "built")
        built.mkdir()
        compile_programs(built)
        for number, ((mode, detail), (*before, part)) in enumerate(RUNS.items()):
            if part not in found:
                trace, work = Trace(Path(folder, f"trace{number}"), built / SHIM.name), Path(folder, f"work{number}")
                work.mkdir()
                lines = shown(recorded(built, trace, work, mode, detail), mode)
                found[part] = lines[sum(len(found[one]) for one in before) :]
    text = "".join("\n".join([f"== {part}", *found[part]]) + "\n" for part in LINES)
    EXPECTED.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
