"""The common start of every query: merges pending runs and opens the store.

In: a path, or the name of a run. Out: a store that contains all runs.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from provio.base import terminal, time_limit
from provio.base.errors import Busy, NotAllowed, NothingKnown, ProvioError, StoreError
from provio.base.records import replace
from provio.base.text import plural

LISTS = "provio runs lists them"
PATIENCE, LONGEST = 5.0, 60.0  # seconds to wait for a merge without a sign of life, and for any other merge

if TYPE_CHECKING:
    from provio.settings.home import Home
    from provio.settings.lock import Lock
    from provio.settings.schema import Config
    from provio.store import Store


Report = Callable[[str], None]


def _home(target: str | None) -> Home:
    from provio.settings import home as homes

    return homes.find(_folder(target))


def project(target: str | None) -> tuple[Home, Config]:
    """Return the `.provio` that answers for a target, and its settings."""
    from provio.settings import home as homes
    from provio.settings import load

    folder = _folder(target)
    return homes.find(folder), load.load(homes.project_folders(folder))


def _folder(target: str | None) -> Path | None:
    """Return the folder of a target that is a path; None for an IRI."""
    return Path(target).parent if target and not target.startswith(("https:", "http:", "file:")) else None


def reader(target: str | None, notices: bool = True, as_of: bool = True) -> Store:
    """Merge pending runs and return the store that answers for a target; print a note about runs in progress (`as_of`),
    and one about gaps and damage that merges found since the last verb. Without `notices` the answer itself states the
    gaps."""
    return reader_and_home(target, notices, as_of)[0]


def reader_and_home(target: str | None, notices: bool = True, as_of: bool = True) -> tuple[Store, Home]:
    """Do the same as `reader`, and return also the `.provio` that is queried: of one record, or of several."""
    from provio.merge.notices import take
    from provio.store import served

    home, configured, store = merge_and_open(*project(target), terminal.warn, terminal.steady_progress)
    lines = take(served(home, configured), lambda run: _concluded(store, run))
    for line in lines if notices else ():
        terminal.warn(line)
    if store.as_of and as_of:
        terminal.note(store.as_of)
    return store, home


def _concluded(store: Store, run: str) -> int:
    """Return the number of gaps of a run that merges concluded."""
    from provio.ask import run_summary  # slow to import, and rarely needed

    return run_summary.gaps(store, run)[1]


def open_store(own: Home, configured: Config, report: Report, progress: Callable[[], Report]) -> Store:
    """Merge the ended runs of a `.provio` and return its store, which includes the current state of runs in progress.

    `report` receives a message about each run that the answers omit.
    """
    return merge_and_open(own, configured, report, progress)[2]


def merge_and_open(
    own: Home, configured: Config, report: Report, progress: Callable[[], Report]
) -> tuple[Home, Config, Store]:
    """Do the same as `open_store`, and return the `.provio` to query (of one record, or of several), its settings and
    its store."""
    from provio.store import Damaged, is_earlier, open_reader, pending, served
    from provio.trace import notes

    home = own
    if configured.ontology:
        from provio.store import user_vocabulary

        user_vocabulary.of(configured)
    if configured.stores:
        configured = replace(configured, store="")  # the combined store is local
        home = _combined_home(own, configured, report)
    _collect(own, configured, report)
    earlier = not configured.store and is_earlier(home)  # if so, all runs are merged again, with or without a folder
    folders = home.run_folders() if earlier else pending(home, configured, earlier=earlier)
    publish = earlier or notes.are_pending(served(home, configured))
    more = _merge_pending(home, folders, configured, (report, progress), publish=publish)
    try:
        store = _with_unmerged(home, *more, configured, (report, progress)) or open_reader(home, configured)
    except Damaged as error:
        report(f"{error.problem}; rebuilding it")
        more = _merge_pending(home, home.run_folders(), configured, (report, progress), publish=True)
        store = _with_unmerged(home, *more, configured, (report, progress)) or open_reader(home, configured)
    _archive_due_runs(own, configured)
    return home, configured, store


def _collect(own: Home, configured: Config, report: Report) -> None:
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
            report(line)


def unmerged_runs(home: Home, configured: Config) -> tuple[list[Path], list[Path], str]:
    """Return the runs in progress, the newest ended runs that are not merged yet, and a message about the others."""
    from provio.ask import live
    from provio.store import pending

    ended, in_progress = live.split_by_state(pending(home, configured))
    newest = live.newest(ended)
    return in_progress, newest, _pending_message(len(ended) - len(newest))


def _pending_message(count: int) -> str:
    runs = plural(count, "run")
    return f"{runs} pending, not in this answer yet: repeat the query when they are merged" if count else ""


def _split_by_state(folders: list[Path], configured: Config) -> tuple[list[Path], list[Path]]:
    """Return the ended runs and those in progress; for a server, all runs count as ended."""
    if configured.store or not folders:
        return folders, []
    from provio.ask import live

    return live.split_by_state(folders)


def _with_unmerged(
    home: Home,
    in_progress: list[Path],
    unmerged: list[Path],
    configured: Config,
    reports: tuple[Report, Callable[[], Report]],
) -> Store | None:
    """Return the store with the runs in progress and the ended runs that are `unmerged`; None if there are neither."""
    if not (in_progress or unmerged):
        return None
    from provio.ask import live
    from provio.store import Damaged

    report, progress = reports
    more = [] if configured.store else live.newest(unmerged)
    if missing := _pending_message(len(unmerged) - len(more)):
        report(missing)
    if not (in_progress or more):
        return None
    try:
        with time_limit.not_counted():
            overlay = live.open_overlay(home, [*in_progress, *more], configured, progress())
    except Damaged:
        raise
    except (ProvioError, OSError) as error:
        report(f"{plural(len(in_progress) + len(more), 'run')} not in this answer: {error}")
        return None
    for message in filter(None, overlay.words):
        report(message)
    reader = overlay.reader()
    reader.as_of, reader.in_progress = live.progress_note(in_progress)
    return reader


def _combined_home(home: Home, configured: Config, report: Report) -> Home:
    """Return the home of the combined store of all queried records, without the runs that no record has any more."""
    from provio.ask import federated

    found = federated.combined_home(home, configured, report)
    try:
        with time_limit.not_counted():
            federated.forget_removed(found, configured)
            federated.copy_served(found, configured)
    except ProvioError as error:
        report(f"stores: this answer is not fully up to date: {error}")
    return found


def are_separate(paths: Sequence[str]) -> bool:
    """Return whether files are in projects that are not queried together."""
    found = {home.path: home for home in map(_home, paths)}
    if len(found) == 1:
        return False
    from provio.ask import federated

    first, configured = project(paths[0])
    return not all(federated.holds(first, configured, home) for home in found.values())


def query_folders(configured: Config) -> list[str]:
    """Return the user's folders of named queries; a relative name starts at the folder of the file that sets it."""
    from glob import glob

    start = os.path.dirname(configured.source("queries").rpartition(":")[0])
    named = [os.path.join(start, folder) for folder in configured.queries]
    return [found for folder in named for found in (sorted(glob(folder)) or [folder])]


def settings(target: Path | None = None, flags: Mapping[str, object] | None = None) -> Config:
    """Return the settings of the project that answers for a target; raises ConfigError for a wrong setting."""
    from provio.settings import home as homes
    from provio.settings import load

    return load.load(homes.project_folders(target), flags)


def _merge_pending(
    home: Home,
    folders: list[Path],
    configured: Config,
    reports: tuple[Report, Callable[[], Report]],
    publish: bool = False,
) -> tuple[list[Path], list[Path]]:
    """Merge the ended runs of `folders`; wait for another process that merges only while it makes progress.

    Return the runs in progress, and the ended runs that remain unmerged: another process merges them, or the store
    cannot be written.
    """
    ended, in_progress = _split_by_state(folders, configured)
    if not (ended or publish):
        return in_progress, []
    report, progress = reports
    try:
        note = progress()
        lock, waited = _lock(home, note)
        if waited and not publish:
            from provio.store import pending

            ended, in_progress = _split_by_state(pending(home, configured), configured)
        from provio.ask import live
        from provio.merge import hashing
        from provio.merge.runs import merge

        with time_limit.not_counted():
            outcome = merge(home, ended, lock=lock, wait=False, publish=publish, progress=note, settings=configured)
        hashing.begin(home)
        for message in live.messages_of(outcome):
            report(message)
    except Busy:
        return in_progress, ended
    except ProvioError as error:
        report(f"{plural(len(ended), 'run') if ended else 'notes'} pending: {error}")
        return in_progress, ended if isinstance(error, (StoreError, NotAllowed)) else []
    return in_progress, []


def _lock(home: Home, note: Report) -> tuple[Lock, bool]:
    """Acquire the lock of the store; return it, and whether another process held it before.

    The background merge releases the lock on request; any other merge is awaited while it makes progress. Raises Busy.
    """
    from provio.settings.lock import Lock

    start = since = time.monotonic()
    sign = None
    while True:
        try:
            return Lock(home, wait=False), sign is not None
        except Busy:
            now, found = time.monotonic(), _sign_of_life(home)
            if found != sign:
                sign, since = found, now
            elif now - since > PATIENCE or now - start > LONGEST:
                raise
            note("another process is merging: waiting for it")
            time.sleep(0.05)


def _sign_of_life(home: Home) -> int:
    try:
        return os.stat(home.lock).st_mtime_ns
    except OSError:
        return 0


def _archive_due_runs(home: Home, configured: Config) -> None:
    """Start a background process that archives the runs that are due."""
    from provio.store import served
    from provio.trace import run_source

    if configured.pack and os.access(home.runs, os.W_OK) and run_source.due(served(home, configured), time.time()):
        from provio.merge import archive_runs

        archive_runs.begin(home)


def run_id(reader: Store, name: str) -> str:
    """Return the id of the run that a name or the start of an id identifies; raises NothingKnown if there is none."""
    from provio.ask import runs

    found = runs.find(reader, name)
    if found is None:
        from provio.ask import suggestions

        known = [row["name"] for row in reader.rows(runs.LISTING) if "name" in row]
        raise NothingKnown(f"no run {name!r} is recorded: {suggestions.of_run(reader, name, known)}")
    return found


def run_or_campaign(reader: Store, name: str) -> str:
    """Return the id of a run as `run_id` does, or of the newest run of the campaign with this name."""
    from provio.ask import runs

    if runs.find(reader, name) is None:
        of_campaign = [row["run"] for row in reader.rows(runs.LISTING) if row.get("campaign") == name]
        if of_campaign:
            return of_campaign[-1]
    return run_id(reader, name)


def run_folder(home: Home, name: str) -> Path:
    """Return the folder of the run that `last` or `last~N` means, or of the only one with an id that starts with
    `name`, merged or not."""
    from provio.ask import runs

    if runs.LAST.fullmatch(name):
        name = runs.counted_back(name, sorted(folder.name for folder in home.run_folders())) or name
    found = [folder for folder in home.run_folders() if name and folder.name.startswith(name)]
    if len(found) != 1:
        problem, remedy = ("several run ids start", "give more of the id") if found else ("no run id starts", LISTS)
        raise NothingKnown(f"{problem} with {name!r} in {home.runs}: {remedy}")
    return found[0]


def disk_usage(folders: Sequence[Path]) -> tuple[int, int]:
    """Return the bytes and the number of files that these runs take on the disk; removed runs count as 0."""
    from provio.trace import run_source

    found = [run_source.of(folder).extent() for folder in folders if run_source.exists(folder)]
    return sum(size for size, _ in found), sum(files for _, files in found)


def own_runs(home: Home) -> dict[str, dict[str, str]]:
    """Return the runs of one `.provio`, merged or not, by id, with their rows in the list of runs; runs of other
    records that are queried with it are omitted."""
    from provio.ask import runs

    listed = {row["run"]: row for row in reader(None).rows(runs.LISTING)}
    here: dict[str, dict[str, str]] = {folder.name: {} for folder in home.run_folders()}
    return {run: listed.get(run, {}) for run in here} if settings().stores else here | listed
