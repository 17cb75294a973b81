"""Runs the benchmarks and prints the results: `python bench/run.py [--rounds N] [--cases b1,tar] [--write]`.

The modules in bench/cases define benchmarks in CASES or MEASUREMENTS. `--write` writes the page docs/cost.md and the
drawing docs/cost.svg; with `--cases` only the rows of these cases.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import cost_page
import instructions
import plot
import report
from case import HERE, LEVELS, Case, Place, Unit
from killed import after_kill
from machine_load import MachineLoad
from measure import Result, measure
from measurement import Measurement
from variants import SHIM, plain_environment

DOCS = HERE.parent / "docs"
KILLED, RUN, INSTRUCTIONS = "killed", "run", "instructions"


def found(kind: str) -> list[Any]:
    """Return the CASES or the MEASUREMENTS of all modules in bench/cases."""
    names = sorted(path.stem for path in (HERE / "cases").glob("*.py"))
    return [one for name in names for one in getattr(importlib.import_module(f"cases.{name}"), kind, ())]


def chosen(cases: list[Case | Measurement], words: str) -> set[str]:
    """Return the keys that a list selects; an item is a key or a common prefix of several."""
    known = {case.key for case in cases} | {KILLED, RUN, INSTRUCTIONS}
    if not words:
        return known - {case.key for case in cases if isinstance(case, Measurement) and case.only_named}
    wanted = set()
    for word in words.replace(",", " ").split():
        meant = {key for key in known if key == word} or {key for key in known if key.startswith(word)}
        if not meant:
            sys.exit(f"bench: no case is named {word}; there are {', '.join(sorted(known))}")
        wanted |= meant
    return wanted


def whole_run(place: Place, rounds: int) -> str:
    """Measure the time of `provio run` itself."""
    program = place.program("nothing")
    folder = place.data / "project-of-its-own"
    (folder / ".provio").mkdir(parents=True)
    watched = [Path(sys.executable).with_name("provio"), "run", "--quiet", "--no-merge", "--", program]
    took = []
    for command in (watched, [program]) * rounds:
        began = time.perf_counter()
        subprocess.run(command, cwd=folder, env=plain_environment(), check=True)
        took.append(time.perf_counter() - began)
    added = statistics.median(a - b for a, b in zip(took[::2], took[1::2], strict=True))
    return f"`provio run --no-merge` itself, for each run and any command: {added * 1e3:.0f} ms"


def compile_python() -> None:
    """Write byte code of provio's modules, which an installed package has: a recorded program never writes it."""
    folders = [HERE.parent / name for name in ("provio", "interceptors")]
    subprocess.run([sys.executable, "-m", "compileall", "-q", *folders], check=True)


def progress(result: Result) -> None:
    """Print the result of a case."""
    unit = result.case.unit
    costs = "  ".join(f"{level} {report.number(result.cost(level).median, unit)}" for level in LEVELS)
    print(f"{result.case.key:12} {costs} {'' if unit is Unit.RATIO else unit.sign}", file=sys.stderr, flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", default="", help="a list of names; default: all cases")
    parser.add_argument(
        "--write", action="store_true", help="write docs/cost.md and docs/cost.svg, or only the rows of --cases"
    )
    options = parser.parse_args()
    if not SHIM.exists():
        sys.exit(f"bench: {SHIM} is missing: make shim")
    compile_python()
    cases: list[Case] = found("CASES")
    others: list[Measurement] = found("MEASUREMENTS")
    wanted = chosen([*cases, *others], options.cases)
    memory = Path(tempfile.mkdtemp(prefix="provio-bench-", dir="/dev/shm"))
    try:
        with tempfile.TemporaryDirectory(prefix="provio-bench-") as name:
            place = Place(Path(name).resolve() / "data", memory, Path(name).resolve() / "built")
            place.data.mkdir()
            place.built.mkdir()
            results, measured = [], {}
            for case in cases:
                if case.key in wanted:
                    load = MachineLoad()
                    results.append(measure(case, place, options.rounds))
                    measured[case.key] = load.cell(options.rounds)
                    progress(results[-1])
            figures = []
            for other in others:
                if other.key in wanted:
                    load = MachineLoad()
                    found_here = other.measure(place, options.rounds)
                    figures += [(figure, load.cell(options.rounds)) for figure in found_here]
                    print(f"{other.key:12} {found_here[-1].cells()[1]}", file=sys.stderr, flush=True)
            killed = after_kill(place) if KILLED in wanted else {}
            load = MachineLoad()
            lines = [f"{whole_run(place, options.rounds)} ({load.cell(options.rounds)})."] if RUN in wanted else []
            counts = instructions.table(place) if INSTRUCTIONS in wanted else ""
            content = report.text(results, figures, killed, lines, counts, measured)
            print(content)
            if options.write:
                page = report.write(DOCS / "cost.md", content, part=bool(options.cases))
                plot.draw(list(cost_page.costs(page, cases)), DOCS / "cost.svg")
    finally:
        shutil.rmtree(memory)


if __name__ == "__main__":
    main()
