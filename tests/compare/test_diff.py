"""`provio diff`: expected differences, limits that are stated, names of runs, recorded variables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Project, provio_command

from provio.base.errors import ConfigError
from provio.compare.command_words import named
from provio.compare.expected import Expected, read
from provio.compare.side import canonical


def rows(project: Project, *arguments: str) -> list[dict[str, Any]]:
    """Return the rows of a comparison."""
    found: list[dict[str, Any]] = json.loads(project.provio("diff", *arguments, "--json", code=None).stdout)
    return found


def kept(project: Project, name: str, text: str, *more: str) -> None:
    """Record a run that makes a file with a text, and wait for its hash."""
    project.provio(
        "run", "--hash", "--quiet", "--name", name, *more, "--", "sh", "-c", f"echo {text} > made.txt; ls > log.txt"
    )
    project.provio("merge", "--quiet")


@pytest.mark.integration
def test_expected_differences_do_not_fail(project: Project) -> None:
    """By the file, by the setting, by kinds that do not count."""
    kept(project, "a", "one")
    kept(project, "b", "two")
    done = project.provio("diff", "a", "b", code=1)
    assert "made.txt" in done.stdout
    (project.path / "provio-diff.toml").write_text('expected = ["made.txt", "parameters"]\n')
    done = project.provio("diff", "a", "b")
    assert done.stdout.startswith("no unexpected difference found; ")
    assert {row["key"] for row in rows(project, "a", "b") if row["expected"]} >= {"made.txt", "-c"}
    (project.path / "provio-diff.toml").write_text('expected = ["made.*"]\n')
    (project.path / "provio.toml").write_text('[diff]\nexpected = ["parameters.-c"]\n')
    assert project.provio("diff", "a", "b").stdout.startswith("no unexpected difference found; ")
    (project.path / "provio.toml").unlink()
    (project.path / "provio-diff.toml").unlink()
    assert project.provio("diff", "a", "b", "--fail-on", "inputs", "--fail-on", "code").returncode == 0
    assert project.provio("diff", "a", "b", "--fail-on", "results", code=1).returncode == 1
    only = project.provio("diff", "a", "b", "--only", "inputs").stdout
    assert only == "no unexpected difference of inputs\n"


@pytest.mark.integration
def test_an_argument_is_a_cause_only_where_it_differs(project: Project) -> None:
    """Two activities of one program: of one an argument differs, the other one has a result that differs anyway."""
    (project.path / "work.sh").write_text('echo "$1" > "$2"\ntest "$1" != pid || echo $$ >> "$2"\n')
    for name in ("one", "two"):
        command = f"sh work.sh {name} a.txt; sh work.sh pid b.txt"
        project.provio("run", "--hash", "--quiet", "--name", name, "--", "sh", "-c", command)
        project.provio("merge", "--quiet")
    found = json.loads(project.provio("diff", "one", "two", "--first", "--json", code=1).stdout)
    causes = {tuple(one["results"]): [row["key"] for row in one["causes"]] for one in found}
    assert causes == {("a.txt",): ["argument 1", "-c"], ("b.txt",): ["-c"]}


@pytest.mark.parametrize("text", ["expected = 3", "expected = [1]", "unknown = []", "not toml"])
@pytest.mark.integration
def test_a_wrong_file_of_expected_differences(project: Project, text: str) -> None:
    """One line with the remedy."""
    project.run("echo 1 > made.txt")
    (project.path / "provio-diff.toml").write_text(text)
    error = project.provio("diff", "last", "last", code=2).stderr
    assert "provio-diff.toml" in error and len(error.splitlines()) == 1


@pytest.mark.integration
def test_files_without_hashes_are_stated(project: Project) -> None:
    """Equal sizes without a SHA-256 are no proof: the answer is not `identical`, neither is `--first` reassuring."""
    for text in ("one", "two"):
        project.provio(
            "run",
            "--quiet",
            "--name",
            text,
            "--",
            "sh",
            "-c",
            'echo "$TEXT" > made.txt',
            env={**project.env, "TEXT": text},
        )
    done = project.provio("diff", "one", "two")
    assert done.stdout.startswith("! not compared by content, without a SHA-256: 1 file (made.txt)\n")
    assert "identical" not in done.stdout
    assert "no divergence found" in project.provio("diff", "one", "two", "--first").stdout
    assert "not compared by content" in project.provio("diff", "one", "two", "--json").stderr


@pytest.mark.integration
def test_a_run_in_progress_and_a_run_with_other_detail(project: Project) -> None:
    """Both are stated first."""
    project.run("echo 1 > made.txt")
    project.provio("run", "--quiet", "--detail", "file", "--name", "coarse", "--", "sh", "-c", "echo 1 > made.txt")
    found = project.provio("diff", "last~1", "coarse", code=None).stdout
    assert found.startswith("! recorded with other detail: op and file; only data that both recorded are compared\n")
    waits = subprocess.Popen(
        [*provio_command(), "run", "--quiet", "--name", "goes-on", "--", "sh", "-c", "echo 1 > made.txt; read line"],
        stdin=subprocess.PIPE, cwd=project.path, env=project.env,
    )  # fmt: skip
    try:
        while "goes-on" not in project.provio("runs", code=None).stdout or not (project.path / "made.txt").exists():
            assert waits.poll() is None
        found = project.provio("diff", "coarse", "goes-on", code=None).stdout
        assert "is in progress: later activities are not compared" in found and "identical" not in found
    finally:
        waits.communicate(b"\n", timeout=60)


@pytest.mark.integration
def test_runs_of_different_programs(project: Project) -> None:
    """The programs of each are listed; it is stated that nothing corresponds."""
    project.run("echo 1 > made.txt")
    project.watch("cp", "made.txt", "copy.txt")
    done = project.provio("diff", "last~1", "last", code=1)
    assert done.stdout.startswith("! no activity of one run corresponds to one of the other\n")
    assert {row["key"] for row in rows(project, "last~1", "last") if row["kind"] == "graph"} == {
        "process bash",
        "process cp",
    }
    assert "no divergence" not in project.provio("diff", "last~1", "last", "--first", code=None).stdout.splitlines()[0]


@pytest.mark.integration
def test_a_campaign_is_its_newest_run(project: Project) -> None:
    for rate in "12":
        kept(project, f"r{rate}", rate, "--campaign", "sweep")
    kept(project, "other", "2")
    found = {row["key"] for row in rows(project, "sweep", "other") if not row["expected"]}
    assert found == set()
    assert "no run 'sweeep' is recorded" in project.provio("diff", "sweeep", "other", code=3).stderr


@pytest.mark.integration
def test_runs_of_two_records(project: Project, tmp_path: Path) -> None:
    """With the setting `stores`; the rules are those of the current project."""
    (tmp_path / "second").mkdir()
    other = Project(tmp_path / "second", project.env)
    other.provio("init")
    kept(other, "there", "two")
    kept(project, "here", "one")
    (project.path / "provio.toml").write_text(f'stores = ["{other.path}"]\n')
    (row,) = [row for row in rows(project, "here", "there") if row["kind"] == "results" and row["key"] == "made.txt"]
    assert (row["first"], row["second"], row["reason"]) == ("4 bytes", "4 bytes", "other content")


@pytest.mark.integration
def test_recorded_variables(project: Project, tmp_path: Path) -> None:
    """By names and globs in the user's own settings, without secrets, cut; a project's file may not name any."""
    settings = tmp_path / "config" / "provio"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text('[record]\nvariables = ["MODEL_*", "LONG"]\n')
    env = {
        "XDG_CONFIG_HOME": str(settings.parent),
        "MODEL_KIND": "flat",
        "MODEL_API_TOKEN": "xyzzy-17",
        "LONG": "l" * 9000,
    }
    project.provio("run", "--quiet", "--", "true", env=env)
    query = "SELECT ?n ?v { ?e a provio:Environment ; provio:name ?n ; provio:value ?v }"
    found = {row["n"]: row["v"] for row in project.rows(query)}
    assert found == {"MODEL_KIND": "flat", "MODEL_API_TOKEN": "REDACTED", "LONG": "l" * 4096}
    for folder, _, names in os.walk(project.path / ".provio"):
        for name in names:
            assert b"xyzzy-17" not in Path(folder, name).read_bytes()
    (project.path / "provio.toml").write_text('[record]\nvariables = ["*"]\n')
    assert "record.variables" in project.provio("run", "--", "true", env=env).stderr


@pytest.mark.integration
def test_the_ends_of_programs_are_results(project: Project) -> None:
    """Another exit code or signal is a difference, and a divergence, although no file differs."""
    (project.path / "job.sh").write_text('[ -z "$HOW" ] || kill -9 $$\nexit ${CODE:-0}\n')
    for name, more, code in (("good", {}, 0), ("bad", {"CODE": "4"}, 4), ("killed", {"HOW": "x"}, -9)):
        call = ("run", "--quiet", "--name", name, "--", "sh", "job.sh")
        project.provio(*call, env={**project.env, **more}, code=code)
    for other, end in (("bad", "4"), ("killed", "signal 9")):
        (row,) = [row for row in rows(project, "good", other) if not row["expected"]]
        assert (row["kind"], row["key"], row["first"], row["second"]) == ("results", "exit code", "0", end)
        first = project.provio("diff", "good", other, "--first", "--deep", code=1).stdout
        assert "its results differ: exit code" in first


@pytest.mark.integration
def test_a_program_of_one_run_only(project: Project) -> None:
    """The program that started it is the divergence, with its changed script, although no common result differs."""
    for name, more in (("short", ""), ("long", "tail -1 in.txt > last.txt\n")):
        (project.path / "job.sh").write_text(f"seq 3 > in.txt\nhead -1 in.txt > first.txt\n{more}")
        project.provio("run", "--hash", "--quiet", "--name", name, "--", "sh", "job.sh")
        project.provio("merge", "--quiet")
    done = project.provio("diff", "short", "long", "--first", "--as", "json", code=1)
    (found,) = json.loads(done.stdout)
    assert (found["activity"], found["results"]) == ("job.sh", ["tail started only in the second run"])
    assert [(row["kind"], row["key"]) for row in found["causes"]] == [("code", "job.sh")]


@pytest.mark.integration
def test_numbers_are_no_tokens(project: Project) -> None:
    """A parameter with few digits is compared as it is; a token is shown, and expected."""
    for name, rate, token in (("old", "0.125", "3f2504e04f8911d39a0c0305e82c3301"), ("new", "0.250", 32 * "a")):
        project.provio("run", "--quiet", "--name", name, "--", "echo", rate, token)
    found = {row["key"]: row["expected"] for row in rows(project, "old", "new", "--only", "parameters")}
    assert found == {"argument 1": False, "argument 2": True}


@pytest.mark.integration
def test_files_that_arguments_name_correspond(project: Project) -> None:
    """Results with other names, named by the same argument, are compared with each other."""
    (project.path / "in.txt").write_text("b\na\n")
    for name in ("old", "new"):
        project.provio("run", "--hash", "--quiet", "--name", name, "--", "sort", "in.txt", "-o", f"{name}.txt")
        project.provio("merge", "--quiet")
    assert project.provio("diff", "old", "new").stdout.startswith("identical")


def test_arguments_by_name() -> None:
    """By option or number; an option takes a word that is no option; the program's own words have no number."""
    words = ["python3", "-u", "run/model.py", "in.csv", "--rate=0.5", "-n", "4", "-v", "--low", "-1.5", "x", "-n", "5"]
    assert named(words, "model.py") == {
        "-u": "given", "argument 1": "in.csv", "--rate": "0.5", "-n": "4, 5", "-v": "given", "--low": "-1.5",
        "argument 2": "x",
    }  # fmt: skip


def test_names_do_not_depend_on_the_run() -> None:
    """Folders of the run, tokens, process numbers and temporary names; other numbers stay."""
    names = {
        "/data/a/in.csv": "./in.csv",
        "--out=/data/a/x": "--out=./x",
        "/data/ab/in.csv": "/data/ab/in.csv",
        "/tmp/tmpab12cd3_/x": "/tmp/tmp*/x",
        "sum-3f2504e04f8911d39a0c0305e82c3301": "sum-*",
        "dask-9a8b7c6d-5e4f-4a3b-9c2d-1e0f9a8b7c6d": "dask-*",
        "log.12345": "log.*",
        "step_00100.h5": "step_00100.h5",
        "/data/a": ".",
        "0.000001": "0.000001",
    }
    for text, name in names.items():
        assert canonical(text, "/data/a", {"12345"}) == name


def test_expected_differences_in_no_regular_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "provio-diff.toml")
    with pytest.raises(ConfigError, match="no regular file"):
        read(tmp_path)


def test_the_rules_of_expected_differences(tmp_path: Path) -> None:
    rules = Expected(["logs/*", "$MY_*", "environment.kernel", "files"])
    assert rules.matches("results", "logs/a.txt") and rules.matches("results", "x/logs/a.txt")
    assert not rules.matches("results", "mylogs/a.txt") and not rules.matches("environment", "MY_X")
    assert rules.matches("environment", "MY_X", variable=True) and rules.matches("environment", "kernel")
    assert rules.matches("files", "any") and not rules.matches("environment", "processor")
    assert read(tmp_path).matches("time", "duration")


def test_kinds_of_the_command_line_are_those_of_the_comparison() -> None:
    """The verb lists them without an import of the comparison."""
    code = "import sys, provio.cli.verbs.diff as verb; assert 'provio.compare' not in sys.modules; print(*verb.KINDS)"
    from provio.compare.expected import KINDS

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == list(KINDS)
