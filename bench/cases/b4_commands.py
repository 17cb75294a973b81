"""B4: whole commands: tar and gzip, grep, a C build, a Python that imports, a shell loop of 300 processes."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from case import Case, Place, Unit
from traces import files_left, paths_opened

FILES = 6_400
PROCESSES = 300
UNITS = 6


def _tree(place: Place) -> None:
    """Write a tree of texts, 50 a folder, 0.4 to 80 KiB each, 15 on average as sources have: the same each time."""
    root = place.data / "tree"
    if root.exists():
        return
    drawn = random.Random(4)
    words = ["".join(drawn.choices("abcdefghijklmnop", k=drawn.randint(2, 9))) for _ in range(2_000)] + ["foo"]
    for i in range(FILES):
        path = root / f"{i // 50:03}" / f"{i:04}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(" ".join(drawn.choices(words, k=int(60 * 200 ** drawn.random()))) + "\n")


def _all_of_tree(folder: Path, _: str) -> str:
    root = f"{folder.parents[5]}/tree/"
    expected = {f"{root}{i // 50:03}/{i:04}.txt" for i in range(FILES)}
    missing = expected - set(paths_opened(folder, root))
    if missing:
        raise AssertionError(f"{len(missing)} of {FILES} files are not in the trace")
    return f"all {FILES:,} files, by their right names"


def _project(place: Place) -> None:
    """Write a C project of a few files and a makefile."""
    root = place.data / "project"
    root.mkdir(exist_ok=True)
    headers = "".join(f"#include <{name}.h>\n" for name in "stdio stdlib string math pthread sys/stat unistd".split())
    for unit in range(UNITS):
        functions = "".join(
            f"double f{unit}_{i}(double x) {{ double y = x; "
            f"for (int i = 0; i < 9; i++) y = sin(y) * {i} + cos(x / (i + 1)); "
            f'if (y > 1e9) printf("%f\\n", y); return y; }}\n'
            for i in range(60)
        )
        (root / f"unit{unit}.c").write_text(headers + functions)
    objects = " ".join(f"unit{unit}.o" for unit in range(UNITS))
    (root / "Makefile").write_text(f"all: {objects}\n%.o: %.c\n\tgcc -O1 -c $< -o $@\n")


def _small(place: Place) -> None:
    (place.data / "small").write_text("some words\n")


def _shell(script: str) -> list[str | Path]:
    return ["bash", "-c", script]


_IMPORTS = [sys.executable, "-c", "import numpy, h5py"]

CASES = [
    Case(
        "tar",
        f"B4: `tar cf - dir \\| gzip -1`, {FILES:,} files",
        "B4 tar | gzip",
        lambda _: _shell("tar cf - tree | gzip -1 >packed"),
        Unit.RATIO,
        {"op": 1.01},
        prepare=_tree,
        check=_all_of_tree,
    ),
    Case(
        "grep",
        f"B4: `grep -r foo dir`, {FILES:,} files",
        "B4 grep -r",
        lambda _: _shell("grep -r foo tree >found"),
        Unit.RATIO,
        {"op": 1.10},
        prepare=_tree,
        check=_all_of_tree,
    ),
    Case(
        "build",
        f"B4: `make` of {UNITS} C files",
        "B4 make",
        lambda _: _shell("make --always-make --silent --directory project"),
        Unit.RATIO,
        {"op": 1.05},
        prepare=_project,
    ),
    Case(
        "python",
        "B4: Python imports numpy and h5py",
        "B4 import",
        lambda _: [sys.executable, "-c", "import numpy, h5py"],
        Unit.RATIO,
    ),
    Case(
        "processes",
        f"B4: a shell loop of {PROCESSES} × `cat`",
        "B4 300 × cat",
        lambda _: _shell(f"for i in $(seq {PROCESSES}); do cat small >/dev/null; done"),
        Unit.RATIO,
        {"op": 1.15},
        prepare=_small,
        check=lambda folder, _: files_left(folder),
    ),
    Case(
        "idle",
        f"B4: a shell loop of {PROCESSES} × `true`, no I/O",
        "B4 300 × true",
        lambda _: _shell(f"for i in $(seq {PROCESSES}); do /bin/true; done"),
        Unit.RATIO,
        check=lambda folder, _: files_left(folder),
    ),
]
