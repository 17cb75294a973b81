"""Oxigraph's own server, `oxigraph serve-read-only`: a snapshot of the store in, connections to it out.

It asks nobody who he is. So it has a network of its own where the kernel lets it, which nobody else is in; elsewhere it
listens at an address of its own below 127.0.0.0/8 and a port of its own, both by chance: no web page can guess them.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from provio.errors import ProvioError
from provio.serve import MISSING
from provio.serve.tether import ADDRESS

# Of the folders that its own settings or the user's could name it has none, and of provio's this one.
TETHER = "import sys; sys.path.append(sys.argv.pop(1)); from provio.serve.tether import main; main()"
PLACE = str(Path(__file__).parents[2])
TRIES = (True, False, False, False)  # in a network of its own? A port may be taken by somebody else meanwhile.
PATIENCE = 60.0  # seconds until it answers: a store of a billion quads opens in a few


def tethered(
    command: list[str], *, piped: bool = False, folder: str | None = None, control: int = -1
) -> subprocess.Popen[bytes]:
    """Start a process that ends with this thread, in a network of its own where it is given a `control`; Ctrl-C at the
    terminal is not for it."""
    pipe = subprocess.PIPE if piped else subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", TETHER, PLACE, str(os.getpid()), str(control), *command], cwd=folder,
        bufsize=0, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True,
        pass_fds=[control] if control >= 0 else [],
    )  # fmt: skip


def find() -> str:
    """Return the path of the binary; raises ProvioError where it is not installed."""
    beside = Path(sys.executable).with_name("oxigraph")
    found = str(beside) if beside.exists() else shutil.which("oxigraph")
    if not found:
        raise ProvioError(MISSING)
    return found


class Binary:
    """A server at work, over a folder. `seconds` is the longest that a query may take; `tries` says of each try to
    start it whether it has a network of its own."""

    def __init__(self, folder: str, seconds: float, tries: tuple[bool, ...] = TRIES) -> None:
        self.lock = threading.Lock()
        bound = ["--timeout-s", str(int(-(-seconds // 1)))] if seconds else []
        command = [find(), "serve-read-only", "-l", ".", *bound]
        for alone in tries:
            self._start(command, folder, alone)
            if self._answers():
                return
            self.close()
        raise ProvioError("Oxigraph's server does not start: see what oxigraph serve-read-only says of the store")

    def _start(self, command: list[str], folder: str, alone: bool) -> None:
        self.control: socket.socket | None = None
        given: socket.socket | None = None
        if alone:
            self.control, given = socket.socketpair()
        self.address = ADDRESS if alone else _free()
        with given or contextlib.nullcontext():
            number = given.fileno() if given else -1
            where = f"{self.address[0]}:{self.address[1]}"
            self.process = tethered([*command, "-b", where], folder=folder, control=number)

    def _answers(self) -> bool:
        """Wait until it listens; False where it ended."""
        begun = time.monotonic()
        while self.process.poll() is None and time.monotonic() - begun < PATIENCE:
            with contextlib.suppress(OSError):
                self.connected(1).close()
                return True
            time.sleep(0.01)
        return False

    def connected(self, seconds: float | None) -> socket.socket:
        """Return a connection, each of whose steps may take so long; raises OSError where nobody listens."""
        if self.control is None:
            return socket.create_connection(self.address, timeout=seconds)
        with self.lock:
            self.control.settimeout(seconds)
            self.control.send(b"?")
            word, found, _, _ = socket.recv_fds(self.control, 1, 1)
        if not word:  # whoever hands out connections is gone: nobody reaches it any more
            self.process.kill()
        if not found:
            raise ConnectionRefusedError
        connection = socket.socket(fileno=found[0])
        connection.settimeout(seconds)
        return connection

    def ends_within(self, seconds: float) -> bool:
        """Whether it ends in so long: one that was killed may be some time about it."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return not self.alive

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self.process.poll() is None

    def close(self) -> None:
        """End it, and whatever it is asked."""
        self.process.kill()
        self.process.wait()
        if self.control:
            self.control.close()


def _free() -> tuple[str, int]:
    """An address of this machine's own, and a port that is free there."""
    host = f"127.{secrets.randbelow(254) + 1}.{secrets.randbelow(256)}.{secrets.randbelow(254) + 1}"
    with socket.socket() as found:
        found.bind((host, 0))
        return host, int(found.getsockname()[1])
