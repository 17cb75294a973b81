"""Prints: answers to stdout, error messages and notes to stderr.

All output is encoded so that the terminal, file or pipe can show it and a terminal interprets none of it as control
sequences. No other module prints.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO

from provio.base import time_limit
from provio.base.errors import ProvioError

MOST_LINES = 1000  # lines of an answer on a terminal
RED, YELLOW = 31, 33  # colours of ECMA-48
AT_ONCE = 1.0  # seconds: shorter work shows no progress


def have_streams() -> None:
    """Open a closed stdout or stderr on /dev/null, with a descriptor that a command does not inherit as 1 or 2.

    Otherwise a file that is opened later, such as a store file or a lock, would get that descriptor. Libraries would
    print their messages into it, and a child process would inherit it as its stdout or stderr.
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
    """Discard unwritten output, so that the interpreter does not try to write it again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def out(answer: str | bytes | Iterator[str]) -> None:
    """Print an answer: text encoded for the stream, bytes unchanged; a long text may come in pieces."""
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
        while left:  # without a buffer (PYTHONUNBUFFERED) a pipe accepts a part per write
            left = left[sys.stdout.buffer.write(left) :]
    sys.stdout.buffer.flush()
    if left_out:
        note(f"and {left_out} more lines: use a pipe (| less) or a file to see all")


def _first(answer: str) -> tuple[str, int]:
    """Return the part of an answer to show on a terminal, and the number of omitted lines."""
    if len(answer) < MOST_LINES or not sys.stdout.isatty():
        return answer, 0
    lines = answer.splitlines(keepends=True)
    return "".join(lines[:MOST_LINES]), max(0, len(lines) - MOST_LINES)


def note(line: str) -> None:
    """Print a line to stderr that is not an error message."""
    print(_clear() + _shown(line), file=sys.stderr)


def confirm(question: str) -> None:
    """Require a confirmation from the user at the terminal; raises ProvioError without one, or without a terminal."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        raise ProvioError("no terminal to confirm on: pass --yes")
    sys.stderr.write(f"{_shown(question)} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ProvioError("not confirmed: nothing was done")


def complain(message: str, hint: str = "") -> None:
    """Print an error message on one line; `hint` follows it unchanged."""
    _print(message_line(message, hint, RED))


def warn(message: str) -> None:
    """Print a line about something that is not as expected, but is no error of this call."""
    _print(message_line(message, tint=YELLOW))


def remark(message: str) -> None:
    """Print a line about work that was done."""
    _print(message_line(message))


def _print(line: str) -> None:
    """Print a line to stderr. A closed stream is ignored."""
    with contextlib.suppress(OSError, ValueError):
        print(line, end="", file=sys.stderr, flush=True)


def message_line(message: str, hint: str = "", tint: int = 0) -> str:
    """Return the line that `complain`, `warn` and `remark` print; they differ in the colour of its first word."""
    line = " ".join(message.split())
    safe = line.encode("ascii" if not unicode() else "utf-8", "backslashreplace").decode("utf-8")
    name = f"\x1b[1;{tint}mprovio:\x1b[0m" if tint and color("stderr") else "provio:"
    return f"{_clear()}{name} {_shown(safe)}{hint}\n"


def _clear() -> str:
    """Return the escape sequence that clears a progress line left by the parent process."""
    return "\r\x1b[K" if time_limit.is_child() and _rewrites() else ""


def _shown(text: str) -> str:
    """Return a text as one line without control characters."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def write(output: str, data: bytes) -> None:
    """Write a file that the caller named."""
    with written(output) as file:
        file.write(data)


@contextlib.contextmanager
def written(output: str) -> Iterator[BinaryIO]:
    """Open a file that the caller named, to write it; raises ProvioError if it cannot be written.

    The content goes to a new file next to it, which takes its place at the end: after an error, and after a kill, a
    file of this name is complete. A pipe or device is written directly.
    """
    time_limit.may_print()
    try:
        with _replacing(output) as file:
            yield file
    except OSError as error:
        folder = os.path.dirname(output)
        if folder and not os.path.exists(folder):
            raise ProvioError(f"cannot write {output}: there is no folder {folder}: create it") from error
        raise ProvioError(f"cannot write {output} ({error.strerror}): name another file with -o") from error


@contextlib.contextmanager
def _replacing(output: str) -> Iterator[BinaryIO]:
    target = os.path.realpath(output)
    exists = os.path.lexists(target)
    in_place = exists and not (os.path.isfile(target) and os.access(os.path.dirname(target), os.W_OK))
    if in_place or os.path.abspath(output).startswith("/dev/"):
        with open(output, "wb") as file:
            yield file
        return
    if exists and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    new = f"{target}.{os.getpid()}.part"
    try:
        with open(new, "wb") as file:
            if exists:
                os.fchmod(file.fileno(), stat.S_IMODE(os.stat(target).st_mode))
            yield file
        os.replace(new, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise


def progress() -> Callable[[str], None]:
    """Return a function that shows progress on one line, which each call overwrites; an empty text ends it.

    It shows nothing if stderr is not a terminal, or if the work takes less than a second.
    """
    return _Line() if _rewrites() else lambda _: None


def steady_progress() -> Callable[[str], None]:
    """Return the same for work in which a single step may take over a second."""
    return _Ticking() if _rewrites() else lambda _: None


@contextlib.contextmanager
def working() -> Iterator[Callable[[str], None]]:
    """Yield the function of `steady_progress`; clear the line at the end."""
    line = steady_progress()
    try:
        yield line
    finally:
        line("")


def _rewrites() -> bool:
    """Return whether stderr is a terminal and its last line can be overwritten."""
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class _Line:
    """The last line of a terminal, rewritten at most ten times per second."""

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
    """A progress line for steps of over a second: a thread refreshes the last text."""

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
    """Return the number of columns of the terminal; None if stdout is not a terminal, so that nothing need be cut."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return shutil.get_terminal_size().columns


def unicode() -> bool:
    """Return whether stdout accepts more than ASCII."""
    return (sys.stdout.encoding or "ascii").lower().replace("-", "") == "utf8"


def color(stream: str = "stdout") -> bool:
    """Return whether colour is wanted on a stream (https://no-color.org)."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"
    return wanted and getattr(sys, stream).isatty()


def bold(text: str) -> str:
    """Return one of provio's own texts in bold, if stdout shows it."""
    return f"\x1b[1m{text}\x1b[0m" if color() else text


def tinted(text: str, tint: int) -> str:
    """Return one of provio's own texts in a colour of ECMA-48 (31 red, 32 green, 33 yellow), if stdout shows it."""
    return f"\x1b[{tint}m{text}\x1b[0m" if color() else text


def folder() -> str | None:
    """Return the current folder, to which shown paths are relative; None if it was deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None
