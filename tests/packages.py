"""Packages of provio, made of a copy of its sources."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


SHIM = ROOT / "provio" / "libprovio.so"
COMPILER = """#!/bin/sh
for word; do
    case $last:$word in -o:*/libprovio.so) [ ! -e {shim} ] || exec cp {shim} "$word" ;; esac
    last=$word
done
exec {compiler} "$@"
"""


def compiler_that_copies(program: Path) -> str:
    """Make a C compiler that copies the shim if that is built already, because compiling takes seconds."""
    text = COMPILER.format(shim=shlex.quote(str(SHIM)), compiler=os.environ.get("CC", "cc"))
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    return str(program)


def copied(copy: Path) -> Path:
    """A copy of the sources to build in, so that nothing is left in the working tree."""
    names = shutil.ignore_patterns(
        ".git", ".venv", ".provio", "dist", "*.egg-info", "*.so", "__pycache__", ".*_cache", "preload"
    )

    def leave(folder: str, inside: list[str]) -> set[str]:
        return names(folder, inside) | ({"build"} if Path(folder) == ROOT else set())

    return Path(shutil.copytree(ROOT, copy, symlinks=True, ignore=leave))


def build(checkout: Path, target: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Have pip make a wheel."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", target, *options, checkout]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
