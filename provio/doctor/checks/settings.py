"""The settings: whether what is set is right."""

from __future__ import annotations

from collections.abc import Iterator

from provio.base.errors import ConfigError
from provio.doctor import Finding, Place, ok, problem
from provio.settings import home as homes
from provio.settings import load, schema

ABOUT = "settings"


def look(place: Place) -> Iterator[Finding]:  # noqa: ARG001
    """Yield what is wrong in a file or a variable."""
    wrong: list[str] = []
    found = load.load(homes.project_folders(), forgive=wrong.append, shown=True)
    for line in wrong:
        yield problem(line, f"until it is mended, questions refuse, and `provio run` {_recorded()}")
    if not wrong:
        count = len(found.sources.keys() & schema.KEYS)
        yield ok(f"{count} set, the rest as built in" if count else "none set: all as built in")


def _recorded() -> str:
    """What becomes of runs until then."""
    try:
        load.load(homes.project_folders(), forgive=lambda _: None)
    except ConfigError:
        return "records nothing"
    return "takes it as not set"
