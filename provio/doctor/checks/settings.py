"""The settings: whether what is set is right."""

from __future__ import annotations

from collections.abc import Iterator

from provio import config
from provio import home as homes
from provio.doctor import Finding, Place, ok, problem

ABOUT = "settings"


def look(place: Place) -> Iterator[Finding]:  # noqa: ARG001
    """Yield what is wrong in a file or a variable."""
    wrong: list[str] = []
    found = config.load(homes.project_folders(), forgive=wrong.append)
    for line in wrong:
        yield problem(line, "until it is mended, `provio run` takes it as not set and questions refuse")
    if not wrong:
        count = len(found.sources)
        yield ok(f"{count} set, the rest as built in" if count else "none set: all as built in")
