"""The cost of merges: one large run, ten of them, one ten times as large, many small ones, and the end of a run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import thread_files
from case import HERE, Place
from measure import Spread, sample
from measurement import Figure, Measurement
from variants import plain_environment

from provio.settings.home import Home
from provio.store.embedded.reader import StoreReader

PROVIO = Path(sys.executable).with_name("provio")
BULK = HERE / "programs" / "bulk.py"
THREADS = 2_000  # files of a large run, 700,000 triples
SMALL = (50, 250)  # runs in a store, few and many


def _recorded(place: Place, name: str, threads: int) -> Path:
    """Return a `.provio` with one pending run of programs that each read six files and write six."""
    folder = place.data / name
    if not folder.exists():
        (folder / ".provio").mkdir(parents=True)
        for number in range(6):
            (folder / f"in{number}").write_text(f"input {number}\n")
        loop = f'for i in $(seq {threads}); do "{place.program("copies")}" . out$i; done'
        command = [PROVIO, "run", "--quiet", "--no-merge", "--", "bash", "-c", loop]
        subprocess.run(command, cwd=folder, env=_environment(folder), check=True)
    return folder


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in plain_environment().items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PROVIO_HOME": str(folder / ".provio")}


def _copied(whole: Path, target: Path, copies: int) -> Path:
    """Return a `.provio` with copies of a run: each of other files, ten seconds after the one before."""
    run = next((whole / ".provio" / "runs").iterdir())
    began = int(re.search(rb":startedNs (\d+)", (run / "run.ttl").read_bytes())[1])
    for number in range(copies):
        name = f"{run.name[:-8]}{number:08x}"
        for path in (run / "run.ttl", *thread_files.of(run)):
            copy = target / ".provio" / "runs" / name / path.relative_to(run)
            copy.parent.mkdir(parents=True, exist_ok=True)
            data = path.read_bytes().replace(run.name.encode(), name.encode())
            copy.write_bytes(_other_files(data, began, number))
    return target


def _other_files(data: bytes, began: int, number: int) -> bytes:
    """Give files made during the run, and pipes, other inodes; earlier files keep theirs."""

    def later(match: re.Match[bytes]) -> bytes:
        moment = int(match[0])
        return b"%d" % (moment + number * 10_000_000_000) if moment >= began else match[0]

    def other(inode: int, birth: int) -> int:
        return inode if 0 < birth < began else inode + number * 100_000_000

    return re.sub(rb"\b\d{19}\b", later, thread_files.with_inodes(data, other))


def _merged(folder: Path) -> tuple[float, float]:
    """Merge into a new store; return the processor time (s) and the largest process's peak (MB)."""
    for name in ("store", "snapshots"):
        shutil.rmtree(folder / ".provio" / name, ignore_errors=True)
    process = subprocess.Popen([PROVIO, "merge"], cwd=folder, env=_environment(folder), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)  # the time of all processes, the memory of the largest
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, "provio merge")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def _bulk(folder: Path, place: Place, graph: str) -> float:
    store = place.data / "bulk"
    shutil.rmtree(store, ignore_errors=True)
    command = [sys.executable, BULK, store, folder / ".provio" / "runs", graph]
    return sample(command, _environment(folder), folder, printed=False).processor / 1e9


def _disk(folder: Path) -> float:
    """Return the bytes of the store for each quad."""
    store = folder / ".provio" / "store"
    size = sum(path.stat().st_size for path in store.iterdir())
    return size / len(StoreReader(Home(folder / ".provio")).store)


def _large(place: Place, rounds: int) -> Sequence[Figure]:
    """Compare a merge with loading the same Turtle, in turns."""
    folder = _recorded(place, "merged", THREADS)
    _merged(folder)  # so that byte code is written
    took = [(_merged(folder), _bulk(folder, place, "named"), _bulk(folder, place, "default")) for _ in range(rounds)]
    seconds = Spread.of([merge for (merge, _), _, _ in took])
    named = Spread.of([merge / bulk for (merge, _), bulk, _ in took])
    default = Spread.of([merge / bulk for (merge, _), _, bulk in took])
    return [
        Figure(f"`provio merge` of {THREADS:,} thread files: processor time", seconds, "s"),
        Figure("the same, times one `bulk_extend` of their Turtle into a named graph", named, "×", 1.6),
        Figure("the same, times one `bulk_extend` into the default graph (half the indexes)", default, "×", 1.6),
        Figure("its peak of resident memory", Spread.of([memory for (_, memory), _, _ in took]), "MB", 300, 0),
        Figure("its store on disk, for each quad", Spread.of([_disk(folder)]), "bytes", 200, 0),
    ]


def _ten(place: Place, rounds: int) -> Sequence[Figure]:
    """Merge ten copies of the run, and one run with ten times as many programs; compare with the one run."""
    one = _recorded(place, "merged", THREADS)
    ten = _copied(one, place.data / "merged-ten", 10)
    long = _recorded(place, "merged-long", 10 * THREADS)
    figures = []
    took = [(_merged(one), _merged(ten), _merged(long)) for _ in range(max(1, rounds // 3))]
    for title, place_of in (("ten such runs", 1), ("one run ten times as long", 2)):
        times = Spread.of([all_[place_of][0] / all_[0][0] for all_ in took])
        memory = Spread.of([all_[place_of][1] for all_ in took])
        figures.append(Figure(f"`provio merge` of {title}, times the one: processor time", times, "×", 12))
        figures.append(Figure("its peak of resident memory", memory, "MB", 300, 0))
    figures.append(Figure("the store of the ten on disk, for each quad", Spread.of([_disk(ten)]), "bytes", 200, 0))
    return figures


def _many(place: Place, rounds: int) -> Sequence[Figure]:
    """Merge few and many runs of one program each: the cost of a run must not grow with their number."""
    one = _recorded(place, "merged-small", 1)
    few, many = (_copied(one, place.data / f"merged-{count}", count) for count in SMALL)
    took = [(_merged(few), _merged(many)) for _ in range(max(1, rounds // 2))]
    each = Spread.of([after[0] / SMALL[1] * 1e3 for _, after in took])
    grown = Spread.of([after[0] / SMALL[1] / (before[0] / SMALL[0]) for before, after in took])
    return [
        Figure(f"`provio merge` of {SMALL[1]:,} runs of two programs: processor time a run", each, "ms", None, 1),
        Figure(f"the same, times a run among {SMALL[0]}", grown, "×", 1.2),
        Figure("its peak of resident memory", Spread.of([after[1] for _, after in took]), "MB", 300, 0),
    ]


def _end(place: Place, rounds: int) -> Sequence[Figure]:
    """Compare a whole `provio run -- true`, merged into a small store, with a Python that does nothing, in turns."""
    folder = place.data / "ended"
    (folder / ".provio").mkdir(parents=True)
    environment = _environment(folder)
    commands = ([PROVIO, "run", "--quiet", "--", "true"], [sys.executable, "-c", "pass"])
    for command in commands:
        sample(command, environment, folder, printed=False)
    pairs = [[sample(command, environment, folder, printed=False) for command in commands] for _ in range(4 * rounds)]
    title = "`provio run -- true` with merge, small store, times `python3 -c pass`"
    return [
        Figure(f"{title}: wall time", Spread.of([ended.time / bare.time for ended, bare in pairs]), "×", 12),
        Figure("its processor time", Spread.of([ended.processor / bare.processor for ended, bare in pairs]), "×", 12),
    ]


MEASUREMENTS = [
    Measurement("merge", _large),
    Measurement("merge-ten", _ten, only_named=True),  # minutes
    Measurement("merge-many", _many),
    Measurement("merge-end", _end),
]
