"""Runs pytest, then each failed test again, alone; takes the arguments of pytest and exits with its code.

The second run is a separate process without workers, started when the first has ended. A test that passes then is
reported as unstable and does not fail the run. `make test` calls it: `python tests/rerun.py -n 3`.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

AT_MOST = 50  # failed tests that are run again: of more, something else is wrong
FAILED = 1  # exit code of pytest: all tests were run, some failed
UNPASSED = {
    "failed": "failed twice",
    "skipped": "failed, and was skipped when run alone",
    "died": "failed, and ended its process when run alone",
    "absent": "failed, and was not run again",
}


class Reporter:
    """A plugin that writes each event of a test to a file at once, so that a crash loses nothing."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("w", encoding="utf-8", buffering=1)

    def note(self, event: str, test: str = "", outcome: str = "") -> None:
        self.file.write(json.dumps([event, test, outcome]) + "\n")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            self.note("collected", item.nodeid)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        for test in ids:
            self.note("collected", test)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.note("uncollected", report.nodeid)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.note("began", nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.note(str(report.when), report.nodeid, report.outcome)

    def pytest_sessionfinish(self) -> None:
        self.note("ended")


class Only:
    """A plugin that runs these tests alone, found in their files by their ids: a command line could not hold any id."""

    def __init__(self, tests: list[str]) -> None:
        self.order = {test: place for place, test in enumerate(tests)}

    def pytest_configure(self, config: pytest.Config) -> None:
        files = dict.fromkeys(config.rootpath / test.split("::")[0] for test in self.order)
        if all(file.exists() for file in files):
            config.args = [str(file) for file in files]

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in self.order])
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order), key=lambda item: self.order[item.nodeid]
        )


@dataclass
class Record:
    """The events that a `Reporter` wrote."""

    tests: dict[str, dict[str, str]] = field(default_factory=dict)  # by id: events and their outcomes
    uncollected: bool = False
    ended: bool = False

    @classmethod
    def read(cls, path: Path) -> Record:
        record = cls()
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            event, test, outcome = json.loads(line)
            if event in ("uncollected", "ended"):
                setattr(record, event, True)
            else:
                record.tests.setdefault(test, {})[event] = outcome
        return record

    def outcome(self, test: str) -> str:
        """`passed`, `failed`, `skipped`; `died` of one that has no end, `absent` of one that has no beginning."""
        events = self.tests.get(test, {})
        for outcome in ("failed", "skipped"):
            if outcome in events.values():
                return outcome
        if "teardown" in events:
            return "passed"
        return "died" if "began" in events else "absent"

    def of(self, *outcomes: str) -> list[str]:
        return [test for test in self.tests if self.outcome(test) in outcomes]


def run(arguments: list[str], tests: list[str] | None = None) -> tuple[int, Record]:
    """Run pytest in a process of its own, of these tests alone where some are given; return its code and its record."""
    with tempfile.TemporaryDirectory(prefix="provio-again-") as folder:
        task = Path(folder, "task")
        task.write_text(json.dumps(tests), encoding="utf-8")
        process = subprocess.Popen([sys.executable, __file__, "--inside", folder, *arguments])
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        while True:
            try:
                code = process.wait()
            except KeyboardInterrupt:  # pytest receives the terminal's interrupt too, and reports
                continue
            return (code if code >= 0 else 128 - code), Record.read(Path(folder, "record"))


def inside(folder: str, arguments: list[str]) -> int:
    """Be the process that runs pytest."""
    sys.path[0] = str(Path.cwd())  # as `python -m pytest` has it
    sys.argv[1:] = arguments
    tests = json.loads(Path(folder, "task").read_text(encoding="utf-8"))
    plugins: list[object] = [Reporter(Path(folder, "record"))]
    return int(pytest.main(arguments, [*plugins, Only(tests)] if tests is not None else plugins))


def alone(arguments: list[str], tests: list[str]) -> tuple[int, dict[str, str]]:
    """Run tests one after the other; where one ends the process, those after it in another. Return the last code and
    each test's outcome."""
    outcomes: dict[str, str] = {}
    waiting, lost = tests, True
    while waiting and lost:
        code, record = run([*arguments, "-n", "0"], waiting)
        outcomes |= {test: record.outcome(test) for test in waiting}
        begun = [test for test in waiting if outcomes[test] != "absent"]
        lost = bool(begun) and not record.ended
        if lost:
            print(f"\nthe process ended in {begun[-1]}", flush=True)
        waiting = [test for test in waiting if test not in begun]
    return code, outcomes


def obstacle(code: int, record: Record) -> str:
    """Why nothing is run again; empty where the failed tests are."""
    failed = len(record.of("failed"))
    if record.uncollected:
        return "not all tests could be collected"
    if code != FAILED or not record.ended or record.of("absent", "died"):
        return "not all tests were run"
    return f"{failed} tests failed, and more than {AT_MOST} are not" if failed > AT_MOST else ""


def main(arguments: list[str]) -> int:
    """Run the tests, run the failed ones again, report unstable ones."""
    code, record = run(arguments)
    failed = record.of("failed")
    if not failed:
        return code
    if reason := obstacle(code, record):
        print(f"\nno failed test is run again: {reason}")
        return code
    print(f"\n{len(failed)} of {len(record.tests)} tests failed: each is run once more, alone", flush=True)
    last, outcomes = alone(arguments, failed)
    unstable = [test for test in failed if outcomes[test] == "passed"]
    for test in unstable:
        print(f"unstable: {test} failed once and passed alone")
    for test in failed:
        if test not in unstable:
            print(f"failed: {test} {UNPASSED[outcomes[test]]}")
    count = Counter(outcomes.get(test) or record.outcome(test) for test in record.tests)
    count["failed"] = len(failed) - len(unstable)
    skipped = len(record.of("skipped"))
    print(f"{count['passed']} passed ({len(unstable)} of them unstable), {count['failed']} failed, {skipped} skipped")
    return code if count["failed"] else last


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        sys.exit(inside(sys.argv[2], sys.argv[3:]))
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(main(sys.argv[1:]))
