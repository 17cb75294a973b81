"""Work of over a second shows one line on a terminal, which is always removed at the end; otherwise none."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys

import pytest

from provio.base import terminal

# A query that runs until the line of progress is shown: then it prints its result (`answer`), or it never ends.
QUESTION = """
import os, signal, sys
from provio.base import terminal, time_limit
time_limit.TICK, terminal.AT_ONCE = 0.01, 0.0
leave, give = os.pipe()
line = terminal.progress()

def note(text):
    line(text)
    os.write(give, b".")

code = time_limit.run_in_child(0, note)
if code is None:
    os.read(leave, 1 if sys.argv[1] == "answer" else 0)
    while sys.argv[1] != "answer":
        signal.pause()
    terminal.out("the answer\\n")
    os._exit(0)
"""


class Asked:
    """A query on a terminal, and its output."""

    def __init__(self, how: str) -> None:
        self.controller, shown = pty.openpty()
        command = [sys.executable, "-c", QUESTION, how]
        environment = {**os.environ, "TERM": "xterm"}
        self.process = subprocess.Popen(command, stdin=shown, stdout=shown, stderr=shown, env=environment)
        os.close(shown)

    def until(self, text: bytes | None) -> bytes:
        """All that is shown up to a text (None: to the end)."""
        said = b""
        while (text is None or text not in said) and select.select([self.controller], [], [], 60)[0]:
            try:
                said += os.read(self.controller, 1 << 16)
            except OSError:
                break
        return said


def test_a_long_query_shows_progress() -> None:
    """The line is written over, and erased before the answer."""
    asked = Asked("answer")
    said = asked.until(None)
    assert asked.process.wait(60) == 0
    before, _, after = said.partition(b"running the query: 0 s")
    assert before == b"\r\x1b[K"
    assert after.replace(b"\r\x1b[Krunning the query: 0 s", b"").replace(b"\r\x1b[K", b"") == b"the answer\r\n"
    assert after.index(b"the answer") > after.rindex(b"\r\x1b[K")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_killed_query_leaves_no_line(number: signal.Signals) -> None:
    """A signal that ends the query removes the line, and has its usual effect."""
    asked = Asked("wait")
    said = asked.until(b"running the query: ")
    asked.process.send_signal(number)
    said += asked.until(None)
    assert asked.process.wait(60) == -number
    shown = said.partition(b"Traceback")[0]  # Python's own message on an unhandled interrupt
    assert shown.rindex(b"\r\x1b[K") > shown.rindex(b"running the query")


def test_no_terminal_no_progress() -> None:
    """In a pipe there is the answer alone."""
    environment = {**os.environ, "TERM": "xterm"}
    done = subprocess.run(
        [sys.executable, "-c", QUESTION, "answer"], capture_output=True, env=environment, check=True, timeout=60
    )
    assert (done.stdout, done.stderr) == (b"the answer\n", b"")


def test_a_line_waits_for_a_second_and_is_not_written_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock of its own: nothing in the first second, then ten times a second at most; the end erases it."""
    clock = [0.0]
    controller, shown = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(terminal.time, "monotonic", lambda: clock[0])
    with open(shown, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        line = terminal.progress()
        for clock[0], text in ((0.5, "a"), (0.9, ""), (1.0, "b\x1b"), (1.05, "c"), (1.2, "d"), (1.21, ""), (1.22, "")):
            line(text)
        stream.flush()
        said, wanted = b"", b"\r\x1b[Kb?\r\x1b[Kd\r\x1b[K"
        while len(said) < len(wanted):  # a read from a terminal returns the text so far
            assert select.select([controller], [], [], 60)[0], said
            said += os.read(controller, 1 << 16)
    os.close(controller)
    assert said == wanted
