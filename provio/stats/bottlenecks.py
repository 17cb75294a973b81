"""What makes I/O slow, in words: what was recorded in, each finding with its evidence and a remedy out.

The rules are in `patterns` (what one file's calls look like) and `habits` (what a program does with many files, ranks
or threads); docs/statistics.md has their thresholds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from provio.plain import plain
from provio.reports.text import elapsed

if TYPE_CHECKING:
    from provio.stats.recorded import Recorded


@plain(frozen=True)
class Bottleneck:
    """One finding: which rule, where, what shows it, what to do, and how long the calls took that it is about."""

    rule: str
    where: str
    evidence: str
    remedy: str
    nanoseconds: int = 0


def took(nanoseconds: int) -> str:
    """Return how long calls took, to stand behind a finding; nothing where that was not recorded."""
    return f", in {elapsed(nanoseconds)}" if nanoseconds else ""


def found(recorded: Recorded) -> list[Bottleneck]:
    """Return all findings, the dearest first."""
    from provio.stats import habits, patterns

    did = patterns.gathered(recorded)
    every = [one for rule in patterns.RULES for one in rule(recorded, did)]
    every += [one for rule in habits.RULES for one in rule(recorded)]
    return sorted(every, key=lambda one: (-one.nanoseconds, one.rule, one.where))
