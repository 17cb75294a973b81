"""Programs with declarations, in C, C++, Fortran and Java: with each way to compile them, with and without provio."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, Project
from posix_trace import PROGRAMS, Facts, Trace, of_class

INCLUDE = ROOT / "interceptors" / "include"
JNA = Path("/usr/share/java/jna.jar")
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
Needs = Callable[..., None]


def compiled(tmp_path: Path, *command: str | Path, name: str = "program") -> Path:
    subprocess.run([*command, "-o", tmp_path / name], check=True, timeout=120, cwd=tmp_path)
    return tmp_path / name


def written(facts: dict[str, Facts]) -> Counter[tuple[str | None, str]]:
    """The writes of each Task (or none) to each file, by their names."""
    sums: Counter[tuple[str | None, str]] = Counter()
    for access in of_class(facts, "Access").values():
        if int(access.get("writes", 0)):
            path = facts[access["object"]].get("path", "")
            sums[facts.get(access.get("task", ""), {}).get("name"), path.rpartition("/")[2]] += int(access["writes"])
    return sums


# How a program is compiled, and whether its declarations are recorded.
WAYS = {
    "as usual": (["-O0"], True),
    "optimised": (["-O2", "-flto"], True),
    "at a fixed place": (["-O2", "-fno-pie", "-no-pie"], True),
    "at a fixed place, of parts that are not": (["-O2", "-fPIE", "-no-pie"], True),
    "bound at its start": (["-Wl,-z,now", "-fno-plt", "-fvisibility=hidden"], True),
    "static": (["-static"], False),
    "static, at any place": (["-static-pie", "-fPIE"], False),
}


@pytest.mark.integration
@pytest.mark.parametrize("way", WAYS)
def test_a_c_program_however_it_is_linked(trace: Trace, tmp_path: Path, work: Path, way: str) -> None:
    flags, recorded = WAYS[way]
    program = compiled(tmp_path, "cc", "-std=gnu11", *STRICT, *flags, PROGRAMS / "declarations.c")
    alone = subprocess.run([program, "each", work], capture_output=True, timeout=60, check=False)
    assert (alone.returncode, alone.stdout, alone.stderr) == (0, b"", b"")
    assert trace.run(program, "each", work).returncode == 0
    assert len(of_class(trace.facts(), "Metric")) == (3 if recorded else 0)


LIBRARY = """
#include "provio.h"
void say(void) { provio_metric("within", 0, 1, 1); }
"""
USER = """
#include "provio.h"
void say(void);
int main(void) { say(); provio_metric("outside", 0, 1, 2); return provio_task_now() != 0; }
"""


@pytest.mark.integration
def test_a_shared_library_declares_too(trace: Trace, tmp_path: Path) -> None:
    """Program and library each include the header."""
    (tmp_path / "library.c").write_text(LIBRARY)
    (tmp_path / "user.c").write_text(USER)
    flags = ["cc", "-I", INCLUDE, *STRICT]
    library = compiled(tmp_path, *flags, "-fPIC", "-shared", "library.c", name="libsays.so")
    program = compiled(tmp_path, *flags, "user.c", library, f"-Wl,-rpath,{tmp_path}")
    assert subprocess.run([program], timeout=60, check=False).returncode == 0
    assert trace.run(program).returncode == 0
    assert {one["name"]: one["step"] for one in of_class(trace.facts(), "Metric").values()} == {
        "within": "1", "outside": "2",
    }  # fmt: skip


@pytest.mark.integration
def test_a_c_plus_plus_program_and_threads_of_openmp(trace: Trace, tmp_path: Path, work: Path, needs: Needs) -> None:
    """An activity ends with its block. Threads that were created before belong to it when they enter it."""
    needs("g++")
    program = compiled(tmp_path, "g++", "-std=c++17", "-fopenmp", *STRICT, PROGRAMS / "instrumented.cc")
    assert subprocess.run([program, work], timeout=60, check=False).returncode == 0
    assert trace.run(program, work).returncode == 0
    facts = trace.facts()
    assert written(facts) == {
        **{(None, f"before{i}"): 1 for i in range(3)},
        ("all", "left0"): 10, (None, "left1"): 10, (None, "left2"): 10,
        **{("all", f"entered{i}"): 10 for i in range(3)},
        ("inner", "inner"): 1, (None, "after"): 1,
    }  # fmt: skip
    status = {one["name"]: one["status"] for one in of_class(facts, "Task").values()}
    assert status == {"all": "ok", "outer": "error", "inner": "error"}


FORTRAN = [
    ("tolerance", "1.0E-6"), ("relaxation", "5.0E-1"), ("cells", "64"), ("most", str(2**63 - 1)), ("implicit", "true"),
    ("scheme", "upwind"), ("since", "2026-01-31"),
]  # fmt: skip


@pytest.mark.integration
@pytest.mark.parametrize("flags", [[], ["-static"]], ids=["shared", "static"])
def test_a_fortran_program(trace: Trace, tmp_path: Path, work: Path, needs: Needs, flags: list[str]) -> None:
    needs("gfortran")
    sources = [INCLUDE / "provio.f90", PROGRAMS / "solver.f90"]
    program = compiled(tmp_path, "gfortran", "-std=f2018", "-Wall", *flags, *sources)
    alone = subprocess.run([program, work], capture_output=True, timeout=60, check=True)
    assert (alone.stdout, alone.stderr) == (b"alone\n", b"")
    assert trace.run(program, work).stdout == (b"alone\n" if flags else b"heard\n")
    facts = trace.facts()
    assert [(one["name"], one["value"]) for one in of_class(facts, "Setting").values()] == ([] if flags else FORTRAN)
    if flags:
        return
    metrics = [(one["name"], one["value"], one.get("step")) for one in of_class(facts, "Metric").values()]
    assert metrics == [
        ("residual", "2.5E-1", "1"), ("residual", "6.25E-2", "2"), ("residual", "1.5625E-2", "3"),
        ("iterations", "3", None), ("residual", "1.5625E-2", None),
    ]  # fmt: skip
    assert written(facts)["solve", "state.dat"] == 1
    (checkpoint,) = of_class(facts, "Checkpoint").values()
    assert (checkpoint["path"], checkpoint["step"]) == (f"{work}/state.dat", "3")
    assert [one["kind"] for one in of_class(facts, "Configuration").values()] == ["Hyperparameter"]
    assert len(of_class(facts, "UsedSaid", "GeneratedSaid")) == 2


@pytest.mark.slow
def test_a_java_program(trace: Trace, tmp_path: Path, work: Path, needs: Needs) -> None:
    """Two threads, two activities, a file each; without provio, or without JNA, it does the same."""
    needs("javac", "java")
    if not JNA.exists():
        pytest.skip("no JNA: apt-get install libjna-java")
    sources = [INCLUDE / "Provio.java", PROGRAMS / "Train.java"]
    subprocess.run(["javac", "-Xlint:all", "-cp", JNA, "-d", tmp_path, *sources], check=True, timeout=120)
    for classes in (f"{tmp_path}:{JNA}", tmp_path):
        alone = subprocess.run(["java", "-cp", classes, "Train", work], capture_output=True, timeout=120, check=True)
        assert (alone.stdout, alone.stderr) == (b"alone\n", b"")
    done = trace.run("java", "-cp", f"{tmp_path}:{JNA}", "Train", work)
    assert (done.stdout, done.stderr) == (b"heard\n", b"")
    facts = trace.facts()
    counts = written(facts)
    assert {key: count for key, count in counts.items() if key[1].startswith("thread")} == {
        ("thread0", "thread0"): 50, ("thread1", "thread1"): 50,
    }  # fmt: skip
    settings = [
        (facts[one["partOf"]]["name"], one["name"], one["value"]) for one in of_class(facts, "Setting").values()
    ]
    assert [one[1:] for one in settings if one[0] == "args"] == [
        ("lr", "1.0E-3"), ("epochs", "5"), ("shuffled", "true"), ("name\\.of", "gräph\n"),
        ("optimizer.most", "123456789012345678901234567890"),
    ]  # fmt: skip
    assert sorted(one for one in settings if one[0] != "args") == [
        ("thread0", "fold", "3"), ("thread1", "fold", "3"),
    ]  # fmt: skip
    assert sorted(one["name"] for one in of_class(facts, "Metric").values()) == ["accuracy", "loss", "loss"]


@pytest.mark.integration
def test_provio_prints_the_header_folder(project: Project, tmp_path: Path) -> None:
    """A program that includes it from there compiles."""
    folder = Path(project.provio("include").stdout.strip())
    assert {path.name for path in folder.iterdir()} == {"provio.h", "provio.f90", "Provio.java"}
    (tmp_path / "user.c").write_text(USER.replace("say();", ""))
    compiler = shutil.which("cc")
    assert compiler, "no C compiler"
    compiled(tmp_path, compiler, "-I", folder, "user.c")
