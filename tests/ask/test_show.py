"""`provio show`: one thing, looked up as a run, a Task, then a file; `--run`, `--task`, `--file` select one."""

from __future__ import annotations

import json
import os
import re
from datetime import datetime

import pytest
from conftest import Project

TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, [\d.]+ (ms|s)"


@pytest.fixture(scope="module")
def _program() -> str:
    return """import provio
for number in range(2):
    with provio.activity("epoch", number=number, lr=0.1):
        open(f"weights{number}", "w").write(open("data").read())
with provio.activity("last"):
    pass
"""


@pytest.fixture
def trained(project: Project, _program: str) -> Project:
    (project.path / "train.py").write_text(_program)
    (project.path / "data").write_text("1\n")
    project.provio("run", "--quiet", "--name", "training", "--", "python3", "train.py")
    return project


@pytest.mark.integration
def test_a_task_is_shown_with_its_declarations_and_files(trained: Project) -> None:
    """The newest of its name, with the number of others; for programs with the columns of a run."""
    run = json.loads(trained.provio("runs", "--json").stdout)[0]["run"]
    folder = trained.path
    shown = re.sub(TIME, "TIME", trained.provio("show", "epoch").stdout)
    shown = re.sub(r"B  /.*/", "B  FOLDER/", shown)  # a long path is cut in the middle
    assert shown.splitlines() == [
        "task     epoch  (the last of 2 with this name)",
        f"program  {folder}/train.py",
        "when     TIME, ok",
        f"run      {run}",
        "setting  lr 0.1",
        "setting  number 1",
        "wrote          2 B  FOLDER/weights1",
        "read           2 B  FOLDER/data",
    ]
    rows = json.loads(trained.provio("show", "epoch", "--json").stdout)
    assert [row["what"] for row in rows] == ("task program run status start end setting setting wrote read".split())
    assert rows[-1] == {"what": "read", "value": f"{folder}/data", "number": 2}
    query = "SELECT ?t { ?t a provio:Task ; provio:name 'epoch' } ORDER BY ?t"
    iri = trained.provio("query", query).stdout.splitlines()[1].strip("<>")
    assert "setting  number 0" in trained.provio("show", iri).stdout


@pytest.mark.integration
def test_things_are_looked_up_in_a_fixed_order(trained: Project) -> None:
    """A run before a Task before a file; a file before the start of an id; each can be forced."""
    (trained.path / "epoch").write_text("1\n")
    trained.provio("run", "--quiet", "--name", "weights0", "--", "cp", "data", "epoch")
    first, second = (row["run"] for row in json.loads(trained.provio("runs", "--json").stdout))
    trained.provio("run", "--quiet", "--no-merge", "--", "cp", "data", second[:4])
    for words, begins in (
        (["training"], f"run      {first}  (training)"),
        (["last~1"], f"run      {second}  (weights0)"),
        (["weights0"], f"run      {second}  (weights0)"),
        (["--file", "weights0"], "weights0  2 B"),
        (["weights1"], "weights1  2 B"),
        (["epoch"], "task     epoch  "),
        (["--file", "epoch"], "epoch  2 B"),
        (["./epoch"], "epoch  2 B"),
        (["--task", "last"], "task     last"),
        ([second[:4]], f"{second[:4]}  2 B"),
        ([second], f"run      {second}"),
    ):
        assert trained.provio("show", *words).stdout.startswith(begins), words


@pytest.mark.integration
def test_a_file_is_shown_as_why_shows_it(trained: Project) -> None:
    """The same text, rows and JSON; the same exit code for a file that no run made."""
    for form in ("text", "json", "csv"):
        shown = trained.provio("show", "weights1", "--as", form).stdout
        assert shown == trained.provio("why", "weights1", "--as", form).stdout != ""
    source = trained.provio("show", "data", code=3)
    assert source.stderr == trained.provio("why", "data", code=3).stderr


@pytest.mark.integration
def test_an_unknown_thing_has_a_suggestion(trained: Project) -> None:
    """A similar file, a similar run, or the verb that lists runs; of a forced kind only this kind."""
    for words, message in (
        (["weight1"], "did you mean weights1"),
        (["trainin"], "no run, task or file 'trainin' is recorded: did you mean 'training'?"),
        (["nothing"], "no run, task or file 'nothing' is recorded: provio runs lists the runs"),
        (["--run", "weights1"], "no run 'weights1' is recorded: "),
        (["--task", "weights1"], "no task 'weights1' is recorded: provio tasks lists them"),
        (["--file", "training"], "nothing is recorded of "),
    ):
        told = trained.provio("show", *words, code=3).stderr
        assert message in told and told.count("\n") == 1


@pytest.mark.integration
def test_runs_are_selected_and_sorted(project: Project) -> None:
    """By their end, by the time of their start, by a column; `--limit` keeps the last rows."""
    for name, command in (("b", "exit 0"), ("c", "exit 3"), ("a", "kill -9 $$")):
        project.provio("run", "--quiet", "--name", name, "--", "sh", "-c", command, code=None)

    def names(*options: str, verb: str = "runs") -> list[str]:
        return [row["name"] for row in json.loads(project.provio(verb, *options, "--json").stdout)]

    starts = [row["start"] for row in json.loads(project.provio("runs", "--json").stdout)]
    assert names("--status", "failed") == ["c", "a"]
    assert names("--status", "ok", verb="log") == ["b"]
    assert names("--status", "running") == []
    assert names("--sort", "name") == ["a", "b", "c"]
    assert names("--sort", "name", "--limit", "2") == ["b", "c"]
    assert names("--sort", "end") == ["b", "c", "a"]
    assert names("--between", starts[1], "now") == ["c", "a"]
    assert names("--between", "2020-01-01", starts[1]) == ["b", "c"]
    assert names("--between", "2020-01-01", "now", "--name", "a") == ["a"]
    nothing = project.provio("stats", "--between", "2020-01-01", "2020-01-02", code=3).stderr
    assert nothing.startswith("provio: no such run started between ")
    assert project.provio("stats", "--between", starts[1], starts[1]).stdout.splitlines()[0].count("exit 3") <= 1
    for verb in (["runs"], ["stats"], ["view", "last"], ["query", "gaps"]):
        told = project.provio(*verb, "--between", "0", "60", code=2).stderr
        assert (
            "seconds in --between count from the start of a run: name it with --run, for a FILE, or give times" in told
        )
        assert told.count("\n") == 1
    assert "is no time" in project.provio("runs", "--between", "soon", "now", code=2).stderr


@pytest.mark.integration
def test_seconds_from_the_start_of_a_run(project: Project) -> None:
    """With `--run`, `--between` takes seconds from its start, before or after it, also with a time."""
    project.sh("echo a > a")
    for command in ("cat a > b", "cat b > c", "cat c > d"):
        project.watch("sh", "-c", command)
    runs = json.loads(project.provio("runs", "--json").stdout)
    first, middle, last = (datetime.fromisoformat(run["start"]).timestamp() for run in runs)

    def files(*options: str) -> set[str]:
        found = json.loads(project.provio("lineage", "c", "--run", runs[1]["run"], *options, "--json").stdout)
        return {os.path.relpath(node["path"], project.path) for node in found["nodes"] if node["type"] == "FileVersion"}

    assert files() == {"a", "b", "c"}
    assert files("--between", "0", "0") == {"b", "c"}
    assert files("--between", f"{first - middle - 0.001:.6f}", "0") == {"a", "b", "c"}
    assert files("--forward") == {"c", "d"}
    assert files("--forward", "--between", "0", f"{(last - middle) / 2:.6f}") == {"c"}
    assert files("--forward", "--between", "0", "now") == {"c", "d"}
    assert files("--forward", "--between", "20200101", f"{last - middle + 0.001:.6f}") == {"c", "d"}


FAILING = """python3 fit.py; grep -q nothing fit.py; mkdir model/a; cp fit.py "a$(printf '\\nb')"
bash -c 'read line < fit.py; kill -9 $$'; true"""
FORKING = """import os, subprocess
for number in range(3):
    if not (child := os.fork()):
        open(f"part{number}", "w").write("x")
        os._exit(number)
    os.waitpid(child, 0)
subprocess.run(["sh", "-c", "cp part0 copy; exit 5"])
"""


@pytest.mark.integration
def test_programs_that_failed_in_a_run_that_succeeded(project: Project) -> None:
    """Each with its end, but no `grep` that found nothing; the file that a failed program made is marked everywhere."""
    (project.path / "fit.py").write_text("open('model', 'w').write('x')\nraise SystemExit(3)\n")
    (project.path / "steps").write_text(FAILING)
    project.provio("run", "--quiet", "--name", "fit", "--", "bash", "steps")
    killed = "bash -c 'read line < fit.py; kill -9 $$'"
    told = ["exit 3: python3 fit.py", "exit 1: mkdir model/a", f"signal 9: {killed}"]
    shown = project.provio("show", "fit").stdout.splitlines()
    assert [line for line in shown if line.startswith("failed")] == [f"failed   {line}" for line in told]
    assert any(line.startswith("when ") and line.endswith(", exit 0") for line in shown)
    rows = json.loads(project.provio("show", "fit", "--json").stdout)
    pids = {row["value"]: row["number"] for row in rows if row["what"] == "process"}
    assert [row for row in rows if row["what"] == "failed"] == [
        {"what": "failed", "value": line, "number": pids[line.partition(": ")[2]]} for line in told
    ]
    mark = "! made by a command that failed (exit 3)"
    for verb in "why", "lineage":
        lines = project.provio(verb, "model").stdout.splitlines()
        assert [line.strip() for line in lines if line.strip().startswith("!")] == [mark], verb
    assert "ended     exit code 3" in project.provio("why", "model").stdout.splitlines()


@pytest.mark.integration
def test_of_many_programs_that_failed_some_are_shown(project: Project) -> None:
    """The first; their number in total is that of the rows for programs."""
    (project.path / "steps").write_text("for i in 1 2 3 4 5 6 7; do mkdir steps/$i; done; true")
    project.provio("run", "--quiet", "--", "sh", "steps")
    lines = project.provio("show", "last").stdout.splitlines()
    first = lines.index("failed   exit 1: mkdir steps/1")
    assert lines[first + 4 : first + 6] == ["failed   exit 1: mkdir steps/5", "         and 2 more"]
    rows = json.loads(project.provio("show", "last", "--json").stdout)
    assert sum(row["what"] == "failed" for row in rows) == 7


@pytest.mark.integration
def test_forks_that_execute_no_program_are_counted(project: Project) -> None:
    """With the program that forked them; a fork that executed a program is that program. Rows have each image."""
    (project.path / "forks.py").write_text(FORKING)
    project.provio("run", "--quiet", "--", "python3", "forks.py")
    shown = project.provio("show", "last").stdout.splitlines()
    commands = [line[18:] for line in shown if line.startswith("process ")]
    assert commands == ["python3 forks.py  (3 forks)", "sh -c 'cp part0 copy; exit 5'", "cp part0 copy"]
    rows = json.loads(project.provio("show", "last", "--json").stdout)
    assert sum(row["value"] == "python3 forks.py" for row in rows if row["what"] == "process") == 5
    assert [row["value"] for row in rows if row["what"] == "failed"] == ["exit 5: sh -c 'cp part0 copy; exit 5'"]
