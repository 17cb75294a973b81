"""The SHA-256 of an image's file: a run and the path in, what the run says of its image with `sha256:…` out.

It is computed while the container runs, by one process at a time, and kept for the next: ranks in containers start
together. A command that ends before that does not wait for it: it leaves a note, which keeps its run from being packed,
and a process of its own, for which nobody waits, states it afterwards and merges the run again. One that was killed is
begun again by the next. A file that is another by then has no digest: what was used is gone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

from provio import background, config_layers, image, statx, turtle
from provio import home as homes
from provio.content import Unread, sha256
from provio.home import RUN_ID, Home
from provio.merge_job import FAULTS
from provio.runfiles import put

KEPT = "images"  # the folder of a `.provio` that keeps what was computed
NOTES = "digesting"  # the folder of a note for each run that waits: which file it was, and its path


class _Stopped(Exception):
    """The container's end came first."""


def statement(run_id: str, digest: str) -> str:
    """Return what run.ttl says of the digest of a run's image."""
    return f"<{image.iri(run_id)}> :digest {turtle.literal(digest)} .\n"


class Digesting:
    """The digest of an image's file, computed by a thread from the beginning until it is `stopped`."""

    def __init__(self, home: Home, path: str, key: str = "") -> None:
        self.home, self.path, self.key = home, path, key
        self.found = ""
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._compute)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        self._thread.start()  # it gets no signal: those are the command's, and tell of its end
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def stopped(self) -> str:
        """Compute no more, and return the digest, or nothing where it was not known by then."""
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
    """Return what tells one file of an image from another, or what it was before it was changed."""
    return ".".join(map(str, facts.key)) if facts else ""


def digest_of(
    path: str, kept: Path, progress: Callable[[int], None] = lambda _: None, wait: bool = False, key: str = ""
) -> str:
    """Return the SHA-256 of an image's file as `sha256:…`, from the folder `kept` where it was computed before.

    `progress` is told the bytes that were read so far. Raises Unread, where it is not the file of a `key` any more,
    too, and OSError where there is no such file, or where another process computes one and this is not to `wait` for
    it.
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
    """Have the folder to oneself, where its file system knows locks; raises BlockingIOError where others have it."""
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


def ask(home: Home, run_id: str, path: str, key: str) -> None:
    """Note that a run waits for the digest of its image."""
    with contextlib.suppress(OSError), home.closed():
        (home.path / NOTES).mkdir(exist_ok=True)
        put(home.path / NOTES / run_id, f"{key}\n{quote(os.fsencode(path))}")


def waited_for(home: Home) -> list[str]:
    """Return the runs that wait, oldest first."""
    try:
        return sorted(run for run in os.listdir(home.path / NOTES) if RUN_ID.fullmatch(run))
    except OSError:
        return []


def begin(home: Home, *, then_merge: bool) -> None:
    """Start a process that states the digests of images that runs wait for; return at once."""
    background.begin("provio.image_digest", str(home.path), *(() if then_merge else ("--no-merge",)))


def main() -> None:
    """Work through the notes of the `.provio` that is named, and merge the runs again that they are of."""
    home = Home(Path(sys.argv[1]))
    os.nice(19)
    os.chdir("/")
    done = [run for run in waited_for(home) if _state(home, run)]
    if done and "--no-merge" not in sys.argv[2:]:
        from provio.merge import merge

        settings = config_layers.load(homes.project_folders(home.project), forgive=lambda _: None)
        with contextlib.suppress(OSError, *FAULTS):
            merge(home, [home.runs / run for run in done], settings=settings)


def _state(home: Home, run: str) -> bool:
    """State what a run that ended waits for, and take away its note; return whether it is stated. What the disk refuses
    is tried again by the next."""
    note, head = home.path / NOTES / run, home.runs / run / "run.ttl"
    with contextlib.suppress(FileNotFoundError, ValueError, *FAULTS):
        try:
            key, path = note.read_text(encoding="ascii").split("\n")
            said = statement(run, digest_of(os.fsdecode(unquote_to_bytes(path)), home.path / KEPT, wait=True, key=key))
            text = head.read_text(encoding="utf-8")
            if ":endedNs " not in text:  # who asked is about to write its end, and begins this anew
                return False
            if said not in text:
                with home.closed():
                    put(head, text + said)
        except (Unread, FileNotFoundError, ValueError):
            said = ""
        note.unlink()
        return bool(said)
    return False


if __name__ == "__main__":
    main()
