"""Oxigraph's own server, `oxigraph serve-read-only`: a snapshot of the store in, the address at which it answers out.

It listens at an address of its own below 127.0.0.0/8 and a port of its own, both by chance: no web page can guess them.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from provio.errors import ProvioError
from provio.serve import MISSING

TETHER = str(Path(__file__).with_name("tether.py"))
TRIES = 5
PATIENCE = 60.0  # seconds until it answers: a store of a billion quads opens in a few


def tethered(command: list[str], *, piped: bool = False, folder: str | None = None) -> subprocess.Popen[bytes]:
    """Start a process that ends with this thread; Ctrl-C at the terminal is not for it."""
    pipe = subprocess.PIPE if piped else subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-I", "-S", TETHER, str(os.getpid()), *command],
        stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True, bufsize=0, cwd=folder,
    )  # fmt: skip


def find() -> str:
    """Return the path of the binary; raises ProvioError where it is not installed."""
    beside = Path(sys.executable).with_name("oxigraph")
    found = str(beside) if beside.exists() else shutil.which("oxigraph")
    if not found:
        raise ProvioError(MISSING)
    return found


class Binary:
    """A server at work. `seconds` is the longest that a query may take."""

    def __init__(self, location: str, seconds: float) -> None:
        command = [
            find(),
            "serve-read-only",
            "-l",
            location,
            *(["--timeout-s", str(_whole(seconds))] if seconds else []),
        ]
        for _ in range(TRIES):
            self.host, self.port = _free()
            self.process = tethered([*command, "-b", f"{self.host}:{self.port}"])
            if self._answers():
                return
            self.close()
        raise ProvioError("Oxigraph's server does not start: see what oxigraph serve-read-only says of the store")

    def _answers(self) -> bool:
        """Wait until it listens; False where it ended: somebody else had the port."""
        begun = time.monotonic()
        while self.process.poll() is None and time.monotonic() - begun < PATIENCE:
            with contextlib.suppress(OSError), socket.create_connection((self.host, self.port), timeout=1):
                return True
            time.sleep(0.01)
        return False

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self.process.poll() is None

    def close(self) -> None:
        """End it, and whatever it is asked."""
        self.process.kill()
        self.process.wait()


def _whole(seconds: float) -> int:
    return int(-(-seconds // 1))


def _free() -> tuple[str, int]:
    """An address of this machine's own, and a port that is free there."""
    host = f"127.{secrets.randbelow(254) + 1}.{secrets.randbelow(256)}.{secrets.randbelow(254) + 1}"
    with socket.socket() as found:
        found.bind((host, 0))
        return host, int(found.getsockname()[1])
