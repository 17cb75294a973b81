"""Programs in a container are not affected by the shim, file names may have any bytes, and a kill loses nothing.

An ordinary user starts them by ch-run, in a user namespace: on a root of Debian, and on one with musl.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import killed_writes
import pytest
from container_roots import Ordinary, musl
from container_roots import cache as cache
from container_roots import debian as debian
from container_roots import ordinary as ordinary
from hostile_names import NAMES
from portable_shims import TARGETS, compiled, made_shims, needed
from posix_trace import Trace, name_of
from test_portable import NAMES_IN_C, from_text
from test_transparency import SAME, Program, compare, preload, run

Word = str | bytes | Path
C_PROGRAMS = ("vfork.c", "execl.c", "clearenv.c", "sudden_ends.c", "key_destructor.c", "many_threads.c")
CASES = {
    "glibc": ("tools/coreutils.sh", "tools/tar.sh", "tools/sort.sh", "tools/text_tools.sh", "tools/bash.sh",
              "tools/grep_find.sh", "languages/files.py", "languages/subprocesses.py",
              "tricks/posix_spawn.c", "tricks/close_all.c", "tricks/small_stack.c"),
    "musl": (),
}  # fmt: skip


@dataclass
class Inside:
    """A root, the shim for its programs, and a folder that an ordinary user can write."""

    libc: str
    root: Path
    shim: Path
    user: Ordinary

    @property
    def place(self) -> Path:
        return self.user.path.parent

    def command(
        self, work: Path, words: list[str | bytes | Path], trace: Trace | None = None
    ) -> list[str | bytes | Path]:
        """Return the command line that starts a command in the container, recorded or not."""
        told = [f"--set-env={name}={value}" for name, value in preload(trace).items()] if trace else []
        return [*self.user.user("ch-run"), *told, f"--cd={work}", self.root, "--", *words]

    def trace(self, name: str) -> Trace:
        return Trace(self.place / name, self.shim)


@pytest.fixture(params=["glibc", "musl"])
def inside(
    request: pytest.FixtureRequest, ordinary: Ordinary, tmp_path_factory: pytest.TempPathFactory, shim: Path
) -> Iterator[Inside]:
    """A container with shim and folders that an ordinary user can access."""
    place, own = ordinary.path.parent, ordinary.path.parent / "libprovio.so"
    if request.param == "glibc":
        root = request.getfixturevalue("debian")
        shutil.copy(shim, own)
    else:
        root = musl(place / "musl", {})
        shutil.copy(made_shims(tmp_path_factory) / "x86_64-musl" / "libprovio.so", own)
    own.chmod(0o755)
    before = os.umask(0)  # the user can write into folders that are created here
    yield Inside(request.param, root, own, ordinary)
    os.umask(before)


def c_program(inside: Inside, name: str) -> Path:
    """Compile a program of the shim's tests."""
    needed(f"x86_64-{inside.libc}")
    return compiled(TARGETS[f"x86_64-{inside.libc}"], name, inside.place)


def found(name: str) -> Program:
    (path,) = [path for path in SAME.rglob("*") if str(path).endswith("/" + name)]
    return Program(path)


@pytest.mark.slow
def test_the_same_inside(inside: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each program has the same output, exit code and files, with and without recording."""
    shutil.copytree(SAME, inside.place / "same")
    if inside.libc == "musl":
        monkeypatch.setenv("CC", "musl-gcc")
    common = {"PATH": "/usr/local/bin:/usr/bin:/bin:/sbin:/usr/sbin", "HOME": "/tmp", "LC_ALL": "C.UTF-8", "TZ": "UTC",
              "SAME": str(inside.place / "same"), "USER": "ada"}  # fmt: skip
    for name in (*CASES[inside.libc], *C_PROGRAMS):
        program, work = found(name), inside.place / "work"
        words = [word.replace(str(SAME), common["SAME"]) for word in program.command(inside.place)]
        words = ["python3" if word.endswith("python") or "/python3" in word else word for word in words]
        trace = inside.trace(name.replace("/", "-"))
        bare = run(inside.command(work, words), work, common, program)
        assert bare.code not in (126, 127), (name, bare.err)
        compare(bare, run(inside.command(work, words, trace), work, common, program), program)
        assert trace.files() and trace.gaps() == {}, name


@pytest.mark.integration
def test_hostile_names_inside(inside: Inside) -> None:
    """A file may have any name but `/` and NUL."""
    program = from_text(f"x86_64-{inside.libc}", NAMES_IN_C, inside.place / "names")
    work, trace = inside.place / "work", inside.trace("trace")
    work.mkdir()
    subprocess.run(inside.command(work, [program, *NAMES.values()], trace), env=inside.user.env, check=True)
    written = {name_of(one) for one in trace.facts().values() if one.get("openApi") == "fopen"}
    assert written == {os.fsencode(work) + b"/" + name for name in NAMES.values()}


@pytest.mark.integration
def test_nothing_is_lost_by_a_kill_inside(inside: Inside) -> None:
    """At any instruction of a write: each call that had returned is in the trace, and all of its files are valid."""
    program, work = c_program(inside, "killed"), inside.place / "work"
    work.mkdir()
    trace = inside.trace("trace")

    def command(*words: str) -> int:
        return subprocess.run(inside.command(work, [program, *words], trace), env=inside.user.env).returncode

    assert killed_writes.states(trace, work / "out", command, 17) == killed_writes.ALL
