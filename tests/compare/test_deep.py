"""`provio diff --deep` of two recorded runs: results by their values; scripts by their text; tolerances by name."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Project, new_project

SCRIPT = """import h5py, numpy
more = 0
with h5py.File("a.h5", "w") as file:
    file["x"] = numpy.array([1.0, 2.0, 3.0 + more])
    file["y"] = numpy.array([1.0 + more / 1000])
    file.attrs["password"] = 5 + more
    if more:
        file["new"] = [1]
numpy.save("order.npy", numpy.array([1.0], "<f8" if more else ">f8"))
open("gone.csv", "w").write(f"x\\n{more}\\n")
open("later.csv", "w").write(f"x\\n{more}\\n")
open("free.csv", "w").write(f"x\\n{more}\\n")
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, shim: Path) -> Iterator[Project]:
    """A project with the runs `a` and `b`, of which the second has one other line; files that were changed since."""
    project = new_project(tmp_path_factory.mktemp("deep"))
    project.provio("init")
    for name in "ab":
        folder = project.path / name
        folder.mkdir()
        (folder / "make.py").write_text(SCRIPT if name == "a" else SCRIPT.replace("more = 0", "more = 1"))
        Project(folder, project.env).provio("run", "--hash", "--quiet", "--name", name, "--", "python3", "make.py")
    project.provio("merge", "--quiet")
    (project.path / "a/gone.csv").unlink()
    (project.path / "b/later.csv").write_text("other\n")
    yield project


def rows(project: Project, *options: str, only: str = "results") -> list[dict[str, Any]]:
    """Return the rows of one kind."""
    words = ["diff", "a", "b", "--only", only, "--as", "json", *options]
    found: list[dict[str, Any]] = json.loads(project.provio(*words, code=None).stdout)
    return found


def test_results_by_part(base: Project) -> None:
    """Each part that differs is a row with its values and measures; files that are no longer that version are named."""
    found = {(row["configuration"], row["key"]): row for row in rows(base, "--deep")}
    assert {key: (row["first"], row["second"], row["expected"]) for key, row in found.items()} == {
        ("a.h5", "x"): (3.0, 4.0, False), ("a.h5", "y"): (1.0, 1.001, False), ("free.csv", "x"): (0, 1, False),
        ("a.h5", "new"): (None, "shape (1,)", False), ("a.h5", "@password"): ("REDACTED", "REDACTED", False),
        ("file", "gone.csv"): ("4 bytes", "4 bytes", False), ("file", "later.csv"): ("4 bytes", "4 bytes", False),
        ("file", "order.npy"): ("136 bytes", "136 bytes", True),
    }  # fmt: skip
    reasons = {row["key"]: row["reason"].replace(str(base.path), "") for row in found.values()}
    assert reasons == {
        "new": "only the second file has it",
        "@password": "another value, not shown: its name is that of a secret",
        "gone.csv": "other content; not compared by values: /a/gone.csv is missing, and its content is not kept",
        "later.csv": "other content; not compared by values: "
        "/b/later.csv has changed since, and its content is not kept",
        "order.npy": "other bytes, equal values; other byte order",
        "x": "0 % of 1 numbers equal; largest difference at row 1: absolute 1, relative 1; RMSE 1, relative L2 inf",
        "y": "0 % of 1 numbers equal; largest difference at [0]: absolute 0.001, relative 0.000999; 4.5e+12 ULP, "
        "RMSE 0.001, relative L2 0.001",
    }


def test_tolerances(base: Project) -> None:
    """By name of a file and a part; a row within is expected, with the reason."""
    options = ["--deep", "--tolerance", "0.5", "--tolerance", "*.h5:y=0.01", "--tolerance", "free.csv=10"]
    found = {(row["configuration"], row["key"]): row for row in rows(base, *options)}
    within = {key: row["expected"] for key, row in found.items() if row["reason"].endswith("; within tolerance")}
    assert within == {("a.h5", "x"): True, ("a.h5", "y"): True, ("free.csv", "x"): True}
    strict = [*options, "--tolerance", "a.h5:[xy]=1e-12"]
    found = {(row["configuration"], row["key"]): row for row in rows(base, *strict)}
    assert [key for key, row in found.items() if row["reason"].endswith("; within tolerance")] == [("free.csv", "x")]
    shown = base.provio("diff", "a", "b", *options, "--only", "results", code=1).stdout
    assert "3 unexpected differences; 5 expected differences" in shown


def test_a_part_that_is_expected(base: Project) -> None:
    """A line of provio-diff.toml names it after its file, or the whole file."""
    rules = base.path / "provio-diff.toml"
    rules.write_text('expected = ["a.h5:[nx]*", "free.csv"]\n')
    found = {(row["configuration"], row["key"]): row["expected"] for row in rows(base, "--deep")}
    rules.unlink()
    expected = [("a.h5", "new"), ("a.h5", "x"), ("file", "order.npy"), ("free.csv", "x")]
    assert sorted(key for key, value in found.items() if value) == expected


def test_without_deep(base: Project) -> None:
    """No file is read; a tolerance needs the option."""
    assert {(row["configuration"], row["reason"]) for row in rows(base)} == {("file", "other content")}
    assert "add --deep" in base.provio("diff", "a", "b", "--tolerance", "1", code=2).stderr
    assert "'x=' is no tolerance" in base.provio("diff", "a", "b", "--deep", "--tolerance", "x=", code=2).stderr


def test_files_without_a_hash(project: Project) -> None:
    """They are read if they still are the recorded versions; others are named."""
    project.provio("init")
    for name, text in (("a", "x\\n1\\n"), ("b", "x\\n3\\n")):
        (project.path / name).mkdir()
        command = f"printf '{text}' > one.csv; echo same > same; echo {name} > {name * 2}"
        Project(project.path / name, project.env).provio("run", "--quiet", "--name", name, "--", "sh", "-c", command)
    project.provio("merge", "--quiet")
    (project.path / "b/one.csv").touch()  # its times do not matter, but the record has no hash of it
    note = "! not compared by content, without a SHA-256: 1 file (one.csv)"
    for more in ((), ("--deep",)):
        found = project.provio("diff", "a", "b", "--only", "results", *more, code=1).stdout.splitlines()
        assert [line for line in found if "SHA-256" in line] == [note]


def test_odd_names_and_files_that_cannot_be_read(project: Project) -> None:
    """Names that are not UTF-8, and with a newline, are shown in all forms; a file without permission is named."""
    project.provio("init")
    for name in "ab":
        (project.path / name).mkdir()
        names = "'x\\xe9.csv' 'two\\nlines.csv' closed.csv"
        (project.path / name / "odd.json").write_text(f'{{"\\ud800": "{name}"}}')
        command = f"cp odd.json odd2.json; for one in {names}; do printf 'x\\n{name}\\n' > \"$(printf $one)\"; done"
        Project(project.path / name, project.env).provio(
            "run", "--hash", "--quiet", "--name", name, "--", "bash", "-c", command
        )
    project.provio("merge", "--quiet")
    reasons = {row["configuration"]: row["reason"] for row in rows(project, "--deep")}
    assert sorted(reasons) == ["closed.csv", "odd2.json", "two\nlines.csv", "x\ufffd.csv"]
    assert set(reasons.values()) == {"row 1: another text", "another text"}
    for form in ("text", "json", "csv", "tsv", "html"):
        assert "lines.csv" in project.provio("diff", "a", "b", "--deep", "--as", form, code=1).stdout
    (project.path / "a/closed.csv").chmod(0)
    shown = project.provio("diff", "a", "b", "--deep", code=1).stdout
    assert ("closed.csv cannot be read" in shown) == bool(os.geteuid())


def test_kept_contents(project: Project) -> None:
    """A small result that a later run read, and that was overwritten, is compared by its kept content."""
    project.provio("init")
    project = Project(project.path, {**project.env, "PROVIO_RECORD_KEEP": "1MB"})
    for name in "ab":
        project.provio("run", "--hash", "--quiet", "--name", name, "--", "sh", "-c", f"echo {ord(name)} > one.txt")
        project.provio("run", "--hash", "--quiet", "--", "sh", "-c", "cat one.txt > copy.txt")
        project.provio("merge", "--quiet")
    (row,) = rows(project, "--deep")
    assert (row["key"], row["first"], row["second"]) == ("one.txt", 97, 98)
