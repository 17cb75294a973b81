"""The description of a project for those who receive its results: title, creators, licence, funding, identifiers.

Nothing in it is invented: a fact that its owner did not state is empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from provio.settings.home import Home


@dataclass(frozen=True)
class Description:
    """The statements of a project's owner. `creators` are pairs of a name and an ORCID, which may be empty; `publisher`
    and `affiliation` (of the creators) are pairs of the name and the URL of an organization; `licence` is a URL, an
    SPDX identifier or a text."""

    title: str = ""
    description: str = ""
    licence: str = ""
    creators: tuple[tuple[str, str], ...] = ()
    affiliation: tuple[str, str] | None = None
    publisher: tuple[str, str] | None = None
    funding: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()


def of(home: Home) -> Description:
    """Return the description of the project of a record: so far only its name, that of its folder."""
    return Description(title=home.project.name)
