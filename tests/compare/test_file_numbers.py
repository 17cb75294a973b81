"""The numbers in files of each format, in their order, of any type and order of bytes."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from provio.compare import numbers as module
from provio.compare.numbers import numbers
from provio.compare.readers import Unreadable

VALUES = [1.5, -2.0, float("inf"), 1e-300]


def written(folder: Path, name: str) -> Path:
    """Write the values into a file of a format."""
    path = folder / name
    kind = name.partition(".")[0]
    if name.endswith(".npy"):
        np.save(path, np.array(VALUES, dtype={"big": ">f8", "little": "<f8"}[kind]))
    elif name.endswith(".npz"):
        np.savez(path, b=np.array(VALUES[2:]), a=np.array(VALUES[:2]))
    elif name.endswith(".h5"):
        with h5py.File(path, "w") as file:
            file["z"] = np.array(VALUES[2:], dtype=">f8")
            file["group/a"] = np.array(VALUES[:2])
            file["name"] = "no number"
    elif name.endswith(".json"):
        path.write_text(json.dumps({"z": VALUES[2:], "a": [VALUES[:2], {"text": "7", "truth": True, "none": None}]}))
    else:
        path.write_text("id x7 1.5, -2\ninf; 1D-300 of nan7\n")
    return path


@pytest.mark.parametrize("name", ["big.npy", "little.npy", "some.npz", "some.h5", "some.json", "some.txt"])
def test_each_format(tmp_path: Path, name: str) -> None:
    assert numbers(str(written(tmp_path, name))).tolist() == VALUES


def test_fields_and_complex_numbers(tmp_path: Path) -> None:
    """A field after the other; the real parts before the imaginary ones; texts do not count."""
    rows = np.array([(1, 2 + 3j, b"a"), (4, 5 + 6j, b"b")], dtype=[("n", ">i4"), ("c", "c16"), ("s", "S1")])
    np.save(tmp_path / "rows.npy", rows)
    assert numbers(str(tmp_path / "rows.npy")).tolist() == [1, 4, 2, 5, 3, 6]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"only words\n", "contains no numbers"),
        (b"", "contains no numbers"),
        (b"1\x002", "no file of numbers"),
        (b"\x93NUMPY\x01\x00", "cannot be read as numbers"),
        (b"\x89HDF\r\n\x1a\nbroken", "cannot be read as numbers"),
        (b"1 " * 5 + b"\n", "more than 4 numbers"),
    ],
)
def test_files_without_readable_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, reason: str
) -> None:
    (tmp_path / "file").write_bytes(content)
    monkeypatch.setattr(module, "MOST", 4)
    with pytest.raises(Unreadable, match=reason):
        numbers(str(tmp_path / "file"))
    with pytest.raises(Unreadable, match="cannot be read"):
        numbers(str(tmp_path / "missing"))
