"""The shims of wheels: what each asks of its C library, the same bytes wherever they are built, and that they work."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ROOT, Project, made_once
from hostile import NAMES
from portable import TARGETS, compile_shims, compiled, needed, of_one_size
from posix_trace import POSIX, Trace, assert_held, counts, name_of, of_class

from provio import needs

pytestmark = pytest.mark.slow
KINDS = tuple(TARGETS)
# What the C libraries of their time have as a file of its own, and since glibc 2.34 as an empty one.
LIBRARIES = {"libc.so.6", "libdl.so.2", "libpthread.so.0"}


@pytest.fixture(scope="module")
def preload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the shims of all kinds."""
    needed()
    return made_once(tmp_path_factory, "preload", compile_shims)


def shim_of(preload: Path, kind: str) -> Path:
    return preload / kind / "libprovio.so"


# ---- what they are


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_shim_asks_for(preload: Path, kind: str) -> None:
    """No version of glibc after 2.17, no library but the C library's own, no folder to look for them in."""
    said = subprocess.run(
        ["readelf", "-W", "-d", "-V", shim_of(preload, kind)], capture_output=True, text=True, check=True
    )
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"Name: GLIBC_([\d.]+)", said.stdout)}
    assert all(version <= (2, 17) for version in versions)
    assert bool(versions) == kind.endswith("glibc")
    wanted = set(needs.needed(shim_of(preload, kind)))
    assert wanted <= LIBRARIES and ("libc.so.6" in wanted) == kind.endswith("glibc")
    assert "RPATH" not in said.stdout and "RUNPATH" not in said.stdout
    assert re.search(r"FLAGS_1.*NOW INITFIRST", said.stdout)
    assert "TEXTREL" not in said.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_a_shim_names_no_place(preload: Path, kind: str) -> None:
    """Neither where it was built nor by whom."""
    content = shim_of(preload, kind).read_bytes()
    places = (POSIX.parents[1], Path(sys.prefix), Path.home(), preload)
    assert not [place for place in places if os.fsencode(place) + b"/" in content and place != Path("/")]


def test_the_same_sources_give_the_same_bytes(preload: Path, tmp_path: Path) -> None:
    """Built again from another folder, with nothing kept of the first time."""
    shutil.copytree(POSIX.parent, tmp_path / "elsewhere", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, tmp_path / "elsewhere" / "posix" / "portable.py", tmp_path / "again", "aarch64-musl"]
    cache = {"ZIG_GLOBAL_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run(command, env=os.environ | cache, check=True, capture_output=True)
    assert shim_of(tmp_path / "again", "aarch64-musl").read_bytes() == shim_of(preload, "aarch64-musl").read_bytes()


# ---- that they work


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("program", "least"), [("families", 100), ("maps", 10), ("aio", 8)])
def test_each_call_is_recorded(preload: Path, tmp_path: Path, work: Path, kind: str, program: str, least: int) -> None:
    """The calls that a C library has, each with its file, its calls and its bytes."""
    needed(kind)
    trace = Trace(tmp_path / "trace", shim_of(preload, kind), detail="op,stat,list")
    made = compiled(TARGETS[kind], program, tmp_path)
    (tmp_path / "bare").mkdir()
    bare = subprocess.run([*TARGETS[kind].runner, made, tmp_path / "bare"], capture_output=True, text=True, check=False)
    if bare.returncode and TARGETS[kind].runner:
        pytest.skip(f"the emulator does not carry out, without a shim either: {bare.stderr.strip()}")
    printed = TARGETS[kind].run(trace, made, work).decode().splitlines()
    assert len(printed) >= least
    assert_held(of_one_size(printed) if kind.endswith("musl") else printed, trace.facts(), work)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_with_and_without(preload: Path, tmp_path: Path, kind: str) -> None:
    """A program that shows what its calls return shows the same."""
    needed(kind)
    target, program = TARGETS[kind], compiled(TARGETS[kind], "same", tmp_path)
    trace, shown = Trace(tmp_path / "trace", shim_of(preload, kind)), []
    for name in ("with", "without"):
        folder = tmp_path / name
        folder.mkdir()
        env = trace.environment() if name == "with" else dict(os.environ)
        command = [*target.runner, program, folder]
        shown.append(subprocess.run(command, env=env, cwd=folder, capture_output=True, check=False, timeout=120))
    assert (shown[0].returncode, shown[0].stdout, shown[0].stderr) == (
        shown[1].returncode,
        shown[1].stdout,
        shown[1].stderr,
    )
    assert trace.files()


NAMES_IN_C = """
#include <stdio.h>
int main(int count, char **names) {
    for (int i = 1; i < count; i++) {
        FILE *stream = fopen(names[i], "w");
        if (stream == NULL || fputs("x", stream) < 0 || fclose(stream) != 0) return 1;
    }
    return 0;
}
"""


def from_text(kind: str, text: str, program: Path) -> Path:
    """Compile a program of a few lines for a target."""
    source = program.with_suffix(".c")
    source.write_text(text, encoding="utf-8")
    subprocess.run([*TARGETS[kind].compiler, "-o", program, source], check=True)
    return program


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_names(preload: Path, tmp_path: Path, work: Path, kind: str) -> None:
    """A file may have any name but `/` and NUL."""
    needed(kind)
    program = from_text(kind, NAMES_IN_C, tmp_path / "names")
    trace = Trace(tmp_path / "trace", shim_of(preload, kind))
    TARGETS[kind].run(trace, program, *(os.fsdecode(name) for name in NAMES.values()), cwd=work)
    written = {name_of(one) for one in trace.facts().values() if one.get("openApi") == "fopen"}
    assert written == {os.fsencode(work) + b"/" + name for name in NAMES.values()}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_by_a_kill(preload: Path, tmp_path: Path, work: Path, kind: str) -> None:
    """At ten moments: each call that had returned is in the trace, whose every file is valid."""
    needed(kind)
    program = compiled(TARGETS[kind], "writer", tmp_path)
    trace = Trace(tmp_path / "trace", shim_of(preload, kind))
    for attempt in range(6):
        out = work / f"out{attempt}"
        with subprocess.Popen([*TARGETS[kind].runner, program, out, "100000"], env=trace.environment()) as process:
            time.sleep(random.uniform(0.01, 0.2))
            process.send_signal(signal.SIGKILL)
        written = out.stat().st_size // 64 if out.exists() else 0
        counted = sum(one.count for one in counts(trace.facts()) if one.path == os.fsencode(out))
        assert counted in (written, written - 1) or (written == counted == 0)


# ---- programs of two C libraries

STARTS_IN_C = """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **names) {
    printf("%s\\n", getenv("LD_PRELOAD"));
    fflush(stdout);
    close(open(names[count - 1], O_CREAT | O_WRONLY | O_APPEND, 0600));
    if (count == 2) return 0;
    int status = 0;
    if (fork() == 0) {
        execv(names[1], names + 1);
        _exit(9);
    }
    wait(&status);
    return WEXITSTATUS(status);
}
"""


@pytest.fixture
def two(tmp_path: Path) -> dict[str, Path]:
    """The same program for each C library of this machine."""
    needed("x86_64-glibc", "x86_64-musl")
    return {kind: from_text(f"x86_64-{kind}", STARTS_IN_C, tmp_path / kind) for kind in ("glibc", "musl")}


@pytest.mark.parametrize("first", ["glibc", "musl"])
def test_each_program_gets_the_shim_of_its_loader(
    preload: Path, two: dict[str, Path], tmp_path: Path, work: Path, first: str
) -> None:
    """One C library's program starts another's, which starts one of the first: each is seen, and what the user preloads
    stays where it was."""
    other = {"glibc": "musl", "musl": "glibc"}[first]
    (tmp_path / "empty.c").touch()
    own = tmp_path / "empty.so"
    subprocess.run(["cc", "-nostdlib", "-shared", "-o", own, tmp_path / "empty.c"], check=True)
    trace = Trace(tmp_path / "trace", shim_of(preload, f"x86_64-{first}"))
    value = f"{own}:{trace.shim}"
    chain = [two[first], two[other], two[first], work / "out"]
    printed = trace.run(*chain, check=True, env={"LD_PRELOAD": value}).stdout.decode().split()
    assert printed == [f"{own}:{shim_of(preload, f'x86_64-{kind}')}" for kind in (first, other, first)]
    facts = trace.facts()
    opened = [one for one in facts.values() if name_of(one) == os.fsencode(work / "out")]
    ran = [name_of(one, "executable") for one in of_class(facts, "Process").values()]
    assert len(opened) == 3 and not of_class(facts, "Gap")
    assert sorted(name for name in ran if name) == sorted(os.fsencode(two[kind]) for kind in (first, other, first))


@pytest.mark.parametrize(("kind", "shim"), [("glibc", "musl"), ("musl", "glibc")])
def test_a_shim_of_the_other_library_does_nothing(
    preload: Path, two: dict[str, Path], tmp_path: Path, work: Path, kind: str, shim: str
) -> None:
    """It may come there by way of a static program, which rewrites nothing: the program runs as ever, and unseen."""
    trace = Trace(tmp_path / "trace", shim_of(preload, f"x86_64-{shim}"))
    done = trace.run(two[kind], work / "out")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{trace.shim}\n".encode(), b"")
    assert (work / "out").exists() and not trace.files()


def test_provio_run_takes_the_shim_of_the_program(
    preload: Path, two: dict[str, Path], project: Project, tmp_path: Path
) -> None:
    """As installed from a wheel: a program of musl is recorded without a word, and what it starts of glibc too."""
    package = tmp_path / "installed" / "provio"
    package.mkdir(parents=True)
    for part in (ROOT / "provio").iterdir():
        if part.name not in ("preload", "__pycache__"):
            (package / part.name).symlink_to(part)
    (package / "preload").symlink_to(preload)
    (project.path / "in").write_text("1\n")
    env = {**project.env, "PYTHONPATH": str(package.parent)}
    command = [
        sys.executable,
        "-c",
        "from provio.cli import main; main()",
        "run",
        "--quiet",
        "--",
        two["musl"],
        two["glibc"],
        "out",
    ]
    done = subprocess.run(command, cwd=project.path, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [str(shim_of(package / "preload", f"x86_64-{kind}")) for kind in ("musl", "glibc")]
    assert project.count("?gap a provio:Gap") == 0
    assert project.count("?process a provio:Process") == 2
