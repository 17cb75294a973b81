"""`make test` runs each failed test again, alone, and reports unstable and failed tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rerun import AT_MOST

AGAIN = Path(__file__).parent.with_name("rerun.py")
OWN = re.compile(r"unstable: |failed: |no failed test |\d+ of \d+ tests failed: |\d+ passed \(\d+ of them unstable\)")

FIRST = """
import os, pathlib, signal, pytest

def first(name):
    "Return whether this is the first call; the second time, no worker runs the test."
    mark = pathlib.Path(__file__).with_name(f"{name}.mark")
    seen = mark.exists()
    mark.touch()
    assert not seen or "PYTEST_XDIST_WORKER" not in os.environ
    return not seen

def die():
    os.kill(os.getpid(), signal.SIGKILL)
"""
PASSES = "def test_passes(): pass\n"
SKIPPED = "def test_skipped(): pytest.skip('always')\n"
FAILS = "def test_fails(): assert False\n"
UNSTABLE = "def test_unstable(): assert not first('unstable')\n"
DIES_ONCE = "def test_dies_once():\n    if first('dies'): die()\n"
DIES = "def test_dies(): die()\n"
SKIPPED_ALONE = "def test_skipped_alone():\n    assert not first('skipped')\n    pytest.skip('alone')\n"
AROUND = """
@pytest.fixture
def before(): assert not first("before")

@pytest.fixture
def after():
    yield
    assert not first("after")

def test_before(before): pass
def test_after(after): pass
"""
ODD = """
@pytest.mark.parametrize("n", range(3), ids=["a::b[c]/d -k @e", "\\n\\u00e9\\x1b", "'\\"$(true) *"])
def test_odd(n): assert not first(f"odd{n}")
"""
BROKEN = "import missing_here\n"
INTERRUPTED = """
def test_interrupted():
    os.killpg(0, signal.SIGINT)
    signal.pause()
"""
COUNTED = """
@pytest.mark.parametrize("n", range({}))
def test_n(n):
    print("x", file=open("runs", "a"))
    assert False
"""
INTERNAL = "import pytest\ndef pytest_runtest_logfinish(): raise RuntimeError\n"


def again(folder: Path, files: dict[str, str], *arguments: str) -> tuple[int, list[str]]:
    """The exit code of a run of these test files, and the lines that are not from pytest, sorted."""
    for name, content in files.items():
        (folder / name).write_text(content if name == "conftest.py" else FIRST + content)
    plugins = "-p xdist.plugin -p no:cacheprovider -p no:faulthandler"
    (folder / "pytest.ini").write_text(f"[pytest]\naddopts = {plugins} --tb=no -q -q\n")
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_DEBUG_TEMPROOT": str(folder)}
    command = [sys.executable, AGAIN, *arguments]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, start_new_session=True)
    own = [line for line in done.stdout.splitlines() if OWN.match(line)]
    assert not own or done.stdout.endswith(own[-1] + "\n")
    return done.returncode, sorted(own)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_test_that_passes_alone_is_unstable(tmp_path: Path, workers: str) -> None:
    """For any id, and for failures in the test, its setup or its teardown."""
    files = {"test_a.py": PASSES + SKIPPED + ODD, "test_b.py": UNSTABLE + AROUND}
    code, lines = again(tmp_path, files, "-n", workers)
    assert lines == [
        "6 of 8 tests failed: each is run once more, alone",
        "7 passed (6 of them unstable), 0 failed, 1 skipped",
        *(
            f"unstable: {test} failed once and passed alone"
            for test in (
                "test_a.py::test_odd['\"$(true) *]",
                "test_a.py::test_odd[\\n\\xe9\\x1b]",
                "test_a.py::test_odd[a::b[c]/d -k @e]",
                "test_b.py::test_after",
                "test_b.py::test_before",
                "test_b.py::test_unstable",
            )
        ),
    ]
    assert code == 0


def test_a_test_that_fails_alone_has_failed(tmp_path: Path) -> None:
    """A test that ends its process is run again as well, and those after it in another process."""
    files = {"test_a.py": PASSES + FAILS + DIES, "test_b.py": SKIPPED_ALONE + DIES_ONCE + UNSTABLE}
    code, lines = again(tmp_path, files, "-n", "2")
    assert lines == [
        "3 passed (2 of them unstable), 3 failed, 0 skipped",
        "5 of 6 tests failed: each is run once more, alone",
        "failed: test_a.py::test_dies failed, and ended its process when run alone",
        "failed: test_a.py::test_fails failed twice",
        "failed: test_b.py::test_skipped_alone failed, and was skipped when run alone",
        "unstable: test_b.py::test_dies_once failed once and passed alone",
        "unstable: test_b.py::test_unstable failed once and passed alone",
    ]
    assert code == 1


UNRUN = ["no failed test is run again: not all tests were run"]
UNCOLLECTED = ["no failed test is run again: not all tests could be collected"]


@pytest.mark.parametrize(
    ("files", "arguments", "code", "lines"),
    [
        ({"test_a.py": PASSES}, (), 0, []),
        ({"test_a.py": ""}, (), 5, []),
        ({"test_a.py": PASSES}, ("--no-such-option",), 4, []),
        ({"test_a.py": UNSTABLE, "test_b.py": BROKEN}, (), 2, []),
        ({"test_a.py": UNSTABLE, "test_b.py": BROKEN}, ("--continue-on-collection-errors",), 1, UNCOLLECTED),
        ({"test_a.py": UNSTABLE, "test_b.py": BROKEN}, ("-n", "2"), 1, UNCOLLECTED),
        ({"test_a.py": UNSTABLE + PASSES}, ("-x",), 1, UNRUN),
        ({"test_a.py": UNSTABLE + INTERRUPTED}, (), 2, UNRUN),
        ({"test_a.py": UNSTABLE, "conftest.py": INTERNAL}, (), 3, UNRUN),
        ({"test_a.py": UNSTABLE + DIES}, (), 137, UNRUN),
        ({"test_a.py": UNSTABLE + DIES + PASSES * 2}, ("-n", "1", "--max-worker-restart", "0"), 1, UNRUN),
    ],
    ids="passed|no test|usage|uncollected|continued|workers|stopped|interrupted|internal|died|given up".split("|"),
)
@pytest.mark.integration
def test_a_run_that_is_not_whole_ends_as_it_did(
    tmp_path: Path, files: dict[str, str], arguments: tuple[str, ...], code: int, lines: list[str]
) -> None:
    """Nothing is run again, and the exit code is the first one."""
    assert again(tmp_path, files, *arguments) == (code, lines)


@pytest.mark.parametrize(("number", "times"), [(AT_MOST, 2), (AT_MOST + 1, 1)])
def test_very_many_failed_tests_are_not_run_again(tmp_path: Path, number: int, times: int) -> None:
    """A limit, and one test more."""
    code, lines = again(tmp_path, {"test_a.py": COUNTED.format(number)}, "-n", "0")
    assert code == 1
    assert (tmp_path / "runs").read_text().count("x") == number * times
    if times == 1:
        assert lines == [f"no failed test is run again: {number} tests failed, and more than {AT_MOST} are not"]
