"""Runs a command with the shim preloaded and `PROVIO_TRACE` set, and returns how it ended.

Streams, descriptors, process group and signals are the caller's own. A command that cannot be recorded runs anyway.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import struct
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from provio.base import turtle
from provio.system.elf import needed
from provio.system.executable import OTHER, Unwatchable, found_program, unwatchable
from provio.system.signals import Signals
from provio.trace import environment
from provio.trace.recording import SHIM, End, Recording, host_folder, note_unwatched

# Code in this folder runs in every Python that has it on its path: it waits for the import of h5py.
SITE = SHIM.parent / "interceptors" / "site"
FORMAT_VERSION = "1"
LONGEST_NAME = 255  # bytes
MOST_GLOBS = 64  # in PROVIO_TRACE, as in interceptors/posix/value_files.c
LASTING = 0.2  # seconds after which `lasts` is called
# Libraries that must be loaded first.
SANITIZERS = ("libasan.so", "libclang_rt.asan", "libhwasan.so")


def watch(
    command: Sequence[bytes],
    recording: Recording | None,
    say: Callable[[str], None] = lambda _: None,
    lasts: Callable[[Signals, int], None] | None = None,
    started: Callable[[int], None] | None = None,
) -> End:
    """Run `command`, recorded if there is a recording, and return how it ended.

    `say` gets messages about parts that are not observed, `started` the process id; `lasts` is called once if the
    command runs longer than LASTING. If the command is not found or cannot be executed, the exit code is 127 or 126,
    as in a shell.
    """
    env = dict(os.environb)
    blind, shim = _look(command[0]) if recording else (None, None)
    if recording:
        env |= _watched(command[0], recording, bool(blind and blind.refuses), env, shim)
    with Signals() as signals:
        try:
            process = _start(command, env)
        except OSError as error:
            return not_started(command, error)
        signals.follow(process)
        if recording and blind:
            report_unwatched(recording, blind, process.pid, say)
        if started:
            started(process.pid)
        if lasts and signals.goes_on(process, LASTING):
            lasts(signals, process.pid)
        return End.of(signals.wait(process))


def _watched(
    program: bytes, recording: Recording, refuses: bool, env: Mapping[bytes, bytes], shim: Path | None = None
) -> dict[bytes, bytes]:
    """Return the environment variables for a recorded program; one that cannot load the shim may get h5py's only."""
    python = refuses and program.rpartition(b"/")[2].startswith(b"python")
    found = {} if refuses and not python else {b"PROVIO_TRACE": trace_variable(recording)}
    if not refuses:
        found[b"LD_PRELOAD"] = preloads(program, env.get(b"LD_PRELOAD", b""), shim)
        # Otherwise an AddressSanitizer program that the command starts ends at once: its library is not the first.
        sanitizer = (env.get(b"ASAN_OPTIONS", b""), b"verify_asan_link_order=0")
        found[b"ASAN_OPTIONS"] = b":".join(option for option in sanitizer if option)
    if recording.hdf5 != "auto":
        found[b"PROVIO_HDF5"] = recording.hdf5.encode()
    if recording.recognise != "on":
        found[b"PROVIO_RECOGNISE"] = recording.recognise.encode()
    if b":" not in os.fsencode(SITE) and (recording.hdf5 == "h5py" or (python and recording.hdf5 == "auto")):
        found[b"PYTHONPATH"] = b":".join(filter(None, (os.fsencode(SITE), env.get(b"PYTHONPATH", b""))))
    return found


def session_variables(recording: Recording) -> dict[bytes, bytes]:
    """Return the environment variables for all programs of a session."""
    return _watched(b"", recording, False, os.environb)


def tracing_variables(
    recording: Recording, command: Sequence[bytes], say: Callable[[str], None] | None = None
) -> dict[bytes, bytes]:
    """Return the environment variables for a command that this process becomes. If `say` is given, report and record
    that the command is not watched."""
    blind, shim = _look(command[0])
    if blind and say:
        report_unwatched(recording, blind, os.getpid(), say)
    return _watched(command[0], recording, bool(blind and blind.refuses), os.environb, shim)


def report_unwatched(recording: Recording, blind: Unwatchable, pid: int, say: Callable[[str], None]) -> None:
    """Report and record that the command itself is not watched."""
    name = blind.path.decode("utf-8", "backslashreplace")
    say(f"{name} {blind.reason}: its reads and writes are not recorded")
    note_unwatched(recording, blind, pid)


def _look(program: bytes) -> tuple[Unwatchable | None, Path | None]:
    """Return why a program cannot be watched, or None, and the shim for its C library if it is another one."""
    blind = None
    with contextlib.suppress(OSError, ValueError, struct.error):
        blind = unwatchable(program)
    shim = _other_shim(blind) if blind and blind.reason == OTHER else None
    return (None if shim else blind), shim


def _other_shim(blind: Unwatchable) -> Path | None:
    """Return the shim for a program of another C library, if it is installed."""
    from provio.system import shims  # rarely needed

    return shims.installed_for(os.fsdecode(blind.path))


def end_as(end: End) -> int:
    """End this process as the command ended: return its exit code, or die by the same signal."""
    if end.signal is None:
        return end.exit_code or 0
    if end.signal not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(end.signal, signal.SIG_DFL)
    import resource  # rarely needed

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    os.kill(os.getpid(), end.signal)
    return 128 + end.signal


def trace_variable(recording: Recording) -> bytes:
    """Return the value of PROVIO_TRACE, the parameters of the shim."""
    clock = "tsc" if clock_source() == "tsc" else "sys"
    host = turtle.segment(environment.host())
    fields = [
        FORMAT_VERSION,
        f"{recording.detail},libraries" if recording.libraries else str(recording.detail),
        clock,
        recording.run_id,
        host,
        str(recording.home.path),
        str(host_folder(recording)),
        f"@{environment.mount_namespace()}",
        *([f"={own}"] if (own := environment.job_id() and _job()) else []),
        *recording.detail.limits,
        *([f">{recording.output}"] if recording.output else []),
        *[f"${glob}" for glob in recording.value_files if len(os.fsencode(glob)) <= LONGEST_NAME][:MOST_GLOBS],
    ]
    encoded = (os.fsencode(f).replace(b"%", b"%25").replace(b";", b"%3B") for f in fields)
    return b";".join(encoded)


def _job() -> str:
    """Return the key of the run's own batch job: the shim compares it with other jobs that join the run."""
    from provio.system import jobs  # slow to import

    return jobs.key(jobs.facts(os.environ))


def clock_source() -> str:
    """Return the kernel's clock source, `tsc` at best; empty if it is unknown."""
    try:
        return (
            Path("/sys/devices/system/clocksource/clocksource0/current_clocksource").read_text(encoding="ascii").strip()
        )
    except OSError:
        return ""


def preloads(program: bytes, before: bytes, shim: Path | None = None) -> bytes:
    """Return the value of LD_PRELOAD: the shim (by default this machine's), then the previous value.

    A sanitizer's library that the command needs is put first, as required. The empty name after it makes the shim
    remove it from the environment, because programs without the sanitizer must not load it.
    """
    found = found_program(program)
    first = [name for name in (needed(Path(os.fsdecode(found))) if found else []) if name.startswith(SANITIZERS)]
    names = [os.fsencode(_preload(shim or SHIM)), *([before] if before else [])]
    return b":".join([os.fsencode(first[0]), b"", *names] if first else names)


def _preload(shim: Path) -> Path:
    """Return a path of the shim without space or colon, which separate names in LD_PRELOAD; its siblings are in the
    same folder."""
    if not set(str(shim)) & {" ", ":"}:
        return shim
    import tempfile  # slow to import, and rarely needed

    link = Path(tempfile.mkdtemp(prefix="provio-")) / "provio"
    link.symlink_to(SHIM.parent)
    return link / shim.relative_to(SHIM.parent)


def _start(command: Sequence[bytes], env: dict[bytes, bytes]) -> subprocess.Popen[bytes]:
    """Start the command with every descriptor inherited; a file without `#!` is run by the shell, as shells do.

    If SIGCHLD is ignored, the kernel discards the exit status of children: provio must not ignore it, the command may.
    """
    ignored = signal.signal(signal.SIGCHLD, signal.SIG_DFL) is signal.SIG_IGN
    before = (lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)) if ignored else None
    try:
        return subprocess.Popen(list(command), env=env, close_fds=False, preexec_fn=before)  # noqa: PLW1509 (no threads)
    except OSError as error:
        from provio.record.not_started import as_script  # rarely needed

        script = as_script(command) if error.errno == errno.ENOEXEC else None
        if script is None:
            raise
        return subprocess.Popen(script, env=env, close_fds=False, preexec_fn=before)  # noqa: PLW1509 (no threads)


def not_started(command: Sequence[bytes], error: OSError) -> End:
    """Report why a command was not started, and return the exit code of a shell in that case."""
    from provio.base import terminal
    from provio.record.not_started import failure, hint

    message, code = failure(command[0], error)
    terminal.complain(message + hint(command))
    return End(code, None)
