"""Uses of files that a run with gaps may have made without a record: no answer states that there are none."""

from __future__ import annotations

import json

import pytest
from conftest import Project

pytestmark = pytest.mark.integration
SORT = "/usr/bin/sort was started without the preload, which the program before it took out"
REASON = f"({SORT}: its reads and writes are not recorded)"
RECORD = "record its use (provio run -- COMMAND)"


@pytest.fixture
def runs(project: Project) -> list[str]:
    """Three runs: two with a program that is not watched, which reads `a` and then `b`; one that reads `b`, `c`."""
    project.sh("for name in a b c; do echo 1 > $name; touch -d '1 hour ago' $name; done; sleep 0.1")
    project.run("env -u LD_PRELOAD sort a gone || :")
    project.run("env -u LD_PRELOAD sort b -o from-b")
    project.run("cat b > copy; cat c > /dev/null; cat from-b > from-c")
    project.sh("sleep 1.1; echo 1 > after")
    project.provio("runs")  # it prints the notices about gaps that the merge concluded
    return sorted(one.name for one in (project.path / ".provio" / "runs").iterdir() if one.is_dir())


def test_each_verb_about_a_file_that_no_run_knows(project: Project, runs: list[str]) -> None:
    """It names the run of the program that has the file on its command line, or of any that ran while it was there."""
    project.sh("echo 1 > other; touch -d '1 hour ago' other; mv other unknown")
    named = f"run {runs[0]} may have read it: not all of it could be recorded {REASON}: provio query gaps {runs[0]}"
    expected = {"a": f"{named}; else {RECORD}", "gone": f"there is no such file; {named}; else {RECORD}"}
    compare = "recorded files of its size have no SHA-256: provio find {} compares them; else " + RECORD
    expected |= {file: compare.format(file) for file in ("after", "unknown")} | {"missing": "there is no such file"}
    for file, reason in expected.items():
        for verb in (["lineage"], ["lineage", "--forward"], ["lineage", "--forward", "--stale"], ["why"], ["impact"]):
            answer = project.provio(*verb, file, code=3).stderr.strip()
            assert answer == f"provio: nothing is recorded of {file}: {reason}", (verb, file)
        (found,) = json.loads(project.provio("verify", file, "--as", "json", code=3).stdout)["files"]
        known = reason.removeprefix("there is no such file; ") if named in reason else ""
        assert found["word"] == "nothing is recorded of it" + (f": {known}" if known else ""), file


def test_a_recorded_file_without_recorded_products(project: Project, runs: list[str]) -> None:
    """`impact` and `lineage --forward` name the run, and do not state that nothing was made from the file."""
    gap = f"! run {runs[1]} or another run may have read c: not all of it could be recorded {REASON}"
    assert project.provio("impact", "c").stdout.splitlines() == [
        "nothing that is there is recorded as made from it, but not everything was recorded", gap,
    ]  # fmt: skip
    tree = project.provio("lineage", "--forward", "c", "--stale", "--as", "tree").stdout.splitlines()
    assert [line.strip() for line in tree[1:]] == [
        gap, "no recorded product is stale, but not everything was recorded"
    ]  # fmt: skip
    (found,) = json.loads(project.provio("impact", "c", "--as", "json").stdout)["gaps"]
    assert found["reason"] == gap.removeprefix("! ")


def test_a_recorded_file_that_a_program_without_a_record_names(project: Project, runs: list[str]) -> None:
    """Only the run that names the file on its command line is a possible reader; products are listed all the same."""
    gap = f"! run {runs[1]} may have read b: not all of it could be recorded {REASON}"
    lines = project.provio("impact", "b", "--steps", "process").stdout.splitlines()
    assert [line.split()[1:3] for line in lines[2:-1]] == [["copy", "cat"]]
    assert lines[-1] == gap
    tree = project.provio("lineage", "--forward", "b", "--as", "tree").stdout.splitlines()
    assert [line.strip("│ ") for line in tree if "!" in line] == [gap]


def test_earlier_versions_and_runs_with_gaps(project: Project, runs: list[str]) -> None:
    """A run with gaps is not stated to have neither made nor used a file."""
    gap = f"not all of run {runs[0]} could be recorded {REASON}"
    answer = project.provio("lineage", "c", "--run", runs[0], code=3).stderr.strip()
    assert answer == f"provio: run {runs[0]} is not recorded to have made or used {project.path}/c: {gap}"
    answer = project.provio("lineage", "from-b", "--run", runs[2], code=0).stdout
    assert "from-b" in answer
    answer = project.provio("verify", runs[0]).stderr.strip()
    assert answer == f"provio: {gap}"


def test_an_earlier_time(project: Project, runs: list[str]) -> None:
    """A file of which nothing is recorded at a time may have been made or read by the runs with gaps before it."""
    answer = project.provio("lineage", "a", "--at", "now", code=3).stderr.strip()
    start, _, rest = answer.partition("; run ")
    assert start.startswith(f"provio: nothing is recorded of {project.path}/a as early as"), answer
    assert rest == f"{runs[0]} may have made or read it: not all of it could be recorded {REASON}"
    assert "; run" not in project.provio("lineage", "a", "--at", "2000-01-01", code=3).stderr
