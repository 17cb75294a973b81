"""Small file systems mounted for one test: with whole-second times, clones of files, another device."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest

# kind → (MiB, the command that makes it); a tmpfs needs none.
KINDS = {
    "ext4": (16, ["mkfs.ext4", "-q"]),
    "ext4-128": (16, ["mkfs.ext4", "-q", "-I", "128"]),  # inodes without room for more than whole seconds
    "xfs": (320, ["mkfs.xfs", "-q", "-m", "reflink=1"]),
}


# Errors of mount that mean missing permission or support; any other error fails the test.
REFUSED = ("ermission denied", "not permitted", "superuser", "only root", "unknown filesystem type", "loop device")


def mount(folder: Path, kind: str, undo: ExitStack) -> None:
    """Mount a new file system on `folder` (made where it is missing) until `undo` ends; leaves the test out where that
    is not allowed."""
    folder.mkdir(exist_ok=True)
    where = ["-t", "tmpfs", "-o", "size=16m", "tmpfs"]
    if kind != "tmpfs":
        image = Path(undo.enter_context(tempfile.TemporaryDirectory())) / "image"
        where = ["-o", "loop", _made(image, *KINDS[kind])]
    done = subprocess.run(["mount", *where, folder], capture_output=True, text=True)
    if done.returncode:
        assert any(word in done.stderr for word in REFUSED), done.stderr
        pytest.skip(f"needs the right to mount a file system here: {done.stderr.strip()}")
    undo.callback(subprocess.run, ["umount", "--lazy", folder], check=True)


def _made(image: Path, size: int, command: list[str]) -> str:
    if shutil.which(command[0]) is None:
        pytest.skip(f"not installed: {command[0]} (make test installs it where it may)")
    image.touch()
    os.truncate(image, size << 20)
    subprocess.run([*command, image], check=True, capture_output=True)
    return str(image)


def need_attributes(folder: Path) -> None:
    """Skip the test if the files of a folder cannot have extended attributes."""
    try:
        os.setxattr(folder, "user.provio", b"1")
    except OSError as error:
        pytest.skip(f"the files of {folder} cannot have extended attributes: {error.strerror}")
    os.removexattr(folder, "user.provio")
