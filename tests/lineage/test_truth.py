"""The table of truth (bench/truth): each answer is the planted truth, or differs from it as deviations.toml states."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import ROOT
from truth import page, rows
from truth.record import record
from truth.verdict import DESCRIBED, Verdict, described, judged, known


@pytest.mark.slow
def test_each_answer_is_the_truth_or_a_known_deviation(shim: Path, tmp_path: Path) -> None:
    """The answers that are not exact are those of deviations.toml; if no program is missing, docs/truth.md has the same
    score. `make truth` prints the differences and writes the page."""
    answers, left_out = record(rows.groups(), tmp_path, os.cpu_count() or 1)
    found = {answer.question.key: described(answer) for answer in answers if judged(answer) is not Verdict.EXACT}
    asked = {answer.question.key for answer in answers}
    expected = {
        key: {name: entry[name] for name in DESCRIBED if name in entry}
        for key, entry in known().items()
        if key in asked
    }
    assert found == expected
    if not left_out:
        assert (ROOT / "docs" / "truth.md").read_text(encoding="utf-8") == page.text(answers, []), "make truth"


def test_questions_have_different_names() -> None:
    """Each row has a folder of its own, each deviation is that of a question and has a reason."""
    every = [row for group in rows.groups().values() for row in group]
    assert len({row.folder for row in every}) == len(every)
    asked = {question.key for row in every for question in row.questions()}
    assert set(known()) <= asked
    assert [key for key, entry in known().items() if not entry["reason"]] == []
    assert len(asked) >= 388


def test_answers_that_are_silently_wrong_are_limits() -> None:
    """docs/limits.md lists the way of the data of each answer that lacks a file without a gap."""
    limits = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    silent = [key for key, entry in known().items() if entry["verdict"] == Verdict.SILENT.value]
    assert [key for key in silent if f"`{known()[key].get('limit')}`" not in limits] == []
