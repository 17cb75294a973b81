"""`provio status`: recorded projects that were changed since; the whole answer."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from conftest import Project, new_project, provio_command

import provio
from provio.ask.status import Row, Status
from provio.render.status import MOST, Taken, render

PLOT = """import sys
text = [open(name).read() for name in sys.argv[2:]]
open(sys.argv[1], "w").write("".join(text))
"""
TAKEN = Taken(31_000_000, 0)
NOW = datetime(2026, 11, 23, 2, 40, tzinfo=UTC)


def status(project: Project, *arguments: str | bytes, code: int = 0) -> list[str]:
    """The lines of the answer, with words for times, ids and sizes."""
    text = project.provio("status", *arguments, code=code).stdout
    text = re.sub(r"\d+ (s|min) ago", "AGO", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "TIME", text)
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}", "RUN", text)
    text = re.sub(r"[\d.]+ [kM]?B,", "SIZE,", text)
    return [re.sub(" {3,}", "   ", line) for line in text.splitlines()]


@pytest.fixture
def figure(project: Project) -> Project:
    """Two tables, a sum of each, and a figure of both; three runs, with hashes."""
    (project.path / "plot.py").write_text(PLOT, encoding="utf-8")
    project.sh("mkdir raw; echo 1 > raw/S1.csv; echo 2 > raw/S2.csv")
    for number in "12":
        project.hashed("bash", "-c", f"read x < raw/S{number}.csv; echo sum $x > mid{number}.txt")
    project.hashed(sys.executable, "plot.py", "fig1.png", "mid1.txt", "mid2.txt")
    return project


@pytest.mark.integration
def test_nothing_has_changed(figure: Project) -> None:
    """All files are current: one line counts them; `--quiet` prints nothing."""
    assert status(figure) == ["current   5 files", "record   3 runs, SIZE, 0 pending"]
    assert figure.provio("status", "--quiet").stdout == ""


@pytest.mark.integration
def test_a_program_and_an_input_were_edited(figure: Project) -> None:
    """The figure is stale because of its program, the sum because of its table; after a repetition all is current."""
    figure.sh("echo '#' >> plot.py; echo 3 >> raw/S1.csv")
    assert status(figure, code=1) == [
        "stale   fig1.png   plot.py (the program) changed AGO",
        "stale   mid1.txt   raw/S1.csv changed AGO",
        "changed   raw/S1.csv   edited outside provio, TIME",
        "current   2 files",
        "record   3 runs, SIZE, 0 pending",
    ]
    assert figure.provio("status", "-q", code=1).stdout == ""
    figure.watch("bash", "-c", "read x < raw/S1.csv; echo sum $x > mid1.txt")
    figure.watch(sys.executable, "plot.py", "fig1.png", "mid1.txt", "mid2.txt")
    assert status(figure) == ["current   5 files", "record   5 runs, SIZE, 0 pending"]


@pytest.mark.integration
def test_the_root_is_the_reason(figure: Project) -> None:
    """A figure of a stale sum names the table; an answer about one file does, too."""
    figure.sh("echo 33 > raw/S2.csv")
    stale = ["stale   fig1.png   raw/S2.csv changed AGO", "stale   mid2.txt   raw/S2.csv changed AGO"]
    changed = "changed   raw/S2.csv   edited outside provio, TIME"
    record = "record   3 runs, SIZE, 0 pending"
    assert status(figure, code=1) == [*stale, changed, "current   2 files", record]
    assert status(figure, "fig1.png", code=1) == [stale[0], record]
    assert status(figure, "raw", code=1) == [changed, "current   1 file", record]
    assert status(figure, "mid1.txt") == ["current   mid1.txt   made by run RUN", record]
    assert status(figure, "plot.py", "raw/S1.csv") == ["current   plot.py", "current   raw/S1.csv", record]


@pytest.mark.integration
def test_a_script_that_starts_the_makers(project: Project) -> None:
    """A script is a reason for the files that its programs made, and for their products, as in `lineage --stale`."""
    project.sh("echo 1 > in; echo 'cat list > seen; cp in out' > make.sh; echo a > list")
    project.hashed("sh", "make.sh")
    project.hashed("cp", "out", "last")
    assert status(project) == ["current   5 files", "record   2 runs, SIZE, 0 pending"]
    project.sh("echo '#' >> make.sh")
    assert status(project, code=1) == [
        "stale   last   make.sh (the program) changed AGO",
        "stale   out   make.sh (the program) changed AGO",
        "stale   seen   make.sh (the program) changed AGO",
        "current   2 files",
        "record   2 runs, SIZE, 0 pending",
    ]
    assert project.provio("lineage", "last", "--stale").stdout.count("make.sh (the program) changed") == 1


@pytest.mark.integration
def test_times_are_no_change(figure: Project) -> None:
    """Of an output with a hash, `touch` and an identical copy change nothing; a change of a byte is found, and so is
    one of a source of such an output."""
    figure.sh("touch mid1.txt; cp mid2.txt x; mv x mid2.txt")
    assert status(figure) == ["current   5 files", "record   3 runs, SIZE, 0 pending"]
    figure.sh("echo 33 > raw/S2.csv")
    assert status(figure, "mid2.txt", code=1)[0] == "stale   mid2.txt   raw/S2.csv changed AGO"
    figure.sh("echo 2 > raw/S2.csv; echo Sum 1 > mid1.txt")
    assert status(figure, code=1) == [
        "stale   fig1.png   mid1.txt changed AGO",
        "changed   mid1.txt   edited outside provio, TIME",
        "current   3 files",
        "record   3 runs, SIZE, 0 pending",
    ]


@pytest.mark.integration
def test_without_a_hash_the_content_was_not_compared(project: Project) -> None:
    """A touched input without a hash is neither current nor changed; its product counts as stale."""
    project.sh("echo 1 > in")
    project.provio("run", "--quiet", "--", "cp", "in", "out", env=project.env | {"PROVIO_HASH": "off"})
    project.sh("touch in")
    assert status(project, code=1) == [
        "stale   out   in (not compared by content) changed AGO",
        "unsure   in   not compared by content: no SHA-256 is recorded",
        "record   1 run, SIZE, 0 pending",
    ]


@pytest.mark.integration
def test_commands_that_failed(project: Project) -> None:
    """A file of a failed run is named until the same command succeeds; so is a failed command without files."""
    script = "echo x > half.txt; test -e ready"
    project.provio("run", "--quiet", "--name", "slow", "--", "bash", "-c", script, code=1)
    project.watch("bash", "-c", "exit 3", code=3)
    assert status(project, code=1) == [
        "failed   half.txt   run slow (exit 1)",
        "failed   bash -c 'exit 3'   run RUN (exit 3), AGO",
        "record   2 runs, SIZE, 0 pending",
    ]
    project.sh("touch ready")
    project.watch("bash", "-c", script)
    project.provio("rm", "--yes", json.loads(project.provio("runs", "--as", "json").stdout)[1]["run"])
    assert status(project) == ["current   1 file", "record   2 runs, SIZE, 0 pending"]
    project.watch("nosuchcommand", code=127)
    assert status(project, code=1)[0] == "failed   nosuchcommand   run RUN (exit 127), AGO"


@pytest.mark.integration
def test_a_failed_command_with_a_log(project: Project) -> None:
    """A file to which its standard error was redirected is no product, in the project or elsewhere."""
    for log, quiet in (("run.log", []), ("../elsewhere.log", ["--quiet"])):
        command = [*provio_command(), "run", *quiet, "--name", log, "--", "bash", "-c", "echo no >&2; exit 3"]
        with (project.path / log).open("w") as file:
            subprocess.run(command, cwd=project.path, env=project.env, stderr=file, check=False, timeout=60)
        found = [line for line in status(project, code=1) if line.startswith("failed")]
        assert found == [f"failed   bash -c 'echo no >&2; exit 3'   run {log} (exit 3), AGO"]


@pytest.mark.integration
def test_files_of_version_control(project: Project) -> None:
    """Files that git keeps for itself are neither listed nor reasons; the files that it checks out are."""
    git = "git -c user.name=a -c user.email=a@b -c init.defaultBranch=main"
    project.sh(f"{git} init -q; echo one > text; {git} add text; {git} commit -qm one; {git} checkout -qb other")
    project.sh(f"echo two, long > text; {git} commit -qam two")
    project.watch("bash", "-c", "sort text > sorted")
    project.watch("git", "checkout", "-q", "main")
    assert status(project, code=1) == [
        "stale   sorted   text changed AGO",
        "current   1 file",
        "record   2 runs, SIZE, 0 pending",
    ]


@pytest.mark.integration
def test_a_module_is_only_a_reason(project: Project) -> None:
    """A module that was edited is named as the reason, and not as a file that was edited."""
    (project.path / "style.py").write_text("word = 1\n", encoding="utf-8")
    (project.path / "use.py").write_text("import style; open('out', 'w').write(str(style.word))\n", encoding="utf-8")
    project.watch(sys.executable, "use.py")
    (project.path / "style.py").write_text("word = 1234\n", encoding="utf-8")
    assert status(project, code=1) == [
        "stale   out   style.py (a module) changed AGO",
        "record   1 run, SIZE, 0 pending",
    ]


ENGINE = """import os, subprocess, sys
for sample in "AB":
    code = open(f"raw/{sample}").read() and open("count.py").read()
    copy = os.path.abspath(f".snakemake/scripts/tmp{sample}_1.count.py")
    with open(copy, "w") as out:
        out.write(code)
    subprocess.run([sys.executable, copy, f"raw/{sample}", f"out/{sample}"], check=True)
    os.remove(copy)
"""


@pytest.mark.integration
def test_scripts_that_an_engine_copies(project: Project) -> None:
    """A job of Snakemake is stale because of its data and of its script, not because of the data of other jobs, which
    the engine read before it wrote the copy of the script."""
    project.sh("mkdir -p raw out .snakemake/scripts; echo 1 > raw/A; echo 2 > raw/B")
    (project.path / "engine.py").write_text(ENGINE, encoding="utf-8")
    (project.path / "count.py").write_text("import sys\nopen(sys.argv[2], 'w').write(open(sys.argv[1]).read() * 2)\n")
    project.hashed(sys.executable, "engine.py")
    project.hashed("sh", "-c", "cat out/A out/B > joined")
    project.sh("echo 11 > raw/A")
    assert status(project, "out", code=1)[:2] == ["stale   out/A   raw/A changed AGO", "current   1 file"]
    branches = [line for line in project.provio("lineage", "joined", "--stale").stdout.splitlines() if "─ " in line]
    assert [line.partition("─ ")[2].split()[0] for line in branches] == ["out/A", "raw/A"]
    lines = project.provio("lineage", "out/B", "--stale").stdout.splitlines()
    assert lines[1] == "  nothing is stale: every file that it was made from is as it was"
    project.sh("echo 1 > raw/A; echo '#' >> count.py")
    assert status(project, "out", code=1)[:2] == [
        "stale   out/A   count.py (a module) changed AGO",
        "stale   out/B   count.py (a module) changed AGO",
    ]


@pytest.mark.integration
def test_removed_and_renamed_files(figure: Project) -> None:
    """A file that was removed is missing, unless a recorded program removed it; a renamed one is known."""
    figure.sh("rm mid1.txt; mv fig1.png old.png")
    figure.watch("rm", "mid2.txt")
    record = "record   4 runs, SIZE, 0 pending"
    assert status(figure) == ["missing   mid1.txt   removed outside provio", "current   3 files", record]
    assert status(figure, "old.png") == ["current   old.png   made by run RUN", record]
    assert status(figure, "mid1.txt", code=1) == ["missing   mid1.txt   removed outside provio", record]


@pytest.mark.integration
def test_files_that_are_not_recorded(figure: Project) -> None:
    """Exit code 3 if nothing is known of any of the files, and none of a folder; otherwise a row for each."""
    figure.sh("echo > new; mkdir empty")
    advice = "record its use (provio run -- COMMAND)"
    new = f"unknown   new   nothing is recorded of it: {advice}"
    record = "record   3 runs, SIZE, 0 pending"
    assert status(figure, "new", code=3) == [new, record]
    assert status(figure, "new", "mid1.txt") == [new, "current   mid1.txt   made by run RUN", record]
    assert status(figure, "empty", code=3) == [record]


@pytest.mark.integration
def test_many_runs_of_one_file(project: Project) -> None:
    """Only the present versions count. A log keeps lines that were made from earlier versions."""
    project.sh("echo 1 > in")
    for number in ("1", "22", "333"):
        project.sh(f"echo {number} > in")
        project.watch("bash", "-c", "read x < in; echo $x > out; echo $x >> log")
    record = "record   3 runs, SIZE, 0 pending"
    assert status(project, code=1) == ["stale   log   in changed AGO", "current   2 files", record]
    project.sh("echo 4444 > in")
    assert status(project, code=1)[:2] == ["stale   log   in changed AGO", "stale   out   in changed AGO"]


@pytest.mark.integration
def test_links_and_unusual_names(project: Project) -> None:
    """A symbolic link is the file that it leads to; names may have newlines or not be UTF-8."""
    project.sh("printf 1 > $'a\\nb'; printf 2 > $'\\xff'; ln -s $'a\\nb' link")
    project.watch("bash", "-c", "cat link $'\\xff' > out")
    record = "record   1 run, SIZE, 0 pending"
    assert status(project, "link") == ["current   link", record]
    project.sh("printf 11 > $'a\\nb'; printf 22 > $'\\xff'")
    assert status(project, code=1) == [
        "stale   out   a\\nb changed AGO",
        "changed   a\\nb   edited outside provio, TIME",
        "changed   \ufffd   edited outside provio, TIME",
        record,
    ]
    rows = json.loads(project.provio("status", "--as", "json", b"\xff", code=1).stdout)["files"]
    assert [(os.path.basename(row["path"]), row["pathEncoded"][-3:]) for row in rows] == [("\ufffd", "%FF")]


@pytest.mark.integration
def test_forms_for_programs(figure: Project) -> None:
    """JSON has all rows, the counts and the record; CSV and TSV the rows; Python the rows by their columns."""
    figure.sh("echo 3 >> raw/S1.csv; rm mid2.txt")
    answer = json.loads(figure.provio("status", "--as", "json", code=1).stdout)
    runs = [row["run"] for row in json.loads(figure.provio("runs", "--as", "json").stdout)]
    found = [
        (row["state"], os.path.relpath(row["path"], figure.path), row["reason"], row["run"]) for row in answer["files"]
    ]
    assert found == [
        ("stale", "fig1.png", "raw/S1.csv changed", runs[2]),
        ("stale", "mid1.txt", "raw/S1.csv changed", runs[0]),
        ("changed", "raw/S1.csv", "edited outside provio", None),
        ("missing", "mid2.txt", "removed outside provio", runs[1]),
        ("current", "raw/S2.csv", None, None),
    ]
    assert answer["counts"] == {"stale": 2, "changed": 1, "missing": 1, "current": 1}
    record = answer["record"]
    assert (answer["gaps"], record["runs"], record["pending"], record["inProgress"]) == ([], 3, 0, 0)
    csv = figure.provio("status", "--as", "csv", code=1).stdout.splitlines()
    assert csv[0] == "state,path,reason,run,time,command"
    assert [line.split(",")[0] for line in csv[1:]] == [row["state"] for row in answer["files"]]
    assert len(figure.provio("status", "--as", "tsv", code=1).stdout.splitlines()) == 6
    with provio.open(figure.path) as store:
        rows = store.status()
    assert rows.columns == ("state", "path", "reason", "run", "time", "command")
    assert [(row.state, row.path) for row in rows] == [(row["state"], row["path"]) for row in answer["files"]]


@pytest.mark.integration
def test_a_run_in_progress(project: Project) -> None:
    """The answer includes a file that a run in progress has closed."""
    project.watch("bash", "-c", f"echo 1 > out; {provio_command()[-1]} status > answer")
    assert "1 in progress" in (project.path / "answer").read_text(encoding="utf-8")


def rows(count: int, state: str, folder: str, reason: str = "") -> list[Row]:
    return [Row(state, f"/p/{folder}/{number:03}".encode(), reason) for number in range(count)]


def text(found: list[Row], gaps: list[str] | None = None, **options: object) -> list[str]:
    whole = Status(found, gaps or [], ["a" * 36, "b" * 36], 0)
    return render(whole, TAKEN, folder="/p", now=NOW, **options).splitlines()  # type: ignore[arg-type]


def test_the_form() -> None:
    """The columns, the times, and a run with a gap."""
    found = [
        Row("stale", b"/p/fig1.png", "plot.py (the program) changed", "", "2026-11-23T00:36:00Z"),
        Row("changed", b"/p/raw/S1.csv", "edited outside provio", "", "2026-11-23T00:36:00Z"),
        Row("failed", b"/p/half.txt", "run slow (exit 3)", "", "2026-11-23T00:36:00Z"),
    ]
    assert text(found, ["b" * 36]) == [
        "stale     fig1.png       plot.py (the program) changed 2 h ago",
        "changed   raw/S1.csv     edited outside provio, 2026-11-23 00:36 UTC",
        "failed    half.txt       run slow (exit 3)",
        "gaps      1 run          provio show last",
        "record    2 runs, 31.0 MB, 0 pending",
    ]
    assert text([], ["a" * 36, "b" * 36])[0] == "gaps      2 runs         provio query gaps"
    assert text([], ["a" * 36])[0] == "gaps      1 run          provio show aaaaaaaaaaaaa"


def test_many_files_share_a_line() -> None:
    """Many files of a folder are one line with the reason of the first; a few files keep their lines."""
    found = [*rows(250, "stale", "mid", "a changed"), *rows(3, "changed", "raw", "edited"), *rows(9, "current", "x")]
    found[7] = found[7]._replace(reason="b changed")
    assert text(found) == [
        "stale     mid/  250 files   a changed, …",
        "changed   raw/000           edited",
        "changed   raw/001           edited",
        "changed   raw/002           edited",
        "current   9 files",
        "record    2 runs, 31.0 MB, 0 pending",
    ]
    assert len(text(found, fold=False)) == 255


def test_no_more_than_25_lines() -> None:
    """If many lines remain, each state has a share; one line counts the others."""
    found = [row for number in range(90) for row in rows(1, "stale", f"d{number:02}")]
    found += [row for number in range(90) for row in rows(1, "missing", f"e{number:02}")]
    lines = text(found, ["b" * 36], width=80)
    assert len(lines) == MOST
    assert [line[:16] for line in lines[10:13]] == ["stale     d10/00", "missing   e00/00", "missing   e01/00"]
    assert lines[-3:] == [
        "and       158 more       provio status --no-fold",
        "gaps      1 run          provio show last",
        "record    2 runs, 31.0 MB, 0 pending",
    ]


def test_a_narrow_terminal() -> None:
    """No line is longer than the terminal; the end of a long path is kept."""
    name = "/p/" + "folder/" * 20 + "figure.png"
    lines = text([Row("stale", name.encode(), "plot.py " * 20)], width=60)
    assert [len(line) for line in lines] == [60, 36]
    assert "figure.png" in lines[0]


def test_no_record(tmp_path: Path) -> None:
    """Without a record, the exit code is 3."""
    project = new_project(tmp_path / "home")
    assert "nothing is recorded" in project.provio("status", code=3).stderr
