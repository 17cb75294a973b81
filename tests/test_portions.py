"""A run that is too large to be held is told portion by portion: the same graph as of the whole."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from conftest import Project

from provio import intake, merge_job, portions, runfiles, survey, watching
from provio.config import Config
from provio.home import Home
from provio.intake import Prepared
from provio.lock import Lock
from provio.merge import merge
from provio.run import Recording
from provio.settle import settled
from provio.store.embedded import StoreReader
from provio.survey import Indivisible
from provio.trace import read_run

# Each of these has to do with no other, or by what they read alone; the pipes with each other and their shell.
ALONE = "for i in 1 2 3 4; do sort in > out$i; done"
TOGETHER = """
for i in 1 2; do cp in step$i; cp step$i next$i; echo $i >> log; done
sort in | uniq > piped
sort in > new; mv new old; touch -d 2020-01-01 old; cat old > after; rm step1
(read line < in; echo "$line" > forked)
ln after linked; cat linked > /dev/null; test -r in; cp missing out 2> /dev/null || true
printf 'import sys\\nopen(sys.argv[1], "w").write(open("in").read())\\n' > copy.py; python3 copy.py copied
"""


def folder_of(project: Project, script: str) -> Path:
    (project.path / "in").write_text("b\na\nb\n")
    project.provio("run", "--quiet", "--no-merge", "--", "bash", "-c", script)
    [folder] = Home(project.path / ".provio").run_folders()
    return folder


def told(prepared: Prepared) -> tuple[set[str], object, object, object]:
    lines = {line for piece in prepared.pieces for line in piece.splitlines()}
    return lines, prepared.open.keys, sorted(prepared.open.roots), prepared.index


def divided(folder: Path) -> survey.Survey:
    return survey.survey(runfiles.of(folder), {})


@pytest.mark.parametrize(
    "script", [pytest.param(ALONE, marks=pytest.mark.slow), TOGETHER + ALONE], ids=["alone", "all"]
)
def test_the_same_graph(project: Project, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Told in as many portions as there are, all that is said is what is said of the whole, and so is what it leaves
    open and what the index says."""
    folder = folder_of(project, script)
    monkeypatch.setattr(survey, "PORTION", 1)
    found = divided(folder)
    assert len(found.portions) >= 5
    parts = told(portions.prepare(found, Config(), contextlib.nullcontext))
    assert parts == told(intake.prepare(settled(read_run(folder)), Config()))


@pytest.mark.slow
def test_the_same_store(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Merged in portions a run is the same in the store, it counts as merged, and again changes nothing."""
    folder_of(project, TOGETHER + ALONE)
    home = Home(project.path / ".provio")
    merge(home)
    whole = {str(quad) for quad in StoreReader(home).store}
    monkeypatch.setattr(survey, "PORTION", 1)
    monkeypatch.setattr(merge_job, "is_large", lambda _: True)
    assert len(merge(home, rebuild=True).merged) == 1
    assert {str(quad) for quad in StoreReader(home).store} == whole
    assert merge(home).unchanged == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        "mkdir d; cp in d/a; mv d e; cp e/a b",
        'python3 -c \'import provio\nwith provio.activity("t"): open("out", "w").write(open("in").read())\'',
    ],
    ids=["a folder renamed", "a Task"],
)
def test_what_cannot_be_divided(project: Project, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Where a portion would not know all that matters, the run is read whole."""
    folder = folder_of(project, script)
    with pytest.raises(Indivisible):
        divided(folder)
    monkeypatch.setattr(merge_job, "is_large", lambda _: True)
    home = Home(project.path / ".provio")
    assert merge(home).merged == [folder.name]


@pytest.mark.slow
def test_a_damaged_file_is_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a large run with a damaged file the rest is merged all the same."""
    folder = folder_of(project, ALONE)
    damaged = max(folder.rglob("*.0.ttl"))
    damaged.write_bytes(damaged.read_bytes() + b" <a1> what is this .\n")
    monkeypatch.setattr(merge_job, "is_large", lambda _: True)
    outcome = merge(Home(project.path / ".provio"))
    assert outcome.merged == [folder.name]
    assert damaged.name in outcome.damages[0]


@pytest.mark.slow
def test_a_large_run_is_merged_at_its_end(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end does not read all of it: merge does, in portions."""
    folder = folder_of(project, ALONE)
    home = Home(project.path / ".provio")
    monkeypatch.setattr(merge_job, "is_large", lambda _: True)
    recording = Recording(home, folder.name, [], None, 0, folder)
    said = watching._merged(recording, Lock(home, wait=True), Config())
    assert said.startswith(f"run {folder.name}: many processes, recorded in")
    assert home.pending() == []
    assert len(list(StoreReader(home).rows("SELECT ?p { ?p a provio:Process }"))) >= 5
