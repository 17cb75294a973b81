"""The store: whether what was recorded can be asked, and what is left to be merged or cleared away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from provio.ask import disk_usage
from provio.base.errors import ProvioError
from provio.base.text import plural, size
from provio.doctor import Finding, Place, note, ok, problem
from provio.merge import removal
from provio.settings import home as homes
from provio.settings import load
from provio.system import owners
from provio.trace import run_source

ABOUT = "store"


def look(place: Place) -> Iterator[Finding]:
    """Yield how the store stands."""
    if not place.home.path.is_dir():
        return
    open_to_all = owners.open_to_all(place.home.path)
    if open_to_all:
        yield problem(f"anybody may write in {open_to_all}", f"chmod o-w {open_to_all}, and see what it holds")
    count = len(place.home.run_folders())
    try:
        pending = _asked(place)
    except ProvioError as error:
        says, _, remedy = str(error).rpartition(": ")
        yield problem(says or remedy, remedy)
        return
    files, litter = removal.litter(place.home)
    if files:
        yield note(f"{plural(files, 'file')}, {size(litter)}, left by what was broken or killed", "provio prune")
    if place.home.words_left.exists():
        yield note(homes.LEFT_WORDS, "provio merge")
    waiting = f", {pending} to be merged by the next question" if pending else ""
    yield ok(f"{plural(count, 'run')}{waiting}")
    yield ok(disk_usage.taken(place.home).line())


def _asked(place: Place) -> int:
    """How many runs are pending; opens what is published, where there is anything."""
    from provio.store import open_reader, served

    settings = load.load(homes.project_folders(Path.cwd()), forgive=lambda _: None, shown=True)
    home = served(place.home, settings)
    if not home.server and (home.snapshots / "current").exists():
        open_reader(home, settings)
    return len(run_source.pending(home, settings.conclusions))
