"""The metadata of data files in the graph, as other libraries read it; secrets, damaged files and crashes."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path

import h5py
import netCDF4
import pytest
from conftest import Project, in_memory

from provio.merge import contents, hashing
from provio.merge import metadata as reading
from provio.settings.home import Home
from provio.settings.schema import Config
from provio.system import metadata
from provio.trace import content_requests

tmp_path = in_memory
FOUND = "SELECT ?path ?m { ?v provio:metadata ?m ; prov:specializationOf/provio:path ?path }"
MAKE = """
import h5py, json, netCDF4, numpy, os
from PIL import Image, PngImagePlugin
from PIL.TiffImagePlugin import IFDRational
with h5py.File("a.h5", "w") as file:
    file.attrs.update({"title": "Sea surface", "n": 3, "vector": [1, 2], "one": numpy.array([2.5]), "on": True})
    file.attrs.update({"api_key": "correct-horse", "long": "x" * 1000, "empty": h5py.Empty("f")})
    file.create_dataset("g/t", data=[1, 2]).attrs["units"] = "K"
    file["g/again"] = h5py.SoftLink("/g/t")
for name, form in (("b.nc", "NETCDF4"), ("c.nc", "NETCDF3_CLASSIC")):
    with netCDF4.Dataset(name, "w", format=form) as file:
        file.title, file.version = "netCDF", 2.5
        file.createDimension("x", 3)
        file.createVariable("temp", "f4", ("x",), fill_value=-1).units = "degC"
attributes = {"name": "h", "n": 4, "l": [1]}
json.dump({"zarr_format": 3, "node_type": "array", "attributes": attributes}, open("zarr.json", "w"))
exif = Image.Exif()
exif[0x010F] = "Maker"
exif.get_ifd(0x8769)[0x829A] = IFDRational(1, 125)
Image.new("RGB", (4, 3)).save("j.jpg", exif=exif)
text = PngImagePlugin.PngInfo()
text.add_text("Author", "Ada")
Image.new("RGB", (4, 3)).save("k.png", pnginfo=text)
"""


def found(project: Project) -> dict[str, dict[str, str]]:
    """Return the metadata by file, then by name."""
    files: dict[str, dict[str, str]] = {}
    for row in project.rows(FOUND):
        name, _, value = row["m"].partition("=")
        files.setdefault(os.path.relpath(row["path"], project.path), {})[name] = value
    return files


def run(project: Project, program: str) -> None:
    """Run a Python program, and execute the requests of all runs."""
    project.env.pop("PROVIO_RECORD_METADATA", None)
    (project.path / "make.py").write_text(program)
    project.provio("run", "--quiet", "--", sys.executable, "make.py")
    project.provio("merge")


@pytest.mark.integration
def test_attributes_are_those_that_the_libraries_read(project: Project) -> None:
    """Scalars of HDF5, netCDF (both kinds), Zarr, JPEG and PNG; a secret is redacted, a long text cut, an array left
    out; a rebuilt store has the same; `why` shows the first ones."""
    run(project, MAKE)
    with h5py.File(project.path / "a.h5") as file:
        expected = {name: str(file.attrs[name]) for name in ("title", "n")} | {"one": "2.5", "on": "true"}
        expected |= {"g/t:units": file["g/t"].attrs["units"], "api_key": "REDACTED", "long": "x" * 253 + "…"}
    files = found(project)
    assert files["a.h5"] == expected
    for name in ("b.nc", "c.nc"):
        with netCDF4.Dataset(project.path / name) as file:
            whole = {one: str(file.getncattr(one)) for one in file.ncattrs()}
            temp = file.variables["temp"]
            assert files[name] == whole | {f"temp:{one}": str(temp.getncattr(one)) for one in temp.ncattrs()}
    assert files["zarr.json"] == {"name": "h", "n": "4"}
    assert files["j.jpg"] == {"width": "4", "height": "3", "Make": "Maker", "Exif:ExposureTime": "0.008"}
    assert files["k.png"] == {"width": "4", "height": "3", "Author": "Ada"}
    project.provio("merge", "--rebuild")
    assert found(project) == files
    assert "metadata  title = netCDF" in project.provio("why", "c.nc").stdout
    assert json.loads(project.provio("why", "a.h5", "--as", "json").stdout)["metadata"] == expected
    everywhere = [path.read_bytes() for path in (project.path / ".provio" / "runs").rglob("*") if path.is_file()]
    assert not any(b"correct-horse" in text for text in everywhere)


@pytest.mark.integration
def test_damaged_files_and_crashes_cost_only_their_own_metadata(project: Project) -> None:
    """A library that crashes, one that prints, a file that is cut off: other files have theirs, and there is no
    request left. Without the setting nothing is read."""
    (project.path / "lib").mkdir()
    (project.path / "lib" / "h5py.py").write_text("import os\nprint('noise')\nFile = lambda *_: os.abort()\n")
    project.env["PYTHONPATH"] = str(project.path / "lib")
    names = ("a.h5", "b.zattrs/.zattrs", "c.h5", "d.h5", "z.png")
    program = "import os\nos.mkdir('b.zattrs')\n"
    program += "".join(f"open({name!r}, 'w').write('{{\"a\": 1}}')\n" for name in names)
    run(project, program)
    assert found(project) == {"b.zattrs/.zattrs": {"a": "1"}}
    assert os.listdir(project.path / ".provio" / "hashing") in ([], ["lock"])
    (project.path / "provio.toml").write_text("[record]\nmetadata = false\n")
    run(project, "open('.zattrs', 'w').write('{\"b\": 1}')")
    assert found(project) == {"b.zattrs/.zattrs": {"a": "1"}}


def card(name: str, value: str) -> bytes:
    return f"{name:<8}= {value}".ljust(80).encode()


def test_cards_of_fits(tmp_path: Path) -> None:
    """Texts with quotes, numbers and Booleans, of the first header and an extension after its data."""
    end = b"END".ljust(80)
    first = [
        card("SIMPLE", "T"),
        card("BITPIX", "16"),
        card("NAXIS", "1"),
        card("NAXIS1", "3"),
        card("EXPTIME", "1.5D2 / s"),
    ]
    first += [card("OBJECT", "'M31 ''x'' / y '  / the name"), b"COMMENT no card".ljust(80), card("RA", " 1E-3"), end]
    other = [card("XTENSION", "'IMAGE   '"), card("BITPIX", "8"), card("NAXIS", "0"), card("EXTNAME", "'SCI'"), end]
    data = b"".join(first).ljust(2880) + bytes(2880) + b"".join(other).ljust(2880)
    (tmp_path / "x.fits").write_bytes(data)
    assert dict(metadata.pairs(str(tmp_path / "x.fits"))) == {
        "SIMPLE": "true", "BITPIX": "16", "NAXIS": "1", "NAXIS1": "3", "EXPTIME": "150.0", "OBJECT": "M31 'x' / y",
        "RA": "0.001", "1:XTENSION": "IMAGE", "1:BITPIX": "8", "1:NAXIS": "0", "1:EXTNAME": "SCI",
    }  # fmt: skip
    (tmp_path / "y.fits").write_bytes(data[:100])
    assert dict(metadata.pairs(str(tmp_path / "y.fits"))) == {"SIMPLE": "true"}


def test_at_most_64_values_are_kept(tmp_path: Path) -> None:
    """Of a file with more; control characters become spaces; nested values are no scalars."""
    (tmp_path / ".zattrs").write_text(json.dumps({"a": "x\n\x1by", "b": {"c": 1}} | {f"n{n}": n for n in range(100)}))
    pairs = metadata.pairs(str(tmp_path / ".zattrs"))
    assert pairs == [("a", "x  y"), *((f"n{n}", str(n)) for n in range(63))]


@pytest.mark.integration
def test_files_beyond_the_limits_of_a_run_have_a_gap(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each kind, with the number of files; a rebuilt store has the same ones, and the request is done."""
    project.env |= {"PROVIO_MERGE": "ask", "PROVIO_RECORD_METADATA": "true", "PROVIO_RECORD_KEEP": "1 kB"}
    for name in "abc":
        (project.path / name).mkdir()
        (project.path / name / "zarr.json").write_text(json.dumps({"attributes": {"name": name}}))
    project.provio("run", "--quiet", "--", "wc", *(f"{name}/zarr.json" for name in "abc"))
    monkeypatch.setattr(contents.metadata, "Reader", partial(reading.Reader, files=1))
    monkeypatch.setattr(contents, "KEEPING", 0.0)
    home = Home(project.path / ".provio")
    hashing._execute(home, Config())
    expected = [
        "the content of 3 files was not kept: a run's limit is 0 seconds",
        "the metadata of 2 files was not read: a run's limit is 2,000 files and 5 seconds",
    ]
    query = "SELECT ?reason { ?gap a provio:Gap ; provio:about ?run ; provio:reason ?reason . ?run a provio:Run }"
    for _ in range(2):
        assert sorted(row["reason"] for row in project.rows(query)) == expected
        project.provio("merge", "--rebuild")
    assert len(found(project)) == 1
    assert content_requests.requested(home) == []
