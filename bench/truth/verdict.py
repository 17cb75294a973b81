"""Compares answers with the truth.

In: `Answer`. Out: one of five verdicts, and the difference from deviations.toml, the table of known wrong answers.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from truth.rows import table
from truth.session import OPTIONAL, Answer, allowed, matches

DESCRIBED = ("verdict", "missing", "extra")  # the members of an entry that describe the answer


class Verdict(Enum):
    """How an answer compares with the truth."""

    EXACT = "exact"
    EXPLAINED = "exact, with a gap"
    OVER = "over"
    GAP = "under with a gap"
    SILENT = "under silently"


def missing(answer: Answer) -> list[str]:
    """Return the true files that were not found."""
    wanted = [one for one in answer.question.truth if not one.endswith(OPTIONAL)]
    return [one for one in wanted if not any(matches(one, name) for name in answer.found)]


def extra(answer: Answer) -> list[str]:
    """Return the found files that are not true."""
    return sorted(name for name in answer.found if not allowed(name, answer.question.truth))


def judged(answer: Answer) -> Verdict:
    """Return the verdict on an answer. One that lacks a file is `under`, even if it contains a wrong one too."""
    if missing(answer):
        return Verdict.GAP if answer.gaps else Verdict.SILENT
    if extra(answer):
        return Verdict.OVER
    return Verdict.EXPLAINED if answer.gaps else Verdict.EXACT


def described(answer: Answer) -> dict[str, Any]:
    """Return an answer that is not exact in the form of an entry of deviations.toml, without its reason."""
    verdict = judged(answer)
    differences = {"missing": missing(answer), "extra": extra(answer)}
    return {"verdict": verdict.value, **{name: names for name, names in differences.items() if names}}


def known() -> dict[str, dict[str, Any]]:
    """Return the known deviations, by the key of their question."""
    return {entry.pop("question"): entry for entry in table("deviations.toml", "deviation")}
