"""`%load_ext provio` in a kernel that was started without provio: cells, files that Python opens, child processes."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Project

pytest.importorskip("ipykernel", reason="the tests of notebooks need ipykernel and nbclient (extra `test`)")
pytest.importorskip("nbclient", reason="the tests of notebooks need ipykernel and nbclient (extra `test`)")

PROGRAM = Path(__file__).parent.parent / "programs" / "notebook.py"
Notebook = Callable[..., str]
LOAD, UNLOAD = "%load_ext provio", "%unload_ext provio"


@pytest.fixture
def notebook(project: Project) -> Notebook:
    """Execute cells with the ordinary kernel of this Python; return their output."""
    home = project.path.parent / "jupyter"
    kernel = home / "share" / "jupyter" / "kernels" / "plain"
    kernel.mkdir(parents=True)
    places = {"JUPYTER_PATH": "share/jupyter", "JUPYTER_RUNTIME_DIR": "runtime", "IPYTHONDIR": "ipython"}
    project.env |= {name: str(home / place) for name, place in places.items()} | {"JUPYTER_PLATFORM_DIRS": "1"}

    def carry_out(*cells: str, under: tuple[str, ...] = ()) -> str:
        command = [*under, sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec = {"argv": command, "display_name": "plain", "language": "python"}
        (kernel / "kernel.json").write_text(json.dumps(spec))
        done = subprocess.run(
            [sys.executable, PROGRAM, "plain", *cells], cwd=project.path, env=project.env, capture_output=True,
            text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return carry_out


def maker(project: Project, name: str) -> str:
    """Return the name of the Task that wrote a file."""
    nodes = project.lineage(name, "--depth", "1")["nodes"]
    return next(str(node["label"]) for node in nodes if node["type"] == "Task" and node["via"] == "data")


def files(project: Project) -> set[str]:
    """Return the names of all recorded files in the project's folder."""
    paths = [
        Path(row["path"]) for row in project.rows("SELECT DISTINCT ?path { ?f a provio:File ; provio:path ?path }")
    ]
    return {path.name for path in paths if path.parent == project.path}


def gaps(project: Project) -> set[str]:
    return {row["reason"] for row in project.rows("SELECT ?reason { ?g a provio:Gap ; provio:reason ?reason }")}


@pytest.mark.slow
def test_the_cells_after_the_extension_are_recorded(project: Project, notebook: Notebook) -> None:
    """As by the recorded kernel: threads, pools, coroutines, shell commands, failed cells; and a gap for the rest."""
    project.env["JPY_SESSION_NAME"] = "/home/ada/fits.ipynb"
    project.sh("for name in a b c d e f; do echo $name > $name; done")
    shown = notebook(
        "open('before', 'w').write('1')",
        LOAD,
        "import asyncio, threading, subprocess, concurrent.futures as cf\npool = cf.ThreadPoolExecutor(1)\n"
        "def copy(one, other):\n    text = open(one).read()\n    open(other, 'w').write(text)",
        "copy('a', 'x')\nraise ValueError",
        "thread = threading.Thread(target=copy, args=('b', 'y'))\nthread.start(); thread.join()",
        "pool.submit(copy, 'c', 'pooled').result()",
        "!cat d > shelled",
        "async def later(one, other):\n    await asyncio.sleep(0.2)\n    copy(one, other)\n"
        "pending = asyncio.create_task(later('e', 'awaited'))",
        "await asyncio.sleep(0.1)\ncopy('f', 'between')\nawait pending",
        "subprocess.run(['sh', '-c', 'cat a b > both'], check=True)",
        LOAD,
        "print(open('nowhere') if False else open)",
        UNLOAD,
        "import os\nopen('after', 'w').write('1'); print(os.environ.get('LD_PRELOAD'))",
    )
    (run,) = project.rows("SELECT ?name { ?r a provio:Run ; provio:name ?name }")
    assert run["name"] == "fits.ipynb"
    assert re.search(r"provio: run [0-9a-f-]{36}: recorded in \S+/\.provio, from this cell on", shown)
    assert "already loaded" in shown
    assert "has ended" in shown
    made = {name: maker(project, name) for name in ("x", "y", "pooled", "awaited", "between")}
    assert made == {"x": "[4]", "y": "[5]", "pooled": "__main__.copy", "awaited": "[8]", "between": "[9]"}
    assert "made by   fits.ipynb  (a notebook)" in project.answer("why", "x")
    assert "[4]  of fits.ipynb, " in project.answer("lineage", "x")
    assert project.data("shelled") == {"d"}
    assert project.data("both") == {"a", "b"}
    for name, cell in (("shelled", "[7]"), ("both", "[10]")):
        launched = project.lineage(name, "--via", "control")["nodes"]
        assert cell in {node["label"] for node in launched if node["type"] == "Task"}
    ends = project.rows("SELECT ?name ?status { ?t a provio:Task ; provio:name ?name ; provio:status ?status }")
    assert {row["name"] for row in ends if row["status"] == "error"} == {"[4]"}
    assert {row["name"] for row in ends} == {"__main__.copy"} | {f"[{number}]" for number in range(2, 14)}
    assert any("only files that Python opened after it" in reason for reason in gaps(project))
    assert files(project) >= {"a", "x"}
    assert not {"before", "after"} & files(project)
    project.answer("validate")


@pytest.mark.slow
def test_ways_to_write_and_read(project: Project, notebook: Notebook) -> None:
    """Files of `os.open`, of descriptors that C code uses, of libraries that kept `open`, renames, and HDF5."""
    pytest.importorskip("h5py")
    project.sh("printf 'x\\n1\\n2\\n' > in.csv; echo print > helper.py")
    notebook(
        "import os, shutil, bz2, tarfile, mmap, h5py, numpy as np, pandas as pd",
        LOAD,
        "pd.read_csv('in.csv').to_csv('frame.csv')",
        "shutil.copyfile('in.csv', 'part'); os.replace('part', 'moved.csv')",
        "fd = os.open('low', os.O_WRONLY | os.O_CREAT); os.write(fd, b'low'); os.close(fd)",
        "np.save('a.npy', np.arange(9000)); np.arange(9000).tofile('raw'); back = np.fromfile('raw')",
        "with h5py.File('a.h5', 'w') as f: f['a'] = np.load('a.npy')",
        "with h5py.File('a.h5') as f: f['a'][:].tofile('of_h5')",
        "with bz2.open('a.bz2', 'wb') as f: f.write(b'x' * 1000)",
        "with tarfile.open('a.tar', 'w') as f: f.add('in.csv')",
        "with open('mapped', 'w+b') as f:\n    f.truncate(4096)\n    m = mmap.mmap(f.fileno(), 0)\n"
        "    m[:2] = b'ab'; m.close()",
        "from pathlib import Path\nPath('p').write_text(Path('in.csv').read_text())",
        "import helper",
        "open('gone', 'w').write('1'); os.remove('gone')",
        "import multiprocessing as mp\ndef work(name):\n    open(name, 'w').write('1')\n"
        "child = mp.get_context('fork').Process(target=work, args=('forked',)); child.start(); child.join()",
        "import subprocess\nsubprocess.run([__import__('sys').executable, '-c', \"open('spawned', 'w').write('1')\"])",
    )
    assert project.data("frame.csv") == {"in.csv"}
    assert project.data("moved.csv") == {"in.csv"}
    assert "a.npy" in project.data("a.h5")
    assert project.data("of_h5") == {"a.h5", "a.npy"}
    assert project.data("a.tar") == {"in.csv"}
    assert project.data("p") == {"in.csv"}
    cells = {"low": 5, "a.npy": 6, "raw": 6, "a.h5": 7, "a.bz2": 9, "mapped": 11, "p": 12}
    assert {name: maker(project, name) for name in cells} == {name: f"[{cell}]" for name, cell in cells.items()}
    for name in ("forked", "spawned"):
        assert project.lineage(name)["nodes"], name
    objects = project.rows("SELECT ?path { ?d a provio:Dataset ; provio:path ?path }")
    assert {"path": "/a"} in objects
    project.answer("validate")


@pytest.mark.slow
def test_the_files_are_those_that_strace_sees(project: Project, notebook: Notebook, needs: Callable[..., None]) -> None:
    """All files of the folder that the kernel opens after the extension was loaded, by Python code, for reading and
    for writing."""
    needs("strace")
    project.sh("for n in 1 2 3; do echo $n > in$n; done; echo 'x = 1' > helper.py")
    notebook(
        "import os, json, csv, shutil, tempfile, zipfile",
        "open('in1').read()",
        LOAD,
        "import helper\nos.stat('in2')",
        "json.dump([open(f'in{n}').read() for n in (2, 3)], open('out.json', 'w'))",
        "with open('t.csv', 'w', newline='') as f: csv.writer(f).writerow([1, 2])\nlist(csv.reader(open('t.csv')))",
        "shutil.copy('out.json', 'copy')\nwith zipfile.ZipFile('z.zip', 'w') as z: z.write('copy')",
        "fd, name = tempfile.mkstemp(dir='.'); os.write(fd, b'1'); os.close(fd)\nopen('in3', 'r+').write('x')",
        "open('a', 'a').write('1'); open('x', 'x').close(); open('bytes', 'wb', 0).write(b'12')",
        under=("strace", "-f", "-y", "-e", "trace=openat,open,creat", "-o", str(project.path.parent / "calls")),
    )
    seen: set[tuple[str, bool]] = set()
    loaded = False
    for line in joined((project.path.parent / "calls").read_text().splitlines()):
        loaded = loaded or "/.provio/runs/" in line
        found = re.search(r"open(?:at)?\(.*, (O_[A-Z_|]+).* = \d+<([^>]*)>$", line)
        if loaded and found and Path(found[2]).parent == project.path and Path(found[2]).is_file():
            seen.add((Path(found[2]).name, not found[1].startswith("O_RDONLY")))
    rows = project.rows("""
        SELECT DISTINCT ?path ?w { ?v prov:specializationOf [ provio:path ?path ] {
            ?a prov:used ?v BIND("" AS ?w) } UNION { ?v prov:wasGeneratedBy ?a BIND("w" AS ?w) } }""")
    recorded = {(Path(row["path"]).name, row["w"] == "w") for row in rows if Path(row["path"]).parent == project.path}
    assert recorded >= {(name, written) for name, written in seen if written or (name, True) not in seen}
    assert {name for name, _ in recorded} == {name for name, _ in seen}
    assert "in1" not in {name for name, _ in recorded}


def joined(lines: list[str]) -> Iterator[str]:
    """The lines of strace; a call that another thread's call interrupted is one line, at its end."""
    started: dict[str, str] = {}
    for line in lines:
        thread = line.partition(" ")[0]
        if line.endswith(" <unfinished ...>"):
            started[thread] = line.removesuffix(" <unfinished ...>")
        else:
            end = re.sub(r"^\d+ +<\.\.\. \w+ resumed>", "", line)
            yield line if end == line else started.pop(thread, "") + end


@pytest.mark.slow
def test_a_killed_kernel_and_a_restart(project: Project, notebook: Notebook) -> None:
    """The record is complete up to the kill, and a restarted kernel is not recorded until it loads the extension."""
    notebook(LOAD, "open('one', 'w').write('1')", "%restart", "open('unseen', 'w').write('2')", LOAD,
             "file = open('two', 'w'); file.write('2'); file.flush()", "%kill")  # fmt: skip
    assert maker(project, "one") == "[2]"
    assert maker(project, "two") == "[3]"
    assert files(project) == {"one", "two"}
    assert len(project.rows("SELECT ?r { ?r a provio:Run }")) == 2
    project.answer("validate")


@pytest.mark.slow
def test_loading_again_begins_another_run(project: Project, notebook: Notebook) -> None:
    """Declarations and HDF5 files belong to the run in progress, and to none after `%unload_ext`."""
    pytest.importorskip("h5py")
    notebook(
        LOAD, "import provio, h5py; provio.metric('loss', 1)", UNLOAD, "provio.metric('loss', 2)", LOAD,
        "provio.metric('loss', 3)\nwith h5py.File('a.h5', 'w') as f: f['a'] = [1]", "%reload_ext provio",
        "provio.metric('loss', 4)",
    )  # fmt: skip
    rows = project.rows("SELECT ?value { ?m a provio:Metric ; provio:value ?value }")
    assert sorted(float(row["value"]) for row in rows) == [1, 3, 4]
    assert len(project.rows("SELECT ?r { ?r a provio:Run }")) == 3
    assert maker(project, "a.h5") == "[6]"


@pytest.mark.slow
def test_if_nothing_can_be_recorded_the_cells_go_on(project: Project, notebook: Notebook) -> None:
    """A message states the reason: a `.provio` that cannot be written, a removed folder, PROVIO_OFF."""
    (project.path / "file").touch()
    project.env["PROVIO_HOME"] = str(project.path / "file" / "x")
    shown = notebook(LOAD, "open('out', 'w').write('1'); print('goes on')")
    assert "provio: nothing is recorded: " in shown
    assert "goes on" in shown
    del project.env["PROVIO_HOME"]
    shown = notebook(
        "import os, tempfile\nfolder = tempfile.mkdtemp(); os.chdir(folder); os.rmdir(folder)", LOAD, "print('goes on')"
    )
    assert "provio: nothing is recorded: " in shown
    assert "goes on" in shown
    project.env["PROVIO_OFF"] = "1"
    assert "PROVIO_OFF is set" in notebook(LOAD)


@pytest.mark.slow
def test_the_record_or_the_folder_is_removed_while_it_is_written(project: Project, notebook: Notebook) -> None:
    """Cells go on without it."""
    shown = notebook(
        LOAD, "import shutil, os; shutil.rmtree('.provio')", "open('out', 'w').write('1'); print(open('out').read())",
        "os.mkdir('d'); os.chdir('d'); os.rmdir('../d')", "print(2)",
        UNLOAD, "print('goes on')",
    )  # fmt: skip
    assert "goes on" in shown
    assert "Traceback" not in shown


@pytest.mark.slow
def test_a_recorded_kernel_needs_no_extension(project: Project, notebook: Notebook) -> None:
    """In a kernel under `provio run` it only makes cells Tasks; in `provio kernel` it does nothing."""
    provio = shutil.which("provio", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    shown = notebook(LOAD, "open('out', 'w').write('1')", UNLOAD, under=(provio or "provio", "run", "--"))
    assert "this kernel was started under provio, which records it already" in shown
    assert maker(project, "out") == "[2]"
    assert len(project.rows("SELECT ?r { ?r a provio:Run }")) == 1


@pytest.mark.slow
def test_the_magic_prints_answers(project: Project, notebook: Notebook) -> None:
    """Of the record of this notebook, also in another folder; autoreload and errors of files change nothing."""
    project.sh("echo 1 > in; echo 'y = 1' > helper.py")
    shown = notebook(
        LOAD, "open('out', 'w').write(open('in').read())", "import os; os.chdir('/')",
        f"%provio lineage {project.path}/out", "%provio lineage nowhere", f"os.chdir({str(project.path)!r})",
        "%load_ext autoreload\n%autoreload 2\nimport helper",
        "import time; time.sleep(1); open('helper.py', 'w').write('y = 22')", "print('y is', helper.y)",
        "try: open('nowhere')\nexcept FileNotFoundError as error: print(error)",
        "print(open('in').buffer.raw.__class__, type(open('in', 'rb')))",
    )  # fmt: skip
    assert f"└─ {project.path}/in  2 B" in shown
    assert "provio: nowhere is not known" in shown
    assert "y is 22" in shown
    assert "[Errno 2] No such file or directory: 'nowhere'" in shown
    assert "<class '_io.FileIO'> <class '_io.BufferedReader'>" in shown


PICKLES = """
import builtins, copy, functools, inspect, io, os, pickle, sys
import cloudpickle, joblib, numpy, sklearn.metrics, sklearn.model_selection, sklearn.pipeline
def check(*held):
    every = list(held)
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").partition(".")[0] in ("joblib", "numpy", "sklearn", "argparse"):
            for name, value in list(vars(module).items()):
                if inspect.isfunction(value) and name not in UNCOMMON and value.__qualname__ == name:
                    every.append(value)
    every += [sklearn.metrics.get_scorer(name) for name in sklearn.metrics.get_scorer_names()]
    every += [functools.partial(open, mode="rb"), open, io.open, os.fork, os.posix_spawn]
    failed = []
    for one in every:
        try:
            pickle.loads(pickle.dumps(one)), cloudpickle.loads(cloudpickle.dumps(one)), copy.deepcopy(one)
            if callable(one) and not isinstance(one, functools.partial): inspect.signature(one)
        except pickle.PicklingError as error:
            failed.append(str(error))
        except ValueError: pass
    return failed
UNCOMMON, before = (), None
"""
HELD = """
from sklearn.metrics import accuracy_score, make_scorer
from joblib import dump
held = [accuracy_score, make_scorer(accuracy_score), dump, open, functools.partial(open, mode="rb"), numpy.savez,
        os.fork, sklearn.metrics.get_scorer("accuracy")]
before = check(*held)
"""


@pytest.mark.slow
def test_functions_of_libraries_can_be_pickled(project: Project, notebook: Notebook) -> None:
    """By pickle, joblib and cloudpickle; those that the program has held since before, and new ones; also after the
    end of the recording."""
    for name in ("cloudpickle", "joblib", "sklearn"):
        pytest.importorskip(name)
    ask = "import re\nforms = lambda found: {re.sub('0x[0-9a-f]+', '', one) for one in found}\n"
    show = "print('new:', forms(check(*held, *new)) - forms(before))"
    shown = notebook(
        PICKLES + HELD, LOAD, ask + "new = [open, sklearn.metrics.accuracy_score, functools.partial(open)]\n" + show,
        "class A: opener = builtins.open\nwith A().opener('in', 'w') as file: file.write('1')\n"
        "joblib.dump(make_scorer(accuracy_score), 'scorer'); print(builtins.open, inspect.signature(builtins.open))",
        UNLOAD, show,
    )  # fmt: skip
    assert shown.count("new: set()") == 2, shown
    assert "Imported before this cell: joblib, multiprocessing, numpy, sklearn." in " ".join(shown.split()), shown
    assert "<built-in function open> (file, mode='r'" in shown
    assert maker(project, "in") == "[4]"


@pytest.mark.slow
def test_methods_of_earlier_and_functions_of_later_libraries_declare(project: Project, notebook: Notebook) -> None:
    """A function that only its class has is followed in a library that was imported before; a method that the program
    holds is not."""
    pytest.importorskip("sklearn")
    shown = notebook(
        "import argparse, pickle\nparser = argparse.ArgumentParser(prog='fit')\n"
        "parser.add_argument('--lr', type=float)\n"
        "held = argparse.ArgumentParser.parse_known_args",
        LOAD,
        "parser.parse_args(['--lr', '0.5'])\nprint(len(pickle.dumps(held)) > 9)",
        "from sklearn.metrics import accuracy_score\nprint(accuracy_score([1, 0], [1, 1]))\n"
        "print(len(pickle.dumps(accuracy_score)) > 9)",
    )  # fmt: skip
    assert shown.count("True") == 2, shown
    assert "Imported before this cell: argparse." in " ".join(shown.split())
    assert {row["value"] for row in project.rows("SELECT ?value { ?s a provio:Setting ; provio:value ?value }")} == {
        "0.5"
    }
    assert [row["value"] for row in project.rows("SELECT ?value { ?m a provio:Metric ; provio:value ?value }")] == [
        "0.5"
    ]


@pytest.mark.slow
def test_a_descriptor_that_open_gets_counts_once(project: Project, notebook: Notebook) -> None:
    project.sh("printf 12345 > in")
    notebook(
        LOAD,
        "import os\nfd = os.open('out', os.O_CREAT | os.O_WRONLY)\nwith open(fd, 'wb') as file: file.write(b'123')",
        "fd = os.open('in', os.O_RDONLY)\nwith open(fd, 'rb') as file: file.read()",
    )
    found = list(csv.DictReader(io.StringIO(project.answer("stats", "last", "--by", "file", "--as", "csv"))))
    assert {(Path(row["file"]).name, row["bytes_read"], row["bytes_written"]) for row in found} >= {
        ("in", "5", "0"),
        ("out", "0", "3"),
    }, found


@pytest.mark.slow
def test_a_start_that_fails_leaves_nothing_behind(project: Project, notebook: Notebook) -> None:
    """No run and no environment variable; a library that cannot be followed is no failure."""
    show = "import os; print('set:', [name for name in ('LD_PRELOAD', 'PROVIO_TRACE') if name in os.environ])"
    shown = notebook(
        "import sys, types; sys.modules['sklearn.base'] = types.ModuleType('sklearn.base')\n"
        "get_ipython().register_magic_function = lambda *_: 1 / 0",
        LOAD, show, "del get_ipython().register_magic_function", "%reload_ext provio",
        "open('out', 'w').write('1')", UNLOAD, show,
    )  # fmt: skip
    assert "nothing is recorded: division by zero; correct that, then `%reload_ext provio`" in shown
    assert shown.count("set: []") == 2, shown
    assert len(project.rows("SELECT ?r { ?r a provio:Run }")) == 1
    assert maker(project, "out") == "[6]"
