"""Twelve small projects of real programs: each answer about them is the one that a scientist wants to read, whole."""

from __future__ import annotations

import importlib.util
import shutil
from difflib import unified_diff
from pathlib import Path

import pytest
from transcript import HERE, PATH, Project, commands, needed

NAMES = sorted(page.parent.name for page in HERE.glob("*/answers.md"))
PAGES = {name: (HERE / name / "answers.md").read_text() for name in NAMES}
MOST_LINES = 25
COLUMNS = 80


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_answers(name: str, tmp_path: Path, shim: Path) -> None:
    """Every answer about the project is the wanted one, whole."""
    missing = [
        one for one in needed(PAGES[name]) if not shutil.which(one, path=PATH) and importlib.util.find_spec(one) is None
    ]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (make test installs it where it may)")
    wanted, present = list[str](), list[str]()
    for question, want, answer in Project(name, tmp_path).answers():
        wanted += [f"$ {question}", *want.splitlines()]
        present += [f"$ {question}", *answer.splitlines()]
    differences = "\n".join(unified_diff(wanted, present, "wanted", "present", n=30, lineterm=""))
    assert not differences, differences


@pytest.mark.parametrize("name", NAMES)
def test_short_answers(name: str) -> None:
    """No wanted answer is longer than a screen, or wider."""
    answers = [answer.splitlines() for _, answer in commands(PAGES[name])]
    assert [answer for answer in answers if len(answer) > MOST_LINES] == []
    assert [line for answer in answers for line in answer if len(line) > COLUMNS] == []
