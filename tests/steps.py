"""Ends a command at a fixed step: before the n-th time that it makes, renames or removes a file, or sends to a server.

The same command on the same record takes the same steps, so that a test that ends it at some of them does the same each
time.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

PROVIO = "from provio.cli.main import main; main()"
# Its arguments: the number of the step, the process that is killed (0: its own), the code of the command, and the
# command's own arguments. If a forked child takes the step, it kills its parent, and waits until it is killed too.
PROGRAM = """
import os, signal, sys
left, victim, own, code = int(sys.argv.pop(1)), int(sys.argv.pop(1)), os.getpid(), sys.argv.pop(1)
STEPS = {"os.rename", "os.mkdir", "os.link", "os.symlink", "os.remove", "os.rmdir", "os.utime", "http.client.send"}
def hook(event, arguments):
    global left
    if event == "os.utime" and str(arguments[0]).endswith("/lock"):
        return  # by a clock, not by a step
    if event in STEPS or (event == "open" and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT):
        left -= 1
        if left == 0:
            os.kill(victim or own, 9)
            if not victim:
                signal.pause()
            while open(f"/proc/{victim}/stat").read().rpartition(")")[2].split()[0] != "Z":
                pass
sys.addaudithook(hook)
exec(code)
"""


def until(step: int, *words: str, code: str = PROVIO, victim: int = 0) -> Sequence[str]:
    """Return a command that kills itself, or a child of its parent, before a step; by default one of provio."""
    return sys.executable, "-B", "-c", PROGRAM, str(step), str(victim), code, *words


def killed(step: int, env: Mapping[str, str], *words: str, cwd: Path | str = "/") -> bool:
    """Run a command of provio until a step; return whether it took as many."""
    done = subprocess.run(until(step, *words), env=env, cwd=cwd, check=False, capture_output=True, timeout=300)
    return done.returncode == -signal.SIGKILL
