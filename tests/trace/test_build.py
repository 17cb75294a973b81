"""Builds: the inputs of a binary, compared with those of gcc -MD; and programs with the build that made them.

The tests compare the sources and headers (`.c`, `.h`) below the project's folder. `gcc -MD` lists each file that a
compilation read; the list of a binary is the union over the `.d` files of its linked or archived objects. gcc does not
know the inputs of a generated source (a table, a version): these files are compared by name.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import build_tree
import pytest
from conftest import Project, in_memory

tmp_path = in_memory

PROGRAM = """#include "n.h"
#include <stdio.h>
int main(void) { for (int c; (c = getchar()) >= 0;) putchar(c + N); }
"""
GENERATED_FROM = {"VERSION", "data/table.csv"}


@pytest.fixture
def tree(project: Project, needs: Callable[..., None]) -> Project:
    """A C project to build."""
    needs("make", "gcc", "ar")
    build_tree.write(project.path)
    return project


def sources(names: set[str]) -> set[str]:
    """Return the sources and headers of the project."""
    return {name for name in names if name.endswith((".c", ".h")) and not name.startswith("..")}


def inputs_by_gcc(folder: Path, *but: str) -> set[str]:
    """Return the project's files that the `.d` files below a folder list, independent of make's working directory."""
    names = {name for file in folder.rglob("*.d") if file.name not in but for name in build_tree.dependencies(file)}
    places = [folder, *folder.glob("src/*")]
    found = {next((at / name for at in places if (at / name).exists()), Path(name)) for name in names}
    return sources({os.path.relpath(path, folder) for path in found})


def check(tree: Project) -> None:
    """Check that the binary comes from the files that gcc read for it, and the inputs of generated ones."""
    found = tree.ancestors("app")
    told = inputs_by_gcc(tree.path, "tool.d")
    assert len(told) > 60
    assert sources(found["data"]) == told
    assert found["carried"] == set()
    rest = {name for name in found["data"] if not name.endswith((".c", ".h", ".o", ".a", ".s", ".so", ".so.2"))}
    assert rest - {"app"} == GENERATED_FROM
    common = {"include/common/unused.h", "include/common/types.h"}
    assert sources(tree.data("tool/tool")) == {"tool/tool.c", "tool/tool.h", *common}


@pytest.mark.slow
def test_a_binary_comes_from_the_files_that_gcc_read(tree: Project) -> None:
    """One make with four jobs: sources and headers are the union of gcc -MD's lists, before and after a header
    changed."""
    tree.watch("make", "-s", "-j4")
    check(tree)
    assert sources(tree.ancestors("app")["control"]) == set()
    assert tree.lineage("app", "--via", "control")["gaps"] == []
    header = tree.path / "include/util/util1.h"
    before = tree.lineage("include/util/util1.h")["target"]
    header.write_text(header.read_text() + "/* changed */\n")
    tree.watch("make", "-s", "-j4")
    check(tree)
    document = tree.lineage("app")
    versions = [node["iri"] for node in document["nodes"] if node.get("path") == str(header)]
    assert versions == [tree.lineage("include/util/util1.h")["target"]] != [before]
    assert [gap["about"] for gap in document["gaps"]] == versions  # the change was not recorded


@pytest.mark.slow
def test_a_recursive_build(tree: Project) -> None:
    """A make for each folder, the jobs shared by a pipe of tokens: the same sources; the tokens connect nothing."""
    tree.watch("make", "-s", "-f", "recursive.mk", "-j4")
    check(tree)
    assert {node["type"] for node in tree.lineage("app", "--via", "control")["nodes"]} == {
        "FileVersion", "Phase", "Program"
    }  # fmt: skip
    control = tree.ancestors("app")["control"]
    assert {name for name in control if not name.startswith("..")} == {"rules.mk"}


@pytest.mark.integration
def test_jobs_shared_by_a_fifo(tree: Project) -> None:
    """make 4.4 shares jobs by a FIFO: that connects nothing either."""
    version = re.search(r"[0-9]+\.[0-9]+", subprocess.run(["make", "--version"], capture_output=True, text=True).stdout)
    if version is None or tuple(map(int, version[0].split("."))) < (4, 4):
        pytest.skip("make is older than 4.4, which shares jobs by a FIFO")
    tree.watch("make", "-s", "-f", "recursive.mk", "-j4", "--jobserver-style=fifo")
    check(tree)
    assert "Pipe" not in {node["type"] for node in tree.lineage("app", "--via", "control")["nodes"]}


@pytest.mark.slow
def test_a_build_by_cmake_and_ninja(tree: Project, needs: Callable[..., None]) -> None:
    """Ninja compiles with -MD and deletes the lists once it has read them: its own copy is compared."""
    needs("cmake", "ninja")
    tree.watch("cmake", "-G", "Ninja", "-S", ".", "-B", "made")
    tree.watch("ninja", "-C", "made")
    told: set[str] = set()
    kept = tree.sh("ninja -C made -t deps")
    for block in kept.split("\n\n"):
        target, _, names = block.partition("\n")
        if "tool.dir" not in target:
            told |= {os.path.relpath(tree.path / "made" / name, tree.path) for name in names.split()}
    assert len(sources(told)) > 60
    assert sources(tree.ancestors("made/app")["data"]) == sources(told)


@pytest.mark.integration
def test_a_program_and_its_build(project: Project, needs: Callable[..., None]) -> None:
    """The output of a program comes from its data; with --code also from the program and the sources of its build."""
    needs("gcc")
    (project.path / "prog.c").write_text(PROGRAM)
    project.sh("echo '#define N 2' > n.h; echo 1 > data; echo 'gcc -o prog prog.c' > build.sh")
    project.run("bash build.sh")
    project.run("./prog < data > out")
    assert project.ancestors("out") == {"data": {"data"}, "carried": set(), "control": set()}
    document = project.lineage("out", "--code")
    via = {os.path.relpath(n["path"], project.path): n["via"] for n in document["nodes"] if n["type"] == "FileVersion"}
    mine = {name: how for name, how in via.items() if not name.startswith("..")}
    assert mine == {"out": "data", "data": "data"} | dict.fromkeys(("prog", "prog.c", "n.h", "build.sh"), "code")
    ran = {edge["object"] for edge in document["edges"] if edge["predicate"].endswith("ns#ran")}
    labels = {node["label"] for node in document["nodes"] if node["iri"] in ran}
    assert labels == {"prog", "build.sh"}
    into = project.lineage("prog.c", "--forward", "--code")
    assert "out" in {node["label"] for node in into["nodes"]}
    assert "out" not in {node["label"] for node in project.lineage("prog.c", "--forward")["nodes"]}


@pytest.mark.integration
def test_the_program_is_the_version_that_ran(project: Project, needs: Callable[..., None]) -> None:
    """A program is rebuilt between two executions in one run: each output has its own version of the program."""
    needs("gcc")
    for number in (1, 2):
        text = f'#include <stdio.h>\nint main(void) {{ FILE *f = fopen("out{number}", "w"); fputs("{number}", f); }}\n'
        (project.path / f"v{number}.c").write_text(text)
    project.run("gcc -o prog v1.c; ./prog; gcc -o prog v2.c; ./prog")
    for number in (1, 2):
        names = {n["label"] for n in project.lineage(f"out{number}", "--code")["nodes"] if n["type"] == "FileVersion"}
        assert {name for name in names if name.endswith(".c")} == {f"v{number}.c"}


@pytest.mark.slow
def test_files_that_a_recorded_run_installed_are_no_noise(project: Project, needs: Callable[..., None]) -> None:
    """A file that a run wrote is no installed software, even below such a root: as a program and as an input."""
    needs("gcc")
    root = project.path.parent / "software"
    project.env["EBROOTOURS"] = str(root)
    (project.path / "prog.c").write_text("#include <stdio.h>\nint main(void) { return putchar(49) == 0; }\n")
    project.sh("echo 1 > a; echo 2 > b")
    project.sh(f"mkdir -p {root}; echo 3 > {root}/theirs")
    project.run(f"gcc -o {root}/prog prog.c; cp a {root}/table")
    project.run("cd ../soft*; for f in theirs table ../project/b; do cat < $f; done > ../project/x; ./prog")
    assert project.data("x") == {"a", "b", "../software/table", "x"}
    project.run("../soft*/prog > y")
    names = {node["label"] for node in project.lineage("y", "--code")["nodes"]}
    assert {"prog", "prog.c"} <= names
