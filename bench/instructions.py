"""Counts instructions with callgrind: repeatable where seconds are not. `python bench/instructions.py [--keep]`.

It measures title recording adds to a call and to the start of a process, compared with the bare program. For calls the
counts of N and 2N are compared, so that one-time work cancels. The shim reads the system's clock more often if calls
take longer, and under valgrind durations are arbitrary: those reads are excluded from calls, and one read is measured
separately, where each call has one because there is no processor counter. `--keep` writes the figures into
bench/instructions.json, under the compiler and C library that they are valid for;
tests/interceptors/test_instructions.py guards them against growth.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from case import HERE, LEVELS, Place
from variants import BARE, PASS, SHIM, Trace, variables

KEPT = HERE / "instructions.json"
CALLS = {
    "pread": "one `pread`",
    "fread": "one `fread`",
    "getc": "one `getc`",
    "open": "one `open` and `close`",
    "pipe": "one `write` of a byte into a pipe",
    "layer": "one write that a layer above records",
}
STARTS = {"start": "one process without I/O", "start-open": "one process that opens and reads a file"}
LOOKS = {"look": "one read of the system's clock"}
TITLES = CALLS | STARTS | LOOKS
LOOK = "clock_slow"  # the function of the shim
SO_MANY = {"pread": 2_000, "fread": 4_000, "getc": 4_000, "open": 1_000, "pipe": 2_000, "layer": 2_000}

PREFIX = "provio-bench-"  # of the folder that all of it happens in

# The start of a process reads its whole environment, and each letter of a path costs some instructions: so the
# environment is fixed.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}

Figures = dict[str, dict[str, int]]


def built_with() -> str:
    """Return the machine, compiler and C library, on which the figures depend."""
    compiler = subprocess.run(["cc", "-v"], capture_output=True, text=True, check=True).stderr
    name = re.search(r"^(\w+(?: version)? [\d.]+)", compiler, re.MULTILINE)
    return f"{platform.machine()}, {name[1] if name else 'cc'}, {' '.join(platform.libc_ver())}"


def counts(
    command: Sequence[str | Path], place: Place, variant: str, options: Sequence[str] = (), clock: str = ""
) -> str:
    """Return callgrind's output for a command under a variant; raise if the command fails."""
    with tempfile.TemporaryDirectory(dir=place.data) as name:
        environment = ENVIRONMENT | variables(variant, place.built, Trace(Path(name), clock), shim(place))
        output = Path(name) / "counts"
        tool = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={output}", *options]
        done = subprocess.run([*tool, *command], cwd=place.data, env=environment, capture_output=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{command} under {variant} ended with {done.returncode}: {done.stderr.decode()}")
        return output.read_text()


def collected(
    command: Sequence[str | Path], place: Place, variant: str, options: Sequence[str] = (), less: str = ""
) -> int:
    """Return the number of instructions of a command under a variant, without those of the function `less`."""
    found = counts(command, place, variant, options)
    total = re.search(r"^(?:totals|summary): (\d+)", found, re.MULTILINE)
    return (int(total[1]) if total else 0) - (inclusive(found, less)[0] if less else 0)


def shim(place: Place) -> Path:
    """Return a copy of the shim under a path of fixed length."""
    copy = place.built / SHIM.name
    if not copy.exists():
        shutil.copy(SHIM, copy)
    return copy


def inclusive(found: str, function: str) -> tuple[int, int]:
    """Return how many instructions a function takes with all that it calls, and how often it is called, by callgrind's
    file: of each of its callers it has a line `cfn=(NUMBER)`, one of the calls, and one that ends with their cost."""
    named = re.search(rf"^c?fn=(\(\d+\)) {function}$", found, re.MULTILINE)
    if not named:
        return 0, 0
    callers = rf"^cfn={re.escape(named[1])}.*\ncalls=(\d+).*\n\S+ (\d+)$"
    each = [(int(cost), int(calls)) for calls, cost in re.findall(callers, found, re.MULTILINE)]
    return sum(cost for cost, _ in each), sum(calls for _, calls in each)


def of_call(title: str, place: Place, variant: str) -> int:
    """Return the instructions of one call."""
    (place.data / "cached").write_bytes(bytes(1 << 20))
    program, count = place.program("instructions"), SO_MANY[title]
    once, twice = (
        collected([program, title, "cached", str(n)], place, variant, ["--toggle-collect=measured"], LOOK)
        for n in (count, 2 * count)
    )
    return round((twice - once) / count)


def of_start(title: str, place: Place, variant: str) -> int:
    """Return the instructions of one process, from its first to its last."""
    (place.data / "cached").write_bytes(bytes(1 << 20))
    return collected([place.program("nothing"), *(["cached"] if title == "start-open" else [])], place, variant)


def of_look(_: str, place: Place, variant: str) -> int:
    """Return the instructions of one look at the system's clock, of those that opening and closing files has."""
    (place.data / "cached").write_bytes(bytes(1 << 20))
    command = [place.program("instructions"), "open", "cached", str(SO_MANY["open"])]
    cost, looks = inclusive(counts(command, place, variant, ["--toggle-collect=measured"], "sys"), LOOK)
    if variant in LEVELS and looks < SO_MANY["open"]:
        raise RuntimeError(f"{LOOK} is called {looks} times in {SO_MANY['open']} openings: it does not read the clock")
    return round(cost / max(looks, 1))


def measured(place: Place, variants: Sequence[str], of: Iterable[str] = TITLES) -> Figures:
    """Return the bare instructions, and those that each variant adds, by title."""
    figures: Figures = {}
    for title in of:
        count = of_call if title in CALLS else of_start if title in STARTS else of_look
        bare = count(title, place, BARE)
        figures[title] = {BARE: bare, **{variant: count(title, place, variant) - bare for variant in variants}}
    return figures


def kept() -> dict[str, Figures]:
    """Return the figures of the repository, by compiler and C library."""
    return json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}  # type: ignore[no-any-return]


def keep(figures: Figures) -> None:
    """Write the figures of this compiler and C library into the repository."""
    only = {title: {level: figures[title][level] for level in LEVELS} for title in figures}
    KEPT.write_text(json.dumps(kept() | {built_with(): only}, indent=2) + "\n", encoding="utf-8")


def table(place: Place) -> str:
    """Return the counts as Markdown, or a note if valgrind is missing."""
    if shutil.which("valgrind") is None:
        return "Instructions were not counted: valgrind is not installed.\n"
    figures = measured(place, (PASS, *LEVELS))
    columns = (BARE, PASS, *LEVELS)
    heads = ("instructions, by callgrind", BARE, PASS, *(f"`{level}`" for level in LEVELS))
    rows = [heads, ["---"] * len(heads)]
    for key, title in TITLES.items():
        numbers = [f"{figures[key][column]:{',' if column == BARE else '+,'}}" for column in columns]
        rows.append([title, *numbers])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def main() -> None:
    """Count, print and, on request, store the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="write bench/instructions.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name:
        place = Place(Path(name).resolve(), Path(name), Path(name).resolve())
        figures = measured(place, LEVELS)
        for title, by_level in figures.items():
            print(f"{TITLES[title]:44}", *(f"{variant} {count:,}" for variant, count in by_level.items()))
        if options.keep:
            keep(figures)


if __name__ == "__main__":
    main()
