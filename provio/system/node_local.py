"""Starts capture on a node's own disk.

Thread files are written to `<capture_dir>/provio-<uid>/<run>/<host>/` and moved into the run folder at the end
(`provio.trace.collect`). The run folder has a mark for each host that takes part; until then
`.provio/captured/<host>/<run>` links to the folder of its files. This module imports only modules that every Python
loads at its start, because ranks load it.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from contextlib import suppress

from provio.system import proc

NOTES, MARK, SIGN, COLLECTOR = "captured", "0.host.ttl", ".session", "@collector"  # names that no host's folder has
BASE = "https://w3id.org/provio/"
UNSET = {"TMPDIR": "/tmp"}  # noqa: S108 (the default of an unset name)
LOOKS = 3
TRIES, MOMENT = 5, 0.05  # MOMENT: seconds between tries
SHARED = 0o2070  # the mode of a `.provio` shared with a group
TICK, SECOND = 10_000_000, 1_000_000_000  # ns: file times may lag by this much, at HZ=100 or with whole seconds
COLLECTED, TAKEN = " ; :collectedNs ", " ; :captured true"
COLLECT = "from provio.trace.collector import main; main()"


def folder_of(setting: str) -> str:
    """Return the folder that `capture_dir` names on this host; raises ValueError if it is not an absolute path."""
    before = {name: os.environ.get(name) for name in UNSET if not os.environ.get(name)}
    os.environ.update({name: UNSET[name] for name in before})
    folder = os.path.expanduser(os.path.expandvars(setting))
    for name, value in before.items():  # an empty variable stays empty for the command
        os.environ.pop(name) if value is None else os.environ.update({name: value})
    if not folder.startswith("/") or "$" in folder:
        raise ValueError(f"{folder} is not an absolute path")
    return folder


def place_of(setting: str, run: str) -> str:
    """Return the folder for the live files of a run on this host; make it if absent. Raises OSError, or ValueError if
    it is not this user's."""
    folder = folder_of(setting)
    mine = os.path.join(folder, f"provio-{os.geteuid()}")
    try:
        os.mkdir(mine, 0o700)
    except FileExistsError:
        found = os.lstat(mine)
        if found.st_uid != os.geteuid() or (found.st_mode & 0o170000) != 0o040000:
            raise ValueError(f"{mine} belongs to another user") from None
    os.makedirs(os.path.join(mine, run), 0o700, exist_ok=True)
    return os.path.join(mine, run)


def begin(home: str, run: str, host: str, setting: str) -> str:
    """Start the capture of a run's live files on this host and return the folder of all its hosts; raises as
    `place_of`."""
    place = place_of(setting, run)
    here = os.path.join(place, host)
    if not os.path.isdir(here):  # many ranks may run this at once: every step may be done twice
        there, notes = os.path.join(home, "runs", run, host), os.path.join(home, NOTES, host)
        os.makedirs(there, 0o700, exist_ok=True)
        for folder in (os.path.dirname(notes), notes):
            _made(folder, home)
        mark(there, run, host, taken=True)
        with suppress(FileExistsError):
            os.symlink(place, os.path.join(notes, run))
        os.makedirs(here, 0o700, exist_ok=True)
    return place


def _made(folder: str, home: str) -> None:
    """Make a folder of notes if it is absent; it belongs to the group if the record does."""
    if not os.path.isdir(folder):
        os.makedirs(folder, 0o700, exist_ok=True)
        if os.stat(home).st_mode & SHARED == SHARED:
            os.chmod(folder, SHARED | 0o700)


def noted(home: str, run: str, host: str) -> str:
    """Return the folder of a run's live files on a host; empty if none are captured, or all are collected."""
    try:
        return os.readlink(os.path.join(home, NOTES, host, run))
    except OSError:
        return ""


# ---- the mark of a host


def mark(there: str, run: str, host: str, taken: bool = False) -> None:
    """Write the mark of this host into its part of the run folder, once.

    It states that the host takes part, the difference between its clock and that of the folder's file server, and
    whether its records must be collected (`taken`).
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        fd = os.open(os.path.join(there, MARK), flags, 0o600)
    except FileExistsError:
        if taken:
            unsay(os.path.join(there, MARK))
        return
    try:
        offset, within = clock(fd)
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        facts = f' ; :bootId "{boot}" ; :startedNs {time.time_ns()} ; :clockOffset {offset} ; :clockWithin {within}'
        facts += TAKEN if taken else ""
        os.write(fd, f"@prefix : <{BASE}ns#> .\n<{BASE}run/{run}/{host}/host> a :Host{facts} .\n".encode())
    except OSError:  # no room: the next process tries again
        os.unlink(os.path.join(there, MARK))
        raise
    finally:
        os.close(fd)


def unsay(path: str) -> None:
    """Remove the statement from a mark that all files are collected: there are more."""
    with open(path, encoding="utf-8", errors="replace") as file:  # the text may be damaged
        text = file.read()
    if COLLECTED in text:
        new = f"{path.removesuffix('.ttl')}.{os.getpid()}.new"  # other processes may do the same at once
        with open(new, "w", encoding="utf-8") as file:
            file.write(text.partition(COLLECTED)[0] + " .\n")
        os.replace(new, path)


def clock(fd: int) -> tuple[int, int]:
    """Return how far this host's clock is ahead of the clock that sets file times, and the uncertainty (both in ns)."""
    looks = [_look(fd) for _ in range(LOOKS)]
    lowest, highest = max(low for low, _ in looks), min(high for _, high in looks)
    if lowest > highest:  # a clock was set during the measurement
        lowest, highest = looks[-1]
    return (lowest + highest) // 2, (highest - lowest + 1) // 2


def _look(fd: int) -> tuple[int, int]:
    before = time.time_ns()
    os.utime(fd)
    there = os.fstat(fd).st_mtime_ns
    after = time.time_ns()
    return before - there - (TICK if there % SECOND else SECOND), after - there


# ---- ranks, which no process waits for


def joined(fields: list[bytes], plain: list[str], host: str) -> bytes:
    """Return PROVIO_TRACE of a rank for this `host`.

    `fields` are those of another rank; the seventh is `~` followed by the value of `capture_dir`. `plain` are the
    decoded fields.
    """
    home, run = plain[5], plain[3]
    try:
        place = take_part(home, run, host, plain[6][1:])
    except (OSError, ValueError):  # this host has no such folder, or another process is removing it
        place = os.path.join(home, "runs", run)
        os.makedirs(os.path.join(place, host), 0o700, exist_ok=True)
        mark(os.path.join(place, host), run, host)
    return b";".join([*fields[:4], encoded(host), fields[5], encoded(os.path.join(place, host)), *fields[7:]])


def encoded(text: str) -> bytes:
    """Return a text encoded as a field of PROVIO_TRACE."""
    return os.fsencode(text).replace(b"%", b"%25").replace(b";", b"%3B")


def take_part(home: str, run: str, host: str, setting: str) -> str:
    """Start the capture of this process's records and return the folder of all hosts.

    Raises as `place_of`, and also if the collector takes too long to remove files that others left there.
    """
    for tries_left in reversed(range(TRIES)):
        try:
            place = begin(home, run, host, setting)
            _attend(os.path.join(place, host))
            leave_collector(home, run, place)
            return place
        except (FileNotFoundError, BlockingIOError):
            if not tries_left:
                raise
            time.sleep(MOMENT)
    raise AssertionError


def _attend(here: str) -> None:
    """Leave the identity of this process in its host's folder, which is then kept while the process lives; raises
    OSError if the folder is being removed, or is absent."""
    stat = proc.stat()
    folder = os.open(here, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB)  # the process that removes it holds an exclusive lock
        if os.fstat(folder).st_ino != os.stat(here).st_ino:
            raise FileNotFoundError(here)
        sign = f"{os.getpid()}.{proc.fields(stat)[proc.START]}{SIGN}"
        fd = os.open(sign, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600, dir_fd=folder)
        os.write(fd, stat.encode())
        os.close(fd)
    finally:
        os.close(folder)


def leave_collector(home: str, run: str, place: str) -> None:
    """Leave one process on this host that collects the files after all processes with files there have ended."""
    held = os.open(os.path.join(place, COLLECTOR), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _leave_collector(held, home, run, place)
    except BlockingIOError:
        pass
    finally:
        os.close(held)


def _leave_collector(held: int, home: str, run: str, place: str) -> None:
    """Start the collector as an orphan that inherits only the lock: a launcher waits until its pipes are closed, and
    kills the process group of its ranks."""
    import _signal  # type: ignore[import-not-found]  # unlike `signal`, it does not load enum

    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        lock = fcntl.fcntl(held, fcntl.F_DUPFD, 3)  # `held` may be 0, if the standard input was closed
        nothing = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(nothing, fd)
        os.chdir("/")
        os.closerange(3, lock)
        os.closerange(lock + 1, os.sysconf("SC_OPEN_MAX"))
        os.set_inheritable(lock, True)
        environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "PROVIO_TRACE")}
        _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())  # until the collector can handle them
        words = [sys.executable, "-P", "-c", COLLECT, home, run, place, str(lock)]
        os.execve(sys.executable, words, environment)  # noqa: S606
    finally:
        os._exit(127)
