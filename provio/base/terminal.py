"""The two streams that people and programs read: answers go out on the one, complaints on the other.

In: text, or one line of complaint. Out: what the terminal, file or pipe there can show, and nothing that it would obey.
Nothing but this module prints.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from provio.base import time_limit
from provio.base.errors import ProvioError

MOST_LINES = 1000  # of an answer on a terminal
AT_ONCE = 1.0  # seconds: work that takes less shows no progress


def have_streams() -> None:
    """Give a stream that was closed a place to write to, on a descriptor that a command does not inherit as 1 or 2.

    What is opened later, a store's file or a lock, does not come in its place: libraries write what they complain of
    there, and who is started has other things there.
    """
    while (fd := os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)) < 3:
        pass
    os.close(fd)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            fd = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            setattr(sys, name, os.fdopen(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10), "w", encoding="utf-8"))
            os.close(fd)


def drop_output() -> None:
    """What could not be written must not be tried again by the interpreter's own end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def out(answer: str | bytes | Iterator[str]) -> None:
    """Print an answer: text as the stream can show it, bytes as they are; a long text may come in pieces."""
    if not isinstance(answer, str | bytes) and sys.stdout.isatty():
        answer = "".join(answer)
    time_limit.may_print()
    sys.stdout.flush()
    left_out = 0
    if isinstance(answer, str):
        answer, left_out = _first(answer)
    for piece in [answer] if isinstance(answer, str | bytes) else answer:
        if isinstance(piece, str):
            piece = piece.encode(sys.stdout.encoding if unicode() else "ascii", "backslashreplace")  # noqa: PLW2901
        left = memoryview(piece)
        while left:  # without a buffer (PYTHONUNBUFFERED) a pipe takes a part at a time
            left = left[sys.stdout.buffer.write(left) :]
    sys.stdout.buffer.flush()
    if left_out:
        note(f"and {left_out} lines more: a pipe (| less) or a file gets all")


def _first(answer: str) -> tuple[str, int]:
    """As much of an answer as somebody at a terminal may want to read, and how many lines are left out."""
    if len(answer) < MOST_LINES or not sys.stdout.isatty():
        return answer, 0
    lines = answer.splitlines(keepends=True)
    return "".join(lines[:MOST_LINES]), max(0, len(lines) - MOST_LINES)


def note(line: str) -> None:
    """Say something on the side that is no complaint."""
    print(_clear() + _shown(line), file=sys.stderr)


def confirm(question: str) -> None:
    """Have somebody at the terminal say yes; raises ProvioError where nobody does, or nobody is there."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        raise ProvioError("nobody can be asked here: say --yes to do it without being asked")
    sys.stderr.write(f"{_shown(question)} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ProvioError("nothing was done: the answer was not yes")


def complain(message: str, hint: str = "") -> None:
    """Say in one line what is wrong; `hint` stands behind it as it is. A stream that is gone is no further trouble."""
    with contextlib.suppress(OSError, ValueError):
        print(complaint(message, hint), end="", file=sys.stderr, flush=True)


def complaint(message: str, hint: str = "") -> str:
    """Return the line that `complain` says."""
    line = " ".join(message.split())
    safe = line.encode("ascii" if not unicode() else "utf-8", "backslashreplace").decode("utf-8")
    name = "\x1b[1;31mprovio:\x1b[0m" if color("stderr") else "provio:"
    return f"{_clear()}{name} {_shown(safe)}{hint}\n"


def _clear() -> str:
    """What takes away a line of progress that the parent of this process may have left."""
    return "\r\x1b[K" if time_limit.is_apart() and _rewrites() else ""


def _shown(text: str) -> str:
    """A text of one line, in which nothing steers a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def write(output: str, data: bytes) -> None:
    """Write a file that the caller named."""
    time_limit.may_print()
    try:
        Path(output).write_bytes(data)
    except OSError as error:
        raise ProvioError(f"cannot write {output} ({error.strerror}): name another file with -o") from error


def progress() -> Callable[[str], None]:
    """Return what shows people how far a long work is, in one line that is written over; nothing (`""`) ends it.

    Programs are shown nothing, nor is anybody of work that takes under a second.
    """
    return _Line() if _rewrites() else lambda _: None


def steady_progress() -> Callable[[str], None]:
    """Return the same for work of which a single step may take over a second."""
    return _Ticking() if _rewrites() else lambda _: None


@contextlib.contextmanager
def working() -> Iterator[Callable[[str], None]]:
    """Give what `steady_progress` gives; its end ends the line."""
    line = steady_progress()
    try:
        yield line
    finally:
        line("")


def _rewrites() -> bool:
    """Whether complaints go to a terminal whose last line can be written anew."""
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class _Line:
    """The last line of a terminal, written anew ten times a second at most."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.written = 0.0

    def __call__(self, text: str) -> None:
        now = time.monotonic()
        if now - self.begun < AT_ONCE or (text and now - self.written < 0.1) or not (text or self.written):
            return
        self.written = now if text else 0.0
        columns = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        shown = "".join(c if c.isprintable() and c.isascii() else "?" for c in text)[: columns - 1]
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"\r\x1b[K{shown}")
            sys.stderr.flush()


class _Ticking(_Line):
    """The same where a single step may take over a second: a thread shows what was told last."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.alone = threading.Lock()
        threading.Thread(target=self._tick, daemon=True).start()

    def __call__(self, text: str) -> None:
        with self.alone:
            self.text = text
            super().__call__(text)

    def _tick(self) -> None:
        while True:
            time.sleep(0.2)
            with self.alone:
                if self.text:
                    super().__call__(self.text)


def width() -> int | None:
    """Return the columns there are; None where nobody watches and nothing need be cut."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return shutil.get_terminal_size().columns


def unicode() -> bool:
    """Return whether the answer's stream takes more than ASCII."""
    return (sys.stdout.encoding or "ascii").lower().replace("-", "") == "utf8"


def color(stream: str = "stdout") -> bool:
    """Return whether colour is wanted on a stream (https://no-color.org)."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"
    return wanted and getattr(sys, stream).isatty()


def bold(text: str) -> str:
    """Return a text of our own that stands out, where the answer's stream shows it."""
    return f"\x1b[1m{text}\x1b[0m" if color() else text


def tinted(text: str, tint: int) -> str:
    """Return a text of our own in a colour (of ECMA-48: 31 red, 32 green, 33 yellow), where the answer's stream shows
    it."""
    return f"\x1b[{tint}m{text}\x1b[0m" if color() else text


def folder() -> str | None:
    """Return the current folder, to which paths are shown relative; None where it was deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None
