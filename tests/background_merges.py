"""Finds and controls the background merges of a `.provio`, and the processes that hash its files."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from provio.settings.lock import merger_address

MODULE = "provio.merge.background"
HASHING = "provio.merge.hashing"


def mergers(record: Path, module: str = MODULE) -> list[int]:
    """Return the background merges of a record, or the processes of another module."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if module.encode() in words and os.fsencode(record) in words:
            found.append(int(entry.name))
    return found


def merger_of(record: Path) -> int:
    """Return the background merge of a record, once it listens."""
    address = merger_address(record).replace("\0", "@")
    until(lambda: address in Path("/proc/net/unix").read_text(), "no background merge was started")
    return mergers(record)[0]


def until(what: Callable[[], object], said: str) -> None:
    """Wait for something that a background merge does, which has to wait for all others on a busy machine."""
    deadline = time.monotonic() + (120 if os.geteuid() == 0 else 900)
    while not what():
        assert time.monotonic() < deadline, said
        time.sleep(0.05)


def hurry(process: int) -> None:
    """Give a background merge the priority of others, as root may."""
    with contextlib.suppress(OSError):  # it has ended
        for thread in Path(f"/proc/{process}/task").iterdir() if os.geteuid() == 0 else ():
            os.sched_setscheduler(int(thread.name), os.SCHED_OTHER, os.sched_param(0))
            os.setpriority(os.PRIO_PROCESS, int(thread.name), 0)


def over(process: int) -> None:
    """Wait for the end of a background merge that the test started."""

    def has_ended() -> bool:
        hurry(process)
        return os.waitpid(process, os.WNOHANG)[0] == process

    until(has_ended, "it goes on")


def at_work(record: Path, env: dict[str, str], *by: str) -> int:
    """Start a background merge, perhaps as another user (`by` a command); return its process once it holds the lock of
    the store."""
    process = subprocess.Popen([*by, *words_of(record)], cwd="/", env=env)

    def has_begun() -> bool:
        hurry(process.pid)
        return is_locked(record) or process.poll() is not None

    until(has_begun, "it does not begin")
    assert process.poll() is None
    return process.pid


def words_of(record: Path) -> Sequence[str]:
    """Return the command that is a background merge."""
    return sys.executable, "-P", "-m", MODULE, str(record)


def is_locked(record: Path) -> bool:
    """Return whether a process holds the lock of a store, without a request to release it."""
    if not (record / "lock").exists():
        return False
    inode = (record / "lock").stat().st_ino
    return any(f":{inode} " in line and "FLOCK" in line for line in Path("/proc/locks").read_text().splitlines())
