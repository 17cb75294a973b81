"""The description of a project for those who receive its results: title, creators, licence, funding, identifiers.

Nothing in it is invented: a fact that its owner did not state is empty.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from provio.exchange.hidden import Hidden
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


def of(home: Home, hide: Hidden | None = None) -> Description:
    """Return the description in the settings of the project of a record; its title is at least the folder's name,
    without hidden values."""
    from provio.settings import home as homes
    from provio.settings import load

    found = load.load(homes.project_folders(home.project), forgive=lambda _: None, shown=True)
    folder = os.fspath(home.project)
    return Description(
        title=found.project_title or os.path.basename(hide.text("cwd", folder) if hide else folder),
        description=found.project_description,
        licence=found.project_licence,
        creators=tuple(found.project_creators.items()),
        affiliation=_organization(found.project_affiliation),
        publisher=_organization(found.project_publisher),
        funding=found.project_funding,
        identifiers=found.project_identifiers,
    )


def _organization(text: str) -> tuple[str, str] | None:
    """Return the name and the URL of `NAME <URL>`; the URL may be absent."""
    name, _, url = text.partition("<")
    return (name.strip(), url.strip(" >")) if text else None
