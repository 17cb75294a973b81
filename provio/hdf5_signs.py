"""What is linked into a program's file: a path in, whether HDF5 is inside out; and whether a file holds HDF5 data.

A library inside an executable is called directly, past every preload. Its own words tell that it is there: the name of
a function that none but itself calls, which its messages of errors hold even where the symbols are stripped.
"""

from __future__ import annotations

import mmap
import os

OWN_FUNCTION = b"H5F_open\0"  # in every release since 1.0
SIGNATURE = b"\x89HDF\r\n\x1a\n"
FARTHEST = 1 << 20  # bytes of a user's own before the signature
# Whose programs have no HDF5 inside: distributions link it as a shared library.
SYSTEM = (b"/usr/bin/", b"/usr/lib", b"/usr/sbin/", b"/usr/libexec/", b"/bin/", b"/sbin/", b"/lib")


def hdf5_inside(program: bytes) -> bool:
    """Whether the file of a program holds the HDF5 library; raises OSError."""
    with open(program, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(OWN_FUNCTION) >= 0


def is_hdf5(path: bytes) -> bool:
    """Whether a file begins as HDF5 files do: the signature at 0, 512, 1024, 2048 …; raises OSError."""
    with open(path, "rb") as file:
        size, place = os.fstat(file.fileno()).st_size, 0
        while place + len(SIGNATURE) <= min(size, FARTHEST):
            if os.pread(file.fileno(), len(SIGNATURE), place) == SIGNATURE:
                return True
            place = max(512, place * 2)
    return False
