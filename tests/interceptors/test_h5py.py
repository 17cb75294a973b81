"""The layer in Python: how it is loaded into a process, which calls of h5py it records, and that programs do not notice
it."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest
from conftest import SHIM, Project
from h5py_trace import SITE, Act, Story, run
from posix_trace import Trace

EVERYTHING = """
import h5py, numpy as np
with h5py.File("a.h5", "w") as f:
    d = f.create_dataset("g/d", data=np.arange(100.0).reshape(10, 10), chunks=(5, 5), compression="gzip",
                         shuffle=True, maxshape=(None, 10))
    d.attrs["units"] = "m"
    f["soft"] = h5py.SoftLink("/g/d")
    f["hard"] = d
    f["n"] = np.arange(3)
    f["type"] = np.dtype("f4")
with h5py.File("a.h5", "r+") as f:
    assert f["soft"][2:4].sum() == 590 and f["g/d"][:, [1, 3]].shape == (10, 2) and f["g/d"].attrs["units"] == "m"
    f["g/d"].write_direct(np.ones((10, 10)))
    f["g/d"].resize((20, 10))
    f.move("n", "m")
    del f["hard"]
    f.copy("g", "gc")
    f["g/d"].attrs.modify("units", "km")
    del f["g/d"].attrs["units"]
    try:
        f["nowhere"]
    except KeyError as error:
        print(error)
"""


def test_all_that_is_done_inside_a_file_is_recorded(trace: Trace, work: Path) -> None:
    assert "nowhere" in run(trace, EVERYTHING, work, "h5py")
    story = Story(trace.facts())
    assert story.moved() == [
        Act("read", "a.h5", "/g/d", 2, 320),
        Act("read", "a.h5", "/g/d@units", 1, 8),
        Act("write", "a.h5", "/g/d", 2, 1600),
        Act("write", "a.h5", "/g/d@units", 2, 16),
        Act("write", "a.h5", "/n", 1, 24),
    ]
    properties = ("created", "shape", "maxShape", "chunks", "filters", "datatype", "elementSize", "target")
    assert story.objects(*properties) == {
        ("Group", "a.h5", "/g", "true", *"-------"),
        ("Group", "a.h5", "/g", *"--------"),
        ("Group", "a.h5", "/gc", "true", *"-------"),
        ("Dataset", "a.h5", "/g/d", "true", "10 10", "* 10", "5 5", "shuffle deflate", "float64", "8", "-"),
        ("Dataset", "a.h5", "/g/d", "-", "10 10", "* 10", "-", "-", "float64", "8", "-"),  # chunks at its creation
        ("Dataset", "a.h5", "/n", "true", "3", "3", "-", "-", "int64", "8", "-"),
        ("Attribute", "a.h5", "/g/d@units", "true", "", "-", "-", "-", "string", "8", "-"),
        ("Attribute", "a.h5", "/g/d@units", "-", "", "-", "-", "-", "string", "8", "-"),
        ("Datatype", "a.h5", "/type", "true", "-", "-", "-", "-", "float32", "4", "-"),
        ("NamedLink", "a.h5", "/soft", "true", *"------", "/g/d"),
        ("NamedLink", "a.h5", "/soft", "-", *"------", "/g/d"),
        ("NamedLink", "a.h5", "/hard", "true", *"------", "/g/d"),
    }
    assert story.events() == [
        ("Copy", "a.h5", "/g", "a.h5", "/gc"),
        ("Delete", "a.h5", "/g/d", "units", "-", "-"),
        ("Delete", "a.h5", "/hard", "-", "-", "-"),
        ("Rename", "a.h5", "-", "-", "/n", "/m"),
        ("Resize", "a.h5", "/g/d", "20 10"),
    ]
    assert story.failures() == {"Open": 1}
    assert [record["flags"] for record in story.files.values()] == [str(0o1102), "2"]
    assert all("closedNs" in record for record in story.files.values())
    replaced = {story.name(iri)[1] for iri, record in story.members.items() if "replacedNs" in record}
    assert replaced == {"/g/d", "/g/d@units"}


def bare(*command: str | Path, cwd: Path | None = None, **env: str) -> tuple[int, str, str]:
    """Run with only provio's folder on the path: nothing else of it can be noticed."""
    done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, timeout=60, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


SEEN = "import sys, json; print(json.dumps([sys.path, sorted(sys.modules), sys.argv, sorted(sys.path_importer_cache)]))"


@pytest.mark.parametrize("options", [(), ("-I",), ("-E",), ("-s",), ("-P",), ("-O",)], ids=" ".join)
def test_a_python_sees_nothing_on_its_path_or_among_its_modules(options: tuple[str, ...]) -> None:
    before = json.loads(bare(sys.executable, *options, "-c", SEEN)[1])
    after = json.loads(bare(sys.executable, *options, "-c", SEEN, PYTHONPATH=str(SITE))[1])
    assert after == before


def test_the_own_path_and_the_own_sitecustomize_stay(tmp_path: Path) -> None:
    """The next sitecustomize on the path replaces it; one that fails is reported as usual, and one may be missing."""
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.own = __file__")
    script = "import sys, sitecustomize; print(sys.own, sitecustomize.__file__, str(sys.path))"
    before = bare(sys.executable, "-c", script, PYTHONPATH=str(tmp_path))
    after = bare(sys.executable, "-c", script, PYTHONPATH=f"{SITE}:{tmp_path}")
    assert before == after
    assert before[0] == 0
    (tmp_path / "sitecustomize.py").write_text("1 / 0")
    before = bare(sys.executable, "-c", "pass", PYTHONPATH=str(tmp_path))
    assert bare(sys.executable, "-c", "pass", PYTHONPATH=f"{SITE}:{tmp_path}") == before
    assert "division by zero" in before[2]


def test_a_broken_h5py_shows_its_own_error(tmp_path: Path) -> None:
    """The traceback has the same lines; a missing h5py is missing as usual; a second import does nothing."""
    (tmp_path / "h5py").mkdir()
    (tmp_path / "h5py" / "__init__.py").write_text("def broken():\n    raise RuntimeError('built wrong')\nbroken()\n")
    (tmp_path / "p.py").write_text("import h5py\n")
    before = bare(sys.executable, tmp_path / "p.py")
    assert bare(sys.executable, tmp_path / "p.py", PYTHONPATH=str(SITE), PROVIO_TRACE="x", PROVIO_HDF5="h5py") == before
    assert "built wrong" in before[2]
    (tmp_path / "h5py" / "__init__.py").write_text("h5d = None\n")
    assert bare(sys.executable, tmp_path / "p.py", PYTHONPATH=str(SITE), PROVIO_TRACE="x")[0] == 0
    missing = "import sys; sys.path[:] = []; import h5py"
    assert bare(sys.executable, "-c", missing, PYTHONPATH=str(SITE)) == bare(sys.executable, "-c", missing)


def test_any_environment_and_any_starter_is_watched(trace: Trace, work: Path) -> None:
    """provio need not be installed where the program runs, and child Pythons are observed too."""
    venv.create(work / "venv", with_pip=False)
    import h5py

    packages = Path(h5py.__file__).parent.parent
    program = f"""
import subprocess, sys
child = "import sys; sys.path.append({str(packages)!r}); import h5py; h5py.File('b.h5', 'w')['x'] = 1"
subprocess.run([sys.executable, "-c", child], check=True)
try:
    import provio
except ImportError:
    print("not here")
"""
    assert run(trace, program, work, "h5py", python=str(work / "venv/bin/python")) == "not here\n"
    assert Act("write", "b.h5", "/x", 1, 8) in Story(trace.facts()).moved()


REFUSED = """
import json, os, subprocess, sys, traceback
import h5py, numpy as np

def outcome(act):
    try:
        act()
    except Exception as error:
        lines = [(frame.filename.rpartition("/")[2], frame.name) for frame in traceback.extract_tb(error.__traceback__)]
        return [type(error).__name__, str(error), getattr(error, "errno", None), lines]
    return None

with h5py.File("whole.h5", "w") as f:
    f["d"] = np.arange(1000)
    closed = f["d"]
with open("whole.h5", "rb") as whole, open("short.h5", "wb") as short:
    short.write(whole.read()[:3000])
def overwritten():
    f = h5py.File("whole.h5", "r+")
    d = f["d"]
    del f["d"]
    d[0]
    return f["d"]
locker = subprocess.Popen(
    [sys.executable, "-c", "import h5py; f = h5py.File('held.h5', 'w'); print('held', flush=True); input()"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
)
locker.stdout.readline()
acts = {
    "truncated": lambda: h5py.File("short.h5"),
    "locked": lambda: h5py.File("held.h5", "r+"),
    "missing file": lambda: h5py.File("nowhere.h5"),
    "exists": lambda: h5py.File("whole.h5", "x"),
    "not one": lambda: h5py.File(__file__),
    "closed": lambda: closed[0],
    "deleted": overwritten,
    "mode": lambda: h5py.File("whole.h5", "r").create_dataset("x", data=1),
    "key": lambda: h5py.File("whole.h5", "r")["x/y"],
    "attribute": lambda: h5py.File("whole.h5", "r").attrs["x"],
    "delete": lambda: h5py.File("whole.h5", "r+").__delitem__("x"),
    "twice": lambda: h5py.File("twice.h5", "w").create_dataset("x", data=1).parent.create_group("x"),
    "type": lambda: h5py.h5d.open(3, b"x"),
    "shape": lambda: h5py.File("held too.h5", "w").create_dataset("x", (3,))[5],
}
found = {name: outcome(act) for name, act in acts.items()}
locker.communicate(b"\\n")
print(json.dumps(found))
"""


@pytest.mark.parametrize("way", ["c", "h5py", "python"])
@pytest.mark.integration
def test_errors_reach_the_program_unchanged_and_are_recorded(trace: Trace, tmp_path: Path, way: str) -> None:
    """The same type, message, number and, from Python 3.11 on, lines of the traceback as without provio."""
    alone, watched = tmp_path / "alone", tmp_path / "watched"
    for folder in (alone, watched):
        folder.mkdir()
        (folder / "p.py").write_text(REFUSED)
    before = subprocess.run([sys.executable, "p.py"], cwd=alone, capture_output=True, text=True, check=True).stdout
    after = run(trace, Path("p.py"), watched, way)
    assert json.loads(after) == json.loads(before)
    assert all(outcomes for outcomes in json.loads(before).values())
    assert Story(trace.facts()).failures() == {"Open": 7, "Create": 3, "Delete": 1, "Stat": 1}


SPOOLED = """
import h5py, tempfile
with tempfile.SpooledTemporaryFile(max_size=1 << 20) as spool, h5py.File(spool, "w") as f:
    f["x"] = [1.0, 2.0]
    print(spool._rolled)
"""


@pytest.mark.parametrize("way", ["c", "h5py", "python"])
def test_a_file_that_is_in_memory_yet_stays_there(trace: Trace, work: Path, way: str) -> None:
    """fileno() would move it to disk."""
    assert run(trace, SPOOLED, work, way) == "False\n"
    assert [act.size for act in Story(trace.facts()).moved()] == [16]


UNTOUCHED = """
import sys, h5py
h5py.File("a.h5", "w")["x"] = 1
print([type(h5py.h5d.create), type(h5py.h5d.DatasetID.read)], sorted(name for name in sys.modules if "provio" in name))
"""


@pytest.mark.parametrize("options", [(), ("-I",), ("-S",), ("-E",), ("-P",)], ids=" ".join)
@pytest.mark.integration
def test_with_the_c_layer_in_front_nothing_is_in_the_python(trace: Trace, work: Path, options: tuple[str, ...]) -> None:
    """For each way to start Python: h5py's calls are recorded, and h5py itself is unchanged."""
    import h5py

    program = f"import sys; sys.path.append({str(Path(h5py.__file__).parent.parent)!r})" + UNTOUCHED
    command = [sys.executable, *options, "-c", program]
    assert trace.run(*command, cwd=work, check=True).stdout.decode() == bare(*command, cwd=work)[1]
    assert Act("write", "a.h5", "/x", 1, 8) in Story(trace.facts()).moved()


def test_calls_that_the_c_layer_sees_are_left_to_it(trace: Trace, work: Path) -> None:
    """Where both layers could record, it depends on whether h5py's calls reach the C layer: no call is counted
    twice."""
    printed = run(trace, UNTOUCHED, work, "c", PYTHONPATH=str(SITE))
    assert printed.count("cython_function") == 2
    assert Story(trace.facts()).moved() == [Act("write", "a.h5", "/x", 1, 8)]


@pytest.mark.integration
def test_netcdf_files_by_xarray_show_their_datasets(trace: Trace, work: Path) -> None:
    pytest.importorskip("h5netcdf")
    pytest.importorskip("xarray")
    program = """
import numpy as np, xarray
data = xarray.Dataset({"t": (("x", "y"), np.arange(6.0).reshape(2, 3), {"units": "K"})}, coords={"x": [1, 2]})
data.to_netcdf("x.nc", engine="h5netcdf")
with xarray.open_dataset("x.nc", engine="h5netcdf") as found:
    print(float(found["t"].mean()))
"""
    assert run(trace, program, work, "c") == "2.5\n"
    story = Story(trace.facts())
    assert {Act("write", "x.nc", "/t", 1, 48), Act("write", "x.nc", "/x", 1, 16)} <= set(story.moved())
    assert {("Dataset", "x.nc", "/t", "2 3"), ("Attribute", "x.nc", "/t@units", "")} <= story.objects("shape")
    assert "/t" in {act.path for act in story.moved() if act.what == "read"}


ENVIRONMENT = """
#include <stdio.h>
#include <string.h>
extern char **environ;
int main(void) {
    for (char **at = environ; *at; at++)
        if (!strncmp(*at, "PYTHONPATH=", 11) || !strncmp(*at, "LD_PRELOAD=", 11)) puts(*at);
}
"""


@pytest.mark.integration
def test_a_python_that_cannot_take_the_shim_gets_the_layer_by_its_path(project: Project, needs: Any) -> None:
    """As the command itself, started by another program, or without the preload; no other program's environment is
    changed."""
    needs("musl-gcc")
    project.env.pop("PYTHONPATH", None)
    (project.path / "env.c").write_text(ENVIRONMENT)
    for name in ("python3.9", "other"):
        subprocess.run(["musl-gcc", "-o", project.path / name, project.path / "env.c"], check=True)
    first = f"PYTHONPATH={SHIM.parent / 'interceptors' / 'site'}"
    show = "env | grep -c ^PYTHONPATH; ./python3.9; PYTHONPATH=/a:/b ./python3.9; ./other; PROVIO_HDF5=off ./python3.9"
    assert project.run(show).splitlines() == ["0", first, f"{first}:/a:/b"]
    command = project.provio("run", "--quiet", "--", "./python3.9")
    assert command.stdout.splitlines() == [first]
    script = "import os; print('/site' in os.environ.get('PYTHONPATH', ''))"
    alone = f'env -u LD_PRELOAD {sys.executable} -c "{script}"; env -i {sys.executable} -c "{script}"'
    assert project.run(alone).split() == ["True", "False"]
    project.env["PROVIO_HDF5"] = "h5py"
    assert project.run("env | grep ^PYTHONPATH; ./python3.9; ./other").splitlines() == [first] * 3


def test_the_folder_twice_on_the_path_and_h5py_imported_twice_count_once(
    trace: Trace, work: Path, tmp_path: Path
) -> None:
    """Another copy of provio may have put its own folder there; a removed module is imported again."""
    (tmp_path / "copy").symlink_to(SITE.parent)
    program = """
import sys
import h5py
del sys.modules["h5py"]
import h5py
h5py.File("a.h5", "w")["x"] = 1
"""
    run(trace, program, work, "h5py", PYTHONPATH=f"{SITE}:{tmp_path}/copy/site")
    assert Story(trace.facts()).moved() == [Act("write", "a.h5", "/x", 1, 8)]


LAYER = sorted(
    [
        SITE.parent / "recognising.py",
        *(path for name in ("python", "python/*", "recognise", "site") for path in SITE.parent.glob(f"{name}/*.py")),
    ]
)


@pytest.mark.parametrize("path", LAYER, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_the_layer_needs_an_old_python_and_nothing_else(path: Path) -> None:
    """Modules that run inside an observed Python are valid for 3.8, and import only each other and the standard
    library; a recogniser also its library, and modules that the library has loaded."""
    there = {"_provio", path.stem, "omegaconf", "dask"} if path.parent.name == "recognise" else {"sitecustomize"}
    there |= {"distributed"} if path.stem.startswith("dask_") else set()
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names | there


@pytest.mark.integration
def test_a_name_that_is_none_is_refused_as_ever(trace: Trace, work: Path) -> None:
    program = """
import h5py
for name in ("\\ud800", "a\\0b", 3, None, b"\\xff/nowhere"):
    try:
        h5py.File(name, "r")
    except Exception as error:
        print(type(error).__name__, error)
"""
    printed = bare(sys.executable, "-c", program, cwd=work)[1]
    assert len(printed.splitlines()) == 5
    for way in ("c", "h5py", "python"):
        assert run(trace, program, work, way) == printed
