"""The description of a benchmark: a command, its unit, its bounds, and a check of its trace."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

HERE = Path(__file__).parent
LEVELS = ("file", "op", "call")


class Unit(Enum):
    """The unit of a case. For the first three the command prints nanoseconds, and the time added by recording is
    shown."""

    NS = ("ns", 1.0)
    US = ("µs", 1e3)
    MS = ("ms", 1e6)
    RATIO = ("×", 1.0)  # the wall time of the whole command, divided by the bare one's

    @property
    def sign(self) -> str:
        return self.value[0]

    @property
    def nanoseconds(self) -> float:
        return self.value[1]


@dataclass(frozen=True)
class Place:
    """Where benchmarks work: `data` on a disk, `memory` on a tmpfs; programs are compiled into `built`."""

    data: Path
    memory: Path
    built: Path

    def program(self, name: str, *compiler: str) -> Path:
        """Return a compiled program of bench/programs; `compiler` can be that of HDF5."""
        binary = self.built / name
        if not binary.exists():
            source = HERE / "programs" / f"{name}.c"
            command = [*(compiler or ("cc",)), "-O2", "-Wall", "-Wextra", "-pthread", "-o", binary, source]
            subprocess.run(command, check=True, cwd=self.built)
        return binary


def nothing(_: Place) -> None:
    """Prepare nothing."""


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    key: str  # its name for CASES=
    title: str  # as Markdown
    label: str  # in the drawing
    command: Callable[[Place], Sequence[str | Path]]
    unit: Unit
    bounds: Mapping[str, float] = field(default_factory=dict)  # level -> at most
    prepare: Callable[[Place], None] = nothing
    check: Callable[[Path, str], str] | None = None  # (trace folder, level) -> content in words; raises if wrong
    children: bool = False  # only the children of the command are recorded


def numbered_files(place: Place, count: int = 50_000) -> Path:
    """Return a folder of small files, 012/01234 and so on: 1 to 1,000 bytes each."""
    folder = place.data / "files"
    for i in range(count):
        path = folder / f"{i // 100:03}" / f"{i:05}"
        if i % 100 == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_bytes(b"%05d " % i * (1 + i % 166))
    return folder
