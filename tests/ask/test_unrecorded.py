"""A file of which nothing is recorded: runs that were not recorded completely are named if they may have made it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import Project

pytestmark = pytest.mark.integration
RECORD = "record its use (provio run -- COMMAND)"


def run_name(project: Project) -> str:
    (run,) = (one for one in (project.path / ".provio" / "runs").iterdir() if one.is_dir())
    return str(run.name)


def messages(project: Project, file: str) -> set[str]:
    """The messages of all verbs about a file that no run knows, without the file's name."""
    start = f"provio: nothing is recorded of {file}: "
    found = set()
    for verb in ("lineage", "why", "impact"):
        answer = project.provio(verb, file, code=3).stderr
        assert answer.startswith(start), answer
        found.add(answer.removeprefix(start).strip())
    lines = project.provio("verify", file, code=None).stdout.splitlines()
    (answer,) = (line.strip() for line in lines if "nothing is recorded of it" in line)
    return found | {answer.partition("nothing is recorded of it: ")[2] or RECORD}


def test_a_file_that_an_unwatched_program_may_have_made(project: Project) -> None:
    """Each verb names the run and its gap for a file that was made or changed during the run, or that was there before;
    not for one that was made later."""
    project.sh("echo 1 > a; echo 1 > before; touch -d '1 hour ago' before; sleep 0.1")
    project.run("env -u LD_PRELOAD sort a -o b; env -u LD_PRELOAD cp -p before copy")
    project.sh("sleep 1.1; echo 1 > after")
    run = run_name(project)
    copy = "/usr/bin/cp was started without the preload, which the program before it took out"
    gap = f"not all of run {run} could be recorded ({copy}: its reads and writes are not recorded)"
    expected = f"when it was last changed {gap}: provio query gaps {run}; else {RECORD}"
    assert messages(project, "b") == {expected}
    assert messages(project, "copy") == {expected}
    reason = f"{copy}: its reads and writes are not recorded"
    read = f"run {run} may have read it: not all of it could be recorded ({reason})"
    assert messages(project, "before") == {f"{read}: provio query gaps {run}; else {RECORD}"}
    assert messages(project, "after") == {RECORD}


def test_a_command_that_cannot_be_watched(project: Project, tmp_path: Path) -> None:
    """The run of a command that is not recorded at all is named too."""
    source = tmp_path / "make.c"
    source.write_text('#include <stdio.h>\nint main(void) { FILE *b = fopen("b", "w"); return fputs("1", b) < 0; }\n')
    subprocess.run(["cc", "-static", "-o", project.path / "make", source], check=True)
    project.provio("run", "--quiet", "--", "./make")
    found = messages(project, "b")
    assert len(found) == 1
    assert f"not all of run {run_name(project)} could be recorded ({project.path}/./make is statically" in found.pop()


def test_no_answer_reassures_where_a_gap_could_make_it_untrue(project: Project) -> None:
    """If a program on the way could not be watched, `--roots` and `--stale` show its gap, and do not state that nothing
    else was read or changed."""
    project.sh("echo 1 > a")
    project.run("env -u LD_PRELOAD sort a > b; cat b > c; cat a > d")
    gap = "! /usr/bin/sort was started without the preload, which the program before it took out: its reads and writes"
    for option, empty in (
        ("--roots", "no primary source is recorded, but not everything was"),
        ("--stale", "no recorded input has changed, but not everything was recorded"),
    ):
        lines = project.provio("lineage", "c", option, "--as", "tree").stdout.splitlines()
        assert [line.strip() for line in lines[:2]] == ["c  2 B", empty], option
        assert [line.startswith(gap) for line in lines[2:] if "system file" not in line] == [True], option
    stale = project.provio("lineage", "d", "--stale", "--as", "tree").stdout
    assert stale.splitlines()[1].strip() == "nothing is stale: every file that it was made from is as it was"
