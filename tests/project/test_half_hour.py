"""docs/first-half-hour.md shows the present output for a new user, in a fresh environment, at 80 columns."""

from __future__ import annotations

import difflib
import os

import half_hour
import pytest
from conftest import ROOT

PAGE = ROOT / "docs" / "first-half-hour.md"


@pytest.mark.slow
def test_the_page_is_up_to_date() -> None:
    """Except ids, times and sizes; `make transcript` updates it."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away, as the page does")
    seen = half_hour.page()
    old, new = (list(map(half_hour.blank, page.splitlines())) for page in (PAGE.read_text(encoding="utf-8"), seen))
    if old != new:
        pytest.fail("make transcript\n" + "\n".join(difflib.unified_diff(old, new, lineterm="", n=0)))


def test_the_page_has_no_data_of_a_machine() -> None:
    """No traceback, no colour, no folder of a user; output fits the terminal, except messages, which are one line."""
    page = PAGE.read_text(encoding="utf-8")
    assert "Traceback" not in page
    assert "\x1b" not in page
    assert "/tmp/" not in page
    shown = [line[4:] for line in page.splitlines() if line.startswith("    ") and not line.startswith("    $ ")]
    assert not [line for line in shown if len(line) > 80 and not line.startswith(("provio: ", "run "))]
