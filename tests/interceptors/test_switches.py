"""Each switch of `record` leaves its class out: of the traces of the shim and of the Python layer, of run.ttl, of the
graph.

Each is compared with a run of the same program without the switch: no test passes because the class never occurs.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import h5py_trace
import pytest
from conftest import Project, assert_valid, new_project
from posix_trace import NS, Trace, parsed
from pyoxigraph import NamedNode

from provio.graph.lines import bundle_iri
from provio.settings.home import Home
from provio.settings.record_classes import SWITCHES
from provio.store.embedded.reader import StoreReader

# Something of every class except those inside HDF5 files. The first argument is the working folder.
EVERYTHING = """
import os, socket, sys, threading
os.chdir(sys.argv[1])
os.mkdir("d")
os.close(os.open("d", os.O_RDONLY))
text = open("in").read()
fd = os.open("in", os.O_RDONLY)
os.pread(fd, 2, 0)
os.read(fd, 2)
r, w = os.pipe()
os.write(w, b"x")
os.read(r, 1)
a, b = socket.socketpair()
a.send(b"x")
b.recv(1)
thread = threading.Thread(target=lambda: open("in").read())
thread.start()
thread.join()
with open("out", "w") as out:
    out.write(text)
    os.fsync(out.fileno())
import ctypes
lib, big, word = ctypes.CDLL(None), ctypes.c_int64, ctypes.c_uint64
lib.provio_configuration.restype = lib.provio_entity.restype = word
lib.provio_setting_integer(word(lib.provio_configuration(b"args", None)), b"lr", big(1))
lib.provio_metric(b"loss", None, ctypes.c_double(1), big(1))
lib.provio_checkpoint(None, big(1))
lib.provio_used(word(lib.provio_entity(b"row", None, None)), None)
"""

# The traces of a class in a thread file.
WRITTEN = {
    "thread": r"a :Thread|:tid |prov:wasAssociatedWith",
    "program": r":executable|/program>",
    "rank": r":rank |:worldSize|:launcher|:parallelProgram",
    "process": r"a :Process|:pid |:argv |:cwd |:host ",
    "api": r"[aA]pi ",
    "duration": r"[eE]lapsed|[lL]ongest",
    "file": r"a :FileVersion|a :File |/in\"|/out\"",
    "directory": r"a :Directory|:directory true|/d\"",
    "pipe": r"a :Pipe",
    "socket": r"a :Socket",
    "configuration": r"a :Configuration|a :Setting",
    "metric": r"a :Metric",
    "checkpoint": r"a :Checkpoint",
    "entity": r"a :DataObject|a :UsedSaid",
}

# The traces of a class in a run's graph: classes, properties, and the last part of paths.
IN_GRAPH = {
    "user": {"User", "uid"},
    "thread": {"Thread", "tid"},
    "program": {"Program", "Association", "Plan", "wasAttributedTo"},
    "rank": {"rank", "Rank", "launcher"},
    "process": {"Process", "pid", "argv", "startTick"},
    "api": {"api"},
    "duration": {"elapsed", "maxElapsed"},
    "file": {"File", "FileVersion"},
    "directory": {"/d"},
    "pipe": {"Pipe"},
    "socket": {"Socket"},
    "configuration": {"Configuration", "Setting", "Usage", "hadConfiguration"},
    "metric": {"Metric", "hadMetric"},
    "checkpoint": {"Checkpoint", "hadCheckpoint"},
    "entity": {"DataObject"},
    "environment": {"Environment"},
}

# Half of the classes inside HDF5 files at a time: those left out of one run are in the other.
INSIDE = {"Group": "group", "Dataset": "dataset", "Attribute": "attribute", "Datatype": "datatype", "NamedLink": "link"}
HALVES = (("group", "attribute", "link"), ("dataset", "datatype"))
HDF5 = """
import h5py, numpy
with h5py.File("f.h5", "w") as f:
    g = f.create_group("g")
    g["d"] = numpy.arange(4)
    g["d"].attrs["unit"] = 1
    g["t"] = numpy.dtype("i4")
    g["l"] = h5py.SoftLink("/g/d")
with h5py.File("f.h5") as f:
    f["g/d"][...]
"""
# The traces of a class from the writer in Python, where there is no shim.
DECLARATIONS = """
import provio
provio.configuration({"lr": 1}, name="args")
provio.metric("loss", 1.0, step=1)
provio.checkpoint("f.h5")
provio.used(provio.entity("row"))
"""


def written(trace: Trace, detail: str, work: Path) -> str:
    """The thread files of a program that does something of every class."""
    folder = work / detail
    folder.mkdir()
    (folder / "in").write_text("in\n")
    (work / "everything.py").write_text(EVERYTHING)
    mine = Trace(trace.root / detail, trace.shim, detail=detail)
    done = mine.run(sys.executable, "-I", work / "everything.py", folder, env={"OMPI_COMM_WORLD_RANK": "3"})
    assert not done.returncode, done.stderr
    mine.facts()  # all of it is Turtle
    return "\n".join(path.read_text() for path in [*mine.files(), *mine.folder.glob("*.calls.ttl")])


def test_every_class_has_a_test_of_its_own() -> None:
    """A new class of record must be added to these tables."""
    of_frameworks = {"task", "argument", "line"}  # tests/lineage/test_dask.py
    assert set(SWITCHES) == WRITTEN.keys() | IN_GRAPH.keys() | set(INSIDE.values()) | {"stat", "list"} | of_frameworks


@pytest.mark.parametrize("level", ["file", "op", "call"])
@pytest.mark.integration
def test_each_class_is_left_out_by_the_shim(trace: Trace, work: Path, level: str) -> None:
    """The other classes stay."""
    whole = written(trace, level, work)
    known = {word: look for word, look in WRITTEN.items() if re.search(look, whole)}
    assert known.keys() == WRITTEN.keys()
    for word, look in known.items() if level == "op" else ():
        text = written(trace, f"{level},-{word}", work)
        assert not re.search(look, text), f"{word}: {re.search(look, text)}"
        omitted = {"file", "directory"} if word == "file" else {word, "directory"}  # `file` includes files in folders
        assert {other for other, look in known.items() if re.search(look, text)} >= known.keys() - omitted
    text = written(trace, ",".join([level, *(f"-{word}" for word in WRITTEN)]), work)
    assert [word for word, look in WRITTEN.items() if re.search(look, text)] == []


@pytest.mark.integration
@pytest.mark.parametrize("way", ["c", "python"])
@pytest.mark.parametrize("off", HALVES)
def test_each_class_inside_hdf5_files_is_left_out_by_every_layer(
    trace: Trace, work: Path, way: str, off: tuple[str, ...]
) -> None:
    """From the layer in C, and from the writer in Python."""
    words = ["op", *(f"-{word}" for word in off)]
    trace.detail = ",".join(words)
    h5py_trace.run(trace, HDF5, work, way)
    found = {kind for kind, *_ in h5py_trace.Story(trace.facts()).objects()}
    assert found == {kind for kind, word in INSIDE.items() if word not in off}


@pytest.mark.integration
def test_each_class_is_left_out_by_the_writer(trace: Trace, work: Path) -> None:
    """The writer in a process without the shim."""
    words = [word for word in WRITTEN if word not in ("file", "directory", "pipe", "socket")]
    trace.detail = "call"
    h5py_trace.run(trace, HDF5 + DECLARATIONS, work, "python", OMPI_COMM_WORLD_RANK="3")
    every = [*trace.files(), *trace.folder.glob("*.calls.ttl")]
    whole = "\n".join(path.read_text() for path in every)
    assert [word for word in words if re.search(WRITTEN[word], whole)] == words
    trace.detail = ",".join(["call", *(f"-{word}" for word in words)])
    h5py_trace.run(trace, HDF5 + DECLARATIONS, work, "python", OMPI_COMM_WORLD_RANK="3")
    new = [path for path in (*trace.files(), *trace.folder.glob("*.calls.ttl")) if path not in every]
    text = "\n".join(path.read_text() for path in new)
    assert len(new) == 2 and [word for word in words if re.search(WRITTEN[word], text)] == []
    assert h5py_trace.Story({k: v for path in new for k, v in _facts(path).items()}).moved() != []


def _facts(path: Path) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for subject, name, value in parsed(path.read_bytes()):
        found.setdefault(subject, {})[name] = value
    return found


def test_without_durations_counters_are_as_with_them(trace: Trace, work: Path) -> None:
    """Calls, bytes, sizes, empty reads; first and last moments are in order."""
    counts = []
    for detail in ("op", "op,-duration"):
        text = written(trace, detail, work)
        names = "reads|readBytes|emptyReads|writes|writeBytes|size1|count"
        counts.append([(m[1], int(m[2])) for m in re.finditer(rf":({names}) +(\d{{16}})", text)])
        for read in re.finditer(r":lastRead +(\d{16}); :firstRead +(\d{16})", text):
            assert int(read[1]) >= int(read[2]), read[0]
        writes = [(int(w[1]), int(w[2])) for w in re.finditer(r":lastWrite +(\d{16}); :firstWrite +(\d{16})", text)]
        assert any(first for _, first in writes) and all(last >= first for last, first in writes)
        assert all((first > 0) == (last > 0) for last, first in writes)
    assert sorted(counts[0]) == sorted(counts[1])


def test_without_names_of_functions_their_calls_are_counted_together(trace: Trace, work: Path) -> None:
    """`read` and `pread` on one descriptor: one Access of two reads instead of two of one."""

    def reads(text: str) -> list[int]:
        return sorted(int(m[1]) for m in re.finditer(r":reads +(\d{16}); :readBytes +0000000000000002", text))

    assert reads(written(trace, "op", work))[:2] == [1, 1]
    together = written(trace, "op,-api", work)
    assert re.search(r":reads +0{15}2; :readBytes +0{15}4", together)


# ---- the merged graph


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Iterator[Project]:
    """A project with a run for each class that is left out, named by it; `all` leaves out nothing."""
    project = new_project(tmp_path_factory.mktemp("switches"))
    (project.path / "everything.py").write_text(EVERYTHING)
    project.env |= {"SLURM_JOB_PARTITION": "debug", "OMPI_COMM_WORLD_RANK": "3", "PROVIO_PACK": "false"}
    for word in ("all", *IN_GRAPH):
        (project.path / word).mkdir()
        (project.path / word / "in").write_text(f"{word}\n")
        off = [] if word == "all" else ["--no-record", word]
        command = ["sh", "-c", 'cat in | "$1" -I ../everything.py . && cat in | cat > piped', "sh", sys.executable]
        project.provio("run", "--no-merge", "--quiet", "--name", word, *off, "--", *command, cwd=project.path / word)
    project.provio("merge")
    assert_valid(project.path / ".provio")
    yield project


def graph_of(project: Project, name: str) -> set[str]:
    """The local names of classes and properties in a run's graph, and the last parts of paths."""
    reader = StoreReader(Home(project.path / ".provio"))
    run = next(reader.rows(f'SELECT ?r {{ ?r a <{NS}Run> ; <{NS}name> "{name}" }}'))["r"]
    graph = bundle_iri(run)
    words = set()
    for quad in reader.quads(graph).quads_for_pattern(None, None, None, NamedNode(graph)):
        words |= {re.split("[#/]", quad.predicate.value)[-1]}
        if isinstance(quad.object, NamedNode) and quad.predicate.value.endswith("#type"):
            words.add(re.split("[#/]", quad.object.value)[-1])
        elif quad.predicate.value.endswith("#path"):
            words.add("/" + quad.object.value.rpartition("/")[2])
    return words


@pytest.mark.parametrize("word", IN_GRAPH)
@pytest.mark.slow
def test_each_class_is_left_out_of_the_graph(runs: Project, word: str) -> None:
    """Without switches it is in the graph, and with a switch the other classes stay."""
    whole, found = graph_of(runs, "all"), graph_of(runs, word)
    assert IN_GRAPH[word] <= whole
    assert IN_GRAPH[word] & found == set()
    if word != "file":
        assert {"Run", "Phase", "FileVersion", "Read", "Write", "used", "wasGeneratedBy"} <= found


@pytest.mark.parametrize("word", [word for word in IN_GRAPH if word not in ("file", "pipe")])
@pytest.mark.integration
def test_lineage_is_unchanged(runs: Project, word: str) -> None:
    """Through a pipe, and from a file to a file: whichever other classes are not recorded."""
    assert {f"{word}/in"} <= runs.data(f"{word}/piped") <= {f"{word}/in", "everything.py"}
    assert f"{word}/in" in runs.data(f"{word}/out")


@pytest.mark.integration
def test_a_gap_where_lineage_ends_too_early(runs: Project) -> None:
    """Without pipes the sources of data from a pipe are unknown."""
    document = runs.lineage("pipe/piped")
    assert runs.files(document)["data"] == set()
    assert [gap["reason"] for gap in document["gaps"]] == ["by its settings this was not recorded: pipe"]
    assert runs.lineage("thread/piped")["gaps"] == []


def test_run_ttl_has_neither_user_nor_environment_where_they_are_left_out(runs: Project) -> None:
    """Nor the name of the user."""
    name = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    for word, look in (("user", rf":user |:uid |\"{name}\""), ("environment", "a :Environment|SLURM")):
        texts = {}
        for path in (runs.path / ".provio" / "runs").glob("*/run.ttl"):
            text = path.read_text()
            texts[re.findall(r':name "(\w+)"', text)[0]] = text
        assert re.search(look, texts["all"]) and not re.search(look, texts[word])


@pytest.mark.integration
def test_flags_are_over_the_project_s_switches(project: Project) -> None:
    """One class at a time: the file keeps the records of the others."""
    (project.path / "provio.toml").write_text("[record]\nstat = true\nenvironment = false\n")
    project.provio("run", "--quiet", "--no-record", "user", "--record", "environment", "--", "true")
    rows = json.loads(
        project.provio("query", "SELECT ?d { ?r a provio:Run ; provio:detail ?d }", "--as", "json").stdout
    )
    assert rows["results"]["bindings"][0]["d"]["value"] == "op,-user,stat"


def test_a_class_that_is_none_is_a_wrong_call(project: Project) -> None:
    """Nothing is started, as for any wrong option of `run`."""
    done = project.provio("run", "--no-record", "enviroment", "--", "touch", "started", code=125)
    assert "'enviroment'" in done.stderr and "environment" in done.stderr and done.stderr.count("\n") == 1
    assert not (project.path / "started").exists()
