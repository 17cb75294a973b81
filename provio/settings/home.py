"""Finds or makes `.provio`, the folder that contains the runs and the store.

Order: `PROVIO_HOME`; the nearest `.provio` above the target of the question; the nearest above the current folder. If
there is none, a verb that records makes one at the root of the git checkout, or in the current folder.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from provio.base.errors import NotAllowed, NothingKnown, remedy
from provio.base.records import pattern

NAME = ".provio"
PLACE = "place"  # the file of a backup with the project's folder
RULES = "rules"  # the file with the rules by which all marked runs were merged
SHARED = stat.S_ISGID | stat.S_IRWXG  # rwxrws---: `provio init --shared`
KEPT = "kept"  # the folder of the contents of inputs, private to the user who kept them
PACKED = ".tar.xz"  # suffix of a packed run
RUN_ID = pattern(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
CACHEDIR_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is kept by provio; backups may leave it out.\n"
)
LEFT_WORDS = "words of removed runs are still in the store's tables"


class Home:
    """A `.provio` folder and the places in it; `server` is the URL of the server that its store is for, if any."""

    def __init__(self, path: Path, server: str = "") -> None:
        self.path, self.server = path, server
        self.project = path.parent
        self.runs = path / "runs"  # the run folders
        self.notes = path / "notes"  # the notes of users, a file for each
        self.events = path / "events"  # the events of runs in their order, a file for each
        self.lock = path / "lock"  # a writer of the store keeps this file locked
        self.kept = kept = _server_folder(path, server) if server else path  # the store and its files
        self.store = kept / "store"  # merge writes it
        self.unfinished = kept / "store.unfinished"  # exists while the store contains unpublished changes
        self.merging = kept / "store.merging"  # names the run that a merge processes, or processed when it was killed
        self.words_left = kept / "store.words"  # exists while the store's tables may contain words of removed runs
        self.snapshots = kept / "snapshots"  # published snapshots; `current` in it names the newest
        self.overlays = kept / "live"  # the published snapshot combined with runs that are not in it, for questions
        # One file for each merged run, with the modification time of the merged data; it names damaged parts.
        self.marks = self.snapshots / "merged"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Home) and (self.path, self.server) == (other.path, other.server)

    def __hash__(self) -> int:
        return hash((self.path, self.server))

    @property
    def records(self) -> tuple[Path, ...]:
        """The `.provio` folders whose runs the store contains."""
        return (self.path,)

    @property
    def projects(self) -> tuple[bytes, ...]:
        """The real paths of the projects in which these records live. A record with another name than `.provio` lives
        in none (as one in `PROVIO_HOME`), or is the backup of one that lived in the project that its file `place`
        names."""
        return tuple(filter(None, map(_project_of, self.records)))

    @property
    def shared(self) -> bool:
        """Whether the folder is shared with a group, from its mode (`rwxrws---`)."""
        try:
            return is_shared(self.path.stat())
        except OSError:
            return False

    @contextlib.contextmanager
    def closed(self) -> Iterator[None]:
        """Make files in this block private to the owner (and to the group if shared), regardless of the umask."""
        before = os.umask(0o007 if self.shared else 0o077)
        try:
            yield
        finally:
            os.umask(before)

    def run_folder(self, run: str) -> Path:
        """Return the folder of a run, also of one that is not there."""
        return self.runs / run

    def run_folders(self) -> list[Path]:
        """Return the run folders, also packed ones, oldest first (run ids sort by time); other names are ignored."""
        try:
            entries = list(os.scandir(self.runs))
        except FileNotFoundError:
            return []
        found = {e.name for e in entries if e.is_dir(follow_symlinks=False)}
        found |= {e.name.removesuffix(PACKED) for e in entries if e.name.endswith(PACKED)}
        return [self.runs / name for name in sorted(found) if RUN_ID.fullmatch(name)]

    def notes_folders(self) -> list[Path]:
        """Return the folders with the notes of users."""
        return [self.notes]

    def mark(self, folder: Path, time: int, damaged: str = "") -> None:
        """Record that a run was merged in its state at `time` (ns since 1970), and which parts of it were `damaged`."""
        with self.closed():
            self.marks.mkdir(parents=True, exist_ok=True)
            (self.marks / folder.name).unlink(missing_ok=True)  # only the owner of a file may set its times
            (self.marks / folder.name).write_text(damaged, encoding="utf-8", errors="surrogateescape")
        os.utime(self.marks / folder.name, ns=(time, time))

    def unmark(self, folder: Path) -> None:
        """Have a run merged again."""
        with contextlib.suppress(OSError):
            (self.marks / folder.name).unlink()

    def marked(self, folder: Path) -> str | None:
        """Return the damaged parts of a merged run; None if the run has no mark."""
        try:
            return (self.marks / folder.name).read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return None

    def mark_rules(self, rules: str) -> None:
        """Record the rules and settings by which all marked runs of the published snapshot were merged."""
        with self.closed():
            self.marks.mkdir(parents=True, exist_ok=True)
            new = self.marks / f"{RULES}.new"
            new.write_text(f"{self._published()} {rules}", encoding="ascii")
            new.replace(self.marks / RULES)

    def unmark_rules(self) -> None:
        """Have all runs merged again that were merged by other rules."""
        (self.marks / RULES).unlink(missing_ok=True)

    def marked_rules(self) -> str:
        """Return the rules and settings by which all marked runs were merged; empty if unknown: another version of
        provio, which has other rules, may have published the snapshot."""
        try:
            number, _, rules = (self.marks / RULES).read_text(encoding="ascii", errors="replace").partition(" ")
        except FileNotFoundError:
            return ""
        return rules if number == self._published() else ""

    def _published(self) -> str:
        try:
            return os.readlink(self.snapshots / "current")
        except OSError:
            return ""

    def mark_times(self) -> dict[str, int]:
        """Return the times of the merged states of all runs that are merged (ns since 1970), by run id."""
        times = {}
        with contextlib.suppress(FileNotFoundError):  # no run is merged
            for entry in os.scandir(self.marks):
                with contextlib.suppress(FileNotFoundError):  # the mark was just removed
                    time = entry.stat().st_mtime_ns
                    # of whole seconds, a later change may look as old
                    times[entry.name] = time - (time % 1_000_000_000 == 0)
        return times


def _project_of(record: Path) -> bytes:
    if record.name == NAME:
        return os.path.realpath(os.fsencode(record.parent))
    try:
        return (record / PLACE).read_bytes()
    except OSError:
        return b""


def _server_folder(path: Path, server: str) -> Path:
    """Return the folder of the store for a server: each server has one of its own."""
    from urllib.parse import quote

    return path / "servers" / quote(server, safe="")


def find(target: Path | None = None) -> Home:
    """Return the `.provio` that answers questions about `target`.

    Raises NothingKnown if there is none, NotAllowed if it belongs to another user.
    """
    named = os.environ.get("PROVIO_HOME")
    if named:
        if not Path(named).is_dir():
            raise NothingKnown(f"PROVIO_HOME names {named}, which is not a folder: unset it, or record a run first")
        return Home(Path(named).absolute())
    found = (target and _nearest(target)) or _nearest(current())
    if not found:
        raise NothingKnown("no .provio here or above: use provio run -- COMMAND, or set PROVIO_HOME")
    return _owned(found)


def above(place: Path) -> Home | None:
    """Return the `.provio` in a folder or nearest above it, regardless of PROVIO_HOME; None if there is none.

    Raises NotAllowed if it belongs to another user.
    """
    found = _nearest(place)
    return _owned(found) if found else None


def find_or_make() -> Home:
    """Return the `.provio` in which to record a run; make it if absent.

    Raises NotAllowed if it cannot be made or written.
    """
    home = recording()
    if home.path.is_dir() and not os.environ.get("PROVIO_HOME"):
        _owned(home.path)
    make(home)
    return home


def recording() -> Home:
    """Return the `.provio` in which a run here would be recorded; it may be absent, and its owner is not checked."""
    named = os.environ.get("PROVIO_HOME")
    return Home(Path(named).absolute() if named else _nearest(current()) or _git_root(current()) / NAME)


def here() -> tuple[Home, Path | None]:
    """Return the `.provio` that is, or would be, in this folder (or in PROVIO_HOME), and the nearest one above."""
    named = os.environ.get("PROVIO_HOME")
    if named:
        return Home(Path(named).absolute()), None
    above = _nearest(current().parent)
    return Home(current() / NAME), above


def project_folders(target: Path | None = None) -> list[Path]:
    """Return the folders that may contain a project's settings: that of the `.provio` that answers for `target`, and
    the root of the git checkout (or the current folder)."""
    try:
        here = current()
    except NothingKnown:
        return []
    named = os.environ.get("PROVIO_HOME")
    found = Path(named).absolute() if named else (target and _nearest(target)) or _nearest(here)
    return [found.parent, _git_root(here if named else found.parent)] if found else [_git_root(here)]


def warning(home: Home) -> str:
    """Return the warning to print before a `.provio` is made in the user's home folder or in `/`; empty for others."""
    place = home.project
    if home.path.is_dir() or os.environ.get("PROVIO_HOME") or place not in (Path("/"), Path(os.path.expanduser("~"))):
        return ""
    return (
        f"makes {home.path}, which then records for all folders below {place}: for a record of one project, remove it "
        "and run provio init in the project's folder, or set PROVIO_HOME"
    )


def make(home: Home) -> None:
    """Make the parts of a `.provio`; existing parts are kept."""
    try:
        home.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with home.closed():
            home.runs.mkdir(exist_ok=True)
            for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", CACHEDIR_TAG)):
                if not (home.path / name).exists():
                    (home.path / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise NotAllowed(
            f"cannot write {home.path} ({error.strerror}): {remedy(error, 'set PROVIO_HOME to a folder that you own')}"
        ) from error
    if not os.access(home.runs, os.W_OK | os.X_OK):
        raise NotAllowed(f"cannot write {home.runs}: set PROVIO_HOME to a folder that you own")


def share(home: Home, folder: Path) -> None:
    """Give the group access to a folder of a shared `.provio`: thread files and store files are private to their
    writer."""
    for path, _, files in os.walk(folder) if home.shared else ():
        with contextlib.suppress(OSError):  # a file of another user, who has opened it to the group
            os.chmod(path, 0o2770)  # noqa: S103 (the group is let in on purpose)
        for name in files if path != os.path.join(home.path, KEPT) else ("lock",):  # kept contents stay private
            with contextlib.suppress(OSError):
                _let_in(os.path.join(path, name))


def _let_in(path: str) -> None:
    if not os.path.islink(path):
        os.chmod(path, 0o660)


def current() -> Path:
    """Return the current folder; raises NothingKnown if it was deleted."""
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
    """Return a `.provio` that may be trusted: one's own, or one that its owner shares with a group of this user."""
    found = path.stat()
    if is_ours(found):
        unsafe = open_to_all(path)
        if unsafe:
            raise NotAllowed(f"all users can write in {unsafe}: chmod o-w it, and check its files")
        return Home(path)
    if is_shared(found):
        raise NotAllowed(
            f"{path} is shared by user {found.st_uid} with group {found.st_gid}, which you are not in: join the "
            "group, or set PROVIO_HOME to a folder that you own"
        )
    raise NotAllowed(f"{path} belongs to user {found.st_uid}: set PROVIO_HOME={path} to use it anyway")


# Owners and permissions.


def is_shared(found: os.stat_result) -> bool:
    """Return whether a `.provio` is shared with a group, from its mode."""
    return found.st_mode & SHARED == SHARED


def is_ours(found: os.stat_result) -> bool:
    """Return whether a `.provio` belongs to this user, or is shared by its owner with a group of this user."""
    if found.st_uid == os.geteuid():
        return True
    return is_shared(found) and found.st_gid in (os.getegid(), *os.getgroups())


def open_to_all(home: Path) -> Path | None:
    """Return the folder in a `.provio` (or the `.provio` itself) that any user may write; None if there is none."""
    for folder in (home, *(home / name for name in ("runs", "store", "snapshots", "hashing", "notes", "events"))):
        try:
            if folder.stat().st_mode & stat.S_IWOTH:
                return folder
        except OSError:
            continue
    return None


def trusted_beside(folder: Path) -> set[int]:
    """Return the users with trusted settings files next to a `.provio`: this user, root, and an owner who shares it
    with us."""
    try:
        found = folder.stat()
    except OSError:
        return {0, os.geteuid()}
    return {0, os.geteuid(), *([found.st_uid] if is_ours(found) else [])}


def is_shut(run_folder: Path) -> bool:
    """Return whether a run of another user is not readable (yet: its live files are private until the run ends)."""
    try:
        if run_folder.stat().st_uid == os.geteuid():
            return False
    except OSError:  # the run is packed
        return False
    inside = (Path(path, name) for path, folders, files in os.walk(run_folder) for name in (*folders, *files))
    return not all(os.access(path, os.R_OK) or path.is_symlink() for path in (run_folder, *inside))
