"""Thousands of simulated ranks: multiplies the record of a few real ranks.

The real ranks run on one host. Each simulated host has the same ranks with other numbers, another name and other files
in place of those made during the run, except for one file that all ranks of all hosts write.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import thread_files
from variants import plain_environment

PROVIO = Path(sys.executable).with_name("provio")
COMPILER = ("h5pcc", "-shlib", "-std=gnu11")
TOOLS = ("h5pcc", "mpirun.openmpi")
REAL = 4  # ranks of a host
SHARED, OWN = "shared.h5", "part"
NEXT = 1 << 33  # from an inode of one host to the next one's

_RANK = re.compile(rb" ; :rank (\d+)")
_OWN = re.compile(rb"(/%s\.)(\d+)\"" % OWN.encode())
_SHARED = re.compile(rb'/%s" *; %s(?P<found>\d+)' % (SHARED.encode(), thread_files.TO_INODE))
_BEGAN = re.compile(rb":startedNs (?P<found>\d+)")


def missing() -> list[str]:
    """Return the missing programs that are needed to record ranks."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


def record(folder: Path, program: Path, ranks: int = REAL) -> Path:
    """Run and record real ranks in a new folder, without a merge; return the folder."""
    (folder / ".provio").mkdir(parents=True)
    (folder / "input").write_text("1.5\n")
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    launch = ["mpirun.openmpi", *as_root, "--oversubscribe", "-n", str(ranks)]
    watched = [PROVIO, "run", "--quiet", "--no-merge", "--", program, "input", OWN, SHARED]
    subprocess.run([*launch, *watched], cwd=folder, env=environment(folder), check=True)
    return folder


def environment(folder: Path) -> dict[str, str]:
    """Return the environment for `provio` with its record in a folder."""
    kept = {name: value for name, value in plain_environment().items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PROVIO_HOME": str(folder / ".provio")}


def simulate(real: Path, target: Path, ranks: int) -> Path:
    """Write the run of many ranks (a multiple of the real ones) into a new folder; return the folder."""
    [run] = (real / ".provio" / "runs").iterdir()
    copy = target / ".provio" / "runs" / run.name
    copy.mkdir(parents=True)
    head = (run / "run.ttl").read_bytes()
    (copy / "run.ttl").write_bytes(head)
    began = int(_found(_BEGAN, head))
    parts = {path.name: path.read_bytes() for path in thread_files.of(run)}
    [host] = {path.parent.name for path in thread_files.of(run)}
    shared = _found(_SHARED, b"".join(parts.values()))
    for number in range(ranks // REAL):
        name = f"{host}{number}" if number else host
        folder = copy / name
        folder.mkdir()
        for part, data in parts.items():
            (folder / part).write_bytes(_on_host(data, host.encode(), name.encode(), number, began, shared))
    return target


def _found(pattern: re.Pattern[bytes], data: bytes) -> bytes:
    match = pattern.search(data)
    if match is None:
        raise ValueError(f"the real ranks' record has no {pattern.pattern!r}")
    return match["found"]


def _on_host(data: bytes, host: bytes, name: bytes, number: int, began: int, shared: bytes) -> bytes:
    """Return the trace of a rank, changed to that of the same rank on another host."""

    def other(inode: int, birth: int) -> int:
        common = inode == int(shared) or 0 < birth < began
        return inode + (0 if common else number * NEXT)

    data = data.replace(b"/%s/" % host, b"/%s/" % name).replace(b".%s." % host, b".%s." % name)
    data = data.replace(b':host "%s"' % host, b':host "%s"' % name)
    data = data.replace(b'"127.0.0.1:', b'"127.%d.%d.1:' % divmod(number, 256))
    data = _RANK.sub(lambda match: b" ; :rank %d" % (int(match[1]) + number * REAL), data)
    data = _OWN.sub(lambda match: match[1] + b'%d"' % (int(match[2]) + number * REAL), data)
    return thread_files.with_inodes(data, other)
