"""The shims of wheels, and programs for the machines and C libraries that they are for."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import pytest
from compiled_cache import copy_made, of_the_shim
from posix_trace import POSIX, PROGRAMS, Trace
from workers import made_once

LOADER = Path("/lib/ld-musl-x86_64.so.1")
CROSS = Path("/usr/aarch64-linux-gnu")
MUSL = POSIX.parents[1] / "build" / "musl"  # where .ci/musl unpacks it
PRELOAD = POSIX.parents[1] / "provio" / "preload"
# The folder of Debian's kernel headers, which are the same for every C library.
KERNEL = ["-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"]
PLAIN = ["-O1", "-fno-builtin", "-D__NO_INLINE__", "-w"]
ABSENT = re.compile(r"(?:undeclared function '|undefined symbol: |undefined reference to `)(\w+)")


@dataclass(frozen=True)
class Target:
    """A machine and a C library: how a program for it is compiled, and started here."""

    kind: str
    compiler: tuple[str, ...]
    runner: tuple[str, ...]
    needs: tuple[tuple[Path | str, str], ...]

    def missing(self) -> list[str]:
        """Return the missing requirements of its tests."""
        found = (Path(need).exists() if isinstance(need, Path) else shutil.which(need) for need, _ in self.needs)
        return [name for (_, name), there in zip(self.needs, found, strict=True) if not there]

    def run(self, trace: Trace, program: Path, *arguments: str | Path, **options: object) -> bytes:
        """Run a program with the shim; return its output."""
        return trace.run(*self.runner, program, *arguments, check=True, **options).stdout


QEMU = ("qemu-aarch64-static", "qemu-user-static")
GCC = ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")
TARGETS = {
    target.kind: target
    for target in (
        Target("x86_64-glibc", ("cc", *PLAIN), (), (("cc", "gcc"),)),
        Target("x86_64-musl", ("musl-gcc", *PLAIN, *KERNEL), (), (("musl-gcc", "musl-tools"), (LOADER, "musl"))),
        Target(
            "aarch64-glibc",
            (GCC[0], *PLAIN),
            ("qemu-aarch64-static", "-L", str(CROSS)),
            (QEMU, GCC, (CROSS / "include" / "stdio.h", "libc6-dev-arm64-cross")),
        ),
        Target(
            "aarch64-musl",
            (GCC[0], "-specs", str(MUSL / "specs"), *PLAIN, "-idirafter", str(CROSS / "include")),
            ("qemu-aarch64-static", "-L", str(MUSL)),
            (QEMU, GCC, (MUSL / "specs", "musl-dev:arm64")),
        ),
    )
}


def needed(*kinds: str) -> None:
    """Leave the test out where something is missing that it needs, and name that."""
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("not installed: ziglang (pip install -e .[shims])")
    if platform.machine() != "x86_64":
        pytest.skip(f"this is {platform.machine()}: the programs are started from x86_64 alone")
    missing = [name for kind in kinds for name in TARGETS[kind].missing()]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (.ci/needs installs it where it may)")


def compile_shims(folder: Path) -> None:
    """Build the shims and waiters of all kinds, or copy up-to-date ones of `make shims` or an earlier session."""
    newest = max(path.stat().st_mtime_ns for path in of_the_shim())
    there = [PRELOAD / kind / name for kind in TARGETS for name in ("libprovio.so", "waiter")]
    if all(path.exists() and path.stat().st_mtime_ns > newest for path in there):
        shutil.copytree(PRELOAD, folder, dirs_exist_ok=True)
    else:
        version = importlib.metadata.version("ziglang")
        copy_made("preload", folder, [version], of_the_shim(), build_shims)


def build_shims(folder: Path) -> None:
    """Build the shims and waiters of all kinds."""
    subprocess.run([sys.executable, POSIX / "portable.py", folder], check=True, capture_output=True)


def made_shims(factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the shims and waiters of all kinds, made once for all tests."""
    needed()
    return made_once(factory, "preload", compile_shims)


def as_installed(preload: Path, folder: Path) -> str:
    """Copy the package like an installed wheel, with the shims of all kinds; return its PYTHONPATH."""
    kept = shutil.ignore_patterns("preload", "__pycache__")
    shutil.copytree(POSIX.parents[1] / "provio", folder / "provio", ignore=kept)
    shutil.copytree(preload, folder / "provio" / "preload")
    return str(folder)


def compiled(target: Target, name: str, folder: Path) -> Path:
    """Compile a test program for a target, less the calls that its C library does not have."""
    source, text = folder / f"{name}.c", (PROGRAMS / f"{name}.c").read_text(encoding="utf-8")
    command = [*target.compiler, "-I", str(PROGRAMS), "-o", str(folder / name), str(source), "-lpthread"]
    for _ in range(5):
        source.write_text(text, encoding="utf-8")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        absent = set(ABSENT.findall(done.stderr))
        if done.returncode == 0:
            return folder / name
        assert absent, done.stderr
        text = without_calls(text, absent)
    raise AssertionError(done.stderr)


def of_one_size(printed: list[str]) -> list[str]:
    """The facts that a program printed, where `open64` is another name of `open`, as in musl."""
    sums: dict[tuple[str, ...], Counter[int]] = defaultdict(Counter)
    for line in printed:
        kind, api, *words = line.split()
        numbers = 1 if kind == "O" else 2 if kind in "RW" else 0
        key = (kind, api.replace("64", ""), *words[: len(words) - numbers])
        sums[key].update({place: int(word) for place, word in enumerate(words[len(words) - numbers :])})
    return [" ".join([*key, *(str(number[place]) for place in sorted(number))]) for key, number in sums.items()]


def without_calls(text: str, names: set[str]) -> str:
    """Take the statements out of a test program that call one of these functions by a macro."""
    called = re.compile(rf"\b(?:{'|'.join(names)})\(")
    statements = re.compile(r"^    [A-Z_]+\((?:(?!^    \S)[^{}])*?\);\n", re.MULTILINE)
    return statements.sub(lambda found: "" if called.search(found[0]) else found[0], text)
