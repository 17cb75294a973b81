"""Finds or makes `.provio`: from a target and the environment to the folder that holds runs and store.

Order: `PROVIO_HOME`; the nearest `.provio` above the target of the question; the nearest above the current folder; else
(for a verb that records) one is made at the root of the git checkout, or here.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from provio.base.errors import NotAllowed, NothingKnown, remedy
from provio.base.patterns import pattern
from provio.base.records import plain
from provio.system import owners

NAME = ".provio"
PACKED = ".tar.xz"  # how the name of a packed run ends
RUN_ID = pattern(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CACHEDIR_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is kept by provio; backups may leave it out.\n"
)


LEFT_WORDS = "words of runs that were removed are left in the store's tables"


@plain(frozen=True)
class Home:
    """A `.provio` folder; `server` is the URL of the server that its store is for, where it is for one."""

    path: Path
    server: str = ""

    @property
    def kept(self) -> Path:
        """Where the store lies, and what belongs to it: each server has one of its own."""
        if not self.server:
            return self.path
        from urllib.parse import quote

        return self.path / "servers" / quote(self.server, safe="")

    @property
    def shared(self) -> bool:
        """Whether it is a group's: its mode says so (`rwxrws---`)."""
        try:
            return owners.is_shared(self.path.stat())
        except OSError:
            return False

    @contextlib.contextmanager
    def closed(self) -> Iterator[None]:
        """What is made meanwhile is its owner's alone (the group's too where this is shared), whatever the umask."""
        before = os.umask(0o007 if self.shared else 0o077)
        try:
            yield
        finally:
            os.umask(before)

    @property
    def runs(self) -> Path:
        """The folder of the run folders."""
        return self.path / "runs"

    @property
    def project(self) -> Path:
        """The project's folder: the one that holds `.provio`."""
        return self.path.parent

    @property
    def lock(self) -> Path:
        """The file that a writer of the store holds locked."""
        return self.path / "lock"

    @property
    def store(self) -> Path:
        """The store that merge writes."""
        return self.kept / "store"

    @property
    def unfinished(self) -> Path:
        """The file that is there while the store holds what is not published."""
        return self.kept / "store.unfinished"

    @property
    def merging(self) -> Path:
        """The file that names the run which a merge is at, or was at when it was killed."""
        return self.kept / "store.merging"

    @property
    def words_left(self) -> Path:
        """The file that is there while the store's tables may hold words of runs that were removed."""
        return self.kept / "store.words"

    @property
    def snapshots(self) -> Path:
        """The folder of published snapshots; `current` in it names the newest."""
        return self.kept / "snapshots"

    @property
    def overlays(self) -> Path:
        """The folder of what questions make of the published snapshot and of runs that are not in it."""
        return self.kept / "live"

    @property
    def marks(self) -> Path:
        """The folder of marks: a file for each merged run, as old as what was merged, that names what was damaged."""
        return self.snapshots / "merged"

    def run_folders(self) -> list[Path]:
        """The run folders, oldest first (run ids sort by time), packed ones too; what is not named as
        a run is not one."""
        try:
            entries = list(os.scandir(self.runs))
        except FileNotFoundError:
            return []
        found = {e.name for e in entries if e.is_dir(follow_symlinks=False)}
        found |= {e.name.removesuffix(PACKED) for e in entries if e.name.endswith(PACKED)}
        return [self.runs / name for name in sorted(found) if RUN_ID.fullmatch(name)]

    def mark(self, folder: Path, time: int, damaged: str = "") -> None:
        """Note that a run was merged as it was at `time` (ns since 1970), and what of it was `damaged`."""
        with self.closed():
            self.marks.mkdir(parents=True, exist_ok=True)
            (self.marks / folder.name).unlink(missing_ok=True)  # only an owner sets times
            (self.marks / folder.name).write_text(damaged, encoding="utf-8", errors="surrogateescape")
        os.utime(self.marks / folder.name, ns=(time, time))

    def unmark(self, folder: Path) -> None:
        """Have a run be merged again."""
        with contextlib.suppress(OSError):
            (self.marks / folder.name).unlink()

    def marked(self, folder: Path) -> str | None:
        """Return what of a merged run was damaged; None where nothing is noted of it."""
        try:
            return (self.marks / folder.name).read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return None

    def mark_settings(self, settings: str) -> None:
        """Note under which settings all runs are merged."""
        if settings != self.marked_settings():
            with self.closed():
                self.marks.mkdir(parents=True, exist_ok=True)
                (self.marks / "settings").write_text(settings, encoding="ascii")

    def marked_settings(self) -> str:
        """Return under which settings all runs were merged; empty where that is not known."""
        try:
            return (self.marks / "settings").read_text(encoding="ascii", errors="replace")
        except FileNotFoundError:
            return ""

    def mark_time(self, folder: Path) -> int:
        """Return the time of what was merged of a run (ns since 1970); -1 where it was not merged."""
        try:
            time = (self.marks / folder.name).stat().st_mtime_ns
            return time - (time % 1_000_000_000 == 0)  # where times are whole seconds, what is of the same may be later
        except FileNotFoundError:
            return -1


def find(target: Path | None = None) -> Home:
    """Return the `.provio` that answers for `target`.

    Raises NothingKnown where there is none, NotAllowed where it is somebody else's.
    """
    named = os.environ.get("PROVIO_HOME")
    if named:
        if not Path(named).is_dir():
            raise NothingKnown(f"PROVIO_HOME names {named}, which is no folder: unset it, or record a run first")
        return Home(Path(named).absolute())
    found = (target and _nearest(target)) or _nearest(current())
    if not found:
        raise NothingKnown(
            "no .provio here or above: record something first (provio run -- COMMAND), or set PROVIO_HOME"
        )
    return _owned(found)


def above(place: Path) -> Home | None:
    """Return the `.provio` at or nearest above a place, whatever PROVIO_HOME says; None where there is none.

    Raises NotAllowed where it is somebody else's.
    """
    found = _nearest(place)
    return _owned(found) if found else None


def find_or_make() -> Home:
    """Return the `.provio` a run is to be recorded in, made where there is none.

    Raises NotAllowed where it cannot be made or written.
    """
    home = recording()
    if home.path.is_dir() and not os.environ.get("PROVIO_HOME"):
        _owned(home.path)
    make(home)
    return home


def recording() -> Home:
    """Return the `.provio` a run here would be recorded in, there or not; whose it is, is not asked."""
    named = os.environ.get("PROVIO_HOME")
    return Home(Path(named).absolute() if named else _nearest(current()) or _git_root(current()) / NAME)


def here() -> tuple[Home, Path | None]:
    """Return the `.provio` that is, or would be, right here (or where PROVIO_HOME says), and the nearest one above."""
    named = os.environ.get("PROVIO_HOME")
    if named:
        return Home(Path(named).absolute()), None
    above = _nearest(current().parent)
    return Home(current() / NAME), above


def project_folders(target: Path | None = None) -> list[Path]:
    """Return where a project's settings may lie: beside the `.provio` that answers for `target`, or at the root of the
    git checkout (or here)."""
    try:
        here = current()
    except NothingKnown:
        return []
    named = os.environ.get("PROVIO_HOME")
    found = Path(named).absolute() if named else (target and _nearest(target)) or _nearest(here)
    return [found.parent, _git_root(here if named else found.parent)] if found else [_git_root(here)]


def make(home: Home) -> None:
    """Make what a `.provio` consists of; what is there stays."""
    try:
        home.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with home.closed():
            home.runs.mkdir(exist_ok=True)
            for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", CACHEDIR_TAG)):
                if not (home.path / name).exists():
                    (home.path / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise NotAllowed(
            f"cannot write {home.path} ({error.strerror}): {remedy(error, 'set PROVIO_HOME to a folder of yours')}"
        ) from error
    if not os.access(home.runs, os.W_OK | os.X_OK):
        raise NotAllowed(f"cannot write {home.runs}: set PROVIO_HOME to a folder of yours")


def share(home: Home, folder: Path) -> None:
    """Let the group into a folder of a `.provio` that is shared: thread files, and the store's, are their writer's."""
    for path, _, files in os.walk(folder) if home.shared else ():
        with contextlib.suppress(OSError):  # another's: who made it has let the group in
            os.chmod(path, 0o2770)  # noqa: S103 (the group is let in on purpose)
        for name in files:
            with contextlib.suppress(OSError):
                _let_in(os.path.join(path, name))


def _let_in(path: str) -> None:
    if not os.path.islink(path):
        os.chmod(path, 0o660)


def current() -> Path:
    """Return the current folder; raises NothingKnown where it was deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise NothingKnown("the current folder was deleted: change to one that exists") from None


def _nearest(start: Path) -> Path | None:
    start = Path(os.path.normpath(start if start.is_absolute() else current() / start))
    for folder in (start, *start.parents):
        if (folder / NAME).is_dir():
            return folder / NAME
    return None


def _git_root(start: Path) -> Path:
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return folder
    return start


def _owned(path: Path) -> Home:
    """A `.provio` that may be trusted: one's own, or that of a group one is in, which its owner shared with it."""
    found = path.stat()
    if owners.is_ours(found):
        open_to_all = owners.open_to_all(path)
        if open_to_all:
            raise NotAllowed(f"anybody may write in {open_to_all}: chmod o-w it, and see what it holds")
        return Home(path)
    if owners.is_shared(found):
        raise NotAllowed(
            f"{path} is shared by user {found.st_uid} with group {found.st_gid}, which you are not in: ask to be "
            "added, or set PROVIO_HOME to a folder of yours"
        )
    raise NotAllowed(f"{path} belongs to user {found.st_uid}: set PROVIO_HOME={path} to use it all the same")
