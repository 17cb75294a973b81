"""Starts a program that ends with its parent: the parent's process id and a command line in, that program out.

It is run in an interpreter of its own, and becomes the program. Where memory runs out, the kernel is to end this
program before any other. With the descriptor of a socket the program has a network of its own, which nobody
else is in: whoever has the socket's other end writes a byte, and is sent a connection to the program.
"""

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import sys

from provio.tied import die_with

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
