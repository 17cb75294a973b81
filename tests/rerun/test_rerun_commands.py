"""Recorded commands once more: recorded runs in, the verdicts of their files in a new folder out."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Project, new_project, provio_command

pytestmark = pytest.mark.integration
RUN = f"{shlex.join(provio_command())} run --quiet --hash --"


def record(project: Project, script: str) -> None:
    """Execute lines of a shell, in which `: ` stands for `provio run --quiet --hash -- `."""
    project.sh(script.replace(": ", RUN + " "))
    project.provio("merge", "--quiet")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Iterator[Project]:
    """A project with a program, its module, a link, folders and redirections."""
    project = new_project(tmp_path_factory.mktemp("once"))
    project.sh("mkdir data; echo 3 > data/in; ln -s data/in link; echo 'def f(x): return x * 2' > helper.py")
    (project.path / "double.py").write_text("import helper\nprint(helper.f(open('link').read()))\n")
    record(project, ": python3 double.py > out\ncd data; : sh -c 'mkdir sub; cat ../out > sub/x' < in")
    record(project, f": cp {shlex.quote(str(project.path / 'data/sub/x'))} 'a b'")
    yield project


def rerun(project: Project, *words: str, code: int = 0) -> tuple[list[str], str]:
    """Return the lines of a rerun into the folder `again` next to the project, and its messages."""
    done = project.provio("rerun", *words, code=code)
    return done.stdout.splitlines(), done.stderr


def test_files_and_their_ancestors(recorded: Project, tmp_path: Path) -> None:
    """All commands run again in order in a new folder; inputs, modules and links too; the project is as before."""
    before = {path: path.stat().st_mtime_ns for path in recorded.path.iterdir() if path.name != ".provio"}
    folder = tmp_path / "again"
    lines, _ = rerun(recorded, "a b", "--in", str(folder))
    assert lines == [
        "identical     a b",
        "identical     data/sub/x",
        "identical     out",
        f"3 commands, 3 identical: {folder}",
    ]
    assert (folder / "a b").read_bytes() == (recorded.path / "a b").read_bytes()
    assert os.readlink(folder / "link") == "data/in"
    assert before == {path: path.stat().st_mtime_ns for path in recorded.path.iterdir() if path.name != ".provio"}
    runs = json.loads(recorded.provio("runs", "--as", "json", cwd=folder).stdout)
    assert [run["command"] for run in runs][::2] == ["python3 double.py", f"cp {folder}/data/sub/x 'a b'"]


def test_one_run(recorded: Project, tmp_path: Path) -> None:
    """Of a run, only its own command; its input is the product of another run."""
    answer = json.loads("\n".join(rerun(recorded, "last", "--in", str(tmp_path / "new"), "--as", "json")[0]))
    assert [Path(one["path"]).name for one in answer["inputs"] if one["state"] == "same"] == ["x"]
    assert answer["files"] == [{"path": f"{recorded.path}/a b", "verdict": "identical", "reason": ""}]
    assert answer["failed"] == []


def test_a_dry_run(recorded: Project) -> None:
    """It prints the commands as `impact` does, and makes no folder."""
    lines, _ = rerun(recorded, "data/sub/x", "--dry-run")
    assert lines == [
        "1  python3 double.py > out",
        "     makes out",
        "2  cd data && sh -c 'mkdir sub; cat ../out > sub/x' < in",
        "     makes data/sub/x",
    ]
    assert not Path(f"{recorded.path}-rerun").exists()


@pytest.mark.parametrize("place", ["", "sub", "data"])
def test_a_folder_in_the_project_is_refused(recorded: Project, place: str) -> None:
    """Nothing in the project is overwritten."""
    _, message = rerun(recorded, "out", "--in", str(recorded.path / place), code=1)
    assert "is in the project" in message


def test_a_folder_with_files_is_refused(recorded: Project, tmp_path: Path) -> None:
    """A folder must be new or empty."""
    (tmp_path / "file").touch()
    assert "exists and is not an empty folder" in rerun(recorded, "out", "--in", str(tmp_path), code=1)[1]


def test_a_changed_input(project: Project, tmp_path: Path) -> None:
    """One changed byte is named before anything starts; with other --fail-on kinds the present content is used."""
    project.sh("echo 1 > in")
    record(project, ": sort in -o out")
    project.sh("echo 2 > in")
    lines, message = rerun(project, "out", "--in", str(tmp_path / "a"), code=1)
    assert (lines, "input changed: in\n" in message, (tmp_path / "a").exists()) == ([], True, False)
    lines, _ = rerun(project, "out", "--in", str(tmp_path / "b"), "--fail-on", "differs", code=1)
    assert lines == ["differs       out", f"1 command, 1 differs: {tmp_path / 'b'}"]
    lines, _ = rerun(project, "out", "--in", str(tmp_path / "c"), "--fail-on", "missing")
    assert lines[0] == "differs       out"
    project.sh("rm in")
    assert "input missing: in\n" in rerun(project, "out", code=1)[1]


def test_only_stale_files(project: Project, tmp_path: Path) -> None:
    """Only the commands behind a changed input run, with its present content."""
    project.sh("echo 1 > a; echo 2 > b")
    record(project, ": cp a x\n: cp b y\n: sh -c 'cat x y > z'")
    assert rerun(project, "z", "--only-stale")[0] == ["nothing is to be run again: no recorded product is stale"]
    project.sh("echo 3 > b")
    lines, _ = rerun(project, "z", "--only-stale", "--in", str(tmp_path / "new"), code=1)
    assert lines == ["differs       y", "differs       z", f"2 commands, 2 differs: {tmp_path / 'new'}"]
    assert (tmp_path / "new/z").read_text() == "1\n3\n"


def test_products_outside_the_project(project: Project, tmp_path: Path) -> None:
    """They are refused before the start without --map; with it, they are compared in the new folder."""
    outside = tmp_path / "outside"
    outside.mkdir()
    project.sh("echo 1 > in")
    record(project, f": cp in {outside}/out")
    lines, message = rerun(project, "last", "--in", str(tmp_path / "a"), code=1)
    assert (lines, f"{outside}/out is outside the project" in message) == ([], True)
    lines, _ = rerun(project, "last", "--in", str(tmp_path / "a"), "--map", f"{outside}={tmp_path}/a/mapped")
    assert lines[0].split() == ["identical", f"{outside}/out"]
    assert "no pair of folders" in rerun(project, "last", "--in", str(tmp_path / "b"), "--map", "x", code=1)[1]


def test_other_verdicts(project: Project, tmp_path: Path) -> None:
    """A command that fails, a missing and a new file, and a path that two commands wrote."""
    project.sh("echo 1 > in")
    switch = tmp_path / "switch"
    record(project, f": sh -c 'cat in > x; test -e {switch} && echo > new && exit 3; cat x > y'")
    switch.touch()
    lines, message = rerun(project, "last", "--in", str(tmp_path / "a"), code=1)
    assert [line.split()[:2] for line in lines[:3]] == [["identical", "x"], ["missing", "y"], ["new", "new"]]
    assert "exit 3, recorded exit 0" in message
    record(project, ": cp in twice\n: sh -c 'cat twice in > t; cat t > twice'")
    lines, message = rerun(project, "twice", "--in", str(tmp_path / "b"))
    assert "several commands write twice: the last one counts" in message
    assert (tmp_path / "b/twice").read_text() == "1\n1\n"


def test_a_recorded_failure_is_no_difference(project: Project, tmp_path: Path) -> None:
    """A command that ended with exit 3 must do so again."""
    project.sh("echo 1 > in")
    project.provio("run", "--hash", "--quiet", "--", "sh", "-c", "cat in > out; exit 3", code=3)
    assert rerun(project, "last", "--in", str(tmp_path / "a"))[0][0] == "identical     out"


def test_names_that_are_not_utf8(project: Project, tmp_path: Path) -> None:
    """Names of any bytes are exact in the new folder and do not break the output."""
    name = os.fsdecode(b"\xff'\n")
    (project.path / name).write_text("1\n")
    project.hashed("cp", os.fsencode(name), b"out\xfe")
    for form in ("text", "json"):
        done = project.provio("rerun", "last", "--in", str(tmp_path / form), "--as", form)
        assert "identical" in done.stdout
        assert (tmp_path / form / os.fsdecode(b"out\xfe")).read_text() == "1\n"


def test_a_secret_in_the_command_line(project: Project) -> None:
    """A command line without its secret cannot run again."""
    project.sh("echo 1 > in")
    project.hashed("sh", "-c", "cp in out", "x", "--password=hunter2hunter2")
    assert "is not complete, because a secret" in rerun(project, "last", code=1)[1]


def test_a_kept_content_is_used(project: Project, tmp_path: Path) -> None:
    """If record.keep kept the recorded content of a changed input, it takes its place."""
    project.sh("echo 1 > in")
    project.env["PROVIO_RECORD_KEEP"] = "100 kB"
    project.hashed("sort", "in", "-o", "out")
    project.sh("echo 22 > in")
    lines, message = rerun(project, "out", "--in", str(tmp_path / "a"))
    assert (lines[:1], "its recorded content is kept, and used" in message) == (["identical     out"], True)


def test_a_changed_package(project: Project, tmp_path: Path) -> None:
    """A changed file of an installed package is named before the start, and fails only with --fail-on."""
    folder = tmp_path / "site-packages/pack"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("A = 1\n")
    project.sh("echo 1 > in")
    script = (
        f"import sys; sys.path.append({str(folder.parent)!r}); import pack; open('o', 'w').write(open('in').read())"
    )
    project.hashed("python3", "-B", "-c", script)
    (folder / "__init__.py").write_text("A = 1000\n")
    lines, message = rerun(project, "last", "--in", str(tmp_path / "a"))
    assert f"package {folder}: 1 file changed or missing" in message
    assert lines[0] == "identical     o"
    assert rerun(project, "last", "--in", str(tmp_path / "b"), "--fail-on", "environment", code=1)[0] == []


def test_output_to_a_log_outside_the_project(project: Project, tmp_path: Path) -> None:
    """A log outside, to which output was appended, is neither an input nor a product."""
    log = tmp_path / "log"
    log.write_text("earlier\n")
    project.sh("echo 1 > in")
    record(project, f": sh -c 'cat in; cp in out' >> {log}\necho more >> {log}")
    lines, message = rerun(project, "last", "--in", str(tmp_path / "a"))
    assert lines == ["identical     out", f"1 command, 1 identical: {tmp_path / 'a'}"]
    assert f"is printed here: {log} is outside the project" in message
    assert log.read_text() == "earlier\n1\nmore\n"
