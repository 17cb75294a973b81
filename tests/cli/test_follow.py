"""`--follow`: rows of tasks and runs as they come, a screen on a terminal, answers of lineage that change."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pexpect
import pytest
from concurrent_runs import go_on, going_on, line_of
from conftest import Project, provio_command
from terminals import on_a_terminal

pytestmark = pytest.mark.integration

# Each step waits for a line of input, and prints a line inside each task.
STEPS = """
import os, sys, provio

for name in ("load", "bad \\x1b[31m\\nname", "left"):
    try:
        with provio.activity(name, kind="step"), open(f"{name[:3]}.txt", "w") as file:
            file.write("12345")
            file.close()
            print(name[:3], flush=True)
            sys.stdin.readline()
            if name[:3] == "bad":
                raise ValueError
            if name == "left":
                os._exit(3)
    except ValueError:
        pass
"""


def interrupt(process: subprocess.Popen[str]) -> str:
    """End a follower as Ctrl-C does; return the rest of its output."""
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in errors) == (130, False), errors
    return said


@contextmanager
def steps(project: Project, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The program with tasks, in its first task."""
    (project.path / "steps.py").write_text(STEPS)
    with going_on(project, "run", "--quiet", *options, "--", sys.executable, "steps.py") as running:
        assert line_of(running) == "loa"
        yield running


def test_a_row_when_a_task_ends(project: Project) -> None:
    """At once, with its reads and writes; one that its process left is unfinished. The follower ends with the run."""
    with steps(project) as running, going_on(project, "tasks", "last", "--follow", "--as", "json") as following:
        rows = []
        for _ in range(3):
            go_on(running)
            rows.append(json.loads(line_of(following)))
        assert following.communicate(timeout=60)[0] == ""
    assert [(one["name"], one["kind"], one["status"], one["bytes_written"]) for one in rows] == [
        ("load", "step", "ok", 5), ("bad \x1b[31m\nname", "step", "error", 5), ("left", "step", "unfinished", 5),
    ]  # fmt: skip
    later = json.loads(project.provio("tasks", "--as", "json").stdout)
    rows, later = ([{**one, "start": datetime.fromisoformat(one["start"])} for one in some] for some in (rows, later))
    same = ("name", "kind", "worker", "start", "status", "bytes_read", "bytes_written", "prefix", "run", "iri")
    assert [[one[key] for key in same] for one in rows] == [[one[key] for key in same] for one in later]


def test_forms_and_selections(project: Project) -> None:
    with steps(project, "--campaign", "c") as running:
        for _ in range(3):
            go_on(running)
    tsv = project.provio("tasks", "last", "--follow", "--as", "tsv").stdout.splitlines()
    assert tsv == project.provio("tasks", "last", "--follow", "--as", "tsv", "--campaign", "c").stdout.splitlines()
    assert [line.split("\t")[0] for line in tsv] == ["name", "load", r"bad \x1b[31m\nname", "left"]
    found = list(csv.DictReader(project.provio("tasks", "last", "--follow", "--as", "csv").stdout.splitlines()))
    assert [one["status"] for one in found] == ["ok", "error", "unfinished"]
    table = project.provio("tasks", "last", "--follow", "--status", "failed", "--kind", "step").stdout.splitlines()
    assert [line.split()[-1] for line in table] == ["name", r"\x1b[31m\nname"]
    assert project.provio("tasks", "last", "--follow", "--kind", "dask").stdout.splitlines() == table[:1]
    for words in ("--by prefix", "--sort name", "--limit 3", "--between yesterday now", "--timeout 3"):
        assert "--follow" in project.provio("tasks", "--follow", *words.split(), code=2).stderr


def test_new_runs_of_a_campaign(project: Project) -> None:
    """Without RUN all runs from now on; runs of other campaigns are left out."""
    with going_on(project, "run", "--quiet", "--", "true"):
        pass
    with (
        going_on(project, "tasks", "--follow", "--campaign", "c", "--as", "csv") as tasks,
        going_on(project, "runs", "--follow", "--as", "csv", "--campaign", "c") as runs,
        going_on(project, "runs", "--follow", "--as", "json", "--status", "failed") as failed,
    ):
        assert line_of(tasks).startswith("name,kind") and line_of(runs).startswith("run,start")
        with steps(project, "--campaign", "c", "--name", "mine") as running:
            assert line_of(runs).split(",")[3:6] == ["in progress", "mine", "c"]
            go_on(running)
            assert line_of(tasks).startswith("load,")
            project.provio("run", "--quiet", "--campaign", "d", "--", "true")
            go_on(running)
            go_on(running)
        assert line_of(runs).split(",")[3:6] == ["exit 3", "mine", "c"]
        assert json.loads(line_of(failed))["end"] == "exit 3"
        rest = [line_of(tasks)]
        while not rest[-1].startswith("left,"):
            assert tasks.poll() is None
            rest.append(line_of(tasks))
        assert [row[0][:4] for row in csv.reader(rest)] == ["bad ", "left"]
        assert interrupt(tasks) == interrupt(runs) == interrupt(failed) == ""


def test_a_closed_pipe_ends_a_follower(project: Project) -> None:
    project.provio("run", "--quiet", "--", "true")
    with going_on(project, "runs", "--follow") as following:
        assert line_of(following).startswith("run ")
        assert following.stdout and following.stderr
        following.stdout.close()
        assert following.wait(60) == 141
        assert following.stderr.read() == ""


def test_followers_of_a_shared_record_leave_nothing(project: Project, tmp_path: Path) -> None:
    """It keeps no events: not in the record, and not among temporary files after the follower."""
    project.provio("init", "--shared", str(os.getgid()))
    project.env["TMPDIR"] = str(tmp_path / "temporary")
    (tmp_path / "temporary").mkdir()
    for number in (signal.SIGTERM, signal.SIGINT):
        with going_on(project, "runs", "--follow") as following:
            assert line_of(following).startswith("run ")
            project.provio("run", "--quiet", "--", "true")
            assert "in progress" in line_of(following)
            assert list((tmp_path / "temporary").glob("provio-events-*"))
            following.send_signal(number)
            assert following.wait(60) == 130
        assert not list((tmp_path / "temporary").glob("provio-events-*"))
    assert not (project.path / ".provio" / "events").exists()


def test_lineage_is_printed_again_when_it_changes(project: Project) -> None:
    (project.path / "in.txt").write_text("1\n")
    project.provio("run", "--quiet", "--", "cp", "in.txt", "a.txt")
    with going_on(project, "lineage", "in.txt", "--forward", "--follow") as following:
        assert line_of(following).startswith("in.txt")
        project.provio("run", "--quiet", "--", "cp", "a.txt", "b.txt")
        project.provio("run", "--quiet", "--", "cp", "b.txt", "c.txt")
        while "c.txt" not in line_of(following):
            assert following.poll() is None
        interrupt(following)
    said = project.provio("lineage", "in.txt", "--follow", "--as", "dot", code=2).stderr
    assert "use --as tree, table or json" in said


def test_the_screen_of_tasks(project: Project) -> None:
    """80 columns, escaped names, counts; Ctrl-C leaves the terminal as it was."""
    program, *words = provio_command()
    env: Any = {**project.env, "TERM": "xterm", "LANG": "C.UTF-8"}
    with steps(project) as running:
        screen = pexpect.spawn(
            program, [*words, "tasks", "last", "--follow"], cwd=project.path, env=env, encoding="utf-8", timeout=60,
            dimensions=(24, 80),
        )  # fmt: skip
        before = termios.tcgetattr(screen.child_fd)
        screen.expect(r"0 done  1 running  0 failed")
        go_on(running)
        screen.expect(r"1 done  1 running  0 failed")
        screen.expect(r"running  run            task\x1b\[K\r\n +[^\r]*bad \\x1b\[31m\\nname\x1b\[K\r\n")
        go_on(running)
        screen.expect(r"1 done  1 running  1 failed")
        go_on(running)
        screen.expect(r"1 done  0 running  1 failed  1 unfinished")
        rest = screen.read()
        assert termios.tcgetattr(screen.child_fd) == before
        screen.close()
        assert screen.exitstatus == 0
    assert all(len(re.sub(r"\x1b\[[0-9]*[AKJ]|\r", "", line)) < 80 for line in rest.split("\n"))
    assert "slowest" in rest


def test_an_interrupted_screen(project: Project) -> None:
    """Also without any event, on a terminal of few rows; a terminal that cannot move its cursor gets rows."""
    project.provio("run", "--quiet", "--", "true")
    program, *words = provio_command()
    for term, shown, rows in (("xterm", "no event yet", 3), ("dumb", "start (UTC)", 24)):
        env: Any = {**project.env, "TERM": term, "LANG": "C.UTF-8"}
        screen = pexpect.spawn(
            program, [*words, "tasks", "--follow"], cwd=project.path, env=env, encoding="utf-8", timeout=60,
            dimensions=(rows, 40),
        )  # fmt: skip
        screen.expect_exact(shown)
        screen.sendintr()
        assert "Traceback" not in screen.read()
        screen.close()
        assert screen.exitstatus == 130


def test_campaigns(project: Project) -> None:
    (project.path / "in.txt").write_text("1\n")
    project.provio("run", "--quiet", "--campaign", "first", "--", "cp", "in.txt", "a.txt")
    project.provio("run", "--quiet", "--campaign", "first", "--", "cp", "a.txt", "b.txt")
    project.provio("run", "--quiet", "--campaign", "a campaign with a long name " * 3, "--", "false", code=1)
    project.provio("run", "--quiet", "--", "true")
    found = json.loads(project.provio("runs", "--by", "campaign", "--as", "json").stdout)
    assert [(one["runs"], one["state"], one["states"]) for one in found] == [
        (2, "ok", {"ok": 2}), (1, "failed", {"failed": 1}),
    ]  # fmt: skip
    assert [tie["files"] for tie in found[0]["ties"]] == [1]
    assert (
        len(json.loads(project.provio("runs", "--by", "campaign", "--campaign", "first", "--as", "json").stdout)) == 1
    )
    rows = list(csv.DictReader(project.provio("runs", "--by", "campaign", "--as", "csv").stdout.splitlines()))
    assert (rows[0]["states"], rows[0]["ties"].split()[-1]) == ("2 ok", "1")
    assert "no run has the campaign 'x'" in project.provio("runs", "--by", "campaign", "--campaign", "x", code=3).stderr
    shown = on_a_terminal(project, "runs", "--by", "campaign", columns=80).decode()
    assert max(map(len, shown.splitlines())) <= 80 and "first" in shown
    assert "--limit" in project.provio("runs", "--by", "campaign", "--limit", "1", code=2).stderr
