"""Tables that C and Python both need are written once, in `.def` files that the shim includes."""

from __future__ import annotations

import shared_tables
from conftest import ROOT


def test_the_module_is_up_to_date() -> None:
    """`make vocab` writes interceptors/python/shared_tables.py."""
    assert (ROOT / "interceptors" / "python" / "shared_tables.py").read_text(encoding="utf-8") == shared_tables.module()
