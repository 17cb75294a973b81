"""`provio diff` and `provio repro` hide no difference: no rule, no token and no name of a file covers another one."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from conftest import Project

from provio.compare.expected import Expected


def record(project: Project, name: str, *command: str, code: int = 0, **variables: str) -> None:
    """Record a run with hashes."""
    words = ("run", "--hash", "--quiet", "--name", name, "--", *command)
    project.provio(*words, code=code, env={**project.env, "PYTHONDONTWRITEBYTECODE": "1", **variables})
    project.provio("merge", "--quiet")


def unexpected(project: Project, *arguments: str) -> set[tuple[str, str]]:
    """Return the kinds and keys of the unexpected differences."""
    found: list[dict[str, Any]] = json.loads(project.provio("diff", *arguments, "--json", code=None).stdout)
    return {(row["kind"], row["key"]) for row in found if not row["expected"]}


def compile_c(project: Project, *words: str) -> None:
    """Compile without a record."""
    subprocess.run(["gcc", *words], cwd=project.path, check=True, timeout=100)


def test_rules_of_kinds_and_of_temporary_paths() -> None:
    """A kind is no path, the project's folder is not temporary, a command line is no path."""
    rules = Expected(["files"], "/tmp/project")
    assert not rules.matches("results", "time") and not rules.matches("results", "out/time")
    assert not rules.matches("parameters", "time") and not rules.matches("results", "files")
    assert rules.matches("time", "duration") and rules.matches("files", "x")
    assert rules.matches("results", "/tmp/x") and not rules.matches("results", "/tmp/project/x")
    assert not rules.matches("code", "/tmp/x.py", temporary=False)
    assert rules.are_paths("/tmp/a", "/tmp/b") and not rules.are_paths("/tmp/a --rate 1", "/tmp/a --rate 2")


@pytest.mark.integration
def test_files_of_the_project_beside_the_folder_of_the_run(project: Project) -> None:
    """The folder of the project is below /tmp here: its script and its result are no temporary files."""
    for name in "ab":
        (project.path / name).mkdir()
        (project.path / "s.sh").write_text(f"echo {name} > ../made.txt; echo 1 > time\n")
        record(project, name, "sh", "-c", f"cd {name} && exec sh ../s.sh")
    found = unexpected(project, "a", "b")
    assert {("results", "made.txt"), ("code", "s.sh")} <= found
    for name in "cd":
        (project.path / "s.sh").write_text(f"echo {name} > ../made.txt\n")
        inner = Project(project.path / name, project.env)
        inner.path.mkdir()
        record(inner, name, "sh", "../s.sh")
    found = unexpected(project, "c", "d")
    assert {key.rpartition("/")[2] for _, key in found} == {"made.txt", "s.sh"}
    assert "made.txt" in project.provio("repro", "c", "d", "--only", "results", code=1).stdout


@pytest.mark.integration
def test_other_ends_of_equal_programs(project: Project) -> None:
    """An exit code and a signal, of the command and of a program that it started; the program is named first."""
    (project.path / "k.py").write_text("import os\nopen('o', 'w').write('1')\nexec(os.environ['END'])\n")
    (project.path / "job.sh").write_text("python3 k.py\n")
    ends = {"zero": "", "four": "os._exit(4)", "killed": "os.kill(os.getpid(), 9)"}
    for name, end in ends.items():
        record(project, name, "sh", "job.sh", code={"four": 4, "killed": 137}.get(name, 0), END=end)
    assert unexpected(project, "zero", "four") == {("results", "exit code")}
    assert "k.py  exit code  0 → signal 9" in project.provio("diff", "zero", "killed", code=1).stdout
    shown = project.provio("diff", "zero", "four", "--first", code=1).stdout
    assert shown.startswith("first divergence: k.py") and "results differ: exit code" in shown and "also" not in shown
    assert "exit code" in project.provio("repro", "zero", "four", "killed", "--only", "results", code=1).stdout


@pytest.mark.integration
def test_the_command_of_a_run_without_files(project: Project) -> None:
    """Its words are compared as they were typed, also those that look like ports and tokens."""
    for name, number in (("a", "4"), ("b", "5")):
        record(project, name, "true", "--at", f"node:{number}0000", "--commit", number * 40)
    assert unexpected(project, "a", "b") == {("parameters", "--at"), ("parameters", "--commit")}


@pytest.mark.integration
def test_code_in_another_folder_and_of_one_run_only(project: Project) -> None:
    """A script and a module with the same names elsewhere, a module that only one run imports."""
    for number in "12":
        folder = project.path / f"v{number}"
        folder.mkdir()
        (folder / "m.py").write_text(f"X = {number}\n")
        (folder / "s.sh").write_text(f"echo {number} > out\n")
    (project.path / "t.py").write_text("import os, m\nif m.X > 1: import more\nopen('out', 'w').write(str(m.X))\n")
    (project.path / "v2" / "more.py").write_text("Y = 1\n")
    for number in "12":
        record(project, f"s{number}", "sh", f"v{number}/s.sh")
        record(project, f"t{number}", "python3", "t.py", PYTHONPATH=f"v{number}")
    assert ("code", "v1/s.sh") in unexpected(project, "s1", "s2")
    assert {("code", "v1/m.py"), ("code", "v2/more.py")} <= unexpected(project, "t1", "t2")
    shown = project.provio("diff", "t1", "t2", "--first", code=1).stdout
    assert "code: v1/m.py" in shown and "code: v2/more.py" in shown


@pytest.mark.integration
def test_a_compiled_module_is_not_compared(project: Project) -> None:
    for name in "ab":
        folder = project.path / name
        folder.mkdir()
        (folder / "m.py").write_text("X = 1\n")
        (folder / "t.py").write_text("import m\nopen('out', 'w').write(str(m.X))\n")
    project.watch("python3", "-m", "compileall", "-q", "b")
    for name in "ab":
        record(Project(project.path / name, project.env), name, "python3", "t.py")
    assert unexpected(project, "a", "b") == set()
    assert "identical" not in project.provio("diff", "a", "b").stdout


@pytest.mark.integration
def test_names_that_are_hashes_do_not_cover_each_other(project: Project) -> None:
    """Several files of one run with names of 32 hexadecimal digits are several results."""
    (project.path / "job.sh").write_text(
        "for i in 1 2 3; do name=$(echo $i | md5sum | cut -c1-32); "
        "echo $i > $name; [ $i != 2 ] || cat in > $name; done; mktemp -p . > /dev/null\n"
    )
    for name in "ab":
        (project.path / "in").write_text(name)
        record(project, name, "sh", "job.sh")
    assert {kind for kind, _ in unexpected(project, "a", "b")} == {"inputs", "results"}
    shown = project.provio("repro", "a", "b", "--only", "results", code=1).stdout
    assert shown.count("identical") == 2 and shown.count("differs") == 1


@pytest.mark.integration
def test_a_kind_that_is_not_compared_cannot_fail(project: Project) -> None:
    project.run("echo 1 > made.txt")
    done = project.provio("diff", "last", "last", "--only", "code", "--fail-on", "results", code=2)
    assert "--fail-on results is not compared" in done.stderr


@pytest.mark.integration
def test_an_argument_that_is_left_out(project: Project) -> None:
    """In either run."""
    record(project, "a", "cat", "-u", "/dev/null")
    record(project, "b", "cat", "/dev/null")
    expected = {("parameters", "-u"), ("parameters", "argument 1")}
    assert unexpected(project, "a", "b") == expected and unexpected(project, "b", "a") == expected


@pytest.mark.integration
def test_parallel_compilations(project: Project) -> None:
    """Names that the compiler chose are no differences; with another option, each call corresponds to its own."""
    make = "CFLAGS=-O2\nprog: a.o b.o c.o\n\tgcc $^ -o $@\n%.o: %.c h.h\n\tgcc $(CFLAGS) -c $< -o $@\n"
    for name in ("one", "two", "other"):
        folder = project.path / name
        folder.mkdir()
        for unit in "abc":
            main = "int main(void) { return 0; }\n" if unit == "a" else ""
            (folder / f"{unit}.c").write_text(f'#include "h.h"\n{main}int {unit}(void) {{ return K; }}\n')
        (folder / "h.h").write_text("#define K 1\n")
        (folder / "Makefile").write_text(make.replace("2", "0") if name == "other" else make)
        record(Project(folder, project.env), name, "make", "-s", "-j3")
    assert unexpected(project, "one", "two") == set()
    assert project.provio("diff", "one", "two").stdout.startswith("identical")
    found = unexpected(project, "one", "other")
    assert {key for kind, key in found if kind in ("parameters", "graph")} == {"-O0", "-O2"}


@pytest.mark.integration
def test_a_library_of_no_package(project: Project) -> None:
    """Found elsewhere, and compiled again: without the old file, it is stated that it was not compared."""
    for number in "12":
        (project.path / f"v{number}").mkdir()
        (project.path / f"v{number}" / "f.c").write_text(f"int f(void) {{ return {number}; }}\n")
        compile_c(project, "-shared", "-fPIC", "-o", f"v{number}/libf.so", f"v{number}/f.c")
    (project.path / "main.c").write_text(
        "int f(void);\n#include <stdio.h>\n"
        'int main(void) { FILE *out = fopen("out", "w"); fprintf(out, "%d", f()); return fclose(out); }\n'
    )
    compile_c(project, "main.c", "-o", "main", "-Lv1", "-lf")
    for number in "12":
        record(project, f"m{number}", "./main", LD_LIBRARY_PATH=f"v{number}", PROVIO_RECORD_PACKAGES="true")
    assert "v1/libf.so" in {key for _, key in unexpected(project, "m1", "m2")}
    assert "libf.so" in project.provio("diff", "m1", "m2", "--first", code=1).stdout
    (project.path / "v1" / "libf.so").write_bytes((project.path / "v2" / "libf.so").read_bytes())
    record(project, "m3", "./main", LD_LIBRARY_PATH="v1", PROVIO_RECORD_PACKAGES="true")
    shown = project.provio("diff", "m1", "m3", "--first", code=1).stdout
    assert "v1/libf.so" in shown


def test_the_size_of_a_job_is_no_id() -> None:
    rules = Expected()
    assert rules.matches("environment", "SLURM_JOB_ID", variable=True)
    for name in (
        "SLURM_NTASKS",
        "SLURM_NTASKS_PER_NODE",
        "SLURM_CPUS_PER_TASK",
        "OMPI_COMM_WORLD_SIZE",
        "SLURM_NNODES",
    ):
        assert not rules.matches("environment", name, variable=True)
    assert Expected(["$SLURM_NTASKS"]).matches("environment", "SLURM_NTASKS", variable=True)


@pytest.mark.integration
def test_a_file_to_which_a_run_appends_is_an_input(project: Project) -> None:
    (project.path / "job.sh").write_text("echo 1 >> log.txt\n")
    for name in "ab":
        record(project, name, "sh", "job.sh")
    assert {("inputs", "log.txt"), ("results", "log.txt")} <= unexpected(project, "a", "b")
    shown = project.provio("diff", "a", "b", "--first", code=1).stdout
    assert shown.startswith("first divergence: the input log.txt")
