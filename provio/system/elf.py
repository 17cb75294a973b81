"""Reads ELF files: the shared libraries that they need, and whether HDF5 is linked in. Also detects HDF5 data files."""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
from pathlib import Path

PT_LOAD, PT_DYNAMIC = 1, 2
DT_NEEDED, DT_STRTAB = 1, 5


def needed(path: Path) -> list[str]:
    """Return the names of the libraries that a 64-bit little-endian ELF file needs, in its order; none for other
    files."""
    try:
        with path.open("rb") as file:
            data = file.read(64)
            if data[:6] != b"\x7fELF\x02\x01":
                return []
            offset, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
            file.seek(offset)
            headers = [struct.unpack_from("<IIQQQQ", file.read(size)) for _ in range(count)]
            loads = [(at, start, length) for kind, _, at, start, _, length in headers if kind == PT_LOAD]
            pairs: list[tuple[int, int]] = []
            for kind, _, at, _, _, length in headers:
                if kind == PT_DYNAMIC:
                    file.seek(at)
                    pairs += struct.iter_unpack("<qQ", file.read(length // 16 * 16))
            address = next((value for tag, value in pairs if tag == DT_STRTAB), 0)
            names = next((at + address - start for at, start, length in loads if start <= address < start + length), 0)
            return [_string(file.seek(names + value) and file.read(256)) for tag, value in pairs if tag == DT_NEEDED]
    except (OSError, struct.error):
        return []


def _string(data: bytes | int) -> str:
    return data.split(b"\0")[0].decode("utf-8", "replace") if isinstance(data, bytes) else ""


OWN_FUNCTION = b"H5F_open\0"  # a string in every release of HDF5 since 1.0
SIGNATURE = b"\x89HDF\r\n\x1a\n"
FARTHEST = 1 << 20  # bytes of a user block before the signature
# Programs in these folders do not contain HDF5: distributions link it as a shared library.
SYSTEM = (b"/usr/bin/", b"/usr/lib", b"/usr/sbin/", b"/usr/libexec/", b"/bin/", b"/sbin/", b"/lib")


def hdf5_inside(program: bytes) -> bool:
    """Return whether a program file contains the HDF5 library; raises OSError."""
    with open(program, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return False
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(OWN_FUNCTION) >= 0


def is_hdf5(path: bytes) -> bool:
    """Return whether a file has the HDF5 signature at offset 0, 512, 1024, 2048, …; raises OSError."""
    with open(path, "rb") as file:
        size, place = os.fstat(file.fileno()).st_size, 0
        while place + len(SIGNATURE) <= min(size, FARTHEST):
            if os.pread(file.fileno(), len(SIGNATURE), place) == SIGNATURE:
                return True
            place = max(512, place * 2)
    return False


PT_NOTE, GNU_BUILD_ID = 4, 3
LONGEST_NOTES = 1 << 16  # bytes


def build_id(path: bytes) -> str:
    """Return the build id of a 64-bit little-endian ELF file in hexadecimal digits; empty if it has none."""
    with contextlib.suppress(OSError, struct.error), open(path, "rb") as file:
        data = file.read(64)
        if data[:6] != b"\x7fELF\x02\x01":
            return ""
        offset, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
        file.seek(offset)
        headers = file.read(size * count)
        for number in range(count):
            kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", headers, size * number)
            if kind == PT_NOTE:
                file.seek(at)
                notes = file.read(min(length, LONGEST_NOTES))
                place = 0
                while place + 12 <= len(notes):
                    name, body, note = struct.unpack_from("<III", notes, place)
                    start = place + 12 + (name + 3 & ~3)
                    if note == GNU_BUILD_ID and notes[place + 12 : place + 12 + name] == b"GNU\0":
                        return notes[start : start + body].hex()
                    place = start + (body + 3 & ~3)
    return ""
