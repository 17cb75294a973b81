"""The licences of everything that provio installs may be combined with its own, and docs/licences.md lists them."""

import re

import pytest
from conftest import ROOT
from licences import everything, incompatible, licence, page


def test_every_licence_is_compatible() -> None:
    stated = {name: licence(name) for name in everything()}
    assert {"pyoxigraph", "rdflib", "click", "numpy"} <= set(stated)
    assert incompatible(stated) == {}


@pytest.mark.parametrize(
    ("stated", "compatible"),
    [
        ("MIT OR Apache-2.0", True),
        ("BSD-3-Clause AND 0BSD AND Zlib AND CC0-1.0", True),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only", False),
        ("MIT AND GPL-2.0-or-later", False),
        ("GNU Affero General Public License v3", False),
        ("Proprietary", False),
        ("", False),
    ],
)
def test_an_incompatible_licence_is_found(stated: str, compatible: bool) -> None:
    assert (incompatible({"some": stated}) == {}) is compatible


def test_the_page_lists_each_direct_requirement() -> None:
    """Licences as packages state them change with their versions; the names and the text are compared."""
    written = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")

    def names(text: str) -> list[str]:
        return re.findall(r"(?m)^\| ([\w-]+) \|", text)

    assert names(written) == names(page()), "make calls"
    assert written.partition("| package")[0] == page().partition("| package")[0]
