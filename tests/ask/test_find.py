"""`provio find`: files, runs, programs and Tasks by name, content, parameter and package."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Project

import provio
from provio.ask import used_packages
from provio.ask.find import KINDS, Found, newest_first, shares
from provio.ask.find_text import Pattern
from provio.base.errors import BadQuery, NothingKnown

integration = pytest.mark.integration
TRAIN = """import sys, provio
lr = float(sys.argv[1])
provio.configuration({"optimizer": {"lr": lr}, "epochs": 3}, name="train")
with provio.activity("Epoch", number=1):
    open(f"weights-{sys.argv[1]}.txt", "w").write(str(lr))
"""


@pytest.fixture
def recorded(project: Project) -> Project:
    """Two runs of a training program, a run that copies a file, and notes."""
    (project.path / "train.py").write_text(TRAIN)
    (project.path / "raw.csv").write_text("1,2,3\n")
    for lr in ("0.1", "0.2"):
        project.provio("run", "--quiet", "--name", f"train-{lr}", "--", sys.executable, "train.py", lr)
    project.provio("run", "--quiet", "--hash", "--campaign", "Spring", "--", "cp", "raw.csv", "Copied.CSV")
    project.provio("merge", "--quiet")  # it waits for the hashes
    project.provio("note", "weights-0.2.txt", "chosen for figure 3")
    return project


def found(project: Project, *arguments: str | bytes, code: int = 0) -> list[dict[str, Any]]:
    done = project.provio("find", *arguments, "--as", "json", code=code)
    return json.loads(done.stdout) if code == 0 else []  # type: ignore[no-any-return]


def names(rows: list[dict[str, Any]], kind: str = "file") -> list[str]:
    return sorted(os.path.basename(row["name"]) for row in rows if row["kind"] == kind)


@integration
def test_a_text_is_found_in_names_command_lines_and_notes(recorded: Project) -> None:
    """Regardless of case, as a part or as a pattern."""
    assert names(found(recorded, "copied")) == ["Copied.CSV"]
    assert names(found(recorded, "*.csv")) == ["Copied.CSV", "raw.csv"]
    assert names(found(recorded, "RAW.csv*")) == ["raw.csv"]
    rows = found(recorded, "TRAIN.PY")
    assert names(rows) == ["train.py"] and names(rows, "program") == ["train.py"]
    assert [row["how"] for row in rows if row["kind"] == "run"] == ["command", "command"]
    assert [row["how"] for row in found(recorded, "spring")] == ["campaign"]
    assert [row["how"] for row in found(recorded, "lr=0.2")] == ["optimizer.lr = 0.2"]
    assert [row["how"] for row in found(recorded, "train-0.1")] == ["name"]
    (task,) = found(recorded, "epo")
    assert (task["kind"], task["name"]) == ("task", "Epoch")
    (noted,) = found(recorded, "FIGURE 3")
    assert os.path.basename(noted["name"]) == "weights-0.2.txt" and noted["how"] == "note"
    run = found(recorded, "train-0.1")[0]["run"]
    assert found(recorded, run[:13])[0]["how"] == "id"
    (weights,) = found(recorded, "weights-0.1*")
    assert weights["run"] == run and weights["bytes"] == 3


@integration
def test_a_copy_of_a_file_is_found_by_its_content_anywhere(recorded: Project, tmp_path: Path) -> None:
    """Under another name, in a folder without a record: the record of the current folder answers."""
    mailed = tmp_path / "mail" / "attachment.bin"
    mailed.parent.mkdir()
    shutil.copy(recorded.path / "raw.csv", mailed)
    rows = found(recorded, str(mailed))
    assert names(rows) == ["Copied.CSV", "raw.csv"] and {row["how"] for row in rows} == {"same SHA-256"}
    rows = found(recorded, "Copied.CSV")
    assert {os.path.basename(row["name"]): row["how"] for row in rows} == {
        "Copied.CSV": "this version", "raw.csv": "same SHA-256"
    }  # fmt: skip
    digest = hashlib.sha256(b"1,2,3\n").hexdigest()
    assert names(found(recorded, "--sha256", digest.upper())) == ["Copied.CSV", "raw.csv"]
    mailed.write_text("4,5,6\n")
    done = recorded.provio("find", str(mailed), code=3)
    assert "no recorded file has the content of" in done.stderr
    assert "this SHA-256" in recorded.provio("find", "--sha256", "0" * 64, code=3).stderr


@integration
def test_a_file_without_a_recorded_hash_is_not_called_equal(project: Project, tmp_path: Path) -> None:
    """The recorded file is compared if it is still there; else only the sizes are equal."""
    project.run("echo abc > a")
    mailed = tmp_path / "other"
    mailed.write_text("abd\n")
    project.provio("find", str(mailed), code=3)
    mailed.write_text("abc\n")
    assert [row["how"] for row in found(project, str(mailed))] == ["same SHA-256"]
    (project.path / "a").unlink()
    assert [row["how"] for row in found(project, str(mailed))] == ["not compared by content"]
    assert "not compared by content" in project.provio("find", str(mailed)).stdout
    mailed.write_text("")
    assert "is empty" in project.provio("find", str(mailed), code=3).stderr


@integration
def test_versions_that_are_not_compared_are_counted(project: Project) -> None:
    """Of `--sha256`: in the message, in the answer, and on standard error for JSON."""
    project.run("seq 9 > a; seq 10 > b")
    digest = hashlib.sha256((project.path / "a").read_bytes()).hexdigest()
    line = "2 versions are not compared by content: no SHA-256 is recorded"
    assert f"has this SHA-256; {line}" in project.provio("find", "--sha256", digest, code=3).stderr
    project.hashed("cp", "a", "c")
    done = project.provio("find", "--sha256", digest, "--as", "json")
    assert names(json.loads(done.stdout)) == ["a", "c"]
    line = "1 version is not compared by content"
    assert line in done.stderr and line in project.provio("find", "--sha256", digest).stdout


@integration
def test_runs_that_are_not_read_yet_are_counted(project: Project) -> None:
    """A request that no process has executed."""
    project.env |= {"PROVIO_MERGE": "ask", "PROVIO_RECORD_METADATA": "true"}
    project.provio("run", "--quiet", "--hash=off", "--", "true")
    run = max(one.name for one in (project.path / ".provio" / "runs").iterdir())
    project.provio("runs")
    request = project.path / ".provio" / "hashing" / run
    request.write_text("off limit=1 metadata\n")
    message = project.provio("find", "--attribute", "detector=H1", code=3).stderr
    assert "these attributes; 1 run is not read yet: provio merge reads them" in message


@integration
def test_a_renamed_file_has_its_last_name(project: Project) -> None:
    """Not one that does not exist any more; each name of a file with several that are there."""
    project.run("seq 7 > z.dat; mv z.dat a.dat; seq 8 > y.dat; ln y.dat x.dat")
    assert names(found(project, "*.dat")) == ["a.dat", "x.dat", "y.dat"]
    (row,) = (row for row in found(project, "z.dat") if row["kind"] == "file")
    assert (os.path.basename(row["name"]), row["how"]) == ("a.dat", "was named z.dat")
    assert {one["run"] for one in found(project, "*.dat")} == {row["run"]}


@integration
def test_names_that_are_not_utf_8_are_found(project: Project) -> None:
    """By their bytes, as an argument has them."""
    name = b"caf\xe9"
    project.run("printf 12345678901234567890 > $(printf 'caf\\351')")
    for text in (name, b"caf?", b"af\xe9"):
        assert names(found(project, text)) == ["caf\ufffd"]
    assert found(project, b"caf\xe8", code=3) == []


@integration
def test_parameters_select_runs(recorded: Project) -> None:
    """By the name or its end, numbers as numbers; with a text, the search is in these runs."""
    for given in ("lr=0.1", "optimizer.lr=1e-1", "lr=0.10"):
        rows = found(recorded, "--param", given)
        assert [row["kind"] for row in rows] == ["run"], given
        assert rows[0]["how"] == "optimizer.lr = 0.1"
    assert len(found(recorded, "--param", "lr")) == 2
    assert len(found(recorded, "--param", "epochs=3", "--param", "lr=0.2")) == 1
    assert names(found(recorded, "weights", "--param", "lr=0.2")) == ["weights-0.2.txt"]
    assert names(found(recorded, "*.txt", "--name", "train-0.1")) == ["weights-0.1.txt"]
    assert names(found(recorded, "csv", "--run", "last")) == ["Copied.CSV", "raw.csv"]
    for wrong in ("lr=0.3", "r=0.1", "lr=", "nothing"):
        told = recorded.provio("find", "--param", wrong, code=3).stderr
        assert f"no run matches --param {wrong}: provio params lists the parameters of the runs" in told
    assert recorded.provio("find", "--run", "last").stdout.count("()") == 0


@integration
def test_attributes_inside_files_are_found(project: Project) -> None:
    """By their values, numbers as numbers, and as text; an attribute of an object by its own name."""
    pytest.importorskip("h5py")
    project.env.pop("PROVIO_RECORD_METADATA", None)
    (project.path / "make.py").write_text("""import h5py
for name, site in (("a.h5", "Lofoten"), ("b.h5", "Bergen")):
    with h5py.File(name, "w") as file:
        file.attrs.update({"site": site, "rate": 2.5})
        file.create_dataset("g/t", data=[1, 2]).attrs["units"] = "K"
""")
    project.provio("run", "--quiet", "--", sys.executable, "make.py")
    project.provio("merge")
    (row,) = found(project, "LOFO")
    assert os.path.basename(row["name"]) == "a.h5" and row["how"] == "site=Lofoten"
    for given in ("rate=2.50", "units=K", "g/t:units=K", "site"):
        assert names(found(project, "--attribute", given)) == ["a.h5", "b.h5"], given
    assert names(found(project, "--attribute", "site=Bergen", "--attribute", "rate=25e-1")) == ["b.h5"]
    assert names(found(project, "a.*", "--attribute", "rate")) == ["a.h5"]
    for wrong in ("rate=3", "ate=2.5", "site=bergen"):
        said = project.provio("find", "--attribute", wrong, code=3).stderr
        assert "has these attributes" in said and "[metadata]" in said
    assert len(provio.open(project.path).find(attributes={"site": "Bergen"})) == 1


@integration
def test_packages_are_concluded_from_used_files(project: Project) -> None:
    """From the path of a file, or the installation that is still there."""
    place = project.path / "lib/site-packages"
    (place / "fish_soup").mkdir(parents=True)
    (place / "fish_soup/__init__.py").write_text("x = 1\n")
    (place / "fish_soup-2.1.0.dist-info").mkdir()
    (project.path / "use.py").write_text("import fish_soup\nopen('out', 'w').write('1')\n")
    env = project.env | {"PYTHONPATH": str(place)}
    project.provio("run", "--quiet", "--name", "soup", "--", sys.executable, "use.py", env=env)
    project.run("echo > other")
    for given in ("fish_soup", "Fish-Soup==2.1.0", "fish.soup==2.*"):
        rows = found(project, "--package", given)
        assert [row["how"].partition(" ")[2] for row in rows] == ["2.1.0"], given
    assert names(found(project, "out", "--package", "fish_soup")) == ["out"]
    project.provio("find", "--package", "fish_soup==3", code=3)
    project.provio("find", "--package", "soup", code=3)
    hint = project.provio("find", "Fish.Soup", code=3).stderr
    assert hint.endswith("it is a package that runs used: provio find --package Fish.Soup\n")
    assert "--package" not in project.provio("find", "Fish Stew", code=3).stderr
    assert "is in no path of a file, name, id or command line of a run" in project.provio("find", "stew", code=3).stderr
    shutil.rmtree(place / "fish_soup")
    assert [row["how"] for row in found(project, "--package", "fish_soup")] == ["fish_soup, version not recorded"]
    assert "1 run used fish_soup in a version" in project.provio("find", "--package", "fish_soup==2.1.0", code=3).stderr


@pytest.mark.parametrize(
    ("path", "name", "version"),
    [
        ("/v/lib/python3.11/site-packages/numpy-1.26.4.dist-info/METADATA", "numpy", "1.26.4"),
        ("/usr/lib/python3/dist-packages/PyYAML-6.0.egg-info", "pyyaml", "6.0"),
        ("/v/site-packages/scikit_learn-1.4.dist-info", "scikit-learn", "1.4"),
        ("/v/site-packages/numpy/core/_multiarray.so", "numpy", ""),
        ("/v/site-packages/six.py", "six", ""),
        ("/c/conda-meta/libblas-3.9.0-22_linux64.json", "libblas", "3.9.0"),
        ("/opt/hdf5/1.14.3/lib/libhdf5.so", "hdf5", "1.14.3"),
        ("/opt/spack/hdf5-1.14.3-abcdef/lib/x", "hdf5", "1.14.3"),
        ("/usr/lib/libhdf5.so.310", "hdf5", "310"),
        ("/usr/lib/R/site-library/ggplot2/R/ggplot2", "ggplot2", ""),
    ],
)
def test_paths_state_packages(path: str, name: str, version: str) -> None:
    place = used_packages._place(path, name)
    assert place is not None and place[1] == version
    assert used_packages._place(path, name[:-1]) is None


HOSTILE = [
    'x") } DROP ALL #',
    "'",
    '"',
    "\\",
    "\\u0022",
    "}",
    "?",
    "[",
    "*[!",
    "\n",
    "a b",
    "%41",
    "é",
    "\U0001f600",
    "(",
    "\ud800",
]


@integration
def test_no_text_changes_the_query(project: Project) -> None:
    """A file with this name is found, and nothing else."""
    for text in HOSTILE:
        (project.path / os.fsdecode(_name(text))).write_text("1")
    program = "import os\nfor name in os.listdir(b'.'):\n    b'dat' in name and open(name).read()"
    project.provio("run", "--quiet", "--", sys.executable, "-c", program)
    every = [row["name"] for row in found(project, ".dat") if row["kind"] == "file"]
    assert len(every) == len(HOSTILE)
    for text in HOSTILE:
        wanted = _name(text).decode("utf-8", "replace").removesuffix(".dat")
        wanted = "".join(f"[{sign}]" if sign in "*?[" else sign for sign in wanted)
        rows = found(project, f"*{wanted}*" if "[" in wanted else wanted)
        assert [row["kind"] for row in rows] == ["file"], text
        for option in ("--param", "--package"):
            if text.strip() and text != "\ud800":
                project.provio("find", option, text, code=3)


def _name(text: str) -> bytes:
    return f"<{text}>.dat".encode("utf-8", "surrogatepass")


@integration
def test_the_text_fits_a_terminal(recorded: Project) -> None:
    """At most 25 lines by default, in groups; --limit is the number of rows."""
    recorded.run("mkdir many; for i in $(seq 60); do echo $i > many/file-$i.tmp.dat; done")
    lines = recorded.provio("find", "file-").stdout.splitlines()
    assert lines[0] == "files" and len(lines) <= 25
    assert "more: --limit" in lines[-1]
    assert len(found(recorded, "file-", "--limit", "7")) == 7
    assert sum(row["kind"] == "file" for row in found(recorded, "file-")) == 60
    assert "python3" not in recorded.provio("find", "*").stdout.partition("runs\n")[0]
    assert "hidden (--all)" in recorded.provio("find", "*").stdout
    assert any("/usr/" in row["name"] for row in found(recorded, "*", "--all") if row["kind"] == "file")
    assert recorded.provio("find", "copied", "--as", "csv").stdout.startswith("kind,name,time,bytes,run,how,iri\n")


@integration
@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((), "nothing to find"),
        ((" ",), "TEXT is empty"),
        (("x", "--sha256", "0" * 64), "give one of them"),
        (("--sha256", "abc"), "64 hexadecimal digits"),
        (("--attribute", "=1"), "has no name"),
        (("--attribute", "x", "--sha256", "0" * 64), "give one of them"),
        (("--param", "=1"), "'=1' has no name: give NAME or NAME=VALUE"),
        (("--package", "==1"), "'==1' has no name: give NAME or NAME==VERSION"),
        (("x", "--limit", "0"), "no whole number"),
    ],
)
def test_wrong_calls_are_explained(recorded: Project, arguments: tuple[str, ...], word: str) -> None:
    assert word in recorded.provio("find", *arguments, code=2).stderr


@integration
def test_a_store_searches_in_python(recorded: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(recorded.path)
    store = provio.open(recorded.path)
    assert [row.kind for row in store.find("train-0.1")] == ["run"]
    assert len(store.find(parameters={"lr": 0.1, "epochs": None})) == 1
    assert {row.how for row in store.find("raw.csv")} == {"this version", "same SHA-256"}
    with pytest.raises(NothingKnown):
        store.find("nothing at all")
    with pytest.raises(BadQuery):
        store.find()


def test_a_word_of_a_pattern_is_in_each_match() -> None:
    """The longest of its plain words; nothing of a set in brackets."""
    words = {"abc": "abc", "*.H5": ".h5", "a[xyz]long?": "long", "*": "", "é": "", "x é yz": "yz", "[ab": "[ab"}
    assert {text: Pattern(text).word for text in words} == words | {"[ab": ""}


def test_the_name_of_the_folder_of_the_project_does_not_count() -> None:
    """In the paths below it; a pattern, and a text that starts with a slash, are for the whole path."""
    path, root = "/data/xcorr/out/a.h5", "/data/xcorr"
    assert [Pattern(text, root).matches_path(path) for text in ("xcorr", "out", "/data/xcorr/o", "*/xcorr/*")] == [
        False, True, True, True
    ]  # fmt: skip
    assert Pattern("xcorr", root).matches_path("/data/xcorrs/x") and Pattern("xcorr").matches_path(path)


def test_kinds_share_the_rows() -> None:
    """A kind with few matches leaves its share to the others; the newest come first."""
    rows = [Found("file", f"f{n}", f"f{n}", f"20{n:02}") for n in range(30)]
    rows += [Found("run", f"r{n}", f"r{n}", f"20{n:02}") for n in range(3)] + [Found("task", "t", "t")]
    groups = list(shares(newest_first(rows), 10))
    assert [len(group) for group in groups] == [6, 3, 1]
    assert [one.name for one in groups[0]][:2] == ["f29", "f28"]
    assert [group[0].kind for group in groups] == [kind for kind in KINDS if kind != "program"]
    assert sum(map(len, shares(rows, 2))) == 2
