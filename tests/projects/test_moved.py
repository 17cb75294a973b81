"""Projects that are moved, copied, cloned or restored: their answers are those of before, whole."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest
from transcript import _QUESTION, HERE, PATH, Project, commands, needed, normal

NAMES = ("shell", "make", "hdf5", "pools", "sqlite")
# The last one moves the original. A copy in memory is on another file system; a restored project is at its place again.
WAYS = {
    "copy": "cp -a {old} {new}",
    "without times": "cp -r {old} {new}",
    "rsync": "rsync -a {old}/ {new}",
    "tar": "mkdir {new} && tar -C {old} -cf - . | tar -C {new} -xf -",
    "clone": "git init -q {old} && git -C {old} add -f . && git -C {old} commit -qm all && git clone -q {old} {new}",
    "memory": "cp -r {old} {new}",
    "restore": "cp -a {old} {old}.saved && rm -r {old} && cp -r {old}.saved {old} && ln -s {old} {new}",
    "move": "mv {old} {new}",
}
GIT = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_answers_after_a_move(name: str, tmp_path: Path, in_memory: Path, shim: Path) -> None:
    """Every answer is the same, with paths mapped: of the moved project, and of each kind of copy."""
    page = (HERE / name / "answers.md").read_text()
    missing = [one for one in needed(page) if not shutil.which(one, path=PATH) and not importlib.util.find_spec(one)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (make test installs it where it may)")
    (tmp_path / "old").mkdir()
    project = Project(name, tmp_path / "old")
    for command, _ in commands(page):
        if not _QUESTION.match(command):
            project.execute(command)
            project.wait_for_hashes()
    asked = (one for one, _ in commands(page) if _QUESTION.match(one))
    questions = [one for one in dict.fromkeys(asked) if "verify" not in one]  # it states "same content, other times"
    before = {question: _answer(project, question) for question in questions}
    assert any(name in answer for answer in before.values() for name in ("─", "current"))
    old = project.folder
    for way, command in WAYS.items():
        new = (in_memory if way == "memory" else tmp_path) / way.replace(" ", "-")
        subprocess.run(["bash", "-ec", command.format(old=old, new=new)], check=True, env=project.env | GIT)
        project.folder = new.resolve()
        assert {question: _answer(project, question) for question in questions} == before, way


def _answer(project: Project, question: str) -> str:
    """Return an answer with FOLDER for the project's folder."""
    answer = project.execute(question)
    return normal(answer.replace(str(project.folder), "FOLDER"), project.page)
