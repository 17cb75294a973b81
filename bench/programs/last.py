"""Accesses files in one of five ways and prints the time of the last access: `last.py WAY COUNT`.

It prints the nanoseconds of the monotonic clock, which is one for all processes, and ends by `_exit`.
"""

import os
import resource
import sys
import threading
import time

THREADS = 4


def read(count: int) -> None:
    """Read files that are there."""
    for number in range(count):
        with open(f"in/{number}", "rb") as file:
            file.read()


def write(count: int) -> None:
    """Write new files."""
    os.mkdir("out")
    for number in range(count):
        with open(f"out/{number}", "wb") as file:
            file.write(b"1")


def leave(count: int) -> None:
    """Write new files and close none."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 100, count + 100))
    os.mkdir("left")
    for number in range(count):
        os.write(os.open(f"left/{number}", os.O_CREAT | os.O_WRONLY), b"1")


def start(count: int) -> None:
    """Start programs, one after the other, that copy a file."""
    for number in range(count):
        os.waitpid(os.posix_spawn("/bin/cp", ["cp", "in/0", f"copy{number % 50}"], os.environ), 0)


def fork(count: int) -> None:
    """Fork in four threads; each child leaves a file open."""

    def work(thread: int) -> None:
        for number in range(count // THREADS):
            child = os.fork()
            if child == 0:
                os.write(os.open(f"fork{thread}.{number}", os.O_CREAT | os.O_WRONLY), b"1")
                os._exit(0)
            os.waitpid(child, 0)

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


way, times = sys.argv[1], int(sys.argv[2])
{"read": read, "write": write, "leave": leave, "start": start, "fork": fork}[way](times)
sys.stdout.write(f"{time.monotonic_ns()}\n")
sys.stdout.flush()
os._exit(0)
