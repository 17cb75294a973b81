"""What watching costs: each call bare and under provio, alternated, medians of the nanoseconds a call; prints a table.

`python bench/run.py [ROUNDS]`; `bench/calls.c` makes the calls and times them itself.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
# What calls.c is asked for: (case, what it is, how many calls).
CASES = (
    ("pread", "pread of 4 KiB, cached", 1_000_000),
    ("pwrite", "pwrite of 4 KiB", 300_000),
    ("open", "open, fstat, read, close of a file", 20_000),
    ("fread", "fread of 64 bytes", 1_000_000),
    ("getc", "getc", 5_000_000),
    ("start", "fork, exec and wait of true", 300),
)


def nanoseconds(command: list[str], folder: Path) -> float:
    """Run a command that prints a number of nanoseconds, and return it."""
    return float(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.split()[-1])


def main() -> None:
    """Measure and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    provio = [str(Path(sys.executable).with_name("provio")), "run", "--quiet", "--no-merge", "--"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / ".provio").mkdir()
        subprocess.run(["cc", "-O2", "-o", folder / "calls", HERE / "calls.c"], check=True)
        print(f"{'':36} {'bare ns':>10} {'provio ns':>10} {'added':>8}")
        for case, what, count in CASES:
            command = [str(folder / "calls"), case, "/bin/true" if case == "start" else "file", str(count)]
            bare, watched = [], []
            for _ in range(rounds):
                bare.append(nanoseconds(command, folder))
                watched.append(nanoseconds([*provio, *command], folder))
            added = statistics.median(w - b for w, b in zip(watched, bare, strict=True))
            print(f"{what:36} {statistics.median(bare):10.0f} {statistics.median(watched):10.0f} {added:+8.0f}")


if __name__ == "__main__":
    main()
