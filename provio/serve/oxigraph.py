"""Runs `oxigraph serve-read-only` on a snapshot of the store, and connects to it.

That server has no authentication. So it runs in its own network namespace if the kernel allows that; otherwise it
listens on a random address in 127.0.0.0/8 and a random port, which no web page can guess.
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

from provio.base import memory_limit
from provio.base.errors import ProvioError
from provio.base.time_limit import die_with
from provio.system import installation

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
ADDRESS = ("127.0.0.1", 7878)  # in its own network namespace the port is always free


def main() -> None:
    """Execute the command; the kernel kills it when the thread that started it ends."""
    parent, control, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    die_with(parent)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
        score.write("1000")
    if control >= 0:
        isolate(socket.socket(fileno=control))
    os.execv(command[0], command)  # noqa: S606 - no shell is wanted


def isolate(control: socket.socket) -> None:
    """Enter a new network namespace, and start a child that passes connections out of it; exit if that is denied."""
    if ctypes.CDLL(None).unshare(CLONE_NEWUSER | CLONE_NEWNET):
        os._exit(1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loopback:
        fcntl.ioctl(loopback, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))
    parent = os.getpid()
    if os.fork() == 0:
        die_with(parent)
        pass_connections(control)
        os._exit(0)
    control.close()


def pass_connections(control: socket.socket) -> None:
    """Send a connection for each received byte, or none if the server does not listen yet."""
    while control.recv(1):
        with socket.socket() as connection:
            if connection.connect_ex(ADDRESS) == 0:
                socket.send_fds(control, [b"y"], [connection.fileno()])
            else:
                control.send(b"n")


# Isolated mode: neither the environment nor the user's settings add folders to sys.path; only provio's own is added.
CHILD = "import sys; sys.path.append(sys.argv.pop(1)); from provio.serve.oxigraph import main; main()"
PLACE = str(Path(__file__).parents[2])
TRIES = (
    True,
    False,
    False,
    False,
)  # whether in its own network namespace; without one, another process may take the port
PATIENCE = 60.0  # seconds until it listens: a store of a billion quads opens in a few


def start_child(
    command: list[str], *, piped: bool = False, folder: str | None = None, control: int = -1
) -> subprocess.Popen[bytes]:
    """Start a process that ends with this thread and ignores Ctrl-C at the terminal; with `control`, in its own network
    namespace."""
    pipe = subprocess.PIPE if piped else subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", CHILD, PLACE, str(os.getpid()), str(control), *command], cwd=folder,
        bufsize=0, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True,
        pass_fds=[control] if control >= 0 else [],
    )  # fmt: skip


def find() -> str:
    """Return the path of the program; raise ProvioError if it is not installed."""
    in_environment = Path(sys.executable).with_name("oxigraph")
    found = str(in_environment) if in_environment.exists() else shutil.which("oxigraph")
    if not found:
        raise installation.missing("oxigraph", "provio serve needs")
    return found


class OxigraphServer:
    """A running server for a folder. `seconds` is the time limit of a query, `memory` the limit of the process in
    bytes; `tries` has, for each attempt to start it, whether it uses its own network namespace."""

    def __init__(self, folder: str, seconds: float, tries: tuple[bool, ...] = TRIES, memory: int = 0) -> None:
        self.lock = threading.Lock()
        self.exceeds = False  # whether it was killed at its limit of memory
        bound = ["--timeout-s", str(int(-(-seconds // 1)))] if seconds else []
        command = [find(), "serve-read-only", "-l", ".", *bound]
        for alone in tries:
            self._start(command, folder, alone)
            if self._listens():
                memory_limit.watch(self.process.pid, memory, lambda: self.alive, self._kill)
                return
            self.close()
        raise ProvioError("Oxigraph's server does not start: run oxigraph serve-read-only to see the error")

    def _start(self, command: list[str], folder: str, alone: bool) -> None:
        self.control: socket.socket | None = None
        given: socket.socket | None = None
        if alone:
            self.control, given = socket.socketpair()
        self.address = ADDRESS if alone else _free()
        with given or contextlib.nullcontext():
            number = given.fileno() if given else -1
            where = f"{self.address[0]}:{self.address[1]}"
            self.process = start_child([*command, "-b", where], folder=folder, control=number)

    def _listens(self) -> bool:
        """Wait until the server listens; return False if it ended."""
        start = time.monotonic()
        while self.process.poll() is None and time.monotonic() - start < PATIENCE:
            with contextlib.suppress(OSError):
                self.connect(1).close()
                return True
            time.sleep(0.01)
        return False

    def connect(self, seconds: float | None) -> socket.socket:
        """Return a connection with this timeout for each operation; raise OSError if the server does not listen."""
        if self.control is None:
            return socket.create_connection(self.address, timeout=seconds)
        with self.lock:
            self.control.settimeout(seconds)
            self.control.send(b"?")
            word, found, _, _ = socket.recv_fds(self.control, 1, 1)
        if not word:  # the child that passes connections has ended: the server cannot be reached any more
            self.process.kill()
        if not found:
            raise ConnectionRefusedError
        connection = socket.socket(fileno=found[0])
        connection.settimeout(seconds)
        return connection

    def ends_within(self, seconds: float) -> bool:
        """Return whether the server ends within this time; a killed process may take a while."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return not self.alive

    def _kill(self) -> None:
        self.exceeds = True
        self.process.kill()

    @property
    def alive(self) -> bool:
        """Whether the process is running, and is not being killed."""
        return not self.exceeds and self.process.poll() is None

    def close(self) -> None:
        """Kill the server, with its queries."""
        self.process.kill()
        self.process.wait()
        if self.control:
            self.control.close()


def _free() -> tuple[str, int]:
    """Return a random loopback address, and a free port on it."""
    host = f"127.{secrets.randbelow(254) + 1}.{secrets.randbelow(256)}.{secrets.randbelow(254) + 1}"
    with socket.socket() as found:
        found.bind((host, 0))
        return host, int(found.getsockname()[1])
