"""`export --redact`: none of the planted values is in an export of any form, and the graph stays connected."""

from __future__ import annotations

import io
import os
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pyoxigraph as ox
import pytest
from conftest import Project
from synthetic_traces import File, Run

from provio.exchange import formats
from provio.exchange.hidden import Hidden, nodes
from provio.exchange.subject import Subject
from provio.merge.runs import merge
from provio.settings.home import Home, make
from provio.store import open_reader

PLANTED = {
    "user": ["zoe.q"], "host": ["node", "other07"], "path": ["/secret place/deep", "/planted/folder", "../up/folder"],
    "argv": ["plantedword", "other=value", "plantedtask", "plantedsource", "plantedsetting", "271828"],
}  # fmt: skip
FORMS = ("trig", "nquads", "ttl", "prov-json", "prov-n", "prov-jsonld")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A record with a run of a user that reads and writes files of several folders."""
    found = Home(tmp_path_factory.mktemp("redact") / ".provio")
    make(found)
    run = Run(found, 1, "tool plantedword other=value", user="zoe.q", exitCode=0, jobId="7", jobNodes="other[01-12]")
    run.environment("NODES", "other07 /planted/folder/x")
    process = run.process("tool", "plantedword", "other=value", "/home/zoe.q/x", "../up/folder/y")
    process.begin("plantedtask", kind="cell", sourceText="plantedsource = 1")
    process.configure("rates", "Hyperparameter", solver="plantedsetting", seed=271828)
    process.plain(File("/secret place/deep/in.csv", 11)).read().close()
    process.plain(File("/planted/folder/more.csv", 12)).read().close()
    process.plain(File("/data/sub/out.csv", 13), "w").write().close()
    process.finish()
    run.write()
    assert merge(found).damages == []
    return found


def exported(home: Home, form: str, *kinds: str) -> bytes:
    reader, output = open_reader(home), io.BytesIO()
    hide = Hidden(frozenset(kinds), reader, ("/data",))
    formats.load(form).write(Subject(reader, home, hide=hide), output)
    return output.getvalue()


@pytest.mark.parametrize("form", FORMS)
def test_no_planted_value_is_left(home: Home, form: str) -> None:
    """The values are in the export, and none is left if its kind is hidden, percent-encoded ones included."""
    plain, hidden = exported(home, form), exported(home, form, *PLANTED)
    for kind, values in PLANTED.items():
        alone = exported(home, form, kind)
        for value in values:
            word = value.encode() if value != "node" else b"/node/"
            assert word in plain
            for data in (alone, hidden):
                assert word not in data
                assert quote(value).encode() not in data or value == "node"
    assert b"sub/out.csv" in hidden
    assert b"in.csv" in hidden


@pytest.mark.parametrize("level, steps", [("", "task"), ("folder", "process"), ("dataset", "io")])
@pytest.mark.parametrize("form", ["wfformat", "dot", "mermaid", "ro-crate", "ttl", "prov-json"])
def test_no_planted_value_is_in_another_form(home: Home, tmp_path: Path, form: str, level: str, steps: str) -> None:
    """Neither in an instance of a workflow, nor in a diagram, an answer as RDF, or any file of a crate."""
    if form == "wfformat":
        level, steps = "", "task"
    texts = []
    for number, kinds in enumerate(((), tuple(PLANTED))):
        reader, output = open_reader(home), io.BytesIO()
        subject = Subject(
            reader, home, hide=Hidden(frozenset(kinds), reader, ("/data",)), anyway=True, level=level, steps=steps
        )
        subject = replace(subject, runs=(subject.run_ids[0],))
        if form == "ro-crate":
            formats.load(form).write(subject, tmp_path / str(number))
            files = sorted(path for path in (tmp_path / str(number)).rglob("*") if path.is_file())
            texts.append(b"".join(path.read_bytes() for path in files).decode())
        else:
            formats.load(form).write(subject, output)
            texts.append(output.getvalue().decode())
    values = [value for found in PLANTED.values() for value in found if value != "node"]
    assert [value for value in values if value in texts[1]] == []
    assert [value for value in values if value in texts[0]]


def test_the_graph_is_the_same(home: Home) -> None:
    """Equal values have equal pseudonyms: the export has as many statements, nodes and properties as before."""
    shapes = []
    for kinds in ((), tuple(PLANTED)):
        quads = list(ox.parse(exported(home, "nquads", *kinds), ox.RdfFormat.N_QUADS))
        nodes = {q.subject.value for q in quads}
        linked = sum(isinstance(q.object, ox.NamedNode) and q.object.value in nodes for q in quads)
        shapes.append((len(quads), len(nodes), linked, sorted(q.predicate.value for q in quads)))
    assert shapes[0] == shapes[1]


def test_texts() -> None:
    """Each kind of text: a path outside the project keeps its file name, a home folder hides its user."""
    hide = Hidden(frozenset({"path"}), None, ("/data/p",))
    assert hide.text("path", "/data/p/a b/c") == "/project/a b/c"
    outside = hide.text("path", "/else where/d")
    assert outside == hide.text("path", "/else where/d")
    assert (outside.startswith("/folder-"), outside.endswith("/d"), "else" in outside) == (True, True, False)
    assert hide.text("reason", "cannot read /x/y/z: no") == f"cannot read {hide.text('path', '/x/y/z')}: no"
    assert "secret" not in hide.text("value", "PATH=/secret/a:/secret/b file:///secret/c")
    assert "secret" not in hide.text("argv", "sh -c ls%20/secret/a;%20cd%20/secret/b%20/secret/c")
    assert hide.text("cwd", "/else where/d").startswith("/folder-") and "/d" not in hide.text("cwd", "/else where/d")
    assert hide.iri("file://d/data/p/a%FF") == "file://d/project/a%FF"
    assert hide.text("argv", "tool a/b in=c/d") != "tool a/b in=c/d"  # the folder of the process is not known
    assert [*nodes("a[08-10],b,c[1,3]x")] == ["a08", "a09", "a10", "b", "c1x", "c3x"]
    user = Hidden(frozenset({"user"}))
    assert "ada" not in user.text("cwd", "/home/ada/x") + user.iri("file://d/home/ada/x") + user.text("uid", "1000")
    assert Hidden().text("path", "/a/b") == "/a/b"


def test_wrong_kinds(project: Project) -> None:
    """An unknown kind, and a form that cannot hide anything, are refused with a remedy."""
    assert "is not allowed" in project.provio("export", "--redact", "users", code=2).stderr
    refused = project.provio("export", "--as", "events", "--redact", "user", code=2).stderr
    assert "omit --redact" in refused


@pytest.mark.integration
@pytest.mark.parametrize("form", ["ttl", "mermaid", "ro-crate", "wfformat"])
def test_folders_outside_the_project(project: Project, tmp_path: Path, form: str) -> None:
    """Their names have pseudonyms, also in copies of their files; a title is not the name of the project's folder."""
    (place := tmp_path / "plantedplace").mkdir()
    project.path = project.path.rename(project.path.with_name("plantedproject"))
    project.run(f"cd {place}; mkdir $(printf 'd\\377'); echo 1 > out; cp out d*; cat d*/out > {project.path}/copy")
    more = [] if form == "wfformat" else ["--level", "folder"]
    more += ["--with-data"] if form == "ro-crate" else []
    project.provio("export", "last", "--as", form, *more, "--redact", "path,argv", "-o", "shown")
    written = [one for one in [project.path / "shown", *(project.path / "shown").rglob("*")] if one.is_file()]
    found = b"".join(os.fsencode(one.relative_to(project.path)) + one.read_bytes() for one in written)
    assert [word for word in ("plantedplace", "plantedproject") if word.encode() in found] == []


@pytest.mark.integration
def test_the_verb_hides(project: Project) -> None:
    """The option reaches each form: below the project only the folders above it are hidden."""
    project.run("mkdir -p a; echo 1 > a/b")
    shown = project.provio("export", "last", "--redact", "path,argv", "--as", "prov-n").stdout
    assert str(project.path) not in shown
    assert "/project/a/b" in shown
