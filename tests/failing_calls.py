"""A preloaded library that lets calls on chosen files fail, or transfer less: tests/faults/injector.c."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

FAULTS = Path(__file__).parent / "faults"
SHORT = 0  # instead of an error: at most one byte is transferred


def compiler() -> list[str]:
    return os.environ.get("CC", "cc").split()


def injector(folder: Path) -> Path:
    """Compile the library into a folder."""
    library = folder / "injector.so"
    subprocess.run([*compiler(), "-O1", "-shared", "-fPIC", "-o", library, FAULTS / "injector.c", "-ldl"], check=True)
    return library


def program(folder: Path, name: str) -> Path:
    """Compile a program of tests/faults into a folder."""
    binary = folder / name
    subprocess.run([*compiler(), "-O1", "-o", binary, FAULTS / f"{name}.c"], check=True)
    return binary


def faults(below: Path, chosen: Mapping[str, tuple[int, int]]) -> dict[str, str]:
    """Return the variables of the library: each call's turn, negative for all calls from that one on, and its error."""
    words = (f"{call}:{turn}:{error}" for call, (turn, error) in chosen.items())
    return {"FAULTS": " ".join(words), "FAULTS_BELOW": str(below)}
