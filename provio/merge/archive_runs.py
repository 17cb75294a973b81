"""Archive finished runs: replace the folder of a merged run by one compressed file.

Many small files are expensive: on shared disks, quotas count them. A run is archived when no process can write into
its folder any more and the published store contains exactly its content. The archive is written next to the folder,
read back and renamed; only then is the folder renamed and deleted. So the complete run exists at every instant, even
if this process is killed, and the next call cleans up. `begin` starts a background process that archives the runs
that are due.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from provio.base.errors import ProvioError
from provio.settings import home as homes
from provio.settings import load, schema
from provio.settings.home import PACKED, Home
from provio.trace import run_source
from provio.trace.run_source import KEPT, NOTES, TAKEN, due, start_time

if TYPE_CHECKING:
    from provio.store import Reader

AT_ONCE = 64 << 20  # bytes that one process archives before it ends
QUEUED = 30 * 24 * 3600  # seconds that a submitted job may wait in a queue; it then joins the run that submitted it
ID = 36  # characters of a run id: the name of an archive is longer


class NotArchivable(Exception):
    """The reason why a run is not archived."""


def has_too_many_folders(home: Home, now: float) -> bool:
    """Return whether there are more than `KEPT` run folders, and some of them can be archived."""
    try:
        left = sum(len(name) == ID for name in os.listdir(home.runs))
    except OSError:
        return False
    return left > KEPT and bool(due(home, now))


def begin(home: Home) -> None:
    """Start a process that archives the runs that are due, and return at once."""
    from provio.system import child  # a query that finds no run to archive does not need it

    child.begin("provio.merge.archive_runs", str(home.path))


def main() -> None:
    """Archive runs that are due in the `.provio` named by the first argument, up to `AT_ONCE` bytes."""
    home = Home(Path(sys.argv[1]))
    os.nice(19)
    settings = load.load(homes.project_folders(home.project), forgive=lambda _: None)
    os.chdir("/")
    from provio.store import served

    with contextlib.suppress(ProvioError, OSError):
        archive(home, settings, _bounded(due(served(home, settings), time.time())))


def _bounded(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the first folders, until they contain `AT_ONCE` bytes together, but at least one."""
    left = AT_ONCE
    for folder in folders:
        if left < 0:
            return
        left -= run_source.Folder(folder).extent()[0]
        yield folder


def archive(home: Home, settings: schema.Config, folders: Iterable[Path], *, wait: bool = False) -> int:
    """Archive the folders for which this is possible, and return their number; raises Busy if another process merges,
    unless `wait`."""
    from provio.settings.lock import Lock
    from provio.store import open_reader, served
    from provio.trace import liveness

    home = served(home, settings)  # its marks record which runs are merged
    reader = open_reader(home, settings)
    hashes, queued = _hashes(reader), _runs_with_queued_jobs(reader)
    started = liveness.started_runs()
    done = 0
    with contextlib.closing(Lock(home, wait)), home.closed():
        clean_up(home)
    for folder in folders:
        with contextlib.closing(Lock(home, wait)), home.closed():
            try:
                if folder.name in queued and time.time() - start_time(folder.name) < QUEUED:
                    raise NotArchivable("a job that it submitted may still start")
                _archive(home, folder, hashes.get(folder.name), settings, started)
            except (NotArchivable, OSError) as error:
                (home.path / NOTES).mkdir(exist_ok=True)
                (home.path / NOTES / folder.name).write_text(f"{error}\n", encoding="utf-8", errors="replace")
                continue
            (home.path / NOTES / folder.name).unlink(missing_ok=True)
            done += 1
    return done


def clean_up(home: Home) -> None:
    """Delete the remains of a killed process: a partial archive, or the folder of an archived run. The caller must hold
    the lock."""
    import shutil

    for entry in list(os.scandir(home.runs)):
        with contextlib.suppress(OSError):  # of another user, who cleans up later; the run is read from its archive
            if entry.name.endswith(PACKED + ".new"):
                os.unlink(entry.path)
            elif (
                entry.name.endswith(TAKEN)
                and run_source.archive_of(home.runs / entry.name.removesuffix(TAKEN)).is_file()
            ):
                shutil.rmtree(run_source.shared_memory() / entry.name.removesuffix(TAKEN), ignore_errors=True)
                shutil.rmtree(entry.path)


def _hashes(reader: Reader) -> dict[str, str]:
    from provio.base.vocab import NS, local_name

    query = f"SELECT ?run ?hash {{ ?bundle <{NS}ofRun> ?run ; <{NS}contentHash> ?hash }}"
    return {local_name(row["run"]): row["hash"] for row in reader.rows(query)}


def _runs_with_queued_jobs(reader: Reader) -> set[str]:
    """Return the runs that submitted a job that is not observed yet (the Gap `submitted` of `lineage.unwatched`)."""
    from provio.base.vocab import NS, RUN_BASE

    query = f'SELECT ?g {{ ?g a <{NS}Gap> FILTER(STRENDS(STR(?g), "/submitted")) }}'
    return {row["g"][len(RUN_BASE) :].partition("/")[0] for row in reader.rows(query)}


def _archive(home: Home, folder: Path, merged: str | None, settings: schema.Config, started: set[str]) -> None:
    from provio.merge import intake
    from provio.trace import collect, liveness, run_archive
    from provio.trace.digests import content_hash
    from provio.trace.read import read_head

    if folder.stat().st_uid != os.geteuid():
        raise NotArchivable("it belongs to another user")
    record = read_head(folder)
    if liveness.in_progress(folder, record, started=started) or not liveness.began_here(record):
        raise NotArchivable("it is in progress, or of another host")
    if "unattended" in record and "endedNs" not in record and time.time() - start_time(folder.name) < QUEUED:
        raise NotArchivable("its end is not recorded yet")
    if collect.has_uncollected(home, folder.name):
        raise NotArchivable("it is not collected yet")
    if (home.path / "hashing" / folder.name).exists() or home.marked(folder) != "":
        raise NotArchivable("it is not hashed or merged yet, or damaged")
    if (home.path / "digesting" / folder.name).exists():
        raise NotArchivable("the digest of its image is pending")
    held = content_hash(folder, record)
    if merged is None or intake.hash_of(held, settings, folder, record) != merged:
        (home.marks / folder.name).unlink(missing_ok=True)  # the next query merges it
        raise NotArchivable("its content differs from the store")
    changed, packed = run_source.Folder(folder).changed(), run_source.archive_of(folder)
    new = packed.with_name(packed.name + ".new")
    run_archive.write(folder, record, new)
    if content_hash(folder, record, run_source.archived_in(folder, new)) != held:
        new.unlink()
        raise NotArchivable("it changed during archiving")
    os.utime(new, ns=(changed, changed))
    new.replace(packed)
    run_archive.sync(home.runs)
    folder.rename(folder.with_name(folder.name + TAKEN))
    clean_up(home)


if __name__ == "__main__":
    main()
