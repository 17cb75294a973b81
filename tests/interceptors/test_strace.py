"""An oracle: the files that strace reports as opened and those in the trace are the same, process by process."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from posix_trace import Facts, Trace, name_of, of_class

OPENED = re.compile(r"^(?:openat2?|open|creat)\(.*= \d+<(.*)>$")
EXECUTED = re.compile(r'^execve\("(.*?)", .*= 0$')

# Files that the C library and the loader open internally, by no call of a program: not recorded, and ignored here.
INSIDE = re.compile(
    rb"/etc/(ld\.so\.cache|locale\.alias|ld\.so\.preload|nsswitch\.conf|passwd|group|localtime)"
    rb"|.*/(locale|zoneinfo)/.*|/sys/devices/system/cpu/(online|possible)"
    rb"|.*/(gconv-modules\.cache|locale-archive|[^/]*\.so(\.[0-9.]+)?)"
)


def started(folder: Path) -> set[bytes]:
    """The executables that were started, which the shim examines before."""
    lines = [line for path in folder.iterdir() for line in path.read_text().splitlines()]
    return {os.path.realpath(os.fsencode(match[1])) for line in lines if (match := EXECUTED.match(line))}


def opened(folder: Path, process_of: dict[int, int]) -> dict[int, set[bytes]]:
    """Process -> the files that it opened, by strace, which only reports threads; folders are not files."""
    found: dict[int, set[bytes]] = defaultdict(set)
    for path in folder.iterdir():
        thread = int(path.suffix[1:])
        for line in path.read_text().splitlines():
            match = OPENED.match(line)
            name = ast.literal_eval(f'b"{match[1]}"') if match else b""
            if name and "O_DIRECTORY" not in line and not os.path.isdir(name):
                found[process_of.get(thread, thread)].add(name.removesuffix(b"(deleted)"))
    return found


def process_in(iri: str) -> int:
    return int(re.findall(r"/r1/node/(\d+)\.", iri)[0])


def recorded(facts: dict[str, Facts]) -> dict[int, set[bytes]]:
    """Process -> the files that it opened, by provio."""
    found: dict[int, set[bytes]] = defaultdict(set)
    for iri, one in of_class(facts, "FileVersion", "File").items():
        if "openApi" in one and (name := name_of(one)):
            found[process_in(iri)].add(os.path.realpath(name))
    return found


def outside(names_of: dict[int, set[bytes]], trace: Trace, looked_at: set[bytes]) -> None:
    """Remove files that no preload can see, files that the shim itself opens, and files with a different name for each
    process."""
    own = (os.fsencode(trace.root), b"/proc/")
    for pid, names in names_of.items():
        names_of[pid] = {one for one in names - looked_at if not INSIDE.fullmatch(one) and not one.startswith(own)}


PROGRAMS = {
    "tar": ["tar", "cf", "archive", "tree"],
    "tar x": ["sh", "-c", "tar cf archive tree; mkdir out; tar xf archive -C out"],
    "grep -r": ["grep", "-r", "1", "tree"],
    "cp -r": ["cp", "-r", "tree", "copy"],
    "gcc -c": ["gcc", "-c", "-O1", "one.c"],
    "make": ["make", "-s", "CFLAGS=-O1", "one"],
    "git": ["sh", "-c", "git init -q && git add . && git -c user.name=a -c user.email=b commit -qm x && git gc -q"],
    "perl": ["perl", "-MFile::Find", "-e", 'find(sub { open(F, "<", $_); print <F> }, "tree")'],
    "sqlite": ["sqlite3", "base", "pragma journal_mode=wal; create table t(a); insert into t values(1);"],
    "sort": ["sort", "-S", "64k", "-o", "sorted", "long"],
    "python, numpy": [sys.executable, "-c", "import numpy; numpy.save('a', numpy.zeros(9)); numpy.load('a.npy')"],
}


@pytest.mark.parametrize("program", sorted(PROGRAMS))
@pytest.mark.integration
def test_the_same_files_as_strace(program: str, trace: Trace, work: Path, tmp_path: Path, needs: Any) -> None:
    """The files that each process opens are the same in its trace and in strace's output."""
    needs("strace", PROGRAMS[program][0])
    for number in range(50):
        path = work / "tree" / f"d{number % 5}" / f"file {number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n")
    (work / "long").write_text("".join(f"{number * 7919 % 60013}\n" for number in range(60_000)))
    (work / "one.c").write_text('#include <stdio.h>\nint main(void) { return puts("x"); }\n')
    seen = tmp_path / "strace"
    seen.mkdir()
    ours = trace.environment()
    given = [f"-E{name}={ours[name]}" for name in ("LD_PRELOAD", "PROVIO_TRACE")]
    command = [
        "strace",
        "-ff",
        "-qq",
        "-z",
        "-y",
        "-s4096",
        "-o",
        seen / "of",
        "-etrace=openat,open,creat,openat2,execve",
    ]
    subprocess.run(command + given + PROGRAMS[program], cwd=work, check=True, capture_output=True, timeout=120)
    facts = trace.facts()
    process_of = {int(one["tid"]): process_in(iri) for iri, one in of_class(facts, "Thread").items()}
    expected, found = opened(seen, process_of), recorded(facts)
    outside(expected, trace, started(seen))
    outside(found, trace, set())
    missed = {(pid, name) for pid, names in expected.items() for name in names - found.get(pid, set())}
    made_up = {(pid, name) for pid, names in found.items() for name in names - expected.get(pid, set())}
    assert (missed, made_up) == (set(), set())
