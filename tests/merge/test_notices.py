"""Gaps that a merge concluded, and damage that it found: the next verb prints one line about each run, once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Project

from provio.base.vocab import NS, RDF
from provio.merge import notices
from provio.settings.home import Home

RUNS = [f"01a2142e-0000-7000-8000-00000000000{number}" for number in range(6)]


def line(run: str, words: str) -> str:
    return f"run {run}: {words}: provio show {run[:18]}"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / ".provio").mkdir()
    return Home(tmp_path / ".provio")


def test_gaps_that_a_trace_states_are_not_counted() -> None:
    endings = ("host/1.2.3/0/e15", "unwatched", "host/1.2.3/gap", "host/1.2.3/damage", "g1")
    stated = "".join(f"<r/{ending}> <{RDF}type> <{NS}Gap> .\n" for ending in endings)
    own = f"<v~unread> <{RDF}type> <{NS}Gap> .\n<v~unread> <{NS}about> <v> .\n<r/submitted> <{RDF}type> <{NS}Gap> .\n"
    assert notices.concluded(stated) == 0
    assert notices.concluded(stated + own) == 2


def test_a_file_that_the_user_edited_is_no_news() -> None:
    gap = f"<v~untracked> <{RDF}type> <{NS}Gap> .\n<v~untracked> <{NS}reason> "
    assert notices.concluded(gap + '"edited outside provio, 2026-11-20 12:15:00 UTC" .\n') == 0
    assert notices.concluded(gap + '"made while run R went on, by something that was not seen" .\n') == 1


def test_each_notice_is_printed_once(home: Home) -> None:
    """A run that is merged again has a notice only if the result is another one."""
    notices.leave(home, RUNS[0], gaps=2)
    notices.leave(home, RUNS[0], damages=1)
    notices.leave(home, RUNS[1])
    assert notices.take(home, lambda _: 3) == [line(RUNS[0], "3 gaps concluded, damage in 1 file")]
    assert notices.take(home, lambda _: 3) == []
    notices.leave(home, RUNS[0], gaps=2, damages=1)
    assert notices.take(home, lambda _: 3) == []
    notices.leave(home, RUNS[0], gaps=3, damages=1)
    assert notices.take(home, lambda _: 0) == []
    notices.leave(home, RUNS[0], gaps=3, damages=2)
    assert notices.take(home, lambda _: 0) == [line(RUNS[0], "damage in 2 files")]
    for counts in ({"gaps": 3}, {"damages": 2}):
        notices.leave(home, RUNS[0], **counts)
        assert notices.take(home, lambda _: 3) == []


def test_many_runs(home: Home) -> None:
    """The newest runs are named; of the others, only the number is printed."""
    for run in RUNS:
        notices.leave(home, run, gaps=1)
    named = [line(run, "3 gaps concluded") for run in reversed(RUNS[3:])]
    assert notices.take(home, lambda _: 3) == [*named, "3 other runs with gaps or damage: provio query gaps"]
    assert notices.take(home, lambda _: 3) == []


def test_no_folder_and_a_broken_notice(home: Home) -> None:
    """A missing `.provio`, and a notice that another program cut, cause no error."""
    notices.leave(Home(home.path / "gone"), RUNS[0], gaps=1)
    assert notices.take(Home(home.path / "gone"), lambda _: 3) == []
    notices.leave(home, RUNS[0], gaps=1)
    (home.path / "notices" / RUNS[0]).write_text("")
    assert notices.take(home, lambda _: 3) == []


@pytest.mark.integration
def test_the_next_verb_prints_a_notice(project: Project) -> None:
    """The line is on stderr, and the answer on stdout is undisturbed; the removal of a run removes its notice."""
    project.sh("echo 1 > a")
    project.run("env -u LD_PRELOAD sort a -o b; cat b > c; env -u LD_PRELOAD sort a | cat > d")
    (run,) = (one.name for one in (project.path / ".provio" / "runs").iterdir() if one.is_dir())
    first = project.provio("lineage", "c", "--as", "json")
    assert first.stderr == f"provio: {line(run, '1 gap concluded')}\n"
    assert len(json.loads(first.stdout)["gaps"]) == 1
    assert project.provio("lineage", "c", "--as", "json").stderr == ""
    printed = project.path / ".provio" / "notices" / "printed"
    assert [one.name for one in printed.iterdir()] == [run]
    project.provio("rm", "--yes", run)
    assert [*printed.iterdir()] == []
