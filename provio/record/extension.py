"""`%load_ext provio`: records a notebook's kernel that was started without provio, from that cell on.

In: an IPython shell. Out: a run whose Tasks are the cells, with the files that Python code opens, and the programs that
cells start. Replacing the process by a recorded one (`execve`) would observe more, and lose all variables of the
notebook; the preload library has no effect in a process that is bound to the C library already.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import posix
import shlex
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from provio.base import terminal
from provio.record import implicit_run, run
from provio.system import ranks
from provio.trace import failed_start

TRACE = "PROVIO_TRACE"
UNSEEN = "recorded by `%load_ext provio`: only files that Python opened after it, not those of libraries in C"
LIMITS = (
    "from this cell on: cells, files that Python opens, HDF5 files of h5py, and programs that cells start.\n"
    "Files that other libraries in C open (netCDF4, PyArrow, SQLite) are not recorded: for these, use the kernel of\n"
    "`provio kernel install`."
)
EARLIER = (
    "Imported before this cell: %s. What their functions return, save or load is not declared (what their methods\n"
    "do is): load the extension before them."
)
_sessions: list[Session] = []  # at most one
_hooks: list[Any] = []  # of this process: they stay, and do nothing while nothing is recorded


def load(shell: Any) -> None:
    """Begin to record a kernel, and print a message; an error is a message, too, and the kernel goes on."""
    if _sessions:
        terminal.note(f"provio: this kernel is recorded already, in run {_sessions[0].name}")
        return
    session = Session(shell)
    try:
        message = session.start()
    except BaseException as error:
        session.withdraw(str(error) or type(error).__name__)
        if not isinstance(error, Exception):  # an interrupt
            raise
        terminal.note(
            f"provio: nothing is recorded: {error or type(error).__name__}; correct that, then `%reload_ext provio`"
        )
        return
    for line in f"provio: {message}".splitlines():
        terminal.note(line)
    if session.name:
        _sessions.append(session)


def unload() -> None:
    """End the recording of a kernel: further cells are not recorded."""
    while _sessions:
        session = _sessions.pop()
        session.stop()
        terminal.note(f"provio: run {session.name}: has ended")


class Session:
    """A kernel that is being recorded."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.name = ""  # of the run
        self.before: dict[str, str | None] = {}  # the environment variables that the session changed
        self.own: Any = None  # the run, if this session began it
        self.cells: Any = None
        self.recorder = _module("recorder")

    def start(self) -> str:
        """Begin to record, and return a message. Raises ProvioError or OSError if no run can be made."""
        if self.recorder.off():
            return "nothing is recorded: PROVIO_OFF is set; unset it and restart the kernel"
        preloaded = _module("shim").found() is not None
        if not preloaded:
            self._begin()
        self.recorder.search_again()  # after PROVIO_TRACE is set: else a thread could begin an implicit run
        found = self.recorder.recorder()
        if found is None or not found.recording():
            self.withdraw(reason := "the recorder cannot write in this process")
            return f"nothing is recorded: {reason}"
        self.name, home = _run_of(os.environ.get(TRACE, ""))
        self.shell.register_magic_function(_provio, "line", "provio")
        # Before the cells: files are settled before the Task of their cell ends.
        earlier = [] if preloaded else self._observe(found)
        if not hasattr(self.shell, "provio_cells"):
            self.cells = _module("cells").Cells(self.shell)
            self.cells.observe()
            self.cells.begin_current()
        if preloaded:
            return f"run {self.name}: this kernel was started under provio, which records it already"
        atexit.register(self._at_exit, os.getpid())
        message = f"run {self.name}: recorded in {home}, {LIMITS}"
        return f"{message}\n{EARLIER % ', '.join(earlier)}" if earlier else message

    def _begin(self) -> None:
        """Begin a run, unless this process belongs to one; programs that it starts are recorded in the same."""
        if not os.environ.get(TRACE):
            self.own = implicit_run.begin_notebook(_notebook(self.shell), UNSEEN)
            self._set(run.session_variables(self.own))
        else:
            self._set({b"LD_PRELOAD": run.preloads(b"", os.environb.get(b"LD_PRELOAD", b""))})

    def _set(self, variables: Mapping[bytes, bytes]) -> None:
        for name, value in variables.items():
            self.before[os.fsdecode(name)] = os.environ.get(os.fsdecode(name))
            os.environb[name] = value
        if b"PROVIO_RECOGNISE" in variables:  # the recognisers read the variables of the start
            posix.environ[b"PROVIO_RECOGNISE"] = variables[b"PROVIO_RECOGNISE"]

    def _observe(self, writer: Any) -> list[str]:
        """Follow files and libraries; return the libraries whose functions cannot be followed any more."""
        if not _hooks:
            _hooks.append(_module("open_files").OpenFiles())
        _hooks[0].start(writer)
        self.shell.events.register("post_run_cell", self._settle)
        recognising = importlib.import_module("_provio.recognising")
        recognising.begin(sys.modules["_provio"].__path__[0])
        earlier: list[str] = recognising.watch_loaded()
        return earlier

    def _settle(self, *_: Any) -> None:
        _hooks[0].settle()

    def withdraw(self, why: str) -> None:
        """Undo a start that failed: no run is left behind."""
        own, self.own = self.own, None
        with contextlib.suppress(Exception):
            self.stop()
        self.restore()
        if own:
            self.recorder.end()
            failed_start.withdraw(own, why)

    def stop(self) -> None:
        """End the Tasks, the hooks, and the run if this session began it."""
        if _hooks and _hooks[0].on:
            _hooks[0].stop()
        if self._settle in self.shell.events.callbacks["post_run_cell"]:
            self.shell.events.unregister("post_run_cell", self._settle)
        if self.cells:
            self.cells.stop()
        if self.own:
            self.recorder.end()
            implicit_run.note_end(os.getpid(), self.own.folder)
        self.restore()
        atexit.unregister(self._at_exit)

    def restore(self) -> None:
        """Restore the environment variables."""
        for name, value in self.before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def _at_exit(self, pid: int) -> None:
        if os.getpid() == pid:  # not in a child with its parent's exit handlers
            self.stop()


def _module(name: str) -> Any:
    """Return a module of `interceptors/python`, which a process has once."""
    import provio

    provio._declarations()
    return importlib.import_module("_provio.python." + name)


def _run_of(trace: str) -> tuple[str, str]:
    """Return the id of a run and the path of its `.provio`, from a value of PROVIO_TRACE."""
    fields = os.fsencode(trace).split(b";")
    run_id, home = (os.fsdecode(ranks.plain(fields[place])) for place in (3, 5))
    return run_id, home


def _notebook(shell: Any) -> str | None:
    """Return the name of the notebook, if Jupyter or the editor states it."""
    name = os.environ.get("JPY_SESSION_NAME") or shell.user_ns.get("__vsc_ipynb_file__") or ""
    return os.path.basename(str(name)) or None


def _provio(line: str) -> None:
    """Print the answer of a command of provio about this notebook's record, e.g. `%provio lineage out.csv`."""
    env = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", TRACE)}
    if os.environ.get(TRACE):
        env["PROVIO_HOME"] = _run_of(os.environ[TRACE])[1]
    command = [sys.executable, "-m", "provio", *shlex.split(line)]
    done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    sys.stdout.write(done.stdout.decode("utf-8", "replace"))
    sys.stderr.write(done.stderr.decode("utf-8", "replace"))
