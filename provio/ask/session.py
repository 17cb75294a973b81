"""The common start of every query: a target or the name of a run in, the store that answers, with all runs merged,
out."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from provio.base import terminal, time_limit
from provio.base.errors import Busy, NotAllowed, NothingKnown, ProvioError, StoreError
from provio.base.records import replace
from provio.base.text import plural

LISTS = "provio runs lists them"
PATIENCE, LONGEST = 5.0, 60.0  # seconds to wait for a merge without a sign of life, and for any other merge

if TYPE_CHECKING:
    from datetime import datetime

    from provio.ask.target import Target
    from provio.settings.home import Home
    from provio.settings.lock import Lock
    from provio.settings.schema import Config
    from provio.store import Reader, Store


Say = Callable[[str], None]


@dataclass(frozen=True)
class Which:
    """The selection of a version of a file (`at`, `run`), and of the runs to query (`campaign`, `name`)."""

    at: datetime | None = None
    run: str | None = None
    campaign: str | None = None
    name: str | None = None


@dataclass(frozen=True)
class Asked:
    """The targets of a query: the reader that answers, the target of each text, the last error of an unknown one."""

    reader: Reader
    targets: list[Target]
    texts: list[str]
    unknown: NothingKnown | None = None


def files(paths: Sequence[str], which: Which = Which()) -> Asked:
    """Return the targets of `paths`, as far as they are known; raises NothingKnown if none is known."""
    if which.at and which.run is not None:
        raise click.UsageError("--at and --run both select a version: give one of them")
    if not paths:
        raise click.UsageError("no file given")
    if len(paths) > 1 and _apart(paths):
        raise click.UsageError(
            "these files are in different projects, each with its own .provio: query one at a time, or name the others "
            "in the setting stores"
        )
    store = reader(paths[0])
    confined = confine(store, which)
    run = None if which.run is None else run_id(store, which.run)
    targets, texts, unknown = [], [], None
    for path in dict.fromkeys(paths):
        try:
            targets.append(find(confined, path, which.at, run))
            texts.append(path)
        except NothingKnown as error:
            unknown = error if store is confined else type(error)(f"{error}, in the runs that were chosen")
            if len(paths) == 1:
                raise unknown from error
            terminal.complain(str(unknown))
    if not targets:
        from provio.ask import suggestions

        raise suggestions.nothing_known(store, "any of these files")
    return Asked(confined, targets, texts, unknown)


def find(reader: Reader, path: str, at: datetime | None, run: str | None) -> Target:
    """Return the target of a path or of FILE#/DATASET; raises NothingKnown."""
    if "#" in path:
        from provio.ask import object_target

        if object_target.may_name_object(path):
            return object_target.find(reader, path, lambda file: _file(reader, file, at, run))
    return _file(reader, path, at, run)


def _file(reader: Reader, path: str, at: datetime | None, run: str | None) -> Target:
    if at is None and run is None:
        from provio.ask.target import find_target

        return find_target(reader, path)
    from provio.ask.earlier import target_at, target_of_run

    return target_at(reader, path, at) if at else target_of_run(reader, path, run or "")


def graphs(store: Store, which: Which) -> list[str] | None:
    """Return the graphs of the runs that are asked; None for all."""
    if which.campaign is None and which.name is None:
        return None
    from provio.ask import runs
    from provio.base.vocab import RUN_BASE
    from provio.graph.lines import bundle_iri

    return [bundle_iri(RUN_BASE + run) for run in runs.chosen(store, which.campaign, which.name) or ()]


def confine(store: Store, which: Which) -> Reader:
    """Return a reader of these runs' graphs, and of what follows from several; or of all."""
    chosen = graphs(store, which)
    if chosen is None:
        return store
    from provio.merge.cross_run.facts import CONTENT, DERIVED
    from provio.store import Confined

    return Confined(store, [*chosen, DERIVED, CONTENT])


def _home(target: str | None) -> Home:
    from provio.settings import home as homes

    return homes.find(_folder(target))


def _folder(target: str | None) -> Path | None:
    """The folder of a target that is a path."""
    return Path(target).parent if target and not target.startswith(("https:", "http:", "file:")) else None


def reader(target: str | None) -> Store:
    """Return the store that answers for a target, after what is pending was merged; what goes on is said."""
    store = opened(_home(target), settings(_folder(target)), terminal.complain, terminal.steady_progress)
    if store.as_of:
        terminal.note(store.as_of)
    return store


def opened(own: Home, configured: Config, say: Say, progress: Callable[[], Say]) -> Store:
    """Return the store of a `.provio`, after what has ended was merged, with what goes on as it is now; `say` is told
    what is not in its answers."""
    return merged(own, configured, say, progress)[2]


def merged(own: Home, configured: Config, say: Say, progress: Callable[[], Say]) -> tuple[Home, Config, Store]:
    """Merge what has ended; return the `.provio` to be asked, its settings, and its store as `opened` does."""
    from provio.store import Damaged, is_earlier, open_reader, pending

    home = own
    if configured.ontology:
        from provio.store import user_vocabulary

        user_vocabulary.of(configured)
    if configured.stores:
        configured = replace(configured, store="")  # all together are asked here, wherever each of them is kept
        home = _together(own, configured, say)
    _collect(own, configured, say)
    earlier = not configured.store and is_earlier(home)  # if so, all runs are merged again, with or without a folder
    folders = home.run_folders() if earlier else pending(home, configured, earlier=earlier)
    more = _merge_pending(home, folders, configured, (say, progress), publish=earlier)
    _pack(own, configured)
    try:
        store = _with(home, *more, configured, (say, progress)) or open_reader(home, configured)
    except Damaged as error:
        say(f"{error}; rebuilding it")
        more = _merge_pending(home, home.run_folders(), configured, (say, progress), publish=True)
        store = _with(home, *more, configured, (say, progress)) or open_reader(home, configured)
    return home, configured, store


def _collect(own: Home, configured: Config, say: Say) -> None:
    """Collect the files that runs of this host have outside `.provio`: on the node's own disk, or in shared memory."""
    from provio.system.node_local import NOTES
    from provio.trace import run_source

    runs, names = own.runs, []
    with contextlib.suppress(OSError):
        names = os.listdir(run_source.shared_memory())
    outside = configured.capture_dir or (own.path / NOTES).is_dir()
    if outside or any((runs / name.partition(".")[0]).is_dir() for name in names):
        from provio.trace import collect

        for line in collect.collect_here(own, setting=configured.capture_dir):
            say(line)


def unmerged(home: Home, configured: Config) -> tuple[list[Path], list[Path], str]:
    """Return the runs that go on, the newest of those that ended and are not merged yet, and what to say of others."""
    from provio.ask import live
    from provio.store import pending

    ended, going = live.divide(pending(home, configured))
    newest = live.newest(ended)
    return going, newest, _left_out(len(ended) - len(newest))


def _left_out(count: int) -> str:
    what = f"{plural(count, 'run')} pending, not in this answer yet"
    return f"{what}: ask again when they are merged" if count else ""


def _divided(folders: list[Path], configured: Config) -> tuple[list[Path], list[Path]]:
    """Which runs have ended, and which go on; to a server all are told as they are."""
    if configured.store or not folders:
        return folders, []
    from provio.ask import live

    return live.divide(folders)


def _with(
    home: Home, going: list[Path], left: list[Path], configured: Config, tell: tuple[Say, Callable[[], Say]]
) -> Store | None:
    """The store with the runs that go on, and those that are `left` unmerged; None where there are neither."""
    if not (going or left):
        return None
    from provio.ask import live
    from provio.store import Damaged

    say, progress = tell
    more = [] if configured.store else live.newest(left)
    if missing := _left_out(len(left) - len(more)):
        say(missing)
    if not (going or more):
        return None
    try:
        with time_limit.not_counted():
            found = live.overlaid(home, [*going, *more], configured, progress())
    except Damaged:
        raise
    except (ProvioError, OSError) as error:
        say(f"{plural(len(going) + len(more), 'run')} not in this answer: {error}")
        return None
    for word in filter(None, found.words):
        say(word)
    reader = found.reader()
    reader.as_of, reader.going = live.said(going)
    return reader


def _together(home: Home, configured: Config, say: Say) -> Home:
    """The store of all records that are asked together, without the runs that are gone."""
    from provio.ask import federated

    found = federated.of(home, configured, say)
    try:
        with time_limit.not_counted():
            federated.forget_gone(found, configured)
            federated.copy_served(found, configured)
    except ProvioError as error:
        say(f"stores: this answer is not fully up to date: {error}")
    return found


def _apart(paths: Sequence[str]) -> bool:
    """Return whether files are in projects that are not queried together."""
    found = {home.path: home for home in map(_home, paths)}
    if len(found) == 1:
        return False
    from provio.ask import federated

    first = _home(paths[0])
    configured = settings(_folder(paths[0]))
    return not all(federated.holds(first, configured, home) for home in found.values())


def question_folders(configured: Config) -> list[str]:
    """Return the user's folders of questions; a relative one is beside the file that names it."""
    from glob import glob

    beside = os.path.dirname(configured.source("queries").rpartition(":")[0])
    named = [os.path.join(beside, folder) for folder in configured.queries]
    return [found for folder in named for found in (sorted(glob(folder)) or [folder])]


def settings(target: Path | None = None) -> Config:
    """Return what is set where the record lies that answers for a target; raises ConfigError for what is wrong."""
    from provio.settings import home as homes
    from provio.settings import load

    return load.load(homes.project_folders(target))


def _merge_pending(
    home: Home, folders: list[Path], configured: Config, tell: tuple[Say, Callable[[], Say]], publish: bool = False
) -> tuple[list[Path], list[Path]]:
    """Merge of some runs what has ended; who waits for another process that merges does so only while that goes on.
    Return which of them go on, and which are left: to another process, or where the store cannot be written."""
    ended, going = _divided(folders, configured)
    if not (ended or publish):
        return going, []
    say, progress = tell
    try:
        note = progress()
        lock, waited = _lock(home, note)
        if waited and not publish:
            from provio.store import pending

            ended, going = _divided(pending(home, configured), configured)
        from provio.ask import live
        from provio.merge import hashing
        from provio.merge.runs import merge

        hashing.begin(home)
        with time_limit.not_counted():
            outcome = merge(home, ended, lock=lock, wait=False, publish=publish, progress=note, settings=configured)
        for word in live.words_of(outcome):
            say(word)
    except Busy:
        return going, ended
    except ProvioError as error:
        say(f"{plural(len(ended), 'run')} pending: {error}")
        return going, ended if isinstance(error, (StoreError, NotAllowed)) else []
    return going, []


def _lock(home: Home, note: Say) -> tuple[Lock, bool]:
    """Return the lock of the store, held, and whether another process had it: the background merge lets it go when it
    is asked to, any other merge is waited for while it goes on. Raises Busy."""
    from provio.settings.lock import Lock

    begun = since = time.monotonic()
    sign = None
    while True:
        try:
            return Lock(home, wait=False), sign is not None
        except Busy:
            now, found = time.monotonic(), _sign_of_life(home)
            if found != sign:
                sign, since = found, now
            elif now - since > PATIENCE or now - begun > LONGEST:
                raise
            note("another process is merging: waiting for it")
            time.sleep(0.05)


def _sign_of_life(home: Home) -> int:
    try:
        return os.stat(home.lock).st_mtime_ns
    except OSError:
        return 0


def _pack(home: Home, configured: Config) -> None:
    """Have what is due packed by a process that nobody waits for."""
    from provio.merge import archive_runs
    from provio.store import served

    if configured.pack and os.access(home.runs, os.W_OK) and archive_runs.due(served(home, configured), time.time()):
        archive_runs.begin(home)


def run_id(reader: Store, name: str) -> str:
    """Return the id of the run that `name` means; raises NothingKnown where there is none."""
    from provio.ask import runs

    found = runs.find(reader, name)
    if found is None:
        from provio.ask import suggestions

        known = [row["name"] for row in reader.rows(runs.LISTING) if "name" in row]
        raise NothingKnown(f"no run {name!r} is recorded: {suggestions.of_run(name, known)}")
    return found


def run_folder(home: Home, name: str) -> Path:
    """Return the folder of the one run whose id begins with `name`, merged or not."""
    found = [folder for folder in home.run_folders() if name and folder.name.startswith(name)]
    if len(found) != 1:
        what, remedy = ("more than one run begins", "say more of the id") if found else ("no run begins", LISTS)
        raise NothingKnown(f"{what} with {name!r} in {home.runs}: {remedy}")
    return found[0]


def extent(folders: Sequence[Path]) -> tuple[int, int]:
    """Return how many bytes these runs take on the disk, and in how many files; nothing where they are gone."""
    from provio.trace import run_source

    found = [run_source.of(folder).extent() for folder in folders if run_source.exists(folder)]
    return sum(size for size, _ in found), sum(files for _, files in found)


def own_runs(home: Home) -> dict[str, dict[str, str]]:
    """Return the runs that a `.provio` itself has, merged or not, by their ids, with what the list of runs says of
    each: of records that are asked together only this one's."""
    from provio.ask import runs

    listed = {row["run"]: row for row in reader(None).rows(runs.LISTING)}
    here: dict[str, dict[str, str]] = {folder.name: {} for folder in home.run_folders()}
    return {run: listed.get(run, {}) for run in here} if settings().stores else here | listed
