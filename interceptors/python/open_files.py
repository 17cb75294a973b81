"""Record the files of a Python process that was started without the shim, from a moment on.

In: the process with its writer. Out: an opening in the trace for each regular file that Python code opens, with its
reads, writes and close; renames, removals, and the programs that the process starts.

`open` is wrapped, and each file object that it returns reports the calls of its descriptor (its type stays the same).
Files that Python opens in other ways (`os.open`, imports, an `open` that C code holds) are known from audit events:
such a file counts as read when it is opened, and as written if it has changed at the end of the cell. Files that C code
opens itself are not observed.
"""

from __future__ import annotations

import builtins
import fcntl
import functools
import io
import os
import pathlib
import stat
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

from .guard import reraise_from_program
from .writer import environment
from .writer.environment import FileFacts, absolute, statx
from .writer.writer import Writer

OPEN = builtins.open
PASSED = (b"/proc/", b"/sys/", b"/dev/")
STARTS = ("fork", "forkpty", "posix_spawn", "posix_spawnp")  # functions of `os` that return a process id
FUNCTIONS = {
    "open": "Open", "io.read": "Read", "io.write": "Write", "os.rename": "Rename", "os.link": "Link",
    "os.remove": "Delete",
}  # fmt: skip
UNCHANGED = ("_io", OPEN.__module__, __name__)  # an `open` of before is pickled by the name of its module
MOST_PENDING = 1000
Report = Callable[..., None]


def _safely(report: Report) -> Report:
    """Let no exception of a report reach the program. The files that a report opens itself are those of the record."""

    @functools.wraps(report)
    def reporting(self: OpenFiles, *arguments: Any) -> None:
        if self.on:
            try:
                report(self, *arguments)
            except Exception as error:
                reraise_from_program(error)

    return reporting


class Replaced:
    """A function of the standard library that reports its calls. As the original, it is no method of a class that has
    it as an attribute, and it is pickled by its name."""

    def __init__(self, original: Any, module: str, call: Any) -> None:
        functools.update_wrapper(self, original)
        self.__place, self.__call = f"{module}:{original.__name__}", call

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Call the function that reports."""
        __tracebackhide__ = True  # of IPython
        return self.__call(*arguments, **keywords)

    def __reduce__(self) -> tuple[Any, ...]:
        import pkgutil  # slow to import, and rarely needed

        return pkgutil.resolve_name, (self.__place,)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)  # type: ignore[attr-defined]


class OpenFiles:
    """The hooks of a process; one object for its whole life, because audit hooks cannot be removed."""

    def __init__(self) -> None:
        self.on = False
        self.local = threading.local()
        self.open = Replaced(OPEN, "builtins", self._opening(OPEN))
        self.read: set[tuple[bytes, int]] = set()  # files that `os.open` opened for reading in this cell
        self.written: dict[bytes, tuple[int, int, FileFacts | None]] = {}  # by path: flags, time, facts before
        self.actions: list[tuple[str, int, bytes, bytes, FileFacts]] = []  # renames and removals, not yet confirmed
        self.originals: list[tuple[Any, str, Any]] = []
        sys.addaudithook(self._audit)

    def start(self, writer: Writer) -> None:
        """Record from now on."""
        self.writer = writer
        self.functions = {name: writer.function(name, term) for name, term in FUNCTIONS.items()}
        self.on = True
        for module in list(sys.modules.values()):
            for name, value in list(getattr(module, "__dict__", {}).items()):
                if value is OPEN and getattr(module, "__name__", "") not in UNCHANGED:
                    self._replace(module, name, self.open)
        if io.open is OPEN:
            self._replace(pathlib.Path, "open", self._opening(pathlib.Path.open))
        for name in STARTS:
            if hasattr(os, name):
                start = getattr(os, name)
                self._replace(os, name, Replaced(start, "os", self._starting(start, name)))
        popen: Any = subprocess.Popen
        if hasattr(popen, "_execute_child"):
            self._replace(popen, "_execute_child", self._popen(popen._execute_child))

    def stop(self) -> None:
        """Record nothing more."""
        self.settle()
        self.on = False
        for owner, name, original in reversed(self.originals):
            setattr(owner, name, original)
        self.originals.clear()

    def _replace(self, owner: Any, name: str, function: Any) -> None:
        self.originals.append((owner, name, getattr(owner, name)))
        setattr(owner, name, function)

    # ---- `open`

    def _opening(self, original: Any) -> Any:
        local = self.local

        @functools.wraps(original)
        def open(*arguments: Any, **keywords: Any) -> Any:  # noqa: A001
            __tracebackhide__ = True  # of IPython
            before = getattr(local, "opening", False)
            local.opening, local.flags = True, None  # the audit event of this call states its flags
            started = self.writer.now()
            try:
                file = original(*arguments, **keywords)
            finally:
                local.opening = before
            self._opened(file, started)
            return file

        return open

    @_safely
    def _opened(self, file: Any, started: int) -> None:
        file = getattr(file, "buffer", file)
        raw = getattr(file, "raw", file)
        if type(raw) is io.FileIO and "close" not in vars(raw):
            fd = raw.fileno()
            facts = _regular(fd)
            if facts is not None and not (isinstance(raw.name, int) and self._is_noted(fd, facts)):
                flags = self.local.flags
                flags = fcntl.fcntl(fd, fcntl.F_GETFL) if flags is None else flags & ~os.O_CLOEXEC
                Followed(self, raw, fd, flags, facts, started)

    def _is_noted(self, fd: int, facts: FileFacts) -> bool:
        """Whether `os.open` gave a descriptor in this cell: its file counts once."""
        return (facts.device, facts.inode) in self.read or environment.link(f"/proc/self/fd/{fd}") in self.written

    # ---- programs

    def _starting(self, start: Any, name: str) -> Any:
        @functools.wraps(start)
        def started(*arguments: Any, **keywords: Any) -> Any:
            moment = self.writer.now()
            result = start(*arguments, **keywords)
            pid = result[0] if isinstance(result, tuple) else result
            if pid:  # 0: this is the child
                self._child(f"os.{name}", pid, moment)
            return result

        return started

    def _popen(self, start: Any) -> Any:
        @functools.wraps(start)
        def started(popen: Any, *arguments: Any, **keywords: Any) -> Any:
            moment = self.writer.now()
            result = start(popen, *arguments, **keywords)
            self._child("subprocess.Popen", popen.pid, moment)
            return result

        return started

    @_safely
    def _child(self, api: str, pid: int, started: int) -> None:
        with OPEN(f"/proc/{pid}/stat", "rb", 0) as file:
            tick = int(file.read().rpartition(b")")[2].split()[19])
        self.writer.started_child(api, pid, tick, started)

    # ---- audit events

    def _audit(self, event: str, arguments: Any) -> None:
        if not self.on:
            return
        if event == "open":
            if getattr(self.local, "opening", False):
                self.local.flags = arguments[2]
            elif isinstance(arguments[0], (str, bytes)):
                self._opens(os.fsencode(arguments[0]), arguments[2])
        elif event == "os.rename":
            self._acts("os.rename", *arguments)
        elif event == "os.link":
            self._acts("os.link", *arguments)
        elif event == "os.remove":
            self._acts("os.remove", arguments[0], arguments[0], *arguments[1:], *arguments[1:])
        elif event == "os.truncate" and isinstance(arguments[0], (str, bytes)):
            self._opens(os.fsencode(arguments[0]), os.O_WRONLY)

    @_safely
    def _opens(self, path: bytes, flags: Any) -> None:
        """Note that a file is about to be opened in a way that is not followed further."""
        path = absolute(path)
        if not isinstance(flags, int) or path.startswith(PASSED) or self.writer.ignored(path):
            return
        self._confirm()
        facts = _regular(path)
        if flags & os.O_ACCMODE != os.O_RDONLY:
            if facts is not None or not os.path.exists(path):  # it can be created now
                self.written.setdefault(path, (flags, self.writer.now(), facts))
        elif facts is not None:
            now = self.writer.now()
            self.read.add((facts.device, facts.inode))
            file = self.writer.plain_file(self.functions["open"], path, flags, facts, now)
            self.writer.read(file, self.functions["io.read"], facts.size, now)
            self.writer.release(file)

    @_safely
    def _acts(self, what: str, source: Any, to: Any, source_folder: int = -1, folder: int = -1) -> None:
        """Note a rename or removal that is about to happen."""
        self._confirm()
        source, to = _place(source, source_folder), _place(to, folder)
        facts = statx(source) if source and to else None
        if facts is not None and len(self.actions) < MOST_PENDING:
            self.actions.append((what, self.writer.now(), source, to, facts))

    def _confirm(self) -> None:
        """Record the renames and removals that have happened."""
        actions, self.actions = self.actions, []
        for what, moment, source, to, before in actions:
            after = statx(to)
            same = after is not None and after.same_file(before)
            if what == "os.remove" and not same:
                self.writer.removed(self.functions[what], source, before, before.links - 1, moment)
            elif what != "os.remove" and same and source != to:
                self.writer.moved(self.functions[what], source, to, after, moment)

    @_safely
    def settle(self) -> None:
        """Record the files that were written in a way that is not followed, and have changed since."""
        self._confirm()
        self.read.clear()
        written, self.written = self.written, {}
        for path, (flags, moment, before) in written.items():
            after = _regular(path)
            if after is None:
                continue
            changed = before is None or before[:6] != after[:6]
            reads = flags & os.O_ACCMODE == os.O_RDWR and before is not None and before.size
            if not changed and not reads:
                continue
            file = self.writer.plain_file(self.functions["open"], path, flags, before or after, moment)
            if reads and before is not None:
                self.writer.read(file, self.functions["io.read"], before.size, moment)
            if changed:
                self.writer.write(file, self.functions["io.write"], after.size, moment)
            self.writer.file_closed(file, self.writer.now())
            self.writer.release(file)


class Followed:
    """A file object that Python's `open` returned: the calls of its raw file are reported."""

    def __init__(self, files: OpenFiles, raw: io.FileIO, fd: int, flags: int, facts: FileFacts, started: int) -> None:
        path = environment.link(f"/proc/self/fd/{fd}")
        if not facts.links and path.endswith(b" (deleted)"):
            path = path[: -len(b" (deleted)")]
        self.files, self.writer, self.facts = files, files.writer, facts
        self.object = self.writer.plain_file(files.functions["open"], self.named(raw, path), flags, facts, started)
        if self.object is None:
            return
        self.raw = weakref.ref(raw)
        self.started = started
        self.counted = {"io.read": 0, "io.write": 0}
        methods = [("fileno", self._fileno), ("close", self._close)]
        if raw.readable():
            methods += [("read", self._read), ("readall", self._read), ("readinto", self._read)]
        if raw.writable():
            methods += [("write", self._write)]
        for name, method in methods:
            vars(raw)[name] = functools.partial(method, getattr(io.FileIO, name))

    @staticmethod
    def named(raw: io.FileIO, path: bytes) -> bytes:
        """Return the path that the program used, else that of the descriptor."""
        name = raw.name
        return absolute(os.fsencode(name)) if isinstance(name, (str, bytes)) else path

    def _read(self, method: Any, *arguments: Any) -> Any:
        started = self.writer.now()
        result = method(self.raw(), *arguments)
        if result is not None:
            self._count("io.read", len(result) if isinstance(result, bytes) else result, started)
        return result

    def _write(self, method: Any, *arguments: Any) -> Any:
        started = self.writer.now()
        result = method(self.raw(), *arguments)
        if result is not None:
            self._count("io.write", result, started)
        return result

    def _count(self, function: str, size: int, started: int) -> None:
        self.counted[function] += 1
        report = self.writer.read if function == "io.read" else self.writer.write
        if self.files.on:
            report(self.object, self.files.functions[function], size, started)

    def _fileno(self, method: Any) -> Any:
        """C code may read by the descriptor (`numpy.fromfile`, `os.sendfile`, `mmap`)."""
        fd = method(self.raw())
        if not self.counted["io.read"] and "read" in vars(self.raw()):
            self._count("io.read", self.facts.size, self.writer.now())
        return fd

    def _close(self, method: Any) -> None:
        raw = self.raw()
        if raw is None or raw.closed:
            return
        fd = io.FileIO.fileno(raw)
        now = None if self.counted["io.write"] or "write" not in vars(raw) else statx(b"", fd)
        method(raw)
        if now is not None and now[:6] != self.facts[:6]:  # C code wrote by the descriptor, or it was truncated
            self._count("io.write", now.size, self.started)
        if self.files.on:
            self.writer.file_closed(self.object, self.writer.now())
        self.writer.release(self.object)


def _regular(file: int | bytes) -> FileFacts | None:
    """Return the facts of a regular file by its descriptor or path; None for any other."""
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):
            return None
    except (OSError, ValueError):
        return None
    return statx(file) if isinstance(file, bytes) else statx(b"", file)


def _place(path: Any, folder: int) -> bytes:
    """Return the absolute path of an argument of `os.rename`; empty if it is none."""
    try:
        name = os.fsencode(path)
    except TypeError:  # a descriptor
        return b""
    if folder < 0 or name.startswith(b"/"):
        return absolute(name)
    return absolute(environment.link(f"/proc/self/fd/{folder}") + b"/" + name)
