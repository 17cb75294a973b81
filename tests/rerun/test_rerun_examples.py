"""A build and a pipeline of science run again in an empty folder: all files are identical by SHA-256."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Project, provio_command
from test_rerun_commands import record, rerun

pytestmark = pytest.mark.integration
EXAMPLE = Path(__file__).parents[2] / "examples/dassa"


@pytest.mark.skipif(not (shutil.which("cc") and shutil.which("make")), reason="needs cc and make")
def test_a_build(project: Project, tmp_path: Path) -> None:
    """Two files compiled and linked by make; with debug information, the files contain the folder, and differ."""
    (project.path / "a.c").write_text("int f(int);\nint main(void) { return f(3); }\n")
    (project.path / "b.c").write_text('#include "f.h"\nint f(int x) { return x - F; }\n')
    (project.path / "f.h").write_text("#define F 3\n")
    rules = "prog: a.o b.o\n\tcc $(WITH) -o $@ a.o b.o\n%.o: %.c\n\tcc $(WITH) -c $<\n"
    (project.path / "Makefile").write_text(rules)
    record(project, ": make -s")
    lines, _ = rerun(project, "prog", "--in", str(tmp_path / "a"))
    assert lines == [f"identical     {name}" for name in ("a.o", "b.o", "prog")] + [
        f"1 command, 3 identical: {tmp_path / 'a'}"
    ]
    subprocess.run([tmp_path / "a/prog"], check=True, timeout=60)
    record(project, "rm a.o b.o prog; : make -s WITH=-g")
    lines, _ = rerun(project, "last", "--in", str(tmp_path / "b"), code=1)
    assert lines[0] == "differs       a.o  (it contains the path of its folder)"


@pytest.mark.slow
def test_the_fibre_example(project: Project, tmp_path: Path) -> None:
    """Four programs with HDF5 make the same four files; the hashes need not be ready before."""
    for program in EXAMPLE.glob("*.py"):
        shutil.copy2(program, project.path)
    project.sh(f"{sys.executable} synthesise.py WestSac.bin --channels 8 --duration 30 > {os.devnull}")
    for call in (
        "tdms2h5.py WestSac.bin WestSac.h5",
        "decimate.py WestSac.h5 decimate.h5 --factor 4",
        "xcorr.py decimate.h5 xcorr.h5 --source-channel 0 --window 10",
        "summarise.py WestSac.h5 xcorr.h5 summary.h5",
    ):
        words = [*provio_command(), "run", "--quiet", "--hash", "--", sys.executable, *call.split()]
        subprocess.run(words, cwd=project.path, env=project.env, check=True, timeout=300, stdout=subprocess.DEVNULL)
    lines, _ = rerun(project, "summary.h5", "--in", str(tmp_path / "new"))
    assert lines == [f"identical     {name}.h5" for name in ("WestSac", "decimate", "summary", "xcorr")] + [
        f"4 commands, 4 identical: {tmp_path / 'new'}"
    ]
