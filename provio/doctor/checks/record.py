"""Checks of the record: the `.provio` folder, the store and the settings."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from provio.ask import disk_usage
from provio.base.errors import ConfigError, NothingKnown, ProvioError
from provio.base.text import plural, size
from provio.doctor import Finding, Place, check, note, ok, problem
from provio.doctor.checks import damage, machine
from provio.merge import removal
from provio.settings import home as homes
from provio.settings import load, schema
from provio.store import Damaged
from provio.system import statx
from provio.trace import run_source
from provio.trace.recording import SAFE_FOR_MAPS

HOME_REMEDY = "set PROVIO_HOME to a folder that you own"


@check("record")
def check_record(place: Place) -> Iterator[Finding]:
    """Yield where a run would be recorded, and whether that folder is trusted, writable and on a suitable disk."""
    try:
        found = homes.find()
        yield ok(f"{found.path}{', shared with a group' if found.shared else ''}")
    except NothingKnown:
        yield ok(f"{place.home.path} would be created by the first run")
    except ProvioError as error:
        yield problem(str(error).partition(": set")[0], HOME_REMEDY)
        return
    wrong = _unwritable(place.home.runs if place.home.runs.is_dir() else place.folder)
    if wrong:
        yield problem(wrong, HOME_REMEDY)
    yield from _file_system(place.folder)


def _unwritable(folder: Path) -> str:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, 1 << 20)  # the only way to detect an exhausted quota
    except OSError as error:
        return f"cannot write 1 MB in {folder}: {error.strerror}"
    return ""


def _file_system(folder: Path) -> Iterator[Finding]:
    mount = statx.mount_of(folder)
    if mount is None or mount.file_system in SAFE_FOR_MAPS:
        return
    kind = "a network file system" if mount.file_system in statx.SHARED else "a file system that may lose mapped data"
    subject = f"{os.fsdecode(mount.point)} is {kind} ({mount.file_system})"
    shared = run_source.shared_memory().parent
    if os.access(shared, os.W_OK):
        yield note(
            f"{subject}: trace files of running programs stay in {shared} until the run is merged and archived",
            "merge on the host that recorded, before it is restarted",
        )
    else:
        yield problem(
            f"{subject}: a crash may lose records there, and {shared} is not writable",
            "set PROVIO_HOME to a folder on a local disk",
        )
        yield from machine.unmappable(str(folder))


@check("settings")
def check_settings(_place: Place) -> Iterator[Finding]:
    """Yield the errors in settings files and variables."""
    wrong: list[str] = []
    found = load.load(homes.project_folders(), forgive=wrong.append, shown=True)
    for line in wrong:
        yield problem(line, f"fix it: until then queries fail, and `provio run` {_effect_on_runs()}")
    if not wrong:
        count = len(found.sources.keys() & schema.KEYS)
        yield ok(f"{count} set, the rest have their defaults" if count else "none set, all have their defaults")


def _effect_on_runs() -> str:
    try:
        load.load(homes.project_folders(), forgive=lambda _: None)
    except ConfigError:
        return "records nothing"
    return "ignores this setting"


@check("store")
def check_store(place: Place) -> Iterator[Finding]:
    """Yield whether the store can be opened, how many runs are pending, and which files can be removed."""
    if not place.home.path.is_dir():
        return
    open_to_all = homes.open_to_all(place.home.path)
    if open_to_all:
        yield problem(
            f"{open_to_all} is writable by all users", f"chmod o-w {open_to_all}, and check its files for changes"
        )
    count = len(place.home.run_folders())
    try:
        pending = _pending(place)
    except Damaged as error:
        yield problem(error.problem, damage.REBUILD)
        return
    except ProvioError as error:
        message, _, remedy = str(error).rpartition(": ")
        yield problem(message or remedy, remedy)
        return
    files, litter = removal.leftovers(place.home)
    if files:
        yield note(f"{plural(files, 'file')}, {size(litter)}, left by interrupted commands", "provio prune")
    if place.home.words_left.exists():
        yield note(homes.LEFT_WORDS, "provio merge")
    waiting = f", {pending} pending: the next query merges them" if pending else ""
    yield ok(f"{plural(count, 'run')}{waiting}")
    yield ok(disk_usage.taken(place.home).line())


def _pending(place: Place) -> int:
    """Return the number of pending runs, after opening the published snapshot, if there is one."""
    from provio.store import open_reader, served

    settings = load.load(homes.project_folders(Path.cwd()), forgive=lambda _: None, shown=True)
    home = served(place.home, settings)
    if not home.server and (home.snapshots / "current").exists():
        open_reader(home, settings)
    return len(run_source.pending(home, settings.conclusions))
