"""The cost of parallel programs: the start of a rank, four ranks with parallel HDF5, the merge of 4,096 ranks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import many_ranks
from case import HERE, Place
from many_ranks import PROVIO, environment
from measure import Sample, Spread, sample
from measurement import Figure, Measurement

RANKS = (256, 4096)
COUNTED = (["stats"], *(["query", name] for name in ("io-by-rank", "unread")))
EXAMPLE = HERE.parent / "examples" / "h5bench"
# Steps of the example, and particles of each of its ranks: as h5bench's own samples have it, but for the second of
# sleep after each step (2.7 GB in all); and with forty times the datasets, of a quarter of a megabyte a rank (1.6 GB).
SIZES = {"h5bench's own size": (5, 1 << 22), "many small datasets": (200, 1 << 16)}


def _start(place: Place, rounds: int) -> Sequence[Figure]:
    """Compare the start of a rank that joins an existing run with a Python that does nothing, in turns."""
    folder = place.data / "rank-start"
    (folder / ".provio").mkdir(parents=True)
    variables = environment(folder) | {"PMI_RANK": "1", "PMI_SIZE": "4096", "PROVIO_RUN": "bench"}
    commands = ([str(PROVIO), "run", "--quiet", "--", "true"], [sys.executable, "-c", "pass"])
    for command in (*commands, *commands):
        sample(command, variables, folder, printed=False)
    pairs = [[sample(command, variables, folder, printed=False) for command in commands] for _ in range(8 * rounds)]
    title = "a rank's `provio run -- true`, times `python3 -c pass`"
    return [
        Figure(f"{title}: wall time", Spread.of([rank.time / bare.time for rank, bare in pairs]), "×", 2),
        Figure("its processor time", Spread.of([rank.processor / bare.processor for rank, bare in pairs]), "×", 2),
    ]


def _example(place: Place, rounds: int) -> Sequence[Figure]:
    """Compare the parallel HDF5 example of four ranks with itself under provio, in turns, both ways round."""
    folder = place.memory / "h5bench"
    folder.mkdir()
    subprocess.run(["make", "-s", "-f", EXAMPLE / "Makefile"], cwd=folder, check=True)
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    launch = ["mpirun.openmpi", *as_root, "--oversubscribe", "-n", str(many_ranks.REAL)]
    variables = environment(place.data / "h5bench-record")
    os.makedirs(variables["PROVIO_HOME"])
    found = [
        figure
        for size, (steps, particles) in SIZES.items()
        for figure in _sized(size, launch, [str(steps), "--particles", str(particles)], (variables, folder, rounds))
    ]
    shutil.rmtree(folder)
    return found


def _sized(
    size: str, launch: Sequence[str], words: Sequence[str], way: tuple[dict[str, str], Path, int]
) -> Sequence[Figure]:
    """Compare one size of the example; the last figure shows the variation of the machine."""
    variables, folder, rounds = way
    kernel = ["./kernel", "write", "particles.h5", "--steps", *words]
    watch = [str(PROVIO), "run", "--quiet", "--no-merge", "--"]
    commands = [[*launch, *kernel], [*launch, *watch, *kernel], [*watch, *launch, *kernel], [*launch, *kernel]]
    taken = [_in_turn(commands, turn, variables, folder) for turn in range(rounds + 1)][1:]
    ways = ("`mpirun -n 4 provio run -- kernel`", "`provio run -- mpirun -n 4 kernel`", "bare once more")
    found = []
    for at, name in enumerate(ways, start=1):
        wall = Spread.of([turn[at].time / turn[0].time for turn in taken])
        processor = Spread.of([turn[at].processor / turn[0].processor for turn in taken])
        bound = 1.05 if at < len(ways) else None
        found.append(
            Figure(f"the parallel HDF5 example, {size}, {name}: wall time, times bare", wall, "×", bound, digits=3)
        )
        found.append(Figure("its processor time, times bare", processor, "×", digits=3))
    return found


def _in_turn(commands: Sequence[Sequence[str]], turn: int, variables: dict[str, str], folder: Path) -> list[Sample]:
    """Run each command without the file of the previous one, starting with another one in each turn; return the samples
    in the given order."""
    found: dict[int, Sample] = {}
    for number in range(len(commands)):
        at = (number + turn) % len(commands)
        (folder / "particles.h5").unlink(missing_ok=True)
        found[at] = sample(commands[at], variables, folder, printed=False)
    return [found[at] for at in range(len(commands))]


def _thousands(place: Place, rounds: int) -> Sequence[Figure]:
    """Merge 256 ranks and 4,096 like them, and query the file that all of them wrote."""
    program = place.program("ranks", *many_ranks.COMPILER)
    real = many_ranks.record(place.data / "ranks-real", program)
    few, many = (many_ranks.simulate(real, place.data / f"ranks-{count}", count) for count in RANKS)
    size = sum(path.stat().st_size for path in many.rglob("*.ttl")) / RANKS[1]
    small = [_merged(few) for _ in range(max(1, rounds // 2))]
    wall, processor, memory = _merged(many)
    each = Spread.of([processor / RANKS[1] / (before / RANKS[0]) for _, before, _ in small])
    shared = real / many_ranks.SHARED
    lineage = sample([PROVIO, "lineage", shared, "--as", "json"], environment(many), many, printed=False)
    counted = [sample([PROVIO, *words], environment(many), many, printed=False) for words in COUNTED]
    shutil.rmtree(many)
    figures = [
        ("`provio merge` of 4,096 ranks: wall time (PROV-IO's paper: 5 minutes to 1 hour)", wall, "s", 300),
        ("the merge of 4,096 ranks: its processor time", processor, "s", None),
        ("the merge of 4,096 ranks: its peak of resident memory", memory, "MB", 300),
        ("the merge of 4,096 ranks: their trace on disk, for each", size / 1024, "KiB", None),
        ("`provio lineage` of the file that 4,096 ranks wrote: processor time", lineage.processor / 1e9, "s", None),
        *(
            (f"`provio {' '.join(words)}` of them: processor time", taken.processor / 1e9, "s", None)
            for words, taken in zip(COUNTED, counted, strict=True)
        ),
    ]
    return [
        Figure(f"`provio merge` of 4,096 ranks: processor time a rank, times a rank among {RANKS[0]}", each, "×", 1.2),
        *(Figure(title, Spread.of([value]), unit, bound, 1) for title, value, unit, bound in figures),
    ]


def _merged(folder: Path) -> tuple[float, float, float]:
    """Merge into a new store; return the wall and the processor time (s), and the largest process's peak (MB)."""
    for name in ("store", "snapshots"):
        shutil.rmtree(folder / ".provio" / name, ignore_errors=True)
    began = time.perf_counter()
    process = subprocess.Popen([PROVIO, "merge"], cwd=folder, env=environment(folder), stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, "provio merge")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


MEASUREMENTS = [
    Measurement("rank-start", _start),
    Measurement("rank-example", _example),
    Measurement("ranks-4096", _thousands, only_named=True),  # minutes
]
