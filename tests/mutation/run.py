"""Measure how many subtle changes of the code the tests notice: `make mutants` (ARGUMENTS="--help" shows the options).

In: groups of modules (`groups.toml`), a number of mutants for each, a seed. Out: each survivor as one changed line,
then for each group the numbers of mutants, of killed, surviving, uncovered and equivalent ones, and the score.

Each mutant runs in a copy of the repository against the fastest of the tests that call the changed function
(`covering.py` records which these are), within `--budget` seconds of their usual time. `equivalent.txt` lists the
mutants that no test can notice, each with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

from mutants import Mutant, mutants
from tree import ROOT, copied

HERE = Path(__file__).parent
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", "-o", "tmp_path_retention_policy=none")
Tests = dict[tuple[str, int], set[str]]


def equivalents() -> dict[str, str]:
    """Return the reasons of the equivalent mutants, by their keys."""
    found = {}
    for block in (HERE / "equivalent.txt").read_text(encoding="utf-8").split("\n\n"):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        if lines:
            found[lines[0]] = " ".join(lines[1:]).strip()
    return found


def measured(copy: Path, calls: Path, tests: Iterable[str]) -> None:
    """Run tests and record in the folder `calls` which functions each test calls."""
    calls.mkdir(parents=True, exist_ok=True)
    command = [copy / ".venv/bin/python", *PYTEST, "-n", "2", "-p", "covering", f"--basetemp={calls}.tmp", *tests]
    subprocess.run(
        command, cwd=copy, env={**os.environ, "MUTATION": str(HERE), "MUTATION_CALLS": str(calls)}, check=False
    )


def covering(calls: Path) -> tuple[Tests, dict[str, float]]:
    """Return the tests of each function, by (file, first line), and how many seconds each test takes."""
    took: dict[str, float] = {}
    for file in calls.glob("took.*"):
        for line in file.read_text().splitlines():
            name, _, seconds = line.rpartition("\t")
            took[name] = float(seconds)
    tests: Tests = defaultdict(set)
    for file in calls.glob("[0-9]*"):
        for line in file.read_text(errors="replace").splitlines():
            parts = line.split("\t")
            if parts[0] in took and len(parts) == 4:
                tests[parts[2], int(parts[3])].add(parts[0])
    return tests, took


def chosen(found: set[str], took: dict[str, float], budget: float) -> list[str]:
    """Return the fastest tests that together take no longer than the budget."""
    picked, total = [], 0.0
    for test in sorted(found, key=lambda one: (took[one], one)):
        total += took[test] + 0.02
        if picked and total > budget:
            break
        picked.append(test)
    return picked


class Server:
    """A copy of the repository with a pytest that has collected all tests (`server.py`)."""

    def __init__(self, folder: Path, tests: list[str]) -> None:
        self.folder = copied(folder)
        (theirs, self.orders), (self.answers, own) = os.pipe(), os.pipe()
        env = {**os.environ, "MUTATION": str(HERE), "MUTATION_IN": str(theirs), "MUTATION_OUT": str(own)}
        command = [folder / ".venv/bin/python", *PYTEST, "-n", "0", "-p", "server", f"--basetemp={folder}.tmp", *tests]
        log = (folder.parent / f"{folder.name}.log").open("w")
        self.process = subprocess.Popen(command, cwd=folder, env=env, pass_fds=(theirs, own), stdout=log, stderr=log)
        os.close(theirs)
        os.close(own)
        self.said = os.fdopen(self.answers)
        self.started = False

    def tried(self, mutant: Mutant, tests: list[str], limit: float) -> str:
        """Return how tests end while the mutant is in the place of its module; a test that also fails without it does
        not count."""
        while tests:
            result = self._ended(mutant, mutant.text, tests, limit)
            failed = result.removeprefix("killed by ")
            again = [failed] if failed in tests else tests
            if (
                result == "survived"
                or self._ended(mutant, (ROOT / mutant.path).read_text(), again, limit) == "survived"
            ):
                return result
            tests = [test for test in tests if test not in again]
        return "survived"

    def _ended(self, mutant: Mutant, text: str, tests: list[str], limit: float) -> str:
        if not self.started:
            self.started = self.said.readline() == "ready\n"
        module = self.folder / mutant.path
        before = module.read_bytes()
        order = {"path": mutant.path, "text": text, "line": mutant.function, "tests": tests, "limit": limit}
        try:
            _put(module, text.encode())
            os.write(self.orders, (json.dumps(order) + "\n").encode())
            return self.said.readline().strip()
        finally:
            _put(module, before)


def _put(module: Path, text: bytes) -> None:
    module.write_bytes(text)
    for compiled in (module.parent / "__pycache__").glob(f"{module.stem}.*"):
        compiled.unlink(missing_ok=True)  # a change within one second, of the same size, would not be noticed


def sampled(paths: list[Path], count: int, seed: int) -> list[Mutant]:
    """Return a random sample of the mutants of some modules, the same for the same seed."""
    every = [one for path in sorted(paths) for one in mutants(str(path.relative_to(ROOT)), path.read_text())]
    return random.Random(seed).sample(every, min(count, len(every)))


def main() -> None:
    """Measure, or run the mutants of some groups."""
    groups = tomllib.loads((HERE / "groups.toml").read_text())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="*", help=f"all by default: {' '.join(groups)}")
    parser.add_argument("--count", type=int, default=25, help="mutants of each group")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=float, default=10, help="seconds of tests for each mutant")
    parser.add_argument("--only", default="", help="part of a module's path")
    parser.add_argument("--work", type=Path, default=Path("/tmp/provio-mutants"))
    parser.add_argument(
        "--measure", nargs="*", metavar="TEST", help="record first which functions these tests (all: none named) call"
    )
    options = parser.parse_args()
    calls, equivalent = options.work / "calls", equivalents()
    if options.measure is not None:
        if not options.measure:
            shutil.rmtree(calls, ignore_errors=True)
        measured(copied(options.work / "a"), calls, options.measure or ["tests"])
    tests, took = covering(calls)
    servers: Queue[Server] = Queue()
    files = sorted({name.partition("::")[0] for name in took})
    for name in "ab":
        servers.put(Server(options.work / name, files))

    def tried(mutant: Mutant) -> str:
        if mutant.key in equivalent:
            return "equivalent"
        picked = chosen(tests.get((mutant.path, mutant.function), set()), took, options.budget)
        if not picked:
            return "uncovered"
        server = servers.get()
        try:
            return server.tried(mutant, picked, 30 + 6 * options.budget)
        finally:
            servers.put(server)

    for group in options.groups or groups:
        paths = [path for pattern in groups[group] for path in ROOT.glob(pattern) if options.only in str(path)]
        sample = sampled(paths, options.count, options.seed)
        counts: dict[str, int] = dict.fromkeys(("killed", "survived", "uncovered", "equivalent"), 0)
        with ThreadPoolExecutor(2) as pool:
            for mutant, result in zip(sample, pool.map(tried, sample), strict=True):
                word = result.partition(" ")[0]
                counts[word] += 1
                if word in ("survived", "uncovered") or result.endswith("time"):
                    print(f"{result}: {mutant.path}:{mutant.line}\n  - {mutant.before}\n  + {mutant.after}", flush=True)
        score = counts["killed"] / max(1, len(sample) - counts["equivalent"])
        print(f"== {group}: {len(sample)} mutants, {counts}, score {score:.0%}", flush=True)


if __name__ == "__main__":
    main()
