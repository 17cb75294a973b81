"""A file that `-o` names: complete or as before, with its permissions."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from provio.base import terminal
from provio.base.errors import ProvioError


def test_an_error_keeps_the_old_file(tmp_path: Path) -> None:
    """A write that ends with an error changes nothing and leaves no other file."""
    target = tmp_path / "out"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError), terminal.written(str(target)) as file:
        file.write(b"new")
        raise ZeroDivisionError
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("out", "old")]


def test_a_new_file_replaces_the_old_one(tmp_path: Path) -> None:
    """The file has the new content at the end, and not before; the mode stays, and a link still leads to it."""
    target, link = tmp_path / "out", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to("out")
    with terminal.written(str(link)) as file:
        file.write(b"new")
        file.flush()
        assert target.read_text() == "old"
    assert (target.read_text(), stat.S_IMODE(target.stat().st_mode), link.is_symlink()) == ("new", 0o640, True)
    assert sorted(os.listdir(tmp_path)) == ["link", "out"]


def test_a_pipe_is_written_directly(tmp_path: Path) -> None:
    """A FIFO stays one, and its reader receives the content."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with terminal.written(str(fifo)) as file:
        file.write(b"new")
    assert os.read(reader, 10) == b"new"
    os.close(reader)
    assert fifo.is_fifo()


def test_no_folder(tmp_path: Path) -> None:
    """The message names the missing folder and the remedy."""
    with pytest.raises(ProvioError, match=r"there is no folder .*: create it"), terminal.written(f"{tmp_path}/no/out"):
        pass
