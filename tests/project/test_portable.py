"""The shims of wheels: the symbols that each needs, reproducible bytes, and that they work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import killed_writes
import pytest
from conftest import Project
from hostile_names import NAMES
from portable_shims import LOADER, TARGETS, as_installed, compiled, made_shims, needed, of_one_size
from posix_trace import POSIX, Trace, assert_held, counts, name_of, of_class

from provio.system import elf

pytestmark = pytest.mark.integration
KINDS = tuple(TARGETS)
LINES = {"families": 100, "alternative_names": 100, "metadata": 55, "maps": 10, "aio": 8}  # of a program, at least
OLDER = POSIX.parents[1] / "build" / "glibc" / "lib64"
# The symbols of musl that the shims need, all older than musl 1.2.
OF_MUSL = set("environ __errno_location clock_gettime getenv stdin stdout ftello dirfd memchr ntohs".split())


@pytest.fixture(scope="module")
def preload(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the shims of all kinds."""
    return made_shims(tmp_path_factory)


def shim_of(preload: Path, kind: str) -> Path:
    return preload / kind / "libprovio.so"


# ---- content


def glibc_versions(library: Path) -> set[tuple[int, ...]]:
    """Return the versions of glibc's symbols that a library needs."""
    said = subprocess.run(["readelf", "-W", "-V", library], capture_output=True, text=True, check=True).stdout
    return {tuple(map(int, found.split("."))) for found in re.findall(r"Name: GLIBC_([\d.]+)", said)}


def asked_for(library: Path) -> set[str]:
    """The names that a library needs others to define; the weak ones may stay undefined."""
    table = ["readelf", "-W", "--dyn-syms", library]
    said = subprocess.run(table, capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in said.splitlines())
    return {row[7] for row in rows if len(row) > 7 and row[4] == "GLOBAL" and row[6] == "UND"}


@pytest.mark.parametrize("kind", KINDS)
def test_the_symbols_that_a_shim_needs(preload: Path, kind: str) -> None:
    """No symbol of glibc after 2.17, only old ones of musl, no library except the C library, no folder."""
    shim = shim_of(preload, kind)
    said = subprocess.run(["readelf", "-W", "-d", shim], capture_output=True, text=True, check=True).stdout
    if kind.endswith("glibc"):
        assert glibc_versions(shim) and max(glibc_versions(shim)) <= (2, 17)
        assert elf.needed(shim) == ["libc.so.6"]
    else:
        assert not glibc_versions(shim) and not elf.needed(shim)
        assert asked_for(shim) <= OF_MUSL
    assert "RPATH" not in said and "RUNPATH" not in said
    assert re.search(r"FLAGS_1.*NOW INITFIRST", said)
    assert "TEXTREL" not in said


def test_a_version_that_is_too_new_would_be_seen(tmp_path: Path) -> None:
    """For a library with a symbol of glibc 2.25, and of musl 1.2.3."""
    needed("x86_64-glibc")
    library, code = (
        tmp_path / "new.so",
        "int getentropy(void *, unsigned long); int f(void *p) { return getentropy(p, 1); }",
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, "-xc", "-"], input=code, text=True, check=True)
    if not glibc_versions(library):
        pytest.skip("the C library here is not glibc")
    assert max(glibc_versions(library)) == (2, 25)
    assert not {name.partition("@")[0] for name in asked_for(library)} <= OF_MUSL


@pytest.mark.parametrize("kind", KINDS)
def test_a_shim_names_no_place(preload: Path, kind: str) -> None:
    """Neither where it was built nor by whom."""
    content = shim_of(preload, kind).read_bytes()
    places = (POSIX.parents[1], Path(sys.prefix), Path.home(), preload)
    assert not [place for place in places if os.fsencode(place) + b"/" in content and place != Path("/")]


@pytest.mark.slow
def test_the_same_sources_give_the_same_bytes(preload: Path, tmp_path: Path) -> None:
    """Built again from another folder, with no object file kept of the first time."""
    shutil.copytree(POSIX.parent, tmp_path / "elsewhere", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, tmp_path / "elsewhere" / "posix" / "portable.py", tmp_path / "again", "aarch64-musl"]
    subprocess.run(command, check=True, capture_output=True)
    assert shim_of(tmp_path / "again", "aarch64-musl").read_bytes() == shim_of(preload, "aarch64-musl").read_bytes()


# ---- that they work


@pytest.mark.parametrize(
    ("kind", "program", "least"),
    [
        (kind, program, least)
        for program, least in LINES.items()
        for kind in KINDS
        if program != "alternative_names" or not kind.endswith("musl")
    ],  # musl has none of these names
)
def test_each_call_is_recorded(preload: Path, tmp_path: Path, work: Path, kind: str, program: str, least: int) -> None:
    """The calls that a C library has, each with its file, its calls and its bytes."""
    needed(kind)
    trace = Trace(tmp_path / "trace", shim_of(preload, kind), detail="op,stat,list")
    made = compiled(TARGETS[kind], program, tmp_path)
    printed = TARGETS[kind].run(trace, made, work).decode().splitlines()
    assert len(printed) >= least
    assert_held(of_one_size(printed) if kind.endswith("musl") else printed, trace.facts(), work)


@pytest.mark.parametrize("kind", KINDS)
def test_messages_and_copies(preload: Path, tmp_path: Path, work: Path, kind: str) -> None:
    """Over sockets and pipes, each function with its calls and bytes."""
    needed(kind)
    trace = Trace(tmp_path / "trace", shim_of(preload, kind))
    printed = TARGETS[kind].run(trace, compiled(TARGETS[kind], "sockets", tmp_path), work).decode()
    sums: Counter[tuple[str, str]] = Counter()
    for line in printed.splitlines():
        side, api, _, size = line.split()
        sums[side, api] += int(size)
    sums["R", "recv"] += 5  # over loopback
    found: Counter[tuple[str, str]] = Counter()
    for one in counts(trace.facts()):
        found[one.side, one.api.replace("64", "")] += one.size
    del sums["W", "write"]  # C libraries write standard output in their own ways
    for (side, api), size in sums.items():
        assert found[side, api.replace("64", "")] == size, api
    assert len(sums) >= 12


@pytest.mark.parametrize("kind", KINDS)
def test_every_way_to_start_a_child(preload: Path, tmp_path: Path, work: Path, kind: str) -> None:
    """Each records its event; a child for another machine starts without the shim, and a gap states it."""
    needed(kind)
    trace = Trace(tmp_path / "trace", shim_of(preload, kind))
    printed = TARGETS[kind].run(trace, compiled(TARGETS[kind], "processes", tmp_path), work).decode().split("\n")
    facts = trace.facts()
    events = {f"{one['type']} {one['api']}" for one in facts.values() if "api" in one and "at" in one}
    assert set(printed) - {""} <= events and len(printed) > 20
    foreign = [one for one in of_class(facts, "Gap").values() if "another machine" in one["reason"]]
    assert bool(foreign) == bool(TARGETS[kind].runner)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_with_and_without(preload: Path, tmp_path: Path, kind: str) -> None:
    """A program that prints the results of its calls prints the same."""
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
    """Each call before is in the trace, and each file of the trace is valid."""
    needed(kind)
    program = compiled(TARGETS[kind], "killed", tmp_path)
    trace = Trace(tmp_path / "trace", shim_of(preload, kind))

    def command(*words: str) -> int:
        return trace.run(*TARGETS[kind].runner, program, *words).returncode

    found = killed_writes.states(trace, work / "out", command, 17)
    assert found == (killed_writes.ALL if kind.startswith("x86_64") else {killed_writes.NOTHING})


# ---- an older glibc

THREADS_IN_C = """
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
static void *body(void *name) {
    int fd = open(name, O_CREAT | O_WRONLY, 0600);
    return (void *)(long)(write(fd, "hello", 5) != 5 || close(fd));
}
long begin(char *name) {
    pthread_t thread;
    void *failed = name;
    return pthread_create(&thread, 0, body, name) || pthread_join(thread, &failed) || failed;
}
"""
LOADS_IN_C = """
#include <dlfcn.h>
int main(int count, char **names) {
    long (*begin)(char *) = dlsym(dlopen(names[1], RTLD_NOW), "begin");
    for (int i = 2; i < count; i++)
        if (begin(names[i])) return 1;
    return 0;
}
"""


def test_threads_that_come_with_a_library_that_is_loaded_later(preload: Path, tmp_path: Path, work: Path) -> None:
    """Before glibc 2.34 they are in a separate library: the program runs as usual, and is recorded."""
    needed("x86_64-glibc")
    if not (OLDER / "ld-linux-x86-64.so.2").is_symlink():
        pytest.skip("not unpacked: libc6 of Debian 11 (.ci/glibc downloads it if possible)")
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-linux-gnu.2.17", "-O1", "-fno-sanitize=all"]
    for name, text, options in (
        ("late.so", THREADS_IN_C, ["-shared", "-fPIC", "-lpthread"]),
        ("loads", LOADS_IN_C, ["-ldl"]),
    ):
        (tmp_path / f"{name}.c").write_text(text)
        subprocess.run([*zig, "-o", tmp_path / name, tmp_path / f"{name}.c", *options], check=True)
    assert "libpthread.so.0" in elf.needed(tmp_path / "late.so")
    assert "libpthread.so.0" not in elf.needed(tmp_path / "loads")
    folder = next((OLDER.parent / "lib").glob("*-linux-gnu"))
    command = [next(folder.glob("ld-2*.so")), "--library-path", folder, tmp_path / "loads", tmp_path / "late.so"]
    trace = Trace(tmp_path / "trace", shim_of(preload, "x86_64-glibc"))
    done = trace.run(*command, work / "a", work / "b")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    written = {one.path: one.size for one in counts(trace.facts()) if one.api == "write"}
    assert written == {os.fsencode(work / name): 5 for name in "ab"}


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
    """A program of one C library starts one of another, which starts one of the first: each is recorded, and preloads
    of the user stay in place."""
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


def test_a_loader_that_is_called_by_name(preload: Path, two: dict[str, Path], tmp_path: Path, work: Path) -> None:
    """The loaded library has its own C library."""
    trace = Trace(tmp_path / "trace", shim_of(preload, "x86_64-glibc"))
    done = trace.run("sh", "-c", f"{LOADER} {two['musl']} {work}/out; :", check=True)
    assert done.stdout.decode().split() == [str(shim_of(preload, "x86_64-musl"))]
    assert [one for one in trace.facts().values() if name_of(one) == os.fsencode(work / "out")]


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
    """Installed from a wheel: a musl program is recorded without a message, and so are glibc programs that it
    starts."""
    place = as_installed(preload, tmp_path / "installed")
    (project.path / "in").write_text("1\n")
    env = {**project.env, "PYTHONPATH": place}
    command = [
        sys.executable,
        "-c",
        "from provio.cli.main import main; main()",
        "run",
        "--quiet",
        "--",
        two["musl"],
        two["glibc"],
        "out",
    ]
    done = subprocess.run(command, cwd=project.path, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [f"{place}/provio/preload/x86_64-{kind}/libprovio.so" for kind in ("musl", "glibc")]
    assert project.count("?gap a provio:Gap") == 0
    assert project.count("?process a provio:Process") == 2
