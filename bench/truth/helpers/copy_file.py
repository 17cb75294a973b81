"""Copies a file by the function of Python that the first argument names."""

import mmap
import os
import pathlib
import shutil
import sys


def mapped(source: str, target: str) -> None:
    """Copy from one memory map to another."""
    with open(source, "rb") as opened, open(target, "w+b") as made:
        size = os.fstat(opened.fileno()).st_size
        made.truncate(size)
        with mmap.mmap(opened.fileno(), size, prot=mmap.PROT_READ) as old, mmap.mmap(made.fileno(), size) as new:
            new[:] = old[:]


def sent(source: str, target: str) -> None:
    """Copy by sendfile."""
    with open(source, "rb") as opened, open(target, "wb") as made:
        os.sendfile(made.fileno(), opened.fileno(), 0, os.fstat(opened.fileno()).st_size)


def ranged(source: str, target: str) -> None:
    """Copy by copy_file_range."""
    with open(source, "rb") as opened, open(target, "wb") as made:
        os.copy_file_range(opened.fileno(), made.fileno(), os.fstat(opened.fileno()).st_size)


def spliced(source: str, target: str) -> None:
    """Copy by splice, through a pipe."""
    out, into = os.pipe()
    with open(source, "rb") as opened, open(target, "wb") as made:
        moved = os.splice(opened.fileno(), into, 65536)
        os.splice(out, made.fileno(), moved)


def positioned(source: str, target: str) -> None:
    """Copy by pread and pwrite."""
    with open(source, "rb") as opened, open(target, "wb") as made:
        os.pwrite(made.fileno(), os.pread(opened.fileno(), 65536, 0), 0)


def vectored(source: str, target: str) -> None:
    """Copy by readv and writev."""
    with open(source, "rb") as opened, open(target, "wb") as made:
        room = bytearray(os.fstat(opened.fileno()).st_size)
        os.readv(opened.fileno(), [room])
        os.writev(made.fileno(), [room])


def texts(source: str, target: str) -> None:
    """Copy by read_text and write_text."""
    pathlib.Path(target).write_text(pathlib.Path(source).read_text())


WAYS = {
    "mmap": mapped, "sendfile": sent, "copy_file_range": ranged, "splice": spliced, "pread": positioned,
    "readv": vectored, "pathlib": texts, "copy": shutil.copy, "copy2": shutil.copy2, "copyfile": shutil.copyfile,
}  # fmt: skip
WAYS[sys.argv[1]](sys.argv[2], sys.argv[3])
