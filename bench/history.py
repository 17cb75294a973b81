"""The cost of a run after many earlier ones: a script that rewrites the same files is run many times.

`python bench/history.py [--runs 200] [--files 2000] [--plot FILE.svg]` prints for each run the processor
time of `provio run` with its merge (seconds, all its processes) and the disk that the record then takes (bytes by
distinct inode: runs, store, snapshots), at the end the disk of a rebuild, and the means of the first and the last
tenth of the runs.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from variants import plain_environment

SCRIPT = """import os
os.makedirs("data", exist_ok=True)
for number in range({files}):
    with open(f"data/{{number}}", "w") as file:
        file.write("x" * 40)
"""
TENTH = 10


class Row(NamedTuple):
    """A run: seconds of processor time; bytes of the run folders, and of the store and its snapshots."""

    cpu: float
    runs: int
    store: int


def measured(command: list[str], folder: Path, environment: dict[str, str]) -> float:
    """Return the processor time of a command and its children, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environment, check=True, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def taken(*folders: Path) -> int:
    """Return the bytes of all files in folders, each inode once."""
    found = {}
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                known = os.lstat(os.path.join(place, name))
                found[known.st_dev, known.st_ino] = known.st_blocks * 512
    return sum(found.values())


def history(runs: int, files: int) -> tuple[list[Row], int]:
    """Run the script many times; return a row for each run, and the bytes of a rebuilt store."""
    provio = str(Path(sys.executable).with_name("provio"))
    with tempfile.TemporaryDirectory() as name:
        folder, rows = Path(name), []
        (folder / "rewrite.py").write_text(SCRIPT.format(files=files), encoding="utf-8")
        record, environment = folder / ".provio", plain_environment()
        stores = [record / "store", record / "snapshots", record / "statements"]
        for number in range(runs):
            cpu = measured([provio, "run", "--", sys.executable, "rewrite.py"], folder, environment)
            rows.append(Row(cpu, taken(record / "runs"), taken(*stores)))
            print(number + 1, f"{cpu:.2f} s", f"{rows[-1].store / 1e6:.1f} MB", sep="\t", flush=True)
        measured([provio, "merge", "--rebuild"], folder, environment)
        return rows, taken(*stores)


def draw(rows: list[Row], path: Path) -> None:
    """Draw the processor time and the disk of each run."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "provio", "svg.fonttype": "none", "font.family": "sans-serif"})
    from matplotlib import pyplot

    figure, (above, below) = pyplot.subplots(2, 1, figsize=(7, 4.5), sharex=True, layout="constrained")
    numbers = range(1, len(rows) + 1)
    above.plot(numbers, [row.cpu for row in rows], ".", markersize=4, color="#2f6db0")
    above.set_ylabel("processor time, s")
    above.set_ylim(bottom=0)
    below.plot(numbers, [row.store / 1e6 for row in rows], color="#2f6db0", label="store and snapshots")
    below.plot(numbers, [row.runs / 1e6 for row in rows], color="#b8b8b8", label="run folders")
    below.set_ylabel("disk, MB")
    below.set_xlabel("run")
    below.legend(frameon=False)
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--plot", type=Path)
    chosen = parser.parse_args()
    rows, rebuilt = history(chosen.runs, chosen.files)
    tenth = max(1, len(rows) // TENTH)
    first, last = (statistics.mean(row.cpu for row in some) for some in (rows[:tenth], rows[-tenth:]))
    print(f"first {tenth} runs: {first:.2f} s, last {tenth}: {last:.2f} s, {last / first:.2f} times")
    print(f"store: {rows[-1].store / 1e6:.0f} MB, rebuilt {rebuilt / 1e6:.0f} MB, {rows[-1].store / rebuilt:.2f} times")
    if chosen.plot:
        draw(rows, chosen.plot)


if __name__ == "__main__":
    main()
