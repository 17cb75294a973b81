"""Notes of users about runs, Tasks, files and objects inside files: one JSON file for each in `.provio/notes`.

In: a text, the IRI that it is about, and the run that knows this IRI. Out: the file `<run id>.<note id>.json`.

A note is written once and never changed, so that the names of the files identify the state of all notes. It is kept
outside the run folder, which may be archived, or belong to another user. It is removed with its run.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from provio.base import turtle
from provio.base.errors import NotAllowed, ProvioError, remedy
from provio.base.records import frozen, pattern
from provio.base.vocab import RUN_BASE

if TYPE_CHECKING:
    from provio.settings.home import Home
    from provio.settings.schema import Config

MOST = 64_000  # bytes of a text, in UTF-8
READ = MOST + 1024  # bytes that are read of an input: it may end with white space
LARGEST = 8 * MOST  # bytes of a file: JSON may write a character as six
_ID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
MARK = "notes"  # the file among the marks of runs with the state of the notes in the store
NAME = pattern(rf"({_ID})\.({_ID})\.json")
IRI = pattern(r'[a-z]+:[^\x00-\x20<>"{}|^`\\\ud800-\udfff]+')
TIME = pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


@frozen
class Note:
    """A note: the IRI that it is `about`, its text, its time (xsd:dateTime in UTC), and its user on a host; both are
    empty if users are not recorded."""

    about: str
    text: str
    time: str
    user: str = ""
    host: str = ""


def cleaned(given: bytes) -> str:
    """Return the text of a note; bytes that are not UTF-8 become escapes such as `\\xe9`. Raises ProvioError for an
    empty or a too large text."""
    text = given.decode("utf-8", "backslashreplace").replace("\x00", "\ufffd").strip()
    if not text:
        raise ProvioError("the note is empty: give its text, or - to read it from the standard input")
    size, shown = len(text.encode()), f"{len(given):,} bytes" if len(given) < READ else "many bytes"
    if size > MOST or len(given) >= READ:
        escaped = f", {size:,} with escapes" if len(given) <= MOST else ""
        raise ProvioError(
            f"the note has {shown}{escaped}, more than {MOST:,}: shorten it, or write it to a file and name the file"
        )
    return text


def write(home: Home, run: str, about: str, text: str, settings: Config) -> str:
    """Write a note, which belongs to a run, about a node that the run knows; return its id. By the settings, it has no
    secrets, and the user only if users are recorded. Raises NotAllowed."""
    from provio.settings import record_classes
    from provio.trace import environment  # slow to import, and a merge only reads notes
    from provio.trace.recording import Detail, uuid7
    from provio.trace.redact import Redaction
    from provio.trace.run_source import put

    id_, moment = uuid7(), turtle.instant_text(time.time_ns())
    note = {"about": about, "text": Redaction(settings.redact_add, settings.redact_keep).text(text), "time": moment}
    named = not Detail(settings.detail, record_classes.changes(settings.record)).leaves_out("user")
    note |= {"user": environment.user_name() if named else "", "host": environment.host() if named else ""}
    try:
        with home.closed():
            home.notes.mkdir(exist_ok=True)
            put(home.notes / f"{run}.{id_}.json", json.dumps(note, ensure_ascii=True, indent=1) + "\n")
    except OSError as error:
        problem = f"cannot write the note in {home.notes} ({error.strerror})"
        raise NotAllowed(f"{problem}: {remedy(error, 'check its permissions')}") from error
    return id_


def read(path: Path) -> Note | None:
    """Return a note; None for a file that is none, as another user may write in a shared record."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(file, "rb") as opened:
            found = os.fstat(opened.fileno())
            data = opened.read(LARGEST) if stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST else b""
        given = json.loads(data)
        note = Note(*(given[word] for word in ("about", "text", "time", "user", "host")))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    words = (note.about, note.text, note.time, note.user, note.host)
    valid = all(isinstance(word, str) for word in words) and IRI.fullmatch(note.about) and TIME.fullmatch(note.time)
    return note if valid else None


def files(folders: Iterable[Path]) -> dict[str, dict[str, Path]]:
    """Return the files of notes, by the id of their run and their own id."""
    found: dict[str, dict[str, Path]] = {}
    for folder in folders:
        with contextlib.suppress(OSError):
            for entry in os.scandir(folder):
                if named := NAME.fullmatch(entry.name):
                    found.setdefault(named[1], {})[named[2]] = Path(entry.path)
    return found


def place(home: Home, iri: str) -> Path:
    """Return the file of a note, by its IRI."""
    run, _, id_ = iri.removeprefix(RUN_BASE).partition("/note/")
    return home.notes / f"{run}.{id_}.json"


def remove_of(home: Home, runs: Iterable[str]) -> None:
    """Delete the notes of these runs. The time of the folder then states that notes changed: restoring it could hide a
    note that is written at the same time."""
    found = files([home.notes])
    for run in runs:
        for path in found.get(run, {}).values():
            path.unlink(missing_ok=True)


def state(home: Home) -> str:
    """Return a text that changes when notes are written or removed: the times of their folders."""
    times = []
    for folder in home.notes_folders():
        with contextlib.suppress(OSError):
            times.append(str(folder.stat().st_mtime_ns))
    return " ".join(times)


def mark(home: Home, before: str) -> None:
    """Record that the store has the notes of a state."""
    if before or (home.marks / MARK).exists():
        home.marks.mkdir(parents=True, exist_ok=True)
        (home.marks / MARK).write_text(before, encoding="ascii")


def are_pending(home: Home) -> bool:
    """Return whether notes were written or removed since they were put into the store."""
    try:
        known = (home.marks / MARK).read_text(encoding="ascii", errors="replace")
    except OSError:
        known = ""
    return state(home) != known
