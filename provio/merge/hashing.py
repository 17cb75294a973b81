"""Compute the SHA-256 of the files that runs wrote, after the runs and without delaying them.

In: requests, one file for each run in `.provio/hashing/`, which also stores the progress. Out: `hashes.ttl` in the run.

`request` creates a request. `begin` starts the only process for a `.provio` that executes the requests, with the lowest
priority and independent of its parent. After a kill the next merge starts it again; the progress is kept.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from provio.base import turtle
from provio.base.errors import ProvioError
from provio.base.vocab import NS
from provio.lineage.conclusions import conclude
from provio.lineage.identity import Identity
from provio.lineage.model import FOREVER, Conclusions, Version
from provio.merge.job import FAULTS
from provio.merge.runs import merge
from provio.settings import home as homes
from provio.settings import load, schema
from provio.settings.home import RUN_ID, Home
from provio.store import open_reader
from provio.system import child, statx
from provio.system.content import Unread, sha256
from provio.trace import environment
from provio.trace.read import read_run
from provio.trace.run_facts import Trace
from provio.trace.run_source import folders_of, put, start_time

NOTES = "hashing"
TRIED = 24 * 3600  # seconds for which a request is repeated after disk errors
Key = tuple[str, int, int, int, int]  # `Facts.key` of a version
NAMES = ("inode", "birthNs", "mtimeNs", "size")


def request(home: Home, run_id: str) -> None:
    """Request the SHA-256 of the files that a run wrote."""
    with home.closed():
        (home.path / NOTES).mkdir(exist_ok=True)
        (home.path / NOTES / run_id).touch()


def requested(home: Home) -> list[str]:
    """Return the ids of the runs with pending requests, oldest first."""
    try:
        return sorted(name for name in os.listdir(home.path / NOTES) if RUN_ID.fullmatch(name))
    except (FileNotFoundError, NotADirectoryError):
        return []


def begin(home: Home, *, then_merge: bool = True) -> None:
    """Start a process that executes the requests, unless one is running; return at once."""
    if not requested(home) or not os.access(home.path / NOTES, os.W_OK):
        return
    try:
        with _lock(home, wait=False):
            pass
    except OSError:
        return  # the running process checks for new requests before it ends
    child.begin("provio.merge.hashing", str(home.path), *(() if then_merge else ("--no-merge",)))


def finish(home: Home, settings: schema.Config, note: Callable[[str], None] = lambda _: None) -> list[str]:
    """Execute the requests in this process, after a process that already does; return the ids of the completed runs."""
    if not requested(home) or not os.access(home.path / NOTES, os.W_OK):
        return []
    with home.closed(), _lock(home, wait=True):
        return _execute(home, settings, note)


def main() -> None:
    """Execute the requests of the `.provio` in the arguments until none is left, or another process does it."""
    home, then_merge = Home(Path(sys.argv[1])), "--no-merge" not in sys.argv[2:]
    child.give_way()
    settings = load.load(homes.project_folders(home.project), forgive=lambda _: None)
    os.chdir("/")
    tried: set[str] = set()
    while set(requested(home)) - tried:
        try:
            with home.closed(), _lock(home, wait=False):
                tried |= set(requested(home))
                done = _execute(home, settings)
        except BlockingIOError:
            return
        if done and then_merge:
            merge(home, [home.runs / run for run in done], settings=settings)


@contextlib.contextmanager
def _lock(home: Home, wait: bool) -> Iterator[None]:
    """Hold the lock for hashing in a `.provio`; raises BlockingIOError if another process holds it, unless `wait`."""
    with home.closed():
        fd = os.open(home.path / NOTES / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(fd)


def _execute(home: Home, settings: schema.Config, note: Callable[[str], None] = lambda _: None) -> list[str]:
    done, sizes = [], _sizes(home, settings)
    for run_id in requested(home):
        folder, progress = home.runs / run_id, home.path / NOTES / run_id
        with contextlib.suppress(OSError):  # for example a full disk: the request stays
            try:
                if folder.is_dir():
                    _hash_run(folder, progress, sizes, settings, note)
                    done.append(run_id)
            except OSError:
                if time.time() - start_time(run_id) < TRIED:
                    raise
            except (ProvioError, *FAULTS):
                pass  # an invalid run would fail again
            progress.unlink()
    return done


def _hash_run(
    folder: Path, progress: Path, sizes: set[int], settings: schema.Config, note: Callable[[str], None]
) -> None:
    """Write the `hashes.ttl` of this host for a run; each completed line is first appended to `progress`."""
    trace = read_run(folder)
    host = turtle.segment(environment.host())
    place = next((place for place in folders_of(trace.folder, trace.run) if place.name == host), None)
    if place is None or (place / "hashes.ttl").exists():
        return
    conclusions = conclude(trace, Identity(trace), settings)
    known = dict(_lines(progress))
    written = list(_written(trace, conclusions, host))
    made, keys = {v.iri for v in written}, {v.facts.key for v in conclusions.versions.values()}
    with progress.open("a", encoding="utf-8") as so_far:
        for version in (*written, *_unknown(trace, conclusions, host, sizes | {v.facts.size for v in written})):
            subject = f"{trace.iri}/{host}/hash/{version.facts.inode}.{version.facts.mtime}"
            if subject not in known:
                note(os.fsdecode(version.last_name))
                line = _line(subject, version, keys)
                if line and (version.iri in made or ":sha256" in line):
                    known[subject] = line
                    so_far.write(line)
                    so_far.flush()
    put(place / "hashes.ttl", f"@prefix : <{NS}> .\n" + "".join(known.values()))


def _lines(progress: Path) -> Iterator[tuple[str, str]]:
    """Yield the completed lines as (subject, line); omit a partial line, which a kill may leave."""
    for line in progress.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
        if line.startswith("<") and line.endswith(" .\n"):
            yield line[1 : line.index(">")], line


def _written(trace: Trace, conclusions: Conclusions, host: str) -> Iterator[Version]:
    """Yield the versions, except empty ones, that processes of this host made."""
    devices = {o.facts.device for o in trace.openings() if o.process.host == host and o.writable}
    made = {contribution.iri.partition("~")[0] for contribution in conclusions.contributions}
    for version in conclusions.versions.values():
        there = version.facts.size and version.facts.device in devices and version.until == FOREVER
        if there and (version.generated_by or version.iri in made):
            yield version


def _unknown(trace: Trace, conclusions: Conclusions, host: str, sizes: set[int]) -> Iterator[Version]:
    """Yield the inputs that the run did not write and that have the size of a version with a known hash: they may be
    copies of it."""
    devices = {o.facts.device for o in trace.openings() if o.process.host == host and not o.writable}
    written = {version.iri for version in _written(trace, conclusions, host)}
    for version in conclusions.versions.values():
        large_as = version.facts.size in sizes and version.facts.device in devices
        if large_as and not version.noise and version.iri not in written:
            yield version


def _sizes(home: Home, settings: schema.Config) -> set[int]:
    """Return the sizes of all versions with a known hash."""
    query = "SELECT DISTINCT ?size { ?version provio:sha256 ?hash ; provio:size ?size }"
    with contextlib.suppress(ProvioError):
        return {int(row["size"]) for row in open_reader(home, settings).rows(query)} - {0}
    return set()


def _line(subject: str, version: Version, keys: set[Key]) -> str:
    """Return the line of a version: its hash, or a Gap if it changed too early; empty if the run replaced it."""
    facts, names = version.facts, dict.fromkeys([version.last_name, *version.names.values()])
    about = f"<{subject}> :device {turtle.literal(facts.device)}" + "".join(
        f" ; :{name} {value}" for name, value in zip(NAMES, facts.key[1:], strict=True)
    )
    reason = ""
    for path in filter(None, names):
        if not os.path.lexists(path):
            continue
        try:
            digest = _digest(path, facts.key, keys)
        except Unread as error:
            reason = str(error)
            continue
        if digest:
            return f"{about} ; :sha256 {turtle.literal(digest)} .\n"
    return f"{about} ; a :Gap ; :reason {turtle.literal(reason)} .\n" if reason else ""


def _digest(path: bytes, key: Key, keys: set[Key]) -> str:
    """Return the SHA-256 of a version; empty, without reading, if the path contains another version of the run. Raises
    Unread."""
    found = None
    with contextlib.suppress(OSError):
        found = statx.facts(path).key if os.path.isfile(path) else None
    digest = ""
    if found is None or found == key:
        digest, facts = sha256(path)
        found = facts.key
    if found != key and found not in keys:
        raise Unread("changed before its SHA-256 was computed")
    return digest if found == key else ""


if __name__ == "__main__":
    main()
