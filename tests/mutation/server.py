"""A pytest plugin: collect the tests once, then run some of them for each mutant in a fork.

In: lines of JSON from the descriptor `MUTATION_IN`: path, text and first line of the changed function, tests, limit in
seconds. Out: for each a line on `MUTATION_OUT`, `killed` (with the test, or `time`) or `survived`.

A fork takes milliseconds, a start of pytest seconds. The fork replaces the code of the changed function for all
references; the caller has written the text into the module's file for the processes that a test starts.
"""

from __future__ import annotations

import gc
import json
import os
import select
import shutil
import signal
import tempfile
import time
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest


def codes(code: CodeType, line: int) -> list[CodeType]:
    """Return the functions in compiled code that begin in a line."""
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return [one for one in inner if one.co_firstlineno == line] or [hit for one in inner for hit in codes(one, line)]


def replace(path: str, text: str, line: int) -> None:
    """Put the changed code of a function in the place of its code."""
    (new,) = (one for one in codes(compile(text, path, "exec"), line) if not one.co_name.startswith("<"))
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename == path and one.__code__.co_firstlineno == line:
            one.__code__ = new if one.__code__.co_qualname == new.co_qualname else one.__code__


class Failures:
    """The first failed test."""

    name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.name = self.name or report.nodeid


def tried(session: pytest.Session, items: dict[str, pytest.Item], order: dict[str, Any]) -> str:
    """Run the tests of an order in a fork."""
    heard, told = os.pipe()
    folder = Path(tempfile.mkdtemp(prefix="mutant"))
    child = os.fork()
    if child == 0:
        os.setsid()
        session.config._tmp_path_factory._basetemp = folder  # no results cached by another fork
        if order["line"]:
            replace(str(session.config.rootpath / order["path"]), order["text"], order["line"])
        failures = Failures()
        session.config.pluginmanager.register(failures)
        for name in order["tests"]:
            items[name].config.hook.pytest_runtest_protocol(item=items[name], nextitem=None)
            if failures.name:
                break
        os.write(told, f"killed by {failures.name}".encode() if failures.name else b"survived")
        os._exit(0)
    os.close(told)
    ready, _, _ = select.select([heard], [], [], order["limit"])
    result = os.read(heard, 1000).decode() if ready else "killed by time"
    os.close(heard)
    for _ in range(2):
        try:
            os.killpg(child, signal.SIGKILL)
        except ProcessLookupError:
            break
        time.sleep(0.01)
    os.waitpid(child, 0)
    shutil.rmtree(folder, ignore_errors=True)
    return result or "killed by its end"


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """Serve orders to the end of the input."""
    items = {item.nodeid: item for item in session.items}
    with open(int(os.environ["MUTATION_IN"])) as orders, open(int(os.environ["MUTATION_OUT"]), "w") as answers:
        answers.write("ready\n")
        answers.flush()
        for line in orders:
            order = json.loads(line)
            order["tests"] = [name for name in order["tests"] if name in items]
            answers.write(tried(session, items, order) + "\n")
            answers.flush()
    return True
