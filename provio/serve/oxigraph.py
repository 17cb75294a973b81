"""Oxigraph's own server, `oxigraph serve-read-only`: a snapshot of the store in, connections to it out.

It asks nobody who he is. So it has a network of its own where the kernel lets it, which nobody else is in; elsewhere it
listens at an address of its own below 127.0.0.0/8 and a port of its own, both by chance: no web page can guess them.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import secrets
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from provio.base.errors import ProvioError
from provio.base.time_limit import die_with
from provio.serve import MISSING

# Starts a program that ends with its parent: the parent's process id and a command line in, that program out.


CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
ADDRESS = ("127.0.0.1", 7878)  # in a network of its own nobody else can have it


def main() -> None:
    """Become the command, to be killed when the thread that started this one is no more."""
    parent, control, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    die_with(parent)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("1000")
    if control >= 0:
        alone(socket.socket(fileno=control))
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted


def alone(control: socket.socket) -> None:
    """Leave this network for an empty one, and have a child hand out connections in it; end where that is denied."""
    if ctypes.CDLL(None).unshare(CLONE_NEWUSER | CLONE_NEWNET):
        os._exit(1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loopback:
        fcntl.ioctl(loopback, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))
    parent = os.getpid()
    if os.fork() == 0:
        die_with(parent)
        hand_out(control)
        os._exit(0)
    control.close()


def hand_out(control: socket.socket) -> None:
    """Send a connection for every byte, or an empty answer where nobody listens yet."""
    while control.recv(1):
        with socket.socket() as made:
            if made.connect_ex(ADDRESS) == 0:
                socket.send_fds(control, [b"y"], [made.fileno()])
            else:
                control.send(b"n")


# Of the folders that its own settings or the user's could name it has none, and of provio's this one.
TETHER = "import sys; sys.path.append(sys.argv.pop(1)); from provio.serve.oxigraph import main; main()"
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
