"""The connector for HDF5's virtual object layer: it passes calls on, records them, and does nothing if it must not
record."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from posix_trace import Trace, of_class
from workers import made_once

h5py = pytest.importorskip("h5py")

ROOT = Path(__file__).parent.parent.parent
HEADERS = ROOT / "build" / "hdf5" / "usr" / "include" / "hdf5" / "serial"
TWELVE = ROOT / "build" / "hdf5" / "1.12"
DIRECT = ROOT / "tests" / "clients" / "direct.py"


def build(folder: Path) -> None:
    flags = os.environ.get("HDF5_CFLAGS", f"-I{HEADERS}")
    done = subprocess.run(
        [ROOT / "interceptors" / "hdf5" / "vol" / "build", folder],
        env={**os.environ, "HDF5_CFLAGS": flags, "CFLAGS": "-Werror"},
    )
    assert done.returncode == 0


@pytest.fixture(scope="module")
def connector(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables by which HDF5 finds the connector."""
    if "HDF5_CFLAGS" not in os.environ and not HEADERS.exists():
        pytest.skip("no headers of HDF5 1.14 (make test fetches them where it may)")
    folder = made_once(tmp_path_factory, "vol", build)
    return {"HDF5_PLUGIN_PATH": str(folder), "HDF5_VOL_CONNECTOR": "provio"}


def own() -> str:
    """Return the HDF5 of version 1.14 or later that h5py brings."""
    if h5py.version.hdf5_version_tuple < (1, 14):
        pytest.skip("h5py has an older HDF5")
    (found,) = re.findall(r"\S+/libhdf5-\S+", Path("/proc/self/maps").read_text())[-1:] or [None]
    if found is None:
        pytest.skip("h5py has no HDF5 of its own")
    return str(found)


def older() -> str:
    """Return a library of HDF5 1.12, which has another interface."""
    if not TWELVE.exists():
        pytest.skip("no library of HDF5 1.12 (make test fetches one where it may)")
    (found,) = TWELVE.glob("libhdf5-*")
    return str(found)


@pytest.fixture(params=[own, older])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """An HDF5 of each interface that the connector has."""
    found = str(request.param())
    monkeypatch.setenv("LD_LIBRARY_PATH", str(Path(found).parent))
    return found


def plain(record: dict[str, str]) -> dict[str, str]:
    """The facts of an object's record, without its place."""
    return {name: value for name, value in record.items() if name not in ("type", "inFile", "token")}


def objects(facts: dict[str, dict[str, str]], kind: str) -> list[dict[str, str]]:
    return [plain(record) for record in of_class(facts, kind).values()]


def calls(facts: dict[str, dict[str, str]], side: str) -> list[tuple[str, str, int, int]]:
    """(object's path and name, function, calls, bytes) of each Access of a side."""
    found = []
    for record in of_class(facts, "Access").values():
        if record.get(side + "Api", "").startswith("H5"):
            about = facts[record["object"]]
            name = about["path"] + ("@" + about["name"] if "name" in about else "")
            found.append((name, record[side + "Api"], int(record[side + "s"]), int(record[side + "Bytes"])))
    return sorted(found)


@pytest.mark.integration
def test_calls_through_the_connector_are_recorded(
    trace: Trace, work: Path, connector: dict[str, str], library: str
) -> None:
    """Files, objects, bytes, copies, links and failures of a program with calls that no preload sees."""
    done = trace.run(sys.executable, DIRECT, library, "out.h5", cwd=work, env=connector)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    facts = trace.facts()
    opened = [one for one in of_class(facts, "FileVersion").values() if one.get("format") == "HDF5"]
    assert [(one["path"], one["openApi"], one["flags"]) for one in opened] == [
        (str(work / "out.h5"), "H5Fcreate", str(os.O_RDWR | os.O_CREAT | os.O_TRUNC)),
        (str(work / "out.h5"), "H5Fopen", str(os.O_RDWR)),
    ]
    assert all(int(one["closedNs"]) > int(one["openedNs"]) for one in opened)
    array = {"shape": "100", "maxShape": "100", "datatype": "float64", "elementSize": "8"}
    copy = objects(facts, "Dataset")[-1]
    assert int(copy.pop("replacedNs")) > 0
    assert [*objects(facts, "Dataset")[:-1], copy] == [
        {"path": "/group/raw", "created": "true", **array},
        {"path": "/copy", "created": "true", **array},
        {"path": "/copy", **array},
    ]
    assert objects(facts, "Group") == [{"path": "/group", "created": "true"}]
    units = {"path": "/group/raw", "name": "units", "shape": "", "datatype": "int32", "elementSize": "4"}
    times = {"path": "/group", "name": "times", "shape": "100", "datatype": "float64", "elementSize": "8"}
    assert objects(facts, "Attribute") == [{**units, "created": "true"}, {**times, "created": "true"}]
    assert objects(facts, "NamedLink") == [{"path": "/group/link", "target": "/copy", "created": "true"}]
    assert calls(facts, "write") == [
        ("/copy", "H5Dwrite", 1, 800),
        ("/group/raw", "H5Dwrite", 3, 2400),
        ("/group/raw@units", "H5Awrite", 1, 4),
    ]
    assert calls(facts, "read") == [("/copy", "H5Dread", 2, 1200)]
    (copied,) = of_class(facts, "Copy").values()
    assert (facts[copied["source"]]["path"], facts[copied["object"]]["path"]) == ("/group/raw", "/copy")
    (moved,) = (one for one in of_class(facts, "Rename").values() if one["api"] == "H5Lmove")
    assert (moved["from"], moved["to"]) == ("/group/link", "/moved")
    (deleted,) = (one for one in of_class(facts, "Delete").values() if one["api"] == "H5Adelete")
    assert (deleted["path"], deleted["name"]) == ("/copy", "units")
    (failed,) = (one for one in of_class(facts, "Failure").values() if one["api"].startswith("H5"))
    assert (failed["api"], int(failed["count"])) == ("H5Dopen2", 1)


@pytest.mark.parametrize("more", [{"PROVIO_HDF5": "off"}, {"PROVIO_HDF5": "h5py"}], ids=["off", "h5py"])
@pytest.mark.integration
def test_it_stands_down(
    trace: Trace, work: Path, connector: dict[str, str], library: str, more: dict[str, str]
) -> None:
    """If HDF5 must not be recorded, or another layer records it, it passes calls on and records nothing."""
    done = trace.run(sys.executable, DIRECT, library, "out.h5", cwd=work, env=connector | more)
    assert (done.returncode, done.stderr) == (0, b"")
    facts = trace.facts()
    assert of_class(facts, "Dataset", "Group", "Attribute", "NamedLink") == {}


@pytest.mark.integration
def test_observed_calls_are_not_recorded_twice(
    trace: Trace, work: Path, connector: dict[str, str], built: Path
) -> None:
    """h5py's calls go through the preload: with the connector below them each is counted as often as without."""
    program = """import h5py; f = h5py.File("o.h5", "w"); f["g/x"] = [1.5, 2.5]; f["g/x"].attrs["u"] = 1; f["g/x"][()]
f.copy("g", "h"); del f["g"]; f.close()"""
    results = []
    for number, more in enumerate(({}, connector)):
        one = Trace(work / str(number), built / "libprovio.so")
        done = one.run(sys.executable, "-c", program, cwd=work, env=more)
        assert (done.returncode, done.stderr) == (0, b"")
        (work / "o.h5").unlink()
        facts = one.facts()
        kinds = ("Dataset", "Group", "Attribute", "Copy", "Delete", "Failure")
        results.append((calls(facts, "read"), calls(facts, "write"), [len(of_class(facts, kind)) for kind in kinds]))
    assert results[0] == results[1]
    assert results[0][:2] == ([("/g/x", "H5Dread", 1, 16)], [("/g/x", "H5Dwrite", 1, 16), ("/g/x@u", "H5Awrite", 1, 8)])


def test_without_provio_it_only_hands_through(work: Path, connector: dict[str, str], library: str) -> None:
    """The created file is the same with and without the connector."""
    for name, more in (("bare.h5", {}), ("through.h5", connector)):
        command = [sys.executable, DIRECT, library, name]
        subprocess.run(command, cwd=work, env={**os.environ, **more}, check=True, capture_output=True)
    with h5py.File(work / "bare.h5") as bare, h5py.File(work / "through.h5") as through:
        assert list(bare) == list(through) == ["copy", "group", "moved"]
        assert (bare["copy"][()] == through["copy"][()]).all()
    assert (work / "bare.h5").stat().st_size == (work / "through.h5").stat().st_size


@pytest.mark.slow
def test_h5pys_own_tests_end_as_without_it(work: Path, connector: dict[str, str]) -> None:
    """Files, datasets, groups, attributes, selections, virtual datasets: each test passes or fails as without it."""
    own()
    names = "file dataset group attrs slicing datatype objects vds.test_highlevel_vds".split()
    modules = [f"h5py.tests.test_{name}" for name in names]
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist"]
    command.append(f"--basetemp={work / 'tmp'}")  # without it, it closes the folder of every pytest to other users
    ends = []
    for more in ({}, connector):
        done = subprocess.run(
            [*command, "--pyargs", *modules], cwd=work, env={**os.environ, **more}, capture_output=True, text=True
        )
        found = re.findall(r"^(PASSED|FAILED|ERROR|SKIPPED) (\S+)", done.stdout, re.MULTILINE)
        ends.append(sorted(found))
    assert len(ends[0]) > 300
    assert ends[0] == ends[1]
