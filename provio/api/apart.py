"""A question that is stopped when its time is over: a verb's arguments in, what it printed out.

A running query of the embedded store heeds no signal, so it is asked in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys

from provio import errors
from provio.errors import ProvioError, TimedOut

PROGRAM = "from provio.cli import main; main()"


def ask(home: str, store: str, arguments: list[str], seconds: float) -> bytes:
    """Return what a verb prints for a `.provio` and a server ("": none), in at most so many seconds.

    Raises TimedOut, or what the verb complained of.
    """
    environment = os.environ | {"PROVIO_HOME": home} | ({"PROVIO_STORE": store} if store else {})
    command = [sys.executable, "-c", PROGRAM, arguments[0], f"--timeout={seconds:g}", *arguments[1:]]
    done = subprocess.run(command, capture_output=True, env=environment, check=False, stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return done.stdout
    if done.returncode == TimedOut.exit_code:
        raise TimedOut(seconds)
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    kind = errors.NothingKnown if done.returncode == errors.NothingKnown.exit_code else errors.BadQuery
    said = lines[-1].removeprefix("provio: ") if lines else ""
    raise (kind(said) if said else ProvioError(f"provio {arguments[0]} ended with {done.returncode}"))
