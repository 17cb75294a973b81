"""The cost of recording does not grow unnoticed: instructions counted by callgrind, against bench/instructions.json."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import instructions
import pytest
from case import LEVELS, Place

# Allowed above the kept figure; and above the largest one, if there are only figures of other compilers or C libraries.
GROWTH, GROWTH_ELSEWHERE = 1.10, 1.50

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed (apt-get install valgrind)"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (apt-get install gcc)"),
]


def limit(measure: str, level: str) -> tuple[int, str]:
    """Return the allowed number of instructions, and its source."""
    kept, here = instructions.kept(), instructions.built_with()
    if here in kept:
        return round(kept[here][measure][level] * GROWTH), f"{kept[here][measure][level]} are kept for {here}"
    largest = max(figures[measure][level] for figures in kept.values())
    return round(largest * GROWTH_ELSEWHERE), f"{largest} are kept, and none for {here}"


@pytest.fixture
def place() -> Iterator[Place]:
    """A folder with a name as long as where the figures were measured: each letter of a path costs some
    instructions."""
    with tempfile.TemporaryDirectory(prefix=instructions.PREFIX) as name:
        yield Place(Path(name), Path(name), Path(name))


@pytest.mark.parametrize("measure", instructions.TITLES)
def test_no_growth(measure: str, place: Place) -> None:
    """Neither a call nor the start of a process takes a tenth more instructions than the kept figures."""
    figures = instructions.measured(place, LEVELS, [measure])[measure]
    for level in LEVELS:
        most, kept = limit(measure, level)
        assert 0 < figures[level] <= most, (
            f"{instructions.TITLES[measure]} at {level} takes {figures[level]} instructions more than bare; {kept}. "
            "`python bench/instructions.py` prints all of them; if more are right, `make instructions` keeps these."
        )
