"""Programs do not notice the shim: each in `tests/transparency/` behaves the same with and without it."""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import ROOT, provio_command
from posix_trace import Facts, Trace, counts, name_of, of_class
from test_table import rows

from provio.trace.read import read_run

SAME = ROOT / "tests" / "transparency"
SUFFIXES = {".sh", ".py", ".js", ".java", ".c"}

# Required programs; "tools" and so on are folders, the names below them files.
TOOLS: dict[str, tuple[str, ...]] = {
    "coreutils": ("coreutils.sh",),
    "tar": ("tar.sh",),
    "gzip": ("compress.sh",),
    "xz": ("compress.sh",),
    "grep -r": ("grep_find.sh",),
    "find": ("grep_find.sh",),
    "sort with temporary files": ("sort.sh",),
    "sed -i": ("text_tools.sh",),
    "awk": ("text_tools.sh",),
    "dd": ("coreutils.sh",),
    "rsync": ("rsync.sh",),
    "git (init, add, commit, clone, gc)": ("git.sh",),
    "gcc and make -j4 building a C project": ("make.sh",),
    "perl": ("perl.sh",),
    "sqlite3 (WAL, concurrent writers)": ("sqlite.sh",),
    "bash (job control, here-documents, process substitution)": ("bash.sh",),
    "jq": ("jq.sh",),
    "zip, unzip": ("zip.sh",),
    "zstd": ("zstd.sh",),
    "ed, patch, vim": ("editors.sh",),
    "cpio": ("cpio.sh",),
    "openssl": ("openssl.sh",),
    "m4, bison": ("parsers.sh",),
    "tclsh (channels, an event loop)": ("tclsh.sh",),
    "the tools of netCDF and HDF5": ("netcdf.sh",),
    "dot, rapper, serdi": ("graphs.sh",),
    "faketime (a clock that stands still, differs, runs faster)": ("faketime.sh",),
}
LANGUAGES: dict[str, tuple[str, ...]] = {
    "python3, its files": ("files.py",),
    "python3: threads": ("threads.py",),
    "python3: subprocess": ("subprocesses.py",),
    "python3: asyncio": ("asynchronous.py",),
    "python3: multiprocessing with fork": ("multiprocessing_fork.py",),
    "python3: multiprocessing with spawn": ("multiprocessing_spawn.py",),
    "python3: multiprocessing with forkserver": ("multiprocessing_forkserver.py",),
    "python3: Pool in a with": ("multiprocessing_fork.py", "multiprocessing_spawn.py", "multiprocessing_forkserver.py"),
    "python3: a pool killed in the middle": ("pool_killed.py",),
    "node (fs sync, async, streams, worker_threads, child_process)": ("node.js",),
    "java (nio, mmap, threads)": ("Files.java",),
}
TRICKS: dict[str, tuple[str, ...]] = {
    "vfork": ("vfork.c",),
    "posix_spawn with file actions": ("posix_spawn.c",),
    "all descriptors above 2 closed": ("close_all.c",),
    "clearenv": ("clearenv.c",),
    "64 threads × 10,000 writes": ("many_threads.c",),
    "I/O in signal handlers on a sigaltstack while the main thread writes": ("small_stack.c",),
    "open in a thread-key destructor": ("key_destructor.c",),
    "quick_exit, syscall(SYS_exit_group)": ("sudden_ends.c",),
    "execl with five arguments": ("execl.c",),
    "O_TMPFILE with a mode": ("tmpfile_mode.c",),
    "dlopen of a library that does I/O in its constructor": ("library_constructor.sh",),
    "I/O before the shim's constructor and after its destructor": ("first_and_last.c",),
    "stdout set to nothing, or to a stream that was closed": ("no_standard_output.c",),
    "names of libaio and liburing asked for by weak references and dlsym": ("weak_libraries.c",),
    "fork in one thread while 8 others do I/O, 1,000 times": ("fork_among_threads.c",),
}
LIMITS: dict[str, tuple[str, ...]] = {
    "seccomp that forbids calls the shim would like": ("seccomp.c",),
    "no time-stamp counter, then no clock": ("forbidden_counter.c",),
    "message queues: errors, cancellation": ("message_queues.c",),
    "tight RLIMIT_FSIZE": ("file_size.c",),
    "tight RLIMIT_AS": ("address_space.c",),
    "tight RLIMIT_NOFILE": ("no_descriptor.c",),
    "a trace disk (small tmpfs) that fills up": ("full_trace_disk.sh",),
    "jemalloc preloaded too": ("jemalloc.sh",),
    "an AddressSanitizer program": ("address_sanitizer.sh",),
}
LISTS = {"tools": TOOLS, "languages": LANGUAGES, "tricks": TRICKS, "limits": LIMITS}

# Functions of one character: counted, and never recorded singly.
CHARACTERS = {name for name, (kind, _) in rows().items() if kind == "CHARACTER"}


@dataclass(frozen=True)
class Program:
    """One program, and the declarations in its first lines."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path.relative_to(SAME))

    def lines(self, word: str) -> list[str]:
        """The text after a keyword, once for each line that has it."""
        head = []
        for line in self.path.read_text().splitlines():
            if line and not line.startswith(("#", "//")):
                break
            head.append(line.lstrip("#/! "))
        return [line.removeprefix(f"{word}:").strip() for line in head if line.startswith(f"{word}:")]

    def words(self, word: str) -> list[str]:
        """The same as words; the text after "because" is a comment."""
        return [one for line in self.lines(word) for one in line.partition(" because ")[0].split()]

    def missing(self) -> str | None:
        """The reason why it cannot run here."""
        for line in self.lines("needs"):
            command, package = line.split()
            if shutil.which(command) is None:
                return f"{command} is not installed (apt-get install {package})"
        for line in self.lines("library"):
            library, package = line.split()
            output = subprocess.run(["true"], env={**os.environ, "LD_PRELOAD": library}, capture_output=True).stderr
            if output:  # the loader could not find it
                return f"{library} is not installed (apt-get install {package})"
        return None

    def command(self, folder: Path) -> list[str]:
        """Its command; C is compiled into `folder` first."""
        starters = {".sh": ["bash"], ".py": [sys.executable], ".js": ["node"], ".java": ["java"]}
        if self.path.suffix in starters:
            return [*starters[self.path.suffix], str(self.path)]
        binary = folder / self.path.stem
        flags = shlex.split(" ".join(self.lines("cc")))
        compiler = os.environ.get("CC", "cc").split()
        subprocess.run([*compiler, "-O1", "-w", "-o", binary, self.path, "-lpthread", "-ldl", *flags], check=True)
        return [str(binary)]


PROGRAMS = [Program(path) for path in sorted(SAME.rglob("*")) if path.suffix in SUFFIXES and path.parent.parent == SAME]


@dataclass
class Outcome:
    """The results to compare: the output of a program, how it ended, its files."""

    out: bytes
    err: bytes
    code: int
    tree: dict[str, tuple[object, ...]]
    times: dict[str, int]


def tree_of(folder: Path, began: int, loose: list[str]) -> dict[str, tuple[object, ...]]:
    """Each name below `folder`: its kind and mode, content or target, other names, and its time if that was set."""
    links: dict[int, list[str]] = defaultdict(list)
    names = sorted(os.path.relpath(path, folder) for path in folder.rglob("*"))
    for name in names:
        links[(folder / name).lstat().st_ino].append(name)
    tree: dict[str, tuple[object, ...]] = {}
    for name in names:
        path, facts = folder / name, (folder / name).lstat()
        content = os.readlink(path) if path.is_symlink() else None
        if stat.S_ISREG(facts.st_mode) and not any(fnmatch.fnmatch(name, pattern) for pattern in loose):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        set_back = facts.st_mtime_ns if facts.st_mtime_ns < began else None
        tree[name] = (oct(facts.st_mode), content, tuple(links[facts.st_ino]), facts.st_nlink, set_back)
    return tree


def run(command: list[str], folder: Path, env: dict[str, str], program: Program) -> Outcome:
    """Run a program in `folder`, which is emptied; processes that it started end with it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    began = folder.stat().st_mtime_ns - 1_000_000_000
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            pytest.fail(f"hangs\nstdout: {out.decode()}\nstderr: {err.decode()}")
    for line in program.lines("replace"):
        pattern, _, text = line.partition(" => ")
        out, err = (re.sub(pattern.encode(), text.encode(), data) for data in (out, err))
    tree = tree_of(folder, began, program.words("any"))
    times = {name: (folder / name).lstat().st_mtime_ns for name in tree}
    return Outcome(out, err, process.returncode, tree, times)


def overtaken(bare: dict[str, int], watched: dict[str, int]) -> list[str]:
    """Pairs of names of which one is younger without the shim, and older with it."""
    found, latest, waiting, at = [], 0, 0, 0
    for name in sorted(bare, key=bare.__getitem__):
        if bare[name] > at:  # names of one time have no order
            latest, at = max(latest, waiting), bare[name]
        waiting = max(waiting, watched[name])
        if watched[name] < latest:
            found.append(name)
    return found


def compare(bare: Outcome, watched: Outcome, program: Program) -> None:
    """Fails at any difference."""
    assert watched.err.decode(errors="replace") == bare.err.decode(errors="replace")
    assert watched.out.decode(errors="replace") == bare.out.decode(errors="replace")
    assert (watched.code, watched.out, watched.err) == (bare.code, bare.out, bare.err)
    assert watched.tree == bare.tree
    if "any" not in program.lines("order"):
        loose = program.words("any")
        names = [name for name in bare.times if not any(fnmatch.fnmatch(name, pattern) for pattern in loose)]
        assert not overtaken({n: bare.times[n] for n in names}, {n: watched.times[n] for n in names})


def resolved(name: bytes) -> bytes:
    """A recorded path without `..` and symbolic links."""
    folder, last = os.path.split(name)
    return os.path.join(os.path.realpath(folder), last)


def names_in(facts: dict[str, Facts]) -> set[bytes]:
    """Every name in a trace, and its new name after a folder was renamed."""
    names = {resolved(name) for one in facts.values() for word in ("path", "to") if (name := name_of(one, word))}
    moves = sorted(of_class(facts, "Rename").values(), key=lambda one: int(one["at"]))
    for move in moves:
        old, new = resolved(name_of(move, "from")), resolved(name_of(move, "to"))
        names |= {new + name.removeprefix(old) for name in names if name.startswith(old + b"/")}
    return names


def traced_bytes(facts: dict[str, Facts], side: str) -> set[bytes]:
    """The files that were read ("R") or written ("W"): by calls, by copies in the kernel, by maps."""
    found = {count.path for count in counts(facts) if count.side == side and (count.size or side == "R")}
    end = "source" if side == "R" else "object"
    copies = [facts[one[end]] for one in of_class(facts, "Copy").values() if end in one]
    maps = [one for one in of_class(facts, "Map").values() if side == "R" or one.get("shared") == "true"]
    found |= {name_of(thing) for thing in [*copies, *(facts[one["object"]] for one in maps)]}
    return {resolved(name) for name in found}


def check_trace(trace: Trace, folder: Path, outcome: Outcome, program: Program) -> None:
    """The trace is complete, and names the program's files and the files that the program declares."""
    assert trace.files(), "nothing was recorded"
    facts = trace.facts()  # parses every file: a damaged one fails here
    if not program.lines("gaps"):
        reasons = {one["reason"] for one in of_class(facts, "Gap").values()}
        assert trace.gaps() == {}
        assert reasons == set(program.lines("gap"))
    unseen, names, base = program.words("unseen"), names_in(facts), resolved(os.fsencode(folder))
    names_left = [name for name in outcome.tree if not any(fnmatch.fnmatch(name, pattern) for pattern in unseen)]
    assert [name for name in names_left if os.path.join(base, os.fsencode(name)) not in names] == []
    for word, side in (("reads", "R"), ("writes", "W")):
        declared = {os.path.join(base, os.fsencode(name)) for name in program.words(word)}
        assert declared - traced_bytes(facts, side) == set(), word


def single_calls(trace: Trace) -> dict[str, tuple[int, int]]:
    """Access and side -> the number of calls recorded singly, and their bytes."""
    found: dict[str, tuple[int, int]] = {}
    for iri, call in trace.calls().items():
        match = re.fullmatch(r"(.*/[ao]\d+/[rw])\d+", iri)
        if match:
            count, size = found.get(match[1], (0, 0))
            found[match[1]] = (count + 1, size + int(call["bytes"]))
    return found


def counted_calls(trace: Trace) -> dict[str, tuple[int, int]]:
    """The same by the counters."""
    return {
        f"{iri}/{verb[0]}": (int(one[f"{verb}s"]), int(one[f"{verb}Bytes"]))
        for iri, one in of_class(trace.facts(), "Access").items()
        for verb in ("read", "write")
        if int(one.get(f"{verb}s", "0")) and one[f"{verb}Api"] not in CHARACTERS
    }


def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of both runs."""
    keep = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    (tmp_path / "home").mkdir(exist_ok=True)
    return {**keep, "HOME": str(tmp_path / "home"), "LC_ALL": "C.UTF-8", "TZ": "UTC", "SAME": str(SAME)}


def preload(trace: Trace) -> dict[str, str]:
    """The variables that the shim adds to the environment."""
    return {name: value for name, value in trace.environment().items() if name in ("LD_PRELOAD", "PROVIO_TRACE")}


def ready(program: Program) -> None:
    reason = program.missing()
    if reason is not None:
        pytest.skip(reason)


def marked(programs: list[Program]) -> list[object]:
    """The programs as parameters; slow ones are marked."""
    return [
        pytest.param(program, id=program.name, marks=[pytest.mark.slow] if program.lines("slow") else [])
        for program in programs
    ]


@pytest.mark.parametrize("program", marked(PROGRAMS))
@pytest.mark.integration
def test_the_same_under_the_shim(program: Program, tmp_path: Path, shim: Path) -> None:
    """A program prints, ends and writes the same, and its trace is complete and names its files."""
    ready(program)
    command, work, common = program.command(tmp_path), tmp_path / "work", environment(tmp_path)
    bare = run(command, work, common, program)
    trace = Trace(tmp_path / "trace", shim)
    watched = run(command, work, {**common, **preload(trace)}, program)
    compare(bare, watched, program)
    check_trace(trace, work, watched, program)


@pytest.mark.integration
@pytest.mark.parametrize("program", marked([one for one in PROGRAMS if "call" in one.lines("also")]))
def test_the_same_while_every_call_is_kept(program: Program, tmp_path: Path, shim: Path) -> None:
    """The same at detail `call`; the calls recorded singly are those that are counted, with their bytes."""
    ready(program)
    command, work, common = program.command(tmp_path), tmp_path / "work", environment(tmp_path)
    bare = run(command, work, common, program)
    trace = Trace(tmp_path / "trace", shim, detail="call")
    watched = run(command, work, {**common, **preload(trace)}, program)
    compare(bare, watched, program)
    check_trace(trace, work, watched, program)
    assert single_calls(trace) == counted_calls(trace)


@pytest.mark.integration
@pytest.mark.parametrize("program", marked([one for one in PROGRAMS if "run" in one.lines("also")]))
def test_the_same_under_provio_run(program: Program, tmp_path: Path, shim: Path) -> None:
    """The same with all of `provio run`: launcher, shim, post-processing and merge."""
    ready(program)
    command, work = program.command(tmp_path), tmp_path / "work"
    common = {**environment(tmp_path), "PROVIO_HOME": str(tmp_path / "home" / ".provio")}
    bare = run(command, work, common, program)
    watched = run([*provio_command(), "run", "--quiet", "--", *command], work, common, program)
    compare(bare, watched, program)
    output = subprocess.run([*provio_command(), "runs", "--as", "json"], env=common, capture_output=True, check=True)
    (row,) = json.loads(output.stdout)
    assert read_run(Path(common["PROVIO_HOME"]) / "runs" / row["run"]).damages == []


def test_no_program_is_missing() -> None:
    """Every item of the lists has its programs, and every program is in a list."""
    listed = {f"{group}/{name}" for group, items in LISTS.items() for names in items.values() for name in names}
    assert listed == {program.name for program in PROGRAMS}
    assert [item for items in LISTS.values() for item, names in items.items() if not names] == []


def test_needs_of_the_programs_are_listed() -> None:
    """Each command that a program needs is in .ci/needs with its package."""
    table = (ROOT / ".ci" / "needs").read_text().split("'")[1]
    known = {tuple(line.split()[:2]) for line in table.splitlines() if line.strip()}
    packages = {package for _, package in known}
    assert {tuple(line.split()) for program in PROGRAMS for line in program.lines("needs")} <= known
    assert {line.split()[1] for program in PROGRAMS for line in program.lines("library")} <= packages
