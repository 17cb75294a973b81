"""The text difference of a script that two runs used: from disk, from kept contents, from Git; without secrets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import Project

from provio.ask import session
from provio.compare import answer, script_text
from provio.compare.differences import Row
from provio.settings.home import Home
from provio.trace.redact import Redaction

FIRST = "import sys\nrate = 0.5\nprint(rate)\nprint(1)\nprint(2)\nprint(3)\n"
SECOND = FIRST.replace("0.5", "0.25")
DIFFERENCE = "@@ -1,4 +1,4 @@\n import sys\n-rate = 0.5\n+rate = 0.25\n print(rate)\n print(1)"
GIT = "git -c user.name=a -c user.email=a@b -c commit.gpgsign=false"


def run(project: Project, name: str, text: str) -> None:
    """Run a script with a text."""
    (project.path / "model.py").write_text(text)
    project.provio("run", "--hash", "--quiet", "--name", name, "--", "python3", "model.py")
    project.provio("merge", "--quiet")


def row(project: Project) -> dict[str, Any]:
    """Return the row about the script."""
    found = json.loads(project.provio("diff", "a", "b", "--only", "code", "--as", "json", code=1).stdout)
    (one,) = [one for one in found if one["key"] == "model.py"]
    return dict(one)


def test_of_git(project: Project) -> None:
    """The first version is in the commit of its run; a version that was never committed is not guessed."""
    project.provio("init")
    (project.path / "model.py").write_text(FIRST)
    project.sh(f"git init -q .; git add model.py; {GIT} commit -qm 1")
    run(project, "a", FIRST)
    run(project, "b", SECOND)
    assert row(project)["text"] == DIFFERENCE
    shown = project.provio("diff", "a", "b", "--only", "code", code=1).stdout
    assert "\n".join(f"    {line}" for line in DIFFERENCE.split("\n")) in shown
    project.sh(f"git add model.py; {GIT} commit -qm 2")  # both are in Git now
    (project.path / "model.py").write_text("pass\n")
    assert row(project)["text"] is None  # the commit of b has the first version, and no other commit is searched
    project.sh("git checkout -q model.py; mv .git away")
    assert row(project)["text"] is None


def test_of_kept_content(project: Project) -> None:
    """Both versions are kept, and neither is on disk; a damaged one is not used."""
    project.provio("init")
    kept = Project(project.path, {**project.env, "PROVIO_RECORD_KEEP": "1MB"})
    run(kept, "a", FIRST)
    run(kept, "b", SECOND)
    (project.path / "model.py").unlink()
    assert row(project)["text"] == DIFFERENCE
    for one in (project.path / ".provio/kept").iterdir():
        if one.is_file() and len(one.name) == 64:
            one.chmod(0o600)
            one.write_text("damaged")
    assert row(project)["text"] is None


def test_secrets(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a secret neither the old nor the new value is shown, in no form of the answer; other parts are."""
    project.provio("init")
    text = 'password = "hunter2aaaa"\n' + "\n" * 9 + FIRST + "\n" * 9 + "token\\\n = 'aaaabbbb'\n"
    for name in "ab":
        (project.path / name).mkdir()
    run(Project(project.path / "a", project.env), "a", text)
    changed = text.replace("0.5", "0.25").replace("hunter2aaaa", "hunter3cccc").replace("aaaabbbb", "ccccdddd")
    run(Project(project.path / "b", project.env), "b", changed)
    for form in ("text", "json"):
        shown = project.provio("diff", "a", "b", "--as", form, code=1).stdout
        assert "+rate = 0.25" in shown
        assert not [one for one in ("hunter2", "hunter3", "aaaabbbb", "ccccdddd") if one in shown]
    monkeypatch.chdir(project.path)
    store = session.reader(None)
    home = Home(project.path / ".provio")
    found = answer.of_runs(store, home, [session.run_id(store, name) for name in "ab"], project.path)
    for one in found.comparison.sides:
        one.paths |= dict.fromkeys(one.paths, f"{project.path}/.env/model.py")
    assert [found.text(one) for one in found.rows if one.kind == "code"] == [[]]  # by its name
    source = Row("code", "f", "source", "def f():\n    return 1\n", "def f():\n    return 2\n", False)
    assert script_text.of_row(found.comparison, source)[1:] == [" def f():", "-    return 1", "+    return 2"]
    assert script_text.of_row(found.comparison, source._replace(first=None)) == []
    assert script_text.of_row(found.comparison, source._replace(kind="inputs")) == []


def lines(first: str, second: str) -> list[str]:
    """Return the difference of two texts."""
    return script_text.unified(first, second, Redaction())


def test_the_parts_that_may_contain_a_secret() -> None:
    """Each is hidden alone; a secret that is replaced leaves no difference, and the answer states that."""
    old = "a\n" + "\n" * 20 + "the password is in\n  file\n" + "\n" * 20 + "z\n"
    new = old.replace("a\n", "b\n", 1).replace("file", "folder").replace("z", "y")
    assert [line for line in lines(old, new) if line.strip()] == [
        "@@ -1,3 +1,3 @@", "-a", "+b", "@@ -21,5 +21,5 @@", script_text.HIDDEN, "@@ -42,3 +42,3 @@", "-z", "+y",
    ]  # fmt: skip
    assert lines('password = "hunter2aaaa"\n', 'password = "hunter3cccc"\n') == [script_text.ONLY_SECRETS]
    assert lines("a\n", "a\r\n") == [script_text.ONLY_SECRETS]
    assert lines("a\n", "a\n") == []


def test_the_size_of_a_difference() -> None:
    """Many lines are cut, and so are long ones; a text of very many lines is not compared."""
    found = lines("", "".join(f"{number}\n" for number in range(100)))
    assert (len(found), found[-1]) == (script_text.MOST + 1, "(and 61 more lines)")
    assert len(lines("", "x" * 10_000)[1]) == script_text.LONGEST + 2
    assert lines("", "\n" * (script_text.LINES + 1)) == []
