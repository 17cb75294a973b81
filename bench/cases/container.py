"""`provio container exec`: its start, compared with the bare runtime and `provio run`, and the cost of a call inside.

The image is a folder with this system's C library, its loader and the benchmark's programs: Charliecloud starts it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from case import Place, numbered_files
from measure import Spread
from measurement import Figure, Measurement
from variants import plain_environment

PROVIO = Path(sys.executable).with_name("provio")
CALLS, FILES = 1_000_000, 50_000
STARTS = 3  # in each round
SCALE = {"pread": 1, "files": 1_000}  # nanoseconds in the unit of the table
FOLDERS = ("bin", "dev", "etc", "proc", "sys", "tmp", "usr")


def _image(place: Place, programs: Sequence[Path]) -> Path:
    """Make the image: the programs in /bin, and their libraries in the places where the loader searches."""
    image = place.built / "image"
    for name in FOLDERS:
        (image / name).mkdir(parents=True)
    for name in ("passwd", "group", "hosts", "resolv.conf"):
        (image / "etc" / name).touch()
    for program in programs:
        shutil.copy(program, image / "bin" / program.name)
        linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"(/\S+) \(0x", linked):
            target = image / library[1:]
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                shutil.copy(library, target)
    return image


def _timed(command: Sequence[str | Path], place: Place, environment: dict[str, str]) -> tuple[float, str]:
    """Return the duration of a command in milliseconds, and its output."""
    began = time.perf_counter()
    done = subprocess.run(command, cwd=place.data, env=environment, capture_output=True, text=True, check=True)
    return (time.perf_counter() - began) * 1e3, done.stdout


def _container(place: Place, rounds: int) -> Sequence[Figure]:
    """Measure in turns, on the same files, under the same names inside and out."""
    if shutil.which("ch-run") is None:
        print("container: skipped, because ch-run is not installed (apt-get install charliecloud)", file=sys.stderr)
        return []
    nothing, pread, files = (place.program(name) for name in ("nothing", "pread", "files"))
    image = _image(place, [nothing, pread, files])
    (place.data / "cached").write_bytes(bytes(1 << 20))
    numbered_files(place, FILES)
    home = place.data / ".provio"
    home.mkdir()
    kept = {name: value for name, value in plain_environment().items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {"USER": "bench", **kept, "PROVIO_HOME": str(home)}  # ch-run does nothing without
    shown = place.data.is_relative_to("/tmp")  # by ch-run itself
    binds = [] if shown else [f"--bind={place.data}:{place.data}"]
    runtime: list[str | Path] = ["ch-run", *binds, f"--cd={place.data}", image, "--"]
    watched: list[str | Path] = [PROVIO, "container", "exec", "--quiet", "--no-merge", image, "--"]
    run: list[str | Path] = [PROVIO, "run", "--quiet", "--no-merge", "--"]
    if not shown:
        (image / str(place.data)[1:]).mkdir(parents=True, exist_ok=True)
    starts: list[list[float]] = [[], [], []]
    added: dict[str, list[float]] = {f"{name} {where}": [] for name in SCALE for where in ("inside", "outside")}
    arguments = {"pread": ["cached", str(CALLS)], "files": ["files", str(FILES)]}
    outside = {"pread": pread, "files": files}
    for _ in range(rounds):
        commands = ([*runtime, "/bin/nothing"], [*run, nothing], [*watched, "/bin/nothing"])
        for times, command in list(zip(starts, commands, strict=True)) * STARTS:
            times.append(_timed(command, place, environment)[0])
        for name, words in arguments.items():
            pairs = {"inside": (runtime, watched, f"/bin/{name}"), "outside": ([], run, outside[name])}
            for where, (bare, seen, program) in pairs.items():
                figures = [float(_timed([*begin, program, *words], place, environment)[1].split()[0])
                           for begin in (bare, seen)]  # fmt: skip
                added[f"{name} {where}"].append((figures[1] - figures[0]) / SCALE[name])
    shutil.rmtree(home)
    ratios = [three / (one + two) for one, two, three in zip(*starts, strict=True)]
    return [
        Figure("start of a container under provio", Spread.of(starts[2]), "ms"),
        Figure("start of it by `ch-run` alone", Spread.of(starts[0]), "ms"),
        Figure("start of its command by `provio run` alone", Spread.of(starts[1]), "ms"),
        Figure("start of a container under provio, times both together", Spread.of(ratios), "×", 1),
        Figure("B1 inside: a `pread` of 4 KiB", Spread.of(added["pread inside"]), "ns", 50),
        Figure("B1 outside, in the same rounds", Spread.of(added["pread outside"]), "ns"),
        Figure("B3 inside: `open`, `fstat`, `read`, `close` of a file", Spread.of(added["files inside"]), "µs", 1.5),
        Figure("B3 outside, in the same rounds", Spread.of(added["files outside"]), "µs"),
    ]


MEASUREMENTS = [Measurement("container", _container)]
