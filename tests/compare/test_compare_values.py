"""Files of numbers in, the largest difference out."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest

from provio.compare.readers import Unreadable, measure
from provio.compare.values import Different, Measure

INF, NAN = math.inf, math.nan
PAIRS = [
    (1.0, 1.0, 0.0), (0.5, 0.25, 0.25), (200.0, 100.0, 0.5), (-2.0, 2.0, 2.0), (NAN, NAN, 0.0), (INF, INF, 0.0),
    (INF, -INF, INF), (NAN, 1.0, INF), (1.0, INF, INF), (0.0, -0.0, 0.0), (1e-12, 2e-12, 1e-12),
    (2**62, 2**62 + 1, 2.0**-62),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "largest"), PAIRS)
def test_a_pair(first: float, second: float, largest: float) -> None:
    """Plain numbers and arrays have the same difference, on both sides."""
    for left, right in ((first, second), (second, first)):
        plain, arrays = Measure(), Measure()
        plain.add(left, right, "x")
        arrays.add_arrays(np.array([left]), np.array([right]), "x")
        assert (plain.largest, plain.unequal) == pytest.approx((largest, int(first != second and largest > 0)))
        assert (arrays.largest, arrays.unequal) == pytest.approx((plain.largest, plain.unequal))
        assert plain.absolute == arrays.absolute


def test_arrays() -> None:
    """Byte order and precision do not count, each part of complex numbers and each field does; the place is stated."""
    found = Measure()
    found.add_arrays(np.array([1, 2], ">f8"), np.array([1, 2], "<f4"), "a")
    assert (found.largest, found.numbers) == (0, 2)
    found.add_arrays(np.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 5]]), "b")
    assert (found.largest, found.where) == (0.2, "b[1, 1]")
    found.add_arrays(np.array(1 + 2j), np.array(1 + 4j), "c")
    assert (found.largest, found.where) == (0.5, "c")
    kind = [("x", "f8"), ("y", "i2")]
    found.add_arrays(np.array([(1, 2)], kind), np.array([(1, 8)], kind), "d")
    assert (found.largest, found.absolute, found.where) == (0.75, 6, "d.y[0]")
    assert not found.is_within(0.7)
    assert found.is_within(0.75)
    for other, reason in ((np.zeros(3), "shape"), (np.array(["a"]), "shape"), (np.array(["a", "b"]), "no numbers")):
        with pytest.raises(Different, match=reason):
            found.add_arrays(np.zeros(2), other, "e")


def write_hdf5(path: Path, values: list[float]) -> None:
    with h5py.File(path, "w") as file:
        file["group/x"] = np.array(values)
        file["group/name"] = "a name"
        file.attrs["scale"] = values[0]


WRITERS: dict[str, Callable[[Path, list[float]], object]] = {
    "a.npy": lambda path, values: np.save(path, np.array(values)),
    "a.npz": lambda path, values: np.savez(path, x=np.array(values), y=np.array(3)),
    "a.h5": write_hdf5,
    "a.json": lambda path, values: path.write_text(json.dumps({"x": values, "name": "a"})),
    "a.csv": lambda path, values: path.write_text("x1,y\n" + "".join(f"{one},b-7\n" for one in values)),
    "a.txt": lambda path, values: path.write_text("  ".join(map(repr, values))),
}


@pytest.mark.parametrize("name", WRITERS)
def test_formats(tmp_path: Path, name: str) -> None:
    """Each format gives the difference and its place; another number of values is no difference of numbers."""
    for folder, values in (("1", [1.0, 2.0, NAN]), ("2", [1.0, 2.5, NAN]), ("3", [1.0])):
        (tmp_path / folder).mkdir()
        WRITERS[name](tmp_path / folder / name, values)
    paths = [str(tmp_path / folder / name) for folder in "123"]
    assert measure(paths[0], paths[0]).largest == 0
    found = measure(paths[0], paths[1])
    assert (found.largest, found.absolute, found.unequal) == (0.2, 0.5, 1)
    assert found.where in ("[1]", "x[1]", "group/x[1]", "$.x[1]", "line 3", "line 1")
    with pytest.raises(Different):
        measure(paths[0], paths[2])


def test_netcdf_and_other_types(tmp_path: Path) -> None:
    """Dimensions, texts, fields, lists of variable length and empty data are read; the one difference is found."""
    for name, more in (("1", 0.0), ("2", 0.5)):
        with netCDF4.Dataset(tmp_path / name, "w") as file:
            file.createDimension("x", 2)
            for variable in ("x", "y"):
                file.createVariable(variable, "f4", ("x",))[:] = [1, 2]
        with h5py.File(tmp_path / name, "a") as file:
            file["texts"] = ["a", "b"]
            file["nothing"] = h5py.Empty("f8")
            file.create_dataset("none", (0, 3), "f4")
            file["fields"] = np.array([(1, 2.0)], [("x", "i4"), ("y", "f8")])
            lists = file.create_dataset("lists", (2,), h5py.vlen_dtype("f8"))
            lists[0], lists[1] = [1, 2], [3 + more]
            file["soft"] = h5py.SoftLink("/nowhere")
    assert measure(str(tmp_path / "1"), str(tmp_path / "1")).unequal == 0
    found = measure(str(tmp_path / "1"), str(tmp_path / "2"))
    assert (found.absolute, found.unequal, found.where) == (0.5, 1, "lists[1][0]")


def test_long_arrays_are_read_in_pieces(tmp_path: Path) -> None:
    """A difference in the last piece is found."""
    values = np.zeros((3_000_000, 1))
    np.save(tmp_path / "1.npy", values)
    values[-1] = 1
    np.save(tmp_path / "2.npy", values)
    found = measure(str(tmp_path / "1.npy"), str(tmp_path / "2.npy"))
    assert (found.numbers, found.unequal, found.largest) == (3_000_000, 1, 1)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("a 1\n", "b 1\n", "line 1: another text"), ("1\n", "1\n2\n", "another number of lines"),
        ("1 2\n", "1\n", "line 1: another text"),
    ],
)  # fmt: skip
def test_other_texts(tmp_path: Path, first: str, second: str, reason: str) -> None:
    """Everything between the numbers must be equal."""
    (tmp_path / "1").write_text(first)
    (tmp_path / "2").write_text(second)
    with pytest.raises(Different, match=reason):
        measure(str(tmp_path / "1"), str(tmp_path / "2"))


def test_numbers_in_texts(tmp_path: Path) -> None:
    """Forms of numbers, with the width of columns and the exponents of Fortran."""
    (tmp_path / "1").write_text("-1.5D+01 +2 nan Inf .5 x2\n")
    (tmp_path / "2").write_text("  -15.0   2.0   NaN  inf 0.5 x2\n")
    found = measure(str(tmp_path / "1"), str(tmp_path / "2"))
    assert (found.numbers, found.largest) == (5, 0)


@pytest.mark.parametrize("content", [b"\0\1", b"\x93NUMPY broken", b"\x89HDF\r\n\x1a\n broken", b"PK\3\4 broken"])
def test_files_without_numbers(tmp_path: Path, content: bytes) -> None:
    """Other and broken files are no error of provio."""
    for name in "12":
        (tmp_path / f"{name}.npz").write_bytes(content)
    with pytest.raises(Unreadable):
        measure(str(tmp_path / "1.npz"), str(tmp_path / "2.npz"))
