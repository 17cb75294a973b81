"""What every question does first: a target or the name of a run in, the store that answers, all merged, out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from provio import terminal
from provio.errors import NothingKnown, ProvioError
from provio.reports.text import plural

if TYPE_CHECKING:
    from provio.config import Config
    from provio.home import Home
    from provio.store.embedded import StoreReader


def reader(target: str | None) -> StoreReader:
    """Return the store that answers for a target, after what is pending was merged."""
    from provio import home as homes
    from provio.store.embedded import Damaged, StoreReader

    path = Path(target) if target and not target.startswith(("https:", "http:", "file:")) else None
    home = homes.find(path.parent if path else None)
    configured = settings(path.parent if path else None)
    _merge_pending(home, home.pending(configured.conclusions), configured)
    try:
        return StoreReader(home)
    except Damaged as error:
        terminal.complain(f"{error}; making it anew")
        import shutil

        shutil.rmtree(home.snapshots)
        _merge_pending(home, home.run_folders(), configured)
        return StoreReader(home)


def settings(target: Path | None = None) -> Config:
    """Return what is set where the record lies that answers for a target; raises ConfigError for what is wrong."""
    from provio import config
    from provio import home as homes

    return config.load(homes.project_folders(target))


def _merge_pending(home: Home, folders: list[Path], configured: Config) -> None:
    if not folders:
        return
    from provio.merge import merge

    try:
        for damage in merge(home, folders, progress=terminal.progress(), settings=configured).damages:
            terminal.complain(f"damaged: {damage}")
    except ProvioError as error:
        terminal.complain(f"{plural(len(folders), 'run')} pending: {error}")


def run_id(reader: StoreReader, name: str) -> str:
    """Return the id of the run that `name` means; raises NothingKnown where there is none."""
    from provio import runs

    found = runs.find(reader, name)
    if found is None:
        raise NothingKnown(f"no run {name!r} is recorded (provio runs lists them)")
    return found


def run_folder(home: Home, name: str) -> Path:
    """Return the folder of the one run whose id begins with `name`, merged or not."""
    found = [folder for folder in home.run_folders() if folder.name.startswith(name)]
    if len(found) != 1:
        raise NothingKnown(f"{'no run' if not found else 'more than one run'} begins with {name!r} in {home.runs}")
    return found[0]
