"""Two files of each format with planted differences in; which parts differ out. Judges: h5py, pandas, Pillow."""

from __future__ import annotations

import io
import json
import math
import random
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import netCDF4
import numpy as np
import pandas
import pytest
from PIL import Image

from provio.compare.parts import FIRST, SECOND, Parts, Unreadable
from provio.compare.readers import compared, pieces
from provio.compare.tolerances import Tolerances, of, parsed

NAN = math.nan
Writer = Callable[[Path, list[float]], object]


def both(folder: Path, name: str, write: Callable[[Path, Any], object], first: object, second: object) -> Parts:
    """Write a file in two folders, and compare them."""
    paths = []
    for number, values in enumerate((first, second)):
        (folder / str(number)).mkdir(exist_ok=True)
        paths.append(folder / str(number) / name)
        write(paths[-1], values)
    return compared(str(paths[0]), str(paths[1]))


def others(found: Parts) -> dict[str, str]:
    """Return the differences that are not ones of numbers, by part."""
    return {name: one.other_text() for name, one in found.unlike.items() if one.others}


def numbers(found: Parts) -> dict[str, tuple[int, float]]:
    """Return how many numbers differ, and by how much, by part."""
    return {name: (one.unequal, one.absolute_most) for name, one in found.unlike.items() if one.unequal}


def write_hdf5(path: Path, values: list[float]) -> None:
    with h5py.File(path, "w") as file:
        file["group/x"] = np.array(values)
        file["group/name"] = "a name"


def write_classic(path: Path, values: list[float]) -> None:
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("n", len(values))
        file.createVariable("x", "f8", ("n",))[:] = values


def write_image(path: Path, values: list[float]) -> None:
    Image.fromarray(np.array([[0 if one != one else int(one * 20) for one in values]], "u1")).save(path)


WRITERS: dict[str, tuple[Writer, str, str]] = {  # the part that differs, and the whole place of the difference
    "a.npy": (lambda path, values: np.save(path, np.array(values)), "", "[1]"),
    "a.npz": (lambda path, values: np.savez(path, x=np.array(values), y=np.array(3)), "x", "x[1]"),
    "a.h5": (write_hdf5, "group/x", "group/x[1]"),
    "a.nc": (write_classic, "x", "x[1]"),
    "a.json": (lambda path, values: path.write_text(json.dumps({"x": values, "name": "a"})), "x", "x[1]"),
    "a.csv": (
        lambda path, values: path.write_text("y,x\n" + "".join(f"b-7,{one}\n" for one in values)),
        "x",
        "x, row 2",
    ),
    "a.txt": (lambda path, values: path.write_text("  ".join(map(repr, values))), "", "line 1"),
    "a.png": (write_image, "", "[0, 1]"),
    "a.tiff": (write_image, "", "[0, 1]"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_formats(tmp_path: Path, name: str) -> None:
    """Each gives the difference, its part and its place; another number of values is no difference of numbers."""
    write, part, place = WRITERS[name]
    scale = 20 if write is write_image else 1
    assert both(tmp_path, name, write, [1.0, 2.0, NAN], [1.0, 2.0, NAN]).unlike == {}
    found = both(tmp_path, name, write, [1.0, 2.0, NAN], [1.0, 2.5, NAN])
    assert numbers(found) == {part: (1, 0.5 * scale)}
    assert (found.total.where, found.unlike[part].first, found.unlike[part].second) == (place, 2 * scale, 2.5 * scale)
    assert not found.total.others
    assert found.is_within(of(0.2), name)
    assert not found.is_within(of(0.1), name)
    assert others(both(tmp_path, name, write, [1.0, 2.0, NAN], [1.0]))


def test_hdf5_names_all_that_differs(tmp_path: Path) -> None:
    """A changed dataset, a new one, a missing one, another shape, type and kind, attributes: none hides another."""

    def write(path: Path, second: bool) -> None:
        with h5py.File(path, "w") as file:
            file["same"] = np.arange(5)
            file["changed"] = np.array([1.0, 2.0, 3.0 + second])
            file["order"] = np.array([1.0], ">f8" if second else "<f8")
            file["shape"] = np.zeros((2, 3 + second))
            file["kind"] = np.zeros(2) if second else np.array([b"a", b"b"])
            file["text"] = ["a", "c" if second else "b"]
            file["empty"] = h5py.Empty("f8")
            file["none"] = np.zeros((0, 3), "f4")
            file["scalar"] = 1 + second
            file["complex"] = np.array([1 + 1j * second])
            file["group/new" if second else "group/old"] = [1]
            if second:
                file.create_group("turned")
            else:
                file["turned"] = 1
            file["changed"].attrs["units"] = "K" if second else "C"
            file["changed"].attrs["scale"] = 1.0 + second
            file.attrs["steps"] = [1, 2 + second]
            file["changed"].attrs["extra" if second else "removed"] = 1
            file["pointer"] = np.array([file["same" if second else "changed"].ref], h5py.ref_dtype)
            file["region"] = np.array([file["same"].regionref[0:2]], h5py.regionref_dtype)
            file["soft"] = h5py.SoftLink("/nowhere")
            lists = file.create_dataset("lists", (2,), h5py.vlen_dtype("f8"))
            lists[0], lists[1] = [1, 2], [3 + second / 2]
            kinds = np.dtype([("x", "i4"), ("to", h5py.ref_dtype), ("name", h5py.string_dtype())])
            rows = np.zeros(1, kinds)
            rows["x"], rows["to"], rows["name"] = 1 + second, file["same"].ref, "n"
            file["rows"] = rows

    found = both(tmp_path, "a.h5", write, False, True)
    assert numbers(found) == {
        "@steps": (1, 1), "changed@scale": (1, 1), "changed": (1, 1), "scalar": (1, 1), "complex": (1, 1),
        "lists": (1, 0.5), "rows": (1, 1),
    }  # fmt: skip
    assert others(found) == {
        "group/new": SECOND, "group/old": FIRST, "changed@extra": SECOND, "changed@removed": FIRST,
        "shape": "another shape", "kind": "[0]: another value (2 times)", "text": "[1]: another text",
        "turned": "another kind of object", "changed@units": "another text", "pointer": "[0]: another text",
    }  # fmt: skip
    assert list(found.parts["order"].notes) == ["other byte order"]
    assert (found.parts["shape"].first, found.parts["shape"].second) == ("shape (2, 3)", "shape (2, 4)")
    assert (found.parts["group/new"].first, found.parts["group/new"].second) == (None, "shape (1,)")
    with h5py.File(tmp_path / "0/a.h5") as one, h5py.File(tmp_path / "1/a.h5") as other:
        assert found.parts["changed"].rmse == pytest.approx(
            np.sqrt(np.mean((one["changed"][:] - other["changed"][:]) ** 2))
        )


def test_hdf5_without_numbers(tmp_path: Path) -> None:
    """Texts alone can be equal; an empty file has no values."""

    def write(path: Path, layout: str) -> None:
        with h5py.File(path, "w", libver=layout) as file:
            file["group/text"] = ["a", "b"]

    assert list(both(tmp_path, "a.h5", write, "earliest", "latest").parts) == ["group/text"]
    with pytest.raises(Unreadable, match="contains no values"):
        both(tmp_path, "a.h5", lambda path, layout: h5py.File(path, "w", libver=layout).close(), "earliest", "latest")


def test_netcdf4_with_dimensions(tmp_path: Path) -> None:
    """The attributes by which netCDF ties variables to dimensions hold addresses: they are no difference."""

    def write(path: Path, more: float) -> None:
        with netCDF4.Dataset(path, "w") as file:
            file.createDimension("x", 2)
            for variable in ("x", "y")[:: -1 if more else 1]:
                file.createVariable(variable, "f4", ("x",))[:] = [1, 2 + more * (variable == "y")]
            file.createVariable("t", "f8").units = "s"

    assert numbers(both(tmp_path, "a.nc", write, 0, 0.5)) == {"y": (1, 0.5)}


@pytest.mark.parametrize("package", ["netCDF4", "scipy"])
def test_classic_netcdf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Variables, attributes and parts of only one file, with either package, big-endian as the format is."""

    def write(path: Path, second: bool) -> None:
        with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_OFFSET") as file:
            file.createDimension("t", None)
            file.createDimension("n", 3)
            file.title = "b" if second else "a"
            file.createVariable("x", "f4", ("t", "n"))[:] = np.arange(6).reshape(2, 3) + np.array([0, 0, second])
            file.createVariable("new" if second else "old", "i4", ("n",))[:] = 1
            file.createVariable("one", "f8", ())[...] = 1 + second
            file.variables["x"].factor = 2.0 + second

    for second in (False, True):
        write(tmp_path / str(second), second)
    if package == "scipy":
        monkeypatch.setitem(sys.modules, "netCDF4", None)
    found = compared(str(tmp_path / "False"), str(tmp_path / "True"))
    assert numbers(found) == {"x": (2, 1), "one": (1, 1), "x@factor": (1, 1)}
    assert others(found) == {"@title": "another text", "new": SECOND, "old": FIRST}


def test_npz(tmp_path: Path) -> None:
    """Arrays by name, in either order of memory; an array of objects is not read, and hides no other."""

    def write(path: Path, second: bool) -> None:
        values = np.arange(12.0).reshape(3, 4)
        values[2, 1] += second
        np.savez_compressed(path, c=values, f=np.asfortranarray(values), objects=np.array([{}, 1]),
                            mixed=np.asfortranarray(values) if second else values, none=np.zeros((0, 2)),
                            text=np.array(["a", "c" if second else "b"]),
                            **{"new" if second else "old": 1})  # fmt: skip

    found = both(tmp_path, "a.npz", write, False, True)
    assert numbers(found) == {"c": (1, 1), "f": (1, 1), "mixed": (1, 1)}
    assert [found.parts[name].where for name in ("c", "f", "mixed")] == ["[2, 1]"] * 3
    assert others(found) == {"text": "[1]: another text", "new": SECOND, "old": FIRST,
                             "objects": "cannot be read (it contains Python objects)"}  # fmt: skip


@pytest.mark.parametrize("shape", [(1000, 30), (3, 5, 2000), (1, 30000), (30000,)])
@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.h5"])
def test_long_arrays_are_read_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, shape: tuple[int, ...]
) -> None:
    """The measures and the place do not depend on the size of a piece."""
    for module in ("pieces", "npz"):
        monkeypatch.setattr(f"provio.compare.readers.{module}.PIECE", 7_000)
    values = np.random.default_rng(1).normal(size=shape)
    changed = values.copy()
    at = tuple(one - 1 for one in shape)
    changed[at] += 1
    writers: dict[str, Callable[[Path, Any], object]] = {
        "a.npy": np.save, "a.npz": lambda path, data: np.savez(path, x=data),
        "a.h5": lambda path, data: h5py.File(path, "w").create_dataset("x", data=data).file.close(),
    }  # fmt: skip
    found = both(tmp_path, name, writers[name], values, changed).total
    assert (found.numbers, found.unequal, found.largest) == (
        values.size,
        1,
        pytest.approx(1 / max(1, abs(changed[at]))),
    )
    assert found.where.endswith(f"[{', '.join(map(str, at))}]")
    assert found.relative_l2 == pytest.approx(1 / np.linalg.norm(values))
    assert all(np.zeros(shape)[piece].size <= 7_000 // 8 for _, piece in pieces.pieces(shape, 8))


def test_an_empty_array(tmp_path: Path) -> None:
    """It equals itself."""
    assert both(tmp_path, "a.npy", np.save, np.zeros((0, 3)), np.zeros((0, 3))).unlike == {}


def test_json_by_key(tmp_path: Path) -> None:
    """Top-level keys are the parts; large whole numbers are exact; missing keys and other kinds are named."""

    def write(path: Path, value: object) -> None:
        path.write_text(json.dumps(value))

    found = both(
        tmp_path, "a.json", write,
        {"a": {"x": [1, 2, {"y": 3}], "only": 1}, "b": 2**60, "c": "text", "d": True, "e": 1, "f": [1, 2], "n": NAN,
         "old": 1},
        {"a": {"x": [1, 2, {"y": 3.5}]}, "b": 2**60 + 1, "c": "other", "d": False, "e": "1", "f": [1], "n": NAN,
         "new": {}},
    )  # fmt: skip
    assert numbers(found) == {"a": (1, 0.5), "b": (1, 1)}
    assert found.parts["a"].where == ".x[2].y"
    assert others(found) == {"a": f".only: {FIRST}", "c": "another text", "d": "another truth value", "old": FIRST,
                             "e": "another kind of value", "f": "another number of values", "new": SECOND}  # fmt: skip
    assert numbers(both(tmp_path, "a.json", write, [1, [2]], [1, [3]])) == {"": (1, 1)}


def test_tables_by_column(tmp_path: Path) -> None:
    """Columns by name, in any order; their measures are those of pandas."""

    def write(path: Path, text: str) -> None:
        path.write_text(text)

    rows = [random.Random(3).random() for _ in range(200)]
    first = "\n".join(["id;x;name;old", *(f"{n};{one!r};n{n};1" for n, one in enumerate(rows))])
    second = "\n".join(
        [
            "name;id;x;new",
            *(f"{'m' if n == 7 else 'n'}{n};{n};{one * (1 + 1e-9 * (n % 3))!r};1" for n, one in enumerate(rows)),
        ]
    )
    found = both(tmp_path, "a.csv", write, first, second)
    left, right = (pandas.read_csv(tmp_path / side / "a.csv", sep=";") for side in "01")
    assert numbers(found) == {"x": (int((left.x != right.x).sum()), (left.x - right.x).abs().max())}
    assert found.parts["x"].rmse == pytest.approx(((left.x - right.x) ** 2).mean() ** 0.5)
    assert others(found) == {"name": "row 8: another text", "old": FIRST, "new": SECOND}
    assert found.parts["id"].numbers == 200


@pytest.mark.parametrize(
    ("name", "first", "second", "expected"),
    [
        ("a.tsv", "a\tb\n1\t2\n", "a\tb\n1\t2\n3\t4\n", {"": "another number of rows"}),
        ("a.csv", "1,2\n3,4\n", "1,2\n3,x\n", {"column 2": "row 2: another text"}),
        ("a.csv", "a,a\n1,2\n", "a,a\n1,x\n", {"a column 2": "row 1: another text"}),
        ("a.csv", "a,b\n1,2\n", "1,2\n", {"": "only one file has a header"}),
        ("a.csv", 'a\n"x\ny"\n', 'a\n"x\nz"\n', {"a": "row 1: another text"}),
        ("a.csv", "a,b\n1\n", "a,b\n1,5\n", {"b": "row 1: another text"}),
        ("a.csv", "a\n1,2\n", "a\n1,3\n", {"": "row 1: cells beyond the header"}),
        ("a.csv", "", "a\n1\n", {"": "only one file has a header"}),
        ("a.txt", "a 1\n", "b 1\n", {"": "line 1: another text"}),
        ("a.txt", "1\n", "1\n2\n", {"": "another number of lines"}),
        ("a.txt", "a\nb\nc 1\n", "x\ny\nc 1\n", {"": "line 1: another text (2 times)"}),
        ("a.txt", "1 2\n", "1\n", {"": "line 1: another text"}),
    ],
)  # fmt: skip
def test_other_texts(tmp_path: Path, name: str, first: str, second: str, expected: dict[str, str]) -> None:
    """Everything that is no number must be equal."""
    found = both(tmp_path, name, lambda path, text: path.write_text(text), first, second)
    assert others(found) == expected
    assert not found.is_within(of(1e9), name)


def test_numbers_in_texts(tmp_path: Path) -> None:
    """Forms of numbers, with the width of columns and the exponents of Fortran; a mark at the start of a file."""
    first, second = "-1.5D+01 +2 nan Inf .5 x2\n", "  -15.0   2.0   NaN  inf 0.5 x2\n"
    found = both(tmp_path, "a.txt", lambda path, text: path.write_text(text), first, second)
    assert (found.total.numbers, found.unlike) == (5, {})
    assert (
        both(tmp_path, "a.csv", lambda path, text: path.write_text(text), "\ufeffa,b\n1,x\n", "a,b\n1.0,x\n").unlike
        == {}
    )


def test_images(tmp_path: Path) -> None:
    """Pixels are numbers; metadata do not count; frames are parts; another mode or size is named."""
    pixels = np.random.default_rng(2).integers(0, 255, (20, 30, 3), "u1")
    changed = pixels.copy()
    changed[3, 4, 1] ^= 64

    def save(path: Path, given: tuple[np.ndarray, dict[str, Any]]) -> None:
        Image.fromarray(given[0]).save(path, **given[1])

    found = both(tmp_path, "a.png", save, (pixels, {}), (changed, {"compress_level": 1}))
    with Image.open(tmp_path / "0/a.png") as one, Image.open(tmp_path / "1/a.png") as other:
        difference = np.asarray(one).astype(int) - np.asarray(other)
    assert numbers(found) == {"": (1, np.abs(difference).max())}
    assert found.total.where == "[3, 4, 1]"
    assert found.total.rmse == pytest.approx(np.sqrt(np.mean(difference**2.0)))
    assert both(tmp_path, "a.png", save, (pixels, {"compress_level": 1}), (pixels, {"compress_level": 9})).unlike == {}
    assert both(tmp_path, "a.jpg", save, (pixels, {"quality": 90}), (pixels, {"quality": 40})).total.unequal
    assert others(both(tmp_path, "a.png", save, (pixels, {}), (pixels[..., 0], {}))) == {"": "another kind of pixels"}
    assert others(both(tmp_path, "a.png", save, (pixels, {}), (pixels[1:], {}))) == {"": "another shape"}
    frames = [Image.fromarray(one) for one in (pixels, changed)]

    def several(path: Path, order: int) -> None:
        frames[0].save(path, save_all=True, append_images=[frames[order]])

    found = both(tmp_path, "a.tiff", several, 0, 1)
    assert (list(found.unlike), list(found.parts)) == (["frame 1"], ["frame 0", "frame 1"])


def test_parquet(tmp_path: Path) -> None:
    """Columns by name, over other groups of rows; null values equal each other only."""
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def write(path: Path, second: bool) -> None:
        columns = {
            "x": arrow.array([1.0, 2.0, 3.0 + second, None]), "big": arrow.array([2**60, 2**60 + second, None, 1]),
            "null": arrow.array([1, None if second else 2, 3, 4]), "text": ["a", "b", "c", "d" if second else "e"],
            "list": [[1], [2], [3], [4 + second]], "flag": [True, False, None, not second], "same": [NAN, 1, 2, 3],
            "new" if second else "old": [1, 2, 3, 4],
        }  # fmt: skip
        parquet.write_table(arrow.table(columns), path, row_group_size=3 if second else 2)

    found = both(tmp_path, "a.parquet", write, False, True)
    assert numbers(found) == {"x": (1, 1), "big": (1, 1), "flag": (1, 1)}
    assert [found.parts[name].where for name in ("x", "big", "flag")] == ["[2]", "[1]", "[3]"]
    assert others(found) == {"null": "[1]: only one file has a value", "text": "[3]: another text", "old": FIRST,
                             "list": "[3]: another value", "new": SECOND}  # fmt: skip
    left, right = (pandas.read_parquet(tmp_path / side / "a.parquet") for side in "01")
    assert found.parts["x"].rmse == pytest.approx(((left.x - right.x) ** 2).mean() ** 0.5)


@pytest.mark.parametrize(
    ("package", "name"), [("h5py", "a.h5"), ("PIL", "a.png"), ("pyarrow", "a.parquet"), ("numpy", "a.npy")]
)
def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, name: str) -> None:
    """With the remedy."""
    writer = WRITERS[name][0] if name in WRITERS else lambda path, _: path.write_bytes(b"PAR1\0")
    for folder in "01":
        (tmp_path / folder).mkdir()
        writer(tmp_path / folder / name, [1.0])
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        Unreadable, match=f"needs the Python package {'pillow' if package == 'PIL' else package}: install it"
    ):
        compared(str(tmp_path / "0" / name), str(tmp_path / "1" / name))


STARTS = [b"\0\1", b"\x93NUMPY broken", b"\x89HDF\r\n\x1a\n broken", b"PK\3\4 broken", b"CDF\1 broken\0",
          b"\x89PNG\r\n\x1a\n broken", b"\xff\xd8\xff broken", b"II*\0 broken", b"PAR1 broken\0"]  # fmt: skip


@pytest.mark.parametrize("content", STARTS)
def test_damaged_files(tmp_path: Path, content: bytes) -> None:
    """Other and broken files are no error of provio."""
    with pytest.raises(Unreadable):
        both(tmp_path, "a.npz", Path.write_bytes, content, content)


@pytest.mark.parametrize("name", [one for one in WRITERS if one not in ("a.json", "a.csv", "a.txt")])
def test_a_file_that_is_cut_off(tmp_path: Path, name: str) -> None:
    """At any length: the reason is stated, or the part that cannot be read."""
    WRITERS[name][0](tmp_path / name, [1.0, 2.0, NAN])
    whole = (tmp_path / name).read_bytes()
    (tmp_path / "cut").mkdir()
    for length in range(12, len(whole) - 12, max(1, len(whole) // 40)):
        (tmp_path / "cut" / name).write_bytes(whole[:length])
        try:
            found = compared(str(tmp_path / name), str(tmp_path / "cut" / name))
        except Unreadable:
            continue
        assert found.unlike or name in ("a.h5", "a.png"), length  # their ends hold no values
    (tmp_path / "cut" / name).write_text("text")
    assert others(compared(str(tmp_path / name), str(tmp_path / "cut" / name))) == {"": "another format"}


def test_a_damaged_part_hides_no_other(tmp_path: Path) -> None:
    """In an archive of arrays, and in HDF5."""

    def write(path: Path, damaged: bool) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for name, value in (("a", 1.0), ("b", 2.0 + damaged)):
                data = io.BytesIO()
                np.save(data, np.full(100, value))
                archive.writestr(f"{name}.npy", data.getvalue()[: -9 if damaged and name == "a" else None])

    found = both(tmp_path, "a.npz", write, False, True)
    assert others(found) == {"a": "cannot be read (it is cut off)"}
    assert numbers(found) == {"b": (100, 1)}


def test_tolerances() -> None:
    """The last glob that matches counts, of the file or of the part; a plain number where none does."""
    found = Tolerances(map(parsed, ["1e-9", "*.h5=1e-6", "*.h5:p*=0.1", "a=b.txt=3", "out/c.h5:q=0"]))
    assert [found.of("x.csv"), found.of("out/a.h5"), found.of("out/a.h5", "q")] == [1e-9, 1e-6, 1e-6]
    assert [found.of("out/a.h5", "p/x"), found.of("d/a=b.txt"), found.of("/w/out/c.h5", "q")] == [0.1, 3, 0]
    assert Tolerances().of("x") is None
    assert of({"*.h5": 1.0}).of("x.csv") is None
    for text in ("nan", "-1", "x", "a=", "=1", "a=-1", ""):
        with pytest.raises(ValueError):
            parsed(text)
