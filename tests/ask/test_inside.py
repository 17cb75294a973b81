"""Queries on datasets and attributes, on synthetic traces: at the level of objects and at that of files."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Project
from synthetic_traces import File, Handle, Process, Run

from provio.ask.member_origins import Origins
from provio.ask.walk import Nodes
from provio.base.vocab import PROV
from provio.settings import load
from provio.settings.home import Home
from provio.store import open_reader, open_writer


class Folder:
    """A project of synthetic traces, queried through the command line."""

    def __init__(self, project: Project) -> None:
        self.project, self.path = project, project.path
        self.home, self.told = Home(project.path / ".provio"), list[Run]()
        self.files: dict[str, File] = {}

    def file(self, name: str) -> File:
        """The file of a name."""
        return self.files.setdefault(name, File(str(self.path / name)))

    def run(self, *argv: str) -> Process:
        """Begin a run of one process; the one before is over."""
        if self.told:
            self.told[-1].end()
        self.told.append(Run(self.home, len(self.told) + 1))
        return self.told[-1].process(*argv)

    def ask(self, *arguments: str | bytes, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run provio in the folder, after writing the traces so far."""
        for run in self.told:
            if not run.folder.exists():
                run.write()
        return self.project.provio(*arguments, code=code)

    def lineage(self, *arguments: str) -> dict[str, Any]:
        """The document that answers."""
        answer = self.ask("lineage", *arguments, "--as", "json").stdout
        return json.loads(answer)  # type: ignore[no-any-return]

    def found(self, *arguments: str) -> dict[str, str]:
        """Return the entities of an answer except its targets, each with its tie."""
        document = self.lineage(*arguments)
        return {
            os.path.relpath(node["path"], self.path): node["via"]
            for node in document["nodes"]
            if node["type"] not in ("Phase", "Copy", "Program") and node["depth"]
        }


@pytest.fixture
def folder(project: Project) -> Folder:
    return Folder(project)


def made(folder: Folder) -> Folder:
    """in.h5 → out.h5, of two datasets each; then /b is replaced; then both are read, each for one file."""
    process = folder.run("python3", "make.py")
    source, out = process.h5(folder.file("in.h5")), process.h5(folder.file("out.h5"), "w")
    source.read("/a")
    out.write("/a", new=True)
    source.read("/g/b").read("/g/b", "units")
    out.write("/b", new=True).write("/b", "units", new=True)
    process = folder.run("python3", "update.py")
    process.plain(folder.file("settings.txt")).read()
    process.h5(folder.file("out.h5"), "r+").write("/b", whole=True)
    process = folder.run("python3", "use.py")
    out = process.h5(folder.file("out.h5")).read("/a")
    process.plain(folder.file("a.csv"), "w").write()
    out.read("/b")
    process.plain(folder.file("b.csv"), "w").write()
    return folder


@pytest.mark.integration
def test_a_dataset_through_runs_and_updates(folder: Folder) -> None:
    """Objects that an update left unchanged come from before it; a replaced object comes only from the update."""
    made(folder)
    assert folder.found("out.h5#/a") == {"out.h5#/a": "data", "in.h5#/a": "data"}
    assert folder.found("out.h5#/b") == {"settings.txt": "data"}
    units = {"out.h5#/b@units": "data", "in.h5#/g/b": "data", "in.h5#/g/b@units": "data"}
    assert folder.found("out.h5#/b@units") == units | {"in.h5#/a": "carried"}
    assert folder.found("out.h5#/b@units", "--via", "data") == units


@pytest.mark.integration
def test_a_plain_file_through_datasets(folder: Folder) -> None:
    """At the level of datasets a file comes from the objects read for it, at that of files from the complete file."""
    made(folder)
    assert folder.found("a.csv", "--level", "dataset") == {"out.h5#/a": "data", "in.h5#/a": "data"}
    assert folder.found("b.csv", "--level", "dataset") == {
        "out.h5#/b": "data",
        "settings.txt": "data",
        "out.h5#/a": "carried",
        "in.h5#/a": "carried",
    }
    files = {"out.h5": "data", "in.h5": "data", "settings.txt": "data"}
    assert folder.found("a.csv") == files
    assert folder.found("a.csv", "--level", "file") == files


@pytest.mark.integration
def test_forward(folder: Folder) -> None:
    """The products of a dataset, through its unchanged content in a later version."""
    made(folder)
    assert folder.found("--forward", "in.h5#/a") == {
        "out.h5#/a": "data",
        "a.csv": "data",
        "out.h5#/b": "carried",
        "out.h5#/b@units": "carried",
        "b.csv": "carried",
    }
    assert folder.found("--forward", "in.h5#/g/b@units", "--via", "data") == {
        "out.h5#/b": "data",
        "out.h5#/b@units": "data",
    }
    assert folder.found("--forward", "settings.txt", "--level", "dataset") == {"out.h5#/b": "data", "b.csv": "data"}


def test_many_datasets_are_shown_with_what_was_carried_once(folder: Folder) -> None:
    """A tree of many grows as they do, not as each with all that was read before it; nothing is lost from it."""
    many = 24
    process = folder.run("python3", "many.py")
    source, out = process.h5(folder.file("in.h5")), process.h5(folder.file("out.h5"), "w")
    for number in range(many):
        source.read(f"/x{number}")
        out.write(f"/y{number}", new=True)
    tree = folder.ask("lineage", "out.h5", "--level", "dataset").stdout.splitlines()
    assert sum("carried" in line for line in tree) <= many + 1
    assert {f"in.h5#/x{number}" for number in range(many)} <= {line.split()[1] for line in tree if "in.h5#" in line}
    assert "carried inputs are shown only once (--as table shows all)" in tree


@pytest.mark.integration
def test_what_took_the_file_as_a_whole(folder: Folder) -> None:
    """A program that only read the bytes used all objects inside, and these lead to it."""
    process = made(folder).run("sha256sum", "out.h5")
    process.plain(folder.file("out.h5")).read()
    process.plain(folder.file("sums"), "w").write()
    inside = {"in.h5#/a", "in.h5#/g/b", "in.h5#/g/b@units", "out.h5#/a", "out.h5#/b", "out.h5#/b@units"}
    assert folder.found("sums", "--level", "dataset").keys() == {"out.h5", "settings.txt", *inside}
    outside = {"out.h5", "sums", "a.csv", "b.csv"}
    assert folder.found("--forward", "in.h5#/a").keys() == {*outside, "out.h5#/a", "out.h5#/b", "out.h5#/b@units"}


def rows(folder: Folder, *question: str) -> list[list[str]]:
    """The rows of a named question's answer, paths relative to the folder."""
    answer = folder.ask("query", *question, "--as", "csv").stdout.replace(f"{folder.path}/", "")
    return [line.split(",") for line in answer.splitlines()[1:]]


@pytest.mark.integration
def test_what_a_file_holds_and_who_made_each(folder: Folder) -> None:
    """Each object once for each time that it was made, with the program and the run."""
    path = f"path={made(folder).path}/out.h5"
    first, second = (run.id for run in folder.told[:2])
    found = [[*row[:7], row[8].rpartition("/")[2]] for row in rows(folder, "hdf5-objects", "-p", path)]
    assert found == [
        ["out.h5", "/a", "", "Dataset", "4", "", "python3", first],
        ["out.h5", "/b", "", "Dataset", "4", "", "python3", first],
        ["out.h5", "/b", "", "Dataset", "4", "float64", "python3", second],
        ["out.h5", "/b", "units", "Attribute", "", "", "python3", first],
    ]


def held(folder: Folder, name: str) -> list[list[str]]:
    """Return the answer of `hdf5-objects` on a file: name, kind, maker, and origin of copies."""
    answer = rows(folder, "hdf5-objects", "-p", f"path={folder.path}/{name}")
    return [["@".join(filter(None, row[1:3])), row[3], row[6], row[9]] for row in answer]


@pytest.mark.integration
def test_what_a_file_holds_below_a_copied_group(folder: Folder) -> None:
    """Objects were made there, kept from an earlier version or copied, as in the source; deleted ones are absent;
    copies from a source that was not observed are listed."""
    process = folder.run("make")
    process.h5(folder.file("a.h5"), "w").write("/g/p", new=True).write("/g/p", "units", new=True).write(
        "/g/q", new=True
    )
    process = folder.run("update")
    process.h5(folder.file("a.h5"), "r+").write("/g/r", new=True).delete("/g/q")
    process = folder.run("copy")
    process.h5(folder.file("a.h5")).copy("/g", process.h5(folder.file("b.h5"), "w"), "/h/k", "Group")
    process = folder.run("again")
    process.h5(folder.file("b.h5")).copy("/h/k", process.h5(folder.file("c.h5"), "w"), "/l", "Group")
    process.h5(folder.file("d.h5")).copy("/unseen", process.h5(folder.file("c.h5"), "r+"), "/m", "Group")
    assert held(folder, "b.h5") == [
        ["/h/k", "Group", "copy", "/g"],
        ["/h/k/p", "Dataset", "copy", "/g"],
        ["/h/k/p@units", "Attribute", "copy", "/g"],
        ["/h/k/r", "Dataset", "copy", "/g"],
    ]
    assert held(folder, "c.h5") == [
        ["/l", "Group", "again", "/h/k"],
        ["/l/p", "Dataset", "again", "/h/k"],
        ["/l/p@units", "Attribute", "again", "/h/k"],
        ["/l/r", "Dataset", "again", "/h/k"],
        ["/m", "Group", "again", "/unseen"],
    ]


@pytest.mark.integration
def test_what_a_file_holds_under_a_new_name(folder: Folder) -> None:
    """A moved object, and its members, are listed under the new name with their maker."""
    process = folder.run("make")
    process.h5(folder.file("a.h5"), "w").write("/g/p", new=True).write("/d", new=True).write("/d", "units", new=True)
    folder.run("move").h5(folder.file("a.h5"), "r+").move("/g", "/n").move("/d", "/e")
    found = held(folder, "a.h5")
    for name, kind in (("/n/p", "Dataset"), ("/e", "Dataset"), ("/e@units", "Attribute")):
        assert [name, kind, "make", ""] in found


@pytest.mark.integration
def test_what_each_dataset_was_made_from(folder: Folder) -> None:
    """In one step, by data or carried; a plain file has no parts."""
    made(folder)
    path = f"path={folder.path}/out.h5"
    assert rows(folder, "dataset-lineage", "-p", path, "-p", "object=/b") == [
        ["out.h5", "/b", "", "in.h5", "/a", "", "carried"],
        ["out.h5", "/b", "", "in.h5", "/g/b", "", "data"],
        ["out.h5", "/b", "", "in.h5", "/g/b", "units", "data"],
        ["out.h5", "/b", "", "settings.txt", "", "", "data"],
        ["out.h5", "/b", "units", "in.h5", "/a", "", "carried"],
        ["out.h5", "/b", "units", "in.h5", "/g/b", "", "data"],
        ["out.h5", "/b", "units", "in.h5", "/g/b", "units", "data"],
    ]
    assert rows(folder, "dataset-lineage", "-p", path, "-p", "object=/a", "-p", "how=data") == [
        ["out.h5", "/a", "", "in.h5", "/a", "", "data"]
    ]


@pytest.mark.integration
def test_one_of_many_datasets_was_made_from_what_lineage_says(folder: Folder) -> None:
    """Of hundreds that one process made each of another: in one step, with how each is tied, and soon."""
    process = folder.run("python3", "many.py")
    source, out = process.h5(folder.file("in.h5")), process.h5(folder.file("out.h5"), "w")
    for number in range(500):
        source.read(f"/x{number}")
        out.write(f"/y{number}", new=True)
    found = rows(folder, "dataset-lineage", "-p", f"path={folder.path}/out.h5", "-p", "object=/y250")
    expected = folder.found("out.h5#/y250", "--level", "dataset", "--depth", "1")
    assert {"#".join(row[3:5]): row[6] for row in found} == expected and len(found) == 251


@pytest.mark.integration
def test_an_object_is_followed_through_any_number_of_versions(folder: Folder) -> None:
    """A file that was opened for writing thousands of times: unchanged objects are those of the first version."""
    version = "https://w3id.org/provio/version/v/1.2.{}.4".format
    lines = [f"<{version(n + 1)}> <{PROV}wasRevisionOf> <{version(n)}> .\n" for n in range(10_050)]
    lines.append(f"<{version(0)}#/d> <{PROV}wasGeneratedBy> <urn:test:process> .\n")
    with open_writer(folder.home, load.load(), wait=True) as writer:
        writer.replace("urn:test:graph", ["".join(lines)])
        writer.publish()
    reader = open_reader(folder.home)
    assert Origins(reader, Nodes(reader)).origins(f"{version(10_050)}#/d") == [f"{version(0)}#/d"]


NAMES = ["a#b", "a@b", "50%", "two words", "naïve", "#", "a/b c@d#e", 'q"<>\\']


@pytest.mark.slow
def test_any_name(folder: Folder) -> None:
    """Names of datasets, attributes and files with any characters are used as they are written."""
    process = folder.run()
    source, out = process.h5(folder.file("in.h5")), process.h5(folder.file("a#b@50% c.h5"), "w")
    for number, name in enumerate(NAMES):
        source.read(f"/x{number}")
        out.write(f"/{name}", new=True).write("/d", name, new=True)
    process.end()
    for number, name in enumerate(NAMES):
        for asked in (f"/{name}", f"/d@{name}"):
            document = folder.lineage(f"a#b@50% c.h5#{asked}", "--via", "data")
            assert [node["path"] for node in document["nodes"] if node["type"] in ("Dataset", "Attribute")] == [
                f"{folder.path}/a#b@50% c.h5#{asked}",
                f"{folder.path}/in.h5#/x{number}",
            ]
    assert folder.found("a#b@50% c.h5") == {"in.h5": "data"}


@pytest.mark.integration
def test_a_name_that_is_no_utf_8(folder: Folder) -> None:
    """Bytes stay bytes, on the command line and in the trace."""
    process = folder.run()
    source, out = process.h5(folder.file("in.h5")), process.h5(folder.file("out.h5"), "w")
    source.read("/x")
    made = out.met("/odd", None, "Dataset", ":created true")
    process.lines[-1] = process.lines[-1].replace(':path "/odd"', ':pathEncoded "/o%FFd"')
    made.writes.append(process.run.tick())
    out.wrote = True
    process.end()
    folder.ask("runs")
    done = folder.project.provio("lineage", b"out.h5#/o\xffd", "--as", "json")
    document = json.loads(done.stdout)
    assert {node["label"] for node in document["nodes"] if node["type"] == "Dataset"} == {
        "out.h5#/o\ufffdd",
        "in.h5#/x",
    }
    assert document["nodes"][0]["pathEncoded"].endswith("out.h5#/o%FFd")


@pytest.mark.integration
def test_what_is_not_recorded_is_said(folder: Folder) -> None:
    """Names that are like it, and exit code 3; of a file in which nothing is known, that."""
    process = made(folder).run()
    process.plain(folder.file("plain.txt"), "w").write()
    assert "of the file are /b, " in folder.ask("lineage", "out.h5#/c", code=3).stderr
    assert "no object in the file is recorded" in folder.ask("lineage", "plain.txt#/c", code=3).stderr
    assert "nothing is recorded of" in folder.ask("lineage", "gone.h5#/c", code=3).stderr


@pytest.mark.integration
def test_a_link_is_followed_and_a_group_is_all_that_lies_in_it(folder: Folder) -> None:
    """A query on a link is a query on its destination."""
    process = folder.run()
    source, out = process.h5(folder.file("in.h5")).read("/x"), process.h5(folder.file("out.h5"), "w")
    out.write("/g/a", new=True).link("/link", "/g/a")
    source.read("/y")
    out.write("/g/b", new=True)
    process.end()
    assert folder.lineage("out.h5#/link")["target"] == folder.lineage("out.h5#/g/a")["target"]
    assert folder.found("out.h5#/link") == {"in.h5#/x": "data"}
    assert folder.lineage("out.h5#/g")["targets"] == [
        folder.lineage(f"out.h5#/g/{name}")["target"] for name in ("a", "b")
    ]


@pytest.mark.integration
def test_a_link_that_leads_nowhere_is_said_to(folder: Folder) -> None:
    """It is not replaced by the whole file; a link to an object of an earlier version is followed."""
    process = folder.run()
    process.h5(folder.file("in.h5")).read("/x")
    process.h5(folder.file("out.h5"), "w").write("/a", new=True).link("/link", "/gone")
    folder.run().h5(folder.file("out.h5"), "r+").link("/later", "/a").link("/nowhere", "/none")
    assert "/nowhere is a link to /none" in folder.ask("lineage", "out.h5#/nowhere", code=3).stderr
    assert "nothing is recorded of" in folder.ask("lineage", "out.h5#/link", code=3).stderr
    assert folder.found("out.h5#/later").keys() >= {"in.h5#/x"}


def kept(folder: Folder) -> Folder:
    """x.h5 is made from three files; then an object is added, and some are deleted."""
    for name in "abc":
        process = folder.run("python3", f"{name}.py")
        source = process.h5(folder.file(f"{name}.h5")).read("/s")
        process.h5(folder.file("x.h5"), "w" if name == "a" else "r+").write(f"/g/{name}", new=True)
        source.close()
    process = folder.run("python3", "beside.py")
    process.h5(folder.file("x.h5"), "r+").write("/new", new=True).delete("/g/b").hard("/c", "/g/c").delete("/g/c")
    return folder


@pytest.mark.integration
def test_what_a_file_kept_is_among_what_it_holds(folder: Folder) -> None:
    """The last writer changed one dataset of three: the others, except the deleted one, can be queried, too."""
    kept(folder)
    assert {"a.h5#/s", "c.h5#/s"} <= folder.found("x.h5", "--level", "dataset").keys()
    assert "b.h5#/s" not in folder.found("x.h5", "--level", "dataset")
    assert {"a.h5", "b.h5", "c.h5"} <= folder.found("x.h5").keys()


@pytest.mark.integration
def test_what_was_deleted_is_there_no_more(folder: Folder) -> None:
    """Its name is unknown, with its members; an object with a second hard link is known by that name."""
    kept(folder)
    assert folder.found("x.h5#/c").keys() == {"x.h5#/g/c", "c.h5#/s"}
    for name in ("/g/b", "/g/c"):
        assert "nothing is recorded of" in folder.ask("lineage", f"x.h5#{name}", code=3).stderr
    process = folder.run("python3", "gone.py")
    process.h5(folder.file("x.h5"), "r+").move("/c", "/d").delete("/g")
    assert folder.found("x.h5#/d").keys() >= {"c.h5#/s"}
    for name in ("/c", "/g/a"):
        assert "nothing is recorded of" in folder.ask("lineage", f"x.h5#{name}", code=3).stderr


@pytest.mark.integration
def test_what_lies_below_a_copied_group(folder: Folder) -> None:
    """A query on the file includes it, as does a use of the whole file; objects next to the group are not included."""
    process = folder.run("python3", "make.py")
    source = process.h5(folder.file("in.h5")).read("/s")
    made = process.h5(folder.file("a.h5"), "w").write("/g/p", new=True)
    source.close()
    process.h5(folder.file("other.h5")).read("/o").close()
    made.write("/beside", new=True)
    process = folder.run("python3", "copy.py")
    process.h5(folder.file("a.h5")).copy("/g", process.h5(folder.file("x.h5"), "w"), "/copied", "Group")
    process = folder.run("sha256sum", "x.h5")
    process.plain(folder.file("x.h5")).read()
    process.plain(folder.file("sums"), "w").write()
    assert folder.found("x.h5", "--level", "dataset") == {"a.h5#/g/p": "data", "in.h5#/s": "data"}
    assert folder.found("x.h5#/copied") == {"a.h5#/g/p": "data", "in.h5#/s": "data"}
    found = folder.found("sums", "--level", "dataset").keys()
    assert found >= {"x.h5", "x.h5#/copied", "a.h5#/g/p", "in.h5#/s"} and not found & {
        "a.h5",
        "a.h5#/beside",
        "other.h5#/o",
    }


def test_who_made_a_dataset(folder: Folder) -> None:
    """`why` of an unchanged object names its maker, and the maker's inputs."""
    made(folder)
    answer = json.loads(folder.ask("why", "out.h5#/a", "--as", "json").stdout)
    assert answer["process"]["argv"] == "python3 make.py"
    assert [node["label"] for node in answer["read"]] == ["in.h5#/a"]


@pytest.mark.integration
def test_what_would_have_to_be_made_again(folder: Folder) -> None:
    """If a dataset changed: files, and only those that it went into."""
    made(folder)
    answer = json.loads(folder.ask("impact", "in.h5#/a", "--as", "json").stdout)
    assert {os.path.basename(one["path"]) for one in answer["leftOut"]} >= {"a.csv", "out.h5"}
    answer = json.loads(folder.ask("impact", "in.h5#/g/b", "--as", "json").stdout)
    assert "a.csv" not in {os.path.basename(one["path"]) for one in answer["leftOut"]}


@pytest.mark.integration
def test_what_a_dataset_is(folder: Folder) -> None:
    """Its shape and type, who made it, and the calls on it, of the version that holds it or last changed it."""
    made(folder)
    run = folder.told[1].id
    assert folder.ask("show", "out.h5#/b").stdout.splitlines()[2:] == [
        "shape    4",
        "datatype float64",
        f"made     2026-11-20 12:48:20 UTC by python3, run {run}",
        "read     H5Dread: 1 call, 512 B, in 1 run",
        "written  H5Dwrite: 1 call, 512 B, in 1 run",
    ]
    assert "nothing is recorded" in folder.ask("show", "out.h5#/nothing", code=3).stderr


@pytest.mark.integration
def test_where_a_question_ends(folder: Folder) -> None:
    """A pattern is held against the file's name, and the object's behind it."""
    made(folder)
    whole = {"out.h5#/a", "in.h5#/a"}
    assert folder.found("a.csv", "--level", "dataset", "--until", "in.h5").keys() == whole
    assert folder.found("a.csv", "--level", "dataset", "--until", "*#/a").keys() == {"out.h5#/a"}
    assert folder.found("a.csv", "--level", "dataset", "--until", "out.h5").keys() == {"out.h5#/a"}


@pytest.mark.parametrize("form", ["tree", "table", "dot", "ttl"])
def test_every_form_shows_objects(folder: Folder, form: str) -> None:
    """Objects have their names in each."""
    made(folder)
    assert "out.h5#/b" in folder.ask("lineage", "b.csv", "--level", "dataset", "--as", form).stdout


@pytest.mark.integration
@pytest.mark.parametrize(
    ("update", "held"),
    [
        (lambda out: out.copy("/g", out, "/h", "Group").delete("/g/x"), {"/g": ["/y"], "/h": ["/x", "/y"]}),
        (lambda out: out.copy("/g", out, "/h", "Group").delete("/g/x").delete("/g/y"), {"/h": ["/x", "/y"]}),
        (lambda out: out.delete("/g/x"), {"/g": ["/y"]}),
        (lambda out: out.delete("/g/x").move("/g", "/h"), {"/h": ["/y"]}),
        (lambda out: out.move("/g", "/h").delete("/h/x"), {"/h": ["/y"]}),
        (lambda out: out.move("/g/x", "/z"), {"/g": ["/y"]}),
        (
            lambda out: out.move("/g", "/h").create("/g", None, "Group").write("/g/x", new=True).delete("/g/x"),
            {"/h": ["/x", "/y"]},
        ),
    ],
)
def test_the_content_of_a_group_after_an_update(
    folder: Folder, update: Callable[[Handle], Handle], held: dict[str, list[str]]
) -> None:
    """A group keeps the objects that were not deleted or moved out of it; a copy has those of its time."""
    made = folder.run("make").h5(folder.file("out.h5"), "w").create("/g", None, "Group")
    made.write("/g/x", new=True).write("/g/y", new=True)
    update(folder.run("update").h5(folder.file("out.h5"), "r+"))
    folder.ask("merge")
    reader = open_reader(folder.home)
    (last,) = (
        row[0]
        for row in reader.table(f"SELECT ?new {{ ?new <{PROV}wasRevisionOf> ?old FILTER(!CONTAINS(STR(?new), '#')) }}")
    )
    inside = Origins(reader, Nodes(reader))
    assert {
        group: [iri.partition(f"#{group}")[2] for iri in inside.contents(f"{last}#{group}")] for group in held
    } == held
