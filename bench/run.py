"""Runs the benchmarks and prints what they found: `python bench/run.py [--rounds N] [--cases b1,tar] [--write]`.

A benchmark is a file in bench/cases that holds CASES or QUESTIONS; it is found there. With `--write` the page
docs/cost.md and the drawing docs/cost.svg are made anew; with `--cases` beside it only the rows of these.
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

import instructions
import kept
import plot
import report
from beside import Beside
from case import HERE, LEVELS, Case, Place, Unit
from killed import after_kill
from measure import Result, measure
from question import Question
from variants import SHIM, plain_environment

DOCS = HERE.parent / "docs"
KILLED, RUN, INSTRUCTIONS = "killed", "run", "instructions"


def found(what: str) -> list[Any]:
    """Return the CASES or the QUESTIONS of all files in bench/cases."""
    names = sorted(path.stem for path in (HERE / "cases").glob("*.py"))
    return [one for name in names for one in getattr(importlib.import_module(f"cases.{name}"), what, ())]


def chosen(cases: list[Case | Question], words: str) -> set[str]:
    """Return the keys that a list names: a case's own key, or how several begin."""
    known = {case.key for case in cases} | {KILLED, RUN, INSTRUCTIONS}
    if not words:
        return known - {case.key for case in cases if isinstance(case, Question) and case.only_named}
    wanted = set()
    for word in words.replace(",", " ").split():
        meant = {key for key in known if key == word} or {key for key in known if key.startswith(word)}
        if not meant:
            sys.exit(f"bench: no case is named {word}; there are {', '.join(sorted(known))}")
        wanted |= meant
    return wanted


def whole_run(place: Place, rounds: int) -> str:
    """Measure what `provio run` itself takes, start to end."""
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
    return f"`provio run --no-merge` itself, once a run, whatever the command: {added * 1e3:.0f} ms"


def compile_python() -> None:
    """Have byte code of what a Python loads of provio's, as an installed package has: a watched program never writes
    it, and a tree of sources may have none."""
    folders = [HERE.parent / name for name in ("provio", "interceptors")]
    subprocess.run([sys.executable, "-m", "compileall", "-q", *folders], check=True)


def progress(result: Result) -> None:
    """Say how a case went as soon as it is known."""
    unit = result.case.unit
    costs = "  ".join(f"{level} {report.number(result.cost(level).median, unit)}" for level in LEVELS)
    print(f"{result.case.key:12} {costs} {'' if unit is Unit.RATIO else unit.sign}", file=sys.stderr, flush=True)


def main() -> None:
    """Measure and tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", default="", help="a list of names; all cases where it is empty")
    parser.add_argument(
        "--write", action="store_true", help="write docs/cost.md and docs/cost.svg; of some cases their rows"
    )
    options = parser.parse_args()
    if not SHIM.exists():
        sys.exit(f"bench: {SHIM} is missing: make shim")
    compile_python()
    cases: list[Case] = found("CASES")
    questions: list[Question] = found("QUESTIONS")
    wanted = chosen([*cases, *questions], options.cases)
    memory = Path(tempfile.mkdtemp(prefix="provio-bench-", dir="/dev/shm"))
    try:
        with tempfile.TemporaryDirectory(prefix="provio-bench-") as name:
            place = Place(Path(name).resolve() / "data", memory, Path(name).resolve() / "built")
            place.data.mkdir()
            place.built.mkdir()
            results, measured = [], {}
            for case in cases:
                if case.key in wanted:
                    beside = Beside()
                    results.append(measure(case, place, options.rounds))
                    measured[case.key] = beside.told(options.rounds)
                    progress(results[-1])
            asked = []
            for question in questions:
                if question.key in wanted:
                    beside = Beside()
                    figures = question.measure(place, options.rounds)
                    asked += [(figure, beside.told(options.rounds)) for figure in figures]
                    print(f"{question.key:12} {figures[-1].cells()[1]}", file=sys.stderr, flush=True)
            killed = after_kill(place) if KILLED in wanted else {}
            beside = Beside()
            lines = [f"{whole_run(place, options.rounds)} ({beside.told(options.rounds)})."] if RUN in wanted else []
            counts = instructions.table(place) if INSTRUCTIONS in wanted else ""
            content = report.text(results, asked, killed, lines, counts, measured)
            print(content)
            if options.write:
                page = report.write(DOCS / "cost.md", content, part=bool(options.cases))
                plot.draw(list(kept.costs(page, cases)), DOCS / "cost.svg")
    finally:
        shutil.rmtree(memory)


if __name__ == "__main__":
    main()
