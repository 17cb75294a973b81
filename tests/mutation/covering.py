"""Record which tests call which functions of provio, in the process of the tests and in all that they start.

In: the environment variable `MUTATION_CALLS`, a folder. Out: a file in it for each process, with one line
`test<TAB>file<TAB>first line of the function` for each function that a test called. Loaded by a `.pth` file of the
virtual environment, and as a pytest plugin.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType

PACKAGE = f"{os.sep}provio{os.sep}"
seen: set[CodeType] = set()
_file = -1


def called(frame: FrameType, _event: str, _argument: object) -> None:
    """Note a call; None as the result keeps the lines of the function untraced."""
    global _file
    code = frame.f_code
    if not PACKAGE or code in seen:  # at the end of a process, modules are cleared
        return
    seen.add(code)
    if PACKAGE in code.co_filename and code.co_filename.startswith(sys.prefix.removesuffix(".venv")):
        if _file < 0:
            _file = os.open(f"{os.environ['MUTATION_CALLS']}/{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        test = os.environ.get("PYTEST_CURRENT_TEST", "?").rpartition(" ")
        name = code.co_filename.removeprefix(sys.prefix.removesuffix(".venv"))
        os.write(_file, f"{test[0]}\t{test[2]}\t{name}\t{code.co_firstlineno}\n".encode())


def begin() -> None:
    """Trace this process and its forks."""
    global _file
    _file = -1
    seen.clear()
    sys.settrace(called)
    threading.settrace(called)


def pytest_runtest_logstart() -> None:
    """The next test's calls are its own; a test before may have ended the tracing."""
    begin()


def pytest_runtest_logreport(report: object) -> None:
    """Note how long a test took, and that it passed."""
    if report.when == "call" and report.passed:  # type: ignore[attr-defined]
        with (Path(os.environ["MUTATION_CALLS"]) / f"took.{os.getpid()}").open("a") as file:
            file.write(f"{report.nodeid}\t{report.duration:.2f}\n")  # type: ignore[attr-defined]


if "MUTATION_CALLS" in os.environ:
    os.register_at_fork(after_in_child=begin)
    begin()
