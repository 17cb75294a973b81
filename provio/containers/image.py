"""Reads the facts of a container image, and computes the SHA-256 of its file for the record.

The facts are from the header and the descriptors of a SIF file (format: sylabs/sif 3), from the files that Apptainer
and Charliecloud leave in an image folder, or from `image inspect` of a runtime. As a program, this module computes
pending digests in the background.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from provio.base import turtle
from provio.base.records import frozen
from provio.base.vocab import RUN_BASE
from provio.merge.job import FAULTS
from provio.settings import home as homes
from provio.settings import load
from provio.settings.home import RUN_ID, Home
from provio.system import child, statx
from provio.system.content import Unread, sha256
from provio.trace import run_source
from provio.trace.run_source import put

SIF_MACHINES = {b"02": "x86_64", b"04": "aarch64"}
SIF_HEAD = struct.Struct("<32s10s3s3s16s8q")
SIF_PART = struct.Struct("<iBIII7q128s384s")
RECIPE, LABELS = 0x4001, 0x4003
LONGEST = 1 << 20  # bytes of a recipe
GO_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
LABEL_FILES = (".singularity.d/labels.json", "ch/metadata.json")
RECIPE_FILES = (".singularity.d/Singularity", "ch/Dockerfile")


@frozen
class Known:
    """The known facts of an image; unknown ones are empty. `root` is the folder of its content, if there is one."""

    name: str
    path: str = ""
    root: str = ""
    machine: str = ""
    libc: str = ""
    digest: str = ""
    recipe: str = ""
    labels: tuple[str, ...] = ()

    def held(self) -> Callable[[], statx.Facts | None]:
        """Open the image's file or folder, and return a function that later returns its `statx` facts, even if
        another file has its name by then; None if they cannot be read."""
        try:
            fd = os.open(self.path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return lambda: None

        @cache
        def facts() -> statx.Facts | None:
            try:
                return statx.facts(b"/proc/self/fd/%d" % fd)
            except OSError:
                return None
            finally:
                os.close(fd)

        return facts


def iri(run_id: str) -> str:
    """Return the IRI of a run's image in its run folder."""
    return f"{RUN_BASE}{run_id}/image"


def of_folder(name: str, folder: str) -> Known:
    """Return the facts of an image in a folder."""
    root = os.path.abspath(folder)
    labels: dict[str, Any] = {}
    for place in LABEL_FILES:
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
            found = _read(_text(os.path.join(root, place)))
            labels |= dict(found["labels"] if place.startswith("ch/") else found)
    recipe = ""
    for place in RECIPE_FILES:
        with contextlib.suppress(OSError):
            recipe = recipe or _text(os.path.join(root, place))
    return Known(name, root, root, recipe=recipe, labels=_listed(labels))


def of_file(name: str) -> Known:
    """Return the facts of an image in a file."""
    path = os.path.abspath(name)
    machine, recipe, labels = "", "", {}
    with contextlib.suppress(OSError, ValueError, struct.error), open(path, "rb") as file:
        head = SIF_HEAD.unpack(file.read(SIF_HEAD.size))
        if head[1].startswith(b"SIF_MAGIC"):
            machine = SIF_MACHINES.get(head[3][:2], "another machine")
            parts = {kind: (offset, size) for kind, offset, size in _parts(file, head[9], head[8])}
            recipe = _part(file, *parts.get(RECIPE, (0, 0)))
            labels = _read(_part(file, *parts.get(LABELS, (0, 0))) or "{}")
    return Known(name, path, machine=machine, recipe=recipe, labels=_listed(labels))


def _parts(file: Any, start: int, count: int) -> Iterator[tuple[int, int, int]]:
    file.seek(start)
    for _ in range(min(count, 128)):
        head = file.read(SIF_PART.size)
        if len(head) < SIF_PART.size:
            return
        part = SIF_PART.unpack(head)
        if part[1]:
            yield part[0], part[5], part[6]


def _part(file: Any, offset: int, size: int) -> str:
    file.seek(offset)
    text: bytes = file.read(min(size, LONGEST))
    return text.decode("utf-8", "replace").rstrip("\0")


def _read(text: str) -> Any:
    import json  # slow to import, and most folders have no such file

    return json.loads(text)


def _text(path: str) -> str:
    """Return the text of a plain file in an image; a link could lead outside the image."""
    return run_source.content(Path(path))[:LONGEST].decode("utf-8", "replace")


def _listed(labels: object) -> tuple[str, ...]:
    pairs = labels.items() if isinstance(labels, dict) else ()
    return tuple(sorted(f"{name}={value}" for name, value in pairs if isinstance(value, str)))


def of_inspection(name: str, text: str) -> Known:
    """Return the facts in the output of `image inspect` of Podman or Docker."""
    try:
        facts: dict[str, Any] = dict(_read(text)[0])
    except (ValueError, LookupError, TypeError):
        return Known(name)
    digests = facts.get("RepoDigests") or []
    digest = facts.get("Digest") or (digests[0].rpartition("@")[2] if digests else facts.get("Id", ""))
    machine = GO_MACHINES.get(facts.get("Architecture", ""), facts.get("Architecture", ""))
    layers = [place for value in _places(facts) for place in value.split(":")]
    musl = any(any(Path(place, "lib").glob("ld-musl-*")) for place in layers)
    labels = (facts.get("Config") or {}).get("Labels") or {}
    return Known(name, machine=machine, libc="musl" if musl else "", digest=digest, labels=_listed(labels))


def _places(facts: dict[str, Any]) -> list[str]:
    data = (facts.get("GraphDriver") or {}).get("Data") or {}
    return [str(data[key]) for key in ("UpperDir", "LowerDir", "dir", "MergedDir") if data.get(key)]


# The SHA-256 of an image's file.


KEPT = "images"  # folder in `.provio` with the computed digests
NOTES = "digesting"  # folder with one note per run with a pending digest: the key of the file, and its path


class _Stopped(Exception):
    """The container ended before the digest was complete."""


def statement(run_id: str, digest: str) -> str:
    """Return the statement of run.ttl about the digest of a run's image."""
    return f"<{iri(run_id)}> :digest {turtle.literal(digest)} .\n"


class Digesting:
    """Computes the digest of an image's file in a thread, from construction until it is `stopped`."""

    def __init__(self, home: Home, path: str, key: str = "") -> None:
        self.home, self.path, self.key = home, path, key
        self.found = ""
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._compute)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        self._thread.start()  # the thread gets no signals: they are for the command, or report its end
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def stopped(self) -> str:
        """Stop the computation, and return the digest; empty if it was not complete."""
        self._end.set()
        self._thread.join()
        return self.found

    def _compute(self) -> None:
        with contextlib.suppress(_Stopped, Unread, OSError):
            self.found = digest_of(self.path, self.home.path / KEPT, self._look, key=self.key)

    def _look(self, _: int) -> None:
        if self._end.is_set():
            raise _Stopped


def key_of(facts: statx.Facts | None) -> str:
    """Return a key for the version of an image's file; empty without facts."""
    return ".".join(map(str, facts.key)) if facts else ""


def digest_of(
    path: str, kept: Path, progress: Callable[[int], None] = lambda _: None, wait: bool = False, key: str = ""
) -> str:
    """Return the SHA-256 of an image's file as `sha256:…`, from the folder `kept` if it was computed before.

    `progress` receives the number of bytes read so far. Raises Unread, also if the file no longer has the key `key`;
    OSError if there is no such file, or if another process computes a digest and `wait` is false.
    """
    key = key or key_of(statx.facts(os.fsencode(path)))
    with contextlib.suppress(OSError):
        return (kept / key).read_text(encoding="ascii")
    with _alone(kept, wait):
        with contextlib.suppress(OSError):
            return (kept / key).read_text(encoding="ascii")
        if key_of(statx.facts(os.fsencode(path))) != key:
            raise Unread("was replaced")
        digest, facts = sha256(os.fsencode(path), progress)
        if key_of(facts) != key:
            raise Unread("was replaced")
        with contextlib.suppress(OSError):
            put(kept / key, "sha256:" + digest)
    return "sha256:" + digest


@contextlib.contextmanager
def _alone(kept: Path, wait: bool) -> Iterator[None]:
    """Lock the folder, if its file system has locks; raises BlockingIOError if another process holds the lock."""
    fd = -1
    try:
        with contextlib.suppress(OSError):
            kept.mkdir(exist_ok=True)
            fd = os.open(kept, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if fd >= 0:
                fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise
        except OSError:
            pass
        yield
    finally:
        if fd >= 0:
            os.close(fd)


def request_digest(home: Home, run_id: str, path: str, key: str) -> None:
    """Leave a note that the digest of a run's image is pending."""
    with contextlib.suppress(OSError), home.closed():
        (home.path / NOTES).mkdir(exist_ok=True)
        put(home.path / NOTES / run_id, f"{key}\n{quote(os.fsencode(path))}")


def pending(home: Home) -> list[str]:
    """Return the runs with a pending digest, oldest first."""
    try:
        return sorted(run for run in os.listdir(home.path / NOTES) if RUN_ID.fullmatch(run))
    except OSError:
        return []


def start_background(home: Home, *, then_merge: bool) -> None:
    """Start a process that computes the pending digests; return at once."""
    child.begin("provio.containers.image", str(home.path), *(() if then_merge else ("--no-merge",)))


def main() -> None:
    """Process the notes of the given `.provio`, and merge their runs again."""
    home = Home(Path(sys.argv[1]))
    os.nice(19)
    os.chdir("/")
    done = [run for run in pending(home) if _state(home, run)]
    if done and "--no-merge" not in sys.argv[2:]:
        from provio.merge.runs import merge

        settings = load.load(homes.project_folders(home.project), forgive=lambda _: None)
        with contextlib.suppress(OSError, *FAULTS):
            merge(home, [home.runs / run for run in done], settings=settings)


def _state(home: Home, run: str) -> bool:
    """Write the pending digest of a run that has ended, and remove its note; return whether the digest is written. If
    the disk refuses, the next process tries again."""
    note, head = home.path / NOTES / run, home.runs / run / "run.ttl"
    with contextlib.suppress(FileNotFoundError, ValueError, *FAULTS):
        try:
            key, path = note.read_text(encoding="ascii").split("\n")
            added = statement(run, digest_of(os.fsdecode(unquote_to_bytes(path)), home.path / KEPT, wait=True, key=key))
            text = head.read_text(encoding="utf-8")
            if ":endedNs " not in text:  # the run's watcher writes its end, and then starts this again
                return False
            if added not in text:
                with home.closed():
                    put(head, text + added)
        except (Unread, FileNotFoundError, ValueError):
            added = ""
        note.unlink()
        return bool(added)
    return False


if __name__ == "__main__":
    main()
