"""What watching costs does not grow unseen: instructions that callgrind counts, against bench/instructions.json."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import instructions
import pytest
from case import LEVELS, Place

# Beyond the kept figure; and where only those of other compilers or C libraries are kept, beyond the largest of them.
GROWTH, GROWTH_ELSEWHERE = 1.10, 1.50

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed (apt-get install valgrind)"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (apt-get install gcc)"),
]


def limit(what: str, level: str) -> tuple[int, str]:
    """Return how many instructions may be, and where that is from."""
    kept, here = instructions.kept(), instructions.built_with()
    if here in kept:
        return round(kept[here][what][level] * GROWTH), f"{kept[here][what][level]} are kept for {here}"
    largest = max(figures[what][level] for figures in kept.values())
    return round(largest * GROWTH_ELSEWHERE), f"{largest} are kept, and none for {here}"


@pytest.fixture
def place() -> Iterator[Place]:
    """A folder whose name is as long as where the figures were kept: each letter of a path costs some instructions."""
    with tempfile.TemporaryDirectory(prefix=instructions.PREFIX) as name:
        yield Place(Path(name), Path(name), Path(name))


@pytest.mark.parametrize("what", instructions.TITLES)
def test_no_growth(what: str, place: Place) -> None:
    """Neither a call nor the start of a process takes a tenth more instructions than when they were last kept."""
    figures = instructions.measured(place, LEVELS, [what])[what]
    for level in LEVELS:
        most, kept = limit(what, level)
        assert 0 < figures[level] <= most, (
            f"{instructions.TITLES[what]} at {level} takes {figures[level]} instructions more than bare; {kept}. "
            "`python bench/instructions.py` prints all of them; if more are right, `make instructions` keeps these."
        )
