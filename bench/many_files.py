"""The cost of storing and querying a run with many files: `grep -r`, and programs that read or write many files.

`python bench/many_files.py` measures all cases (`--cases grep-50000,read-10000` some), stores the figures in
`bench/many_files.json` and writes the table of docs/cost.md. `--provio PATH --release first` measures another
installation of provio, for columns of its own. `--table` writes the table from the stored figures.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

import pyoxigraph
import report
from case import HERE, Place
from history import taken
from machine_load import MachineLoad
from many_files_table import AGAIN, BEGIN, CASES, NOW, QUERIES, table
from memory import Watched
from variants import plain_environment

KEPT = HERE / "many_files.json"
DOCS = HERE.parent / "docs"
FEW = 50_000  # files; cases with more have one round
LONGEST = 600  # seconds of processor time, the limit of a query


def measured(
    command: list[str], folder: Path, environment: dict[str, str], longest: int | None = None
) -> tuple[float | None, float, float]:
    """Run a command; return its processor time (s; None where it was ended after the `longest`), the peak of its
    largest process and of all its processes at once (MB)."""
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if longest:
        resource.prlimit(process.pid, resource.RLIMIT_CPU, (longest, longest + 5))
    watched = Watched(process.pid)
    watched.start()
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    peak = watched.stop()
    if process.returncode not in (0, -signal.SIGXCPU, -signal.SIGKILL):
        raise subprocess.CalledProcessError(process.returncode, command, stderr=errors)
    seconds = usage.ru_utime + usage.ru_stime if process.returncode == 0 else None
    return seconds, usage.ru_maxrss * 1024 / 1e6, max(peak / 1e6, usage.ru_maxrss * 1024 / 1e6)


# Else a process goes on after a merge.
OFF = {"PROVIO_HASH": "off", "PROVIO_RECORD_METADATA": "false", "PROVIO_RECORD_PACKAGES": "false"}


class Project:
    """A folder in which a case is recorded and queried, with one installation of provio."""

    def __init__(self, folder: Path, provio: Path, program: Path) -> None:
        self.folder, self.provio, self.program = folder, provio, program
        self.record, self.pristine = folder / ".provio", folder / "pristine"
        self.environment = plain_environment() | OFF
        (folder / "files").mkdir()
        self.record.mkdir()

    def call(self, *words: str, longest: int | None = None) -> tuple[float | None, float, float]:
        """Call provio; return its cost, like `measured`."""
        return measured([str(self.provio), *words], self.folder, self.environment, longest)

    def recorded(self, kind: str, files: int) -> float:
        """Record the case; return its processor time."""
        times = AGAIN if kind == "again" else 1
        each = f"{self.program} {{}} files {files // times} {times}"
        if kind != "written":
            first = [str(self.program), "w", "files", str(files // times)]
            subprocess.run(first, cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        command = "grep -r x files" if kind == "grep" else each.format("w" if kind == "written" else "r")
        seconds, *_ = self.call("run", "--quiet", "--no-merge", "--", "sh", "-c", f"exec {command} > out.txt")
        shutil.copytree(self.record, self.pristine, symlinks=True)
        return seconds or 0

    def unmerged(self) -> None:
        """Restore the record from before the merge."""
        shutil.rmtree(self.record)
        shutil.copytree(self.pristine, self.record, symlinks=True)

    def triples(self) -> int:
        """Return the number of triples in the store."""
        return len(pyoxigraph.Store.read_only(str(self.record / "store")))


def figures(project: Project, kind: str, files: int, without: Collection[str]) -> dict[str, float | None]:
    """Merge the record and query it, except for some queries; return the figures by name, None for a query that reached
    its limit."""
    target = "files/000/00000" if kind == "written" else "out.txt"
    seconds, largest, all_of_them = project.call("merge")
    store = [project.record / name for name in ("store", "snapshots")]
    found = {
        "merge": seconds,
        "each": (seconds or 0) / files * 1e6,
        "largest": largest,
        "memory": all_of_them,
        "store": taken(*store) / 1e6,
        "statements": taken(project.record / "statements") / 1e6,
        "runs": taken(project.record / "runs") / 1e6,
        "triples": project.triples() / files,
    }
    for name, words in QUERIES.items():
        if name in without:
            continue
        found[name] = project.call(*words, *([target] if name in ("lineage", "why") else []), longest=LONGEST)[0]
        print(f"  {name}: {found[name]}", file=sys.stderr, flush=True)
    project.unmerged()
    if "fresh" not in without:
        found["fresh"] = project.call("lineage", target)[0]
        project.unmerged()
    return found


def one(
    kind: str, files: int, provio: Path, rounds: int, place: Path | None, without: Collection[str]
) -> dict[str, list[float | None]]:
    """Measure a case; return each figure of each round by name."""
    with tempfile.TemporaryDirectory(prefix="provio-bench-", dir=place) as name:
        folder = Path(name).resolve()
        program = Place(folder, folder, folder).program("each")
        project, load = Project(folder, provio, program), MachineLoad()
        recorded = project.recorded(kind, files)
        all_rounds = [figures(project, kind, files, without) for _ in range(1 if files > FEW else rounds)]
        found = {name: [rounded(one[name]) for one in all_rounds] for name in all_rounds[0]}
        return {"recorded": [rounded(recorded)], **found, "beside": [rounded(load.cores())]}


def rounded(value: float | None) -> float | None:
    """Return a figure rounded to its significant digits."""
    return None if value is None else float(f"{value:.4g}")


def main() -> None:
    """Measure, store and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default=",".join(CASES), help="a list of names")
    parser.add_argument("--rounds", type=int, default=3, help=f"of a case of at most {FEW:,} files")
    parser.add_argument("--provio", type=Path, default=Path(sys.executable).with_name("provio"))
    parser.add_argument("--release", default=NOW, choices=(NOW, "first"), help="the release of --provio")
    parser.add_argument("--place", type=Path, help="a folder to work in (1,000,000 files take 10 GB)")
    parser.add_argument("--without", default="", help=f"queries to omit: {', '.join(QUERIES)}, fresh")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    chosen = parser.parse_args()
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    for key in () if chosen.table else chosen.cases.split(","):
        kind, files = CASES[key]
        print(key, file=sys.stderr, flush=True)
        found = one(kind, files, chosen.provio.resolve(), chosen.rounds, chosen.place, chosen.without.split(","))
        kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
        kept.setdefault(chosen.release, {})[key] = found | {"machine": report.machine().partition(" · ")[2]}
        KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(report.write(DOCS / "cost.md", table(kept), begin=BEGIN))


if __name__ == "__main__":
    main()
