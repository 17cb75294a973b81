"""The benchmarks work: the preload that passes calls on changes nothing, and a part of them runs."""

from __future__ import annotations

import importlib
import runpy
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import cost_page
import pytest
import report
from case import numbered_files
from run import found
from variants import pass_through

ROOT = Path(__file__).resolve().parent.parent.parent


def test_pass_through_is_every_row(tmp_path: Path) -> None:
    """The preload to compare with has just the functions of the C library that provio's preload has."""

    def functions(library: Path) -> set[str]:
        symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
        return {line.split()[2].split("@")[0] for line in symbols.stdout.splitlines() if line.split()[1] == "T"}

    ours = functions(ROOT / "provio" / "libprovio.so")
    assert functions(pass_through(tmp_path)) == {
        name for name in ours if not name.startswith(("provio_", "H5", "MPI_", "PMPI_"))
    }


def test_pass_through_changes_nothing(tmp_path: Path) -> None:
    """With that preload a shell, its pipes, a Python and floating-point numbers have the same output as without."""
    script = "for i in 1 2; do echo $i | cat; done; python3 -c 'import os; print(os.popen(\"echo x\").read(), 1.5)'; "
    script += 'awk \'BEGIN { printf "%.3f %s\\n", 3.14159, "y" }\'; (exit 3)'
    preload = {"LD_PRELOAD": str(pass_through(tmp_path))}
    bare, passed = (
        subprocess.run(["bash", "-c", script], capture_output=True, env={"PATH": "/usr/bin:/bin", **more}, check=False)
        for more in ({}, preload)
    )
    assert (bare.stdout, bare.stderr, bare.returncode) == (passed.stdout, passed.stderr, passed.returncode)
    assert bare.returncode == 3


@pytest.mark.slow
def test_a_part_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A part of the benchmarks prints its rows of the table, and the content of the traces; of 2,000 files here."""
    b3_files = importlib.import_module("cases.b3_files")  # as `run` does
    few = replace(b3_files.CASES[0], prepare=partial(numbered_files, count=2_000))
    monkeypatch.setattr(b3_files, "COUNT", 2_000)
    monkeypatch.setattr(b3_files, "CASES", [few])
    monkeypatch.setattr(importlib.import_module("killed"), "TIMES", 3)
    monkeypatch.setattr(sys, "argv", ["run.py", "--rounds", "1", "--cases", "b3,killed,chain"])
    runpy.run_path(str(ROOT / "bench" / "run.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "| B3: " in printed
    assert printed.count("2,000 openings, 2,000 different right names") == 3
    assert "| lineage through a chain of 200 steps, within the process | " in printed
    assert "| after SIGKILL | 3 kills, " in printed
    for name in [name for name in sys.modules if name == "cases" or name.startswith("cases.")]:
        monkeypatch.delitem(sys.modules, name)


def test_the_page_is_replaced_between_its_marks(tmp_path: Path) -> None:
    """The text before and after the marks of the page stays."""
    page = tmp_path / "cost.md"
    report.write(page, "first")
    page.write_text(page.read_text() + "\nwritten by hand\n")
    report.write(page, "second")
    text = page.read_text()
    assert text.startswith("# The cost of recording\n")
    assert "\n\nsecond\n" in text
    assert "first" not in text
    assert text.endswith("\nwritten by hand\n")


def test_a_part_is_replaced_row_by_row(tmp_path: Path) -> None:
    """New rows replace the old ones, with their subordinate rows; the others stay."""
    page = tmp_path / "cost.md"
    head = "| wall time, times | measured |\n|---|---|\n"
    old = "2026-11-20 · A\n\n2026-11-21 · B\n\n"
    old += f"{head}| a | 2026-11-20 |\n| its processor time | 1 |\n| b | 2026-11-21 |\n"
    report.write(
        page, old + "\n`provio run` itself: 9 ms (2026-11-20).\n\n| instructions, by | n |\n| --- | --- |\n| x | 1 |\n"
    )
    new = f"2026-11-22 · C\n\n{head}| c | 2026-11-22 |\n| b | 2026-11-22 |\n| its processor time | 2 |\n"
    new += "\n| cost of queries | n |\n|---|---|\n| q | 3 |\n\n`provio run` itself: 8 ms (2026-11-22).\n"
    rows = "| a | 2026-11-20 |\n| its processor time | 1 |\n"
    rows += "| b | 2026-11-22 |\n| its processor time | 2 |\n| c | 2026-11-22 |"
    assert report.write(page, new, part=True) == (
        f"2026-11-20 · A\n\n2026-11-22 · C\n\n{head}{rows}\n\n| cost of queries | n |\n|---|---|\n| q | 3 |\n\n"
        "`provio run` itself: 8 ms (2026-11-22).\n\n| instructions, by | n |\n| --- | --- |\n| x | 1 |\n"
    )


def test_the_drawing_shows_the_rows_of_the_page() -> None:
    """Each level's cost of a case is read from its row, as it was written there; a case without a row is not drawn."""
    case = next(case for case in found("CASES") if case.key == "b1")
    costs = "-1.5 | +0.2 (-3.0 to +4.0); bound +15.0: held | +5.0 (+4.0 to +6.0) | +7.0 (+7.0 to +7.0)"
    row = f"| {case.title} | 1 ns | {costs} | x |"
    page = f"| cost of one call | bare |\n|---|---|\n{row}\n"
    (drawn,) = cost_page.costs(page, found("CASES"))
    assert drawn.case.key == "b1"
    shown = {name: (one.low, one.median, one.high) for name, one in drawn.costs.items()}
    low = {"passes through": (-1.5, -1.5, -1.5), "file": (-3.0, 0.2, 4.0)}
    assert shown == {**low, "op": (4.0, 5.0, 6.0), "call": (7.0, 7.0, 7.0)}
