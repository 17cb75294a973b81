"""The end of a run without a waiting process, as of ranks: the merge determines it and notes it in `run.ttl`.

Such a run ends with the last activity of any of its processes. The processes of another host have ended once its mark
states that its files are collected; until then the run has no end.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from urllib.parse import quote

from provio.settings.home import Home, share
from provio.system.statx import Record
from provio.trace import hosts, liveness, read, run_source
from provio.trace.recording import with_end
from provio.trace.run_facts import Trace

WORD = "unattended"
SIGN = b" ; :unattended true"


def awaits_end(folder: Path) -> bool:
    """Return whether a run has no end yet, and this host can determine it once its processes have ended."""
    record = _record(folder)
    return (
        "endedNs" not in record
        and WORD in record
        and os.access(folder, os.W_OK)
        and not liveness.hosts_at_work(folder, record)
    )


def has_ended(folder: Path) -> bool:
    """Return whether all processes of such a run have ended, as far as this host knows."""
    record = _record(folder)
    return WORD in record and not liveness.hosts_at_work(folder, record) and not _has_processes(folder, record)


def note_end(found: Trace, ended: bool) -> None:
    """Set the end of a run that had `ended` before it was read; remove it if new processes started."""
    if WORD not in found.run or not found.folder.is_dir() or not os.access(found.folder, os.W_OK):
        return
    moments = (process.ended for process in found.processes.values())
    last = max(moments, default=int(found.run.get("startedNs", 0))) if ended else 0
    if last == int(found.run.get("endedNs", 0)):
        return
    head = run_source.of(found.folder).head()
    ahead = hosts.offset(found.hosts.get(quote(found.run.get("host", ""), safe="-._~"), {}))
    text = with_end(head.load().decode(), found.run_id, f" ; :endedNs {last + ahead}" if last else "")
    run_source.put(head.path, text)
    share(Home(found.folder.parent.parent), found.folder)
    found.digests.replace((head.host, head.name), text.encode())
    found.run.pop("endedNs", None)
    if last:
        found.run["endedNs"] = str(last)


def _record(folder: Path) -> Record:
    """Return the record of a run without a waiting process; empty for any other run, or an archived one."""
    with contextlib.suppress(OSError):
        if SIGN in run_source.content(folder / run_source.HEAD):
            return read.read_head(folder)
    return {}


def _has_processes(folder: Path, record: Record) -> bool:
    """Return whether a process of this host exists that has recorded something or was started in the run."""
    images = filter(liveness.alive, liveness.process_images(folder, record))
    return any(images) or folder.name in liveness.started_runs()
