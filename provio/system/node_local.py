"""Capture on a node's own disk, begun: a `.provio`, a run and where live files are to lie in, this host's folder out.

Thread files are written in `<capture_dir>/provio-<uid>/<run>/<host>/` and brought into the run folder at the end
(`provio.trace.collect`). The run folder has a mark of each host that takes part, and `.provio/captured/<host>/<run>`
says where its files lie until then. For the sake of ranks nothing is loaded here but what every Python has.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from contextlib import suppress

NOTES, MARK, SIGN, COLLECTOR = "captured", "0.host.ttl", ".session", "@collector"  # which no host's folder is called
BASE = "https://w3id.org/provio/"
UNSET = {"TMPDIR": "/tmp"}  # noqa: S108 (what the name means where it is not set)
LOOKS = 3
TRIES, MOMENT = 5, 0.05  # seconds between them
SHARED = 0o2070  # the mode of a `.provio` that is a group's
TICK, SECOND = 10_000_000, 1_000_000_000  # ns: how far behind the times of files may be, at HZ=100 or whole seconds
COLLECTED, TAKEN = " ; :collectedNs ", " ; :captured true"
COLLECT = "from provio.trace.collector import main; main()"


def folder_of(setting: str) -> str:
    """Return the folder that `capture_dir` names on this host; raises ValueError for what is none from the root."""
    before = {name: os.environ.get(name) for name in UNSET if not os.environ.get(name)}
    os.environ.update({name: UNSET[name] for name in before})
    folder = os.path.expanduser(os.path.expandvars(setting))
    for name, value in before.items():  # empty it stays, for the command
        os.environ.pop(name) if value is None else os.environ.update({name: value})
    if not folder.startswith("/") or "$" in folder:
        raise ValueError(f"{folder} is no folder from the root")
    return folder


def place_of(setting: str, run: str) -> str:
    """Return where the live files of a run lie on this host, made; raises OSError, or ValueError where that is not
    ours."""
    folder = folder_of(setting)
    mine = os.path.join(folder, f"provio-{os.geteuid()}")
    try:
        os.mkdir(mine, 0o700)
    except FileExistsError:
        found = os.lstat(mine)
        if found.st_uid != os.geteuid() or (found.st_mode & 0o170000) != 0o040000:
            raise ValueError(f"{mine} is another user's") from None
    os.makedirs(os.path.join(mine, run), 0o700, exist_ok=True)
    return os.path.join(mine, run)


def begin(home: str, run: str, host: str, setting: str) -> str:
    """Have live files of a run on this host captured, and return the folder of all its hosts; raises as `place_of`."""
    place = place_of(setting, run)
    here = os.path.join(place, host)
    if not os.path.isdir(here):  # many ranks may come here at once: all of it may be done twice
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
    """Make a folder of notes, where there is none: the group's where the record is a group's."""
    if not os.path.isdir(folder):
        os.makedirs(folder, 0o700, exist_ok=True)
        if os.stat(home).st_mode & SHARED == SHARED:
            os.chmod(folder, SHARED | 0o700)


def noted(home: str, run: str, host: str) -> str:
    """Return where the live files of a run lie on a host; empty where none are captured, or all are collected."""
    try:
        return os.readlink(os.path.join(home, NOTES, host, run))
    except OSError:
        return ""


# ---- the mark of a host


def mark(there: str, run: str, host: str, taken: bool = False) -> None:
    """Say in this host's part of a run folder that it takes part, by what its clock differs from that of the folder's
    file server, and whether what it records is to be collected (`taken`); once."""
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
    except OSError:  # no room: who comes next tries again
        os.unlink(os.path.join(there, MARK))
        raise
    finally:
        os.close(fd)


def unsay(path: str) -> None:
    """Take back what a mark says of all being collected: there is more."""
    with open(path, encoding="utf-8", errors="replace") as file:  # a disk may have lost some of it
        text = file.read()
    if COLLECTED in text:
        new = f"{path.removesuffix('.ttl')}.{os.getpid()}.new"  # others may say so at once
        with open(new, "w", encoding="utf-8") as file:
            file.write(text.partition(COLLECTED)[0] + " .\n")
        os.replace(new, path)


def clock(fd: int) -> tuple[int, int]:
    """Return by how much this host's clock is ahead of that which gives a file its times, and within what (ns)."""
    looks = [_look(fd) for _ in range(LOOKS)]
    lowest, highest = max(low for low, _ in looks), min(high for _, high in looks)
    if lowest > highest:  # one of the clocks was set meanwhile
        lowest, highest = looks[-1]
    return (lowest + highest) // 2, (highest - lowest + 1) // 2


def _look(fd: int) -> tuple[int, int]:
    before = time.time_ns()
    os.utime(fd)
    there = os.fstat(fd).st_mtime_ns
    after = time.time_ns()
    return before - there - (TICK if there % SECOND else SECOND), after - there


# ---- ranks, which nobody waits for


def joined(fields: list[bytes], plain: list[str], host: str) -> bytes:
    """Return PROVIO_TRACE of a rank as it is on this `host`: `fields` are another rank's, the seventh a `~` and what
    `capture_dir` says; `plain` are they as they are meant."""
    home, run = plain[5], plain[3]
    try:
        place = take_part(home, run, host, plain[6][1:])
    except (OSError, ValueError):  # this host has no such folder, or somebody is taking it away
        place = os.path.join(home, "runs", run)
        os.makedirs(os.path.join(place, host), 0o700, exist_ok=True)
        mark(os.path.join(place, host), run, host)
    return b";".join([*fields[:4], encoded(host), fields[5], encoded(os.path.join(place, host)), *fields[7:]])


def encoded(text: str) -> bytes:
    """Return a text as a field of PROVIO_TRACE."""
    return os.fsencode(text).replace(b"%", b"%25").replace(b";", b"%3B")


def take_part(home: str, run: str, host: str, setting: str) -> str:
    """Have what this process is to record captured, and return the folder of all hosts; raises as `place_of`, also
    where who collects is taking away for long what others left there."""
    for left in reversed(range(TRIES)):
        try:
            place = begin(home, run, host, setting)
            _attend(os.path.join(place, host))
            leave_collector(home, run, place)
            return place
        except (FileNotFoundError, BlockingIOError):
            if not left:
                raise
            time.sleep(MOMENT)
    raise AssertionError


def _attend(here: str) -> None:
    """Leave the identity of this process in its host's folder, which then stays while it lives; raises OSError where
    that is being taken away, or is gone."""
    with open("/proc/self/stat", "rb") as file:
        stat = file.read()
    tick = stat.rpartition(b")")[2].split()[19].decode()
    folder = os.open(here, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB)  # who takes it away has it for itself
        if os.fstat(folder).st_ino != os.stat(here).st_ino:
            raise FileNotFoundError(here)
        sign = f"{os.getpid()}.{tick}{SIGN}"
        fd = os.open(sign, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600, dir_fd=folder)
        os.write(fd, stat)
        os.close(fd)
    finally:
        os.close(folder)


def leave_collector(home: str, run: str, place: str) -> None:
    """Leave one process for the host that collects when all have ended that have files there."""
    held = os.open(os.path.join(place, COLLECTOR), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _leave_collector(held, home, run, place)
    except BlockingIOError:
        pass
    finally:
        os.close(held)


def _leave_collector(held: int, home: str, run: str, place: str) -> None:
    """Start it as nobody's child, with nothing of this process's but the lock: a launcher waits for the ends of pipes,
    and ends the group of its ranks."""
    import _signal  # type: ignore[import-not-found]  # the one that does not load enum

    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        lock = fcntl.fcntl(held, fcntl.F_DUPFD, 3)  # it may be what was the standard input, which was closed
        nothing = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(nothing, fd)
        os.chdir("/")
        os.closerange(3, lock)
        os.closerange(lock + 1, os.sysconf("SC_OPEN_MAX"))
        os.set_inheritable(lock, True)
        left = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "PROVIO_TRACE")}
        _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())  # until it can take them
        words = [sys.executable, "-P", "-c", COLLECT, home, run, place, str(lock)]
        os.execve(sys.executable, words, left)  # noqa: S606
    finally:
        os._exit(127)
