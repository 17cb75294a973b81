"""The end of a run that nobody waits for, as that of ranks: a run folder in; whether all of it has ended, and that
noted in `run.ttl`, out.

Whoever merges looks: such a run ends with the last that any process of it did. Of another host's processes only a mark
that all is collected tells; without one the run has no end.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from urllib.parse import quote

from provio.settings.home import Home, share
from provio.system.statx import Record
from provio.trace import hosts, liveness, read, run_source
from provio.trace.run_facts import Trace

WORD = "unattended"
SIGN = b" ; :unattended true"
END = re.compile(r" ; :endedNs \d+")


def awaits_end(folder: Path) -> bool:
    """Tell whether a run has no end yet that could be told from this host, now or when its processes have ended."""
    record = _record(folder)
    return (
        "endedNs" not in record
        and WORD in record
        and os.access(folder, os.W_OK)
        and not liveness.hosts_at_work(folder, record)
    )


def has_ended(folder: Path) -> bool:
    """Tell whether all of such a run has ended, as far as is known here."""
    record = _record(folder)
    return WORD in record and not liveness.hosts_at_work(folder, record) and not _goes_on(folder, record)


def note_end(found: Trace, ended: bool) -> None:
    """Note when a run ended that was `over` before it was read; take that back where more of it began."""
    if WORD not in found.run or not found.folder.is_dir() or not os.access(found.folder, os.W_OK):
        return
    moments = (process.ended for process in found.processes.values())
    last = max(moments, default=int(found.run.get("startedNs", 0))) if ended else 0
    if last == int(found.run.get("endedNs", 0)):
        return
    head = run_source.of(found.folder).head()
    ahead = hosts.offset(found.hosts.get(quote(found.run.get("host", ""), safe="-._~"), {}))
    text = _with_end(head.load().decode(), found.iri, f" ; :endedNs {last + ahead}" if last else "")
    run_source.put(head.path, text)
    share(Home(found.folder.parent.parent), found.folder)
    found.digests.replace((head.host, head.name), text.encode())
    found.run.pop("endedNs", None)
    if last:
        found.run["endedNs"] = str(last)


def _with_end(text: str, iri: str, end: str) -> str:
    """What `run.ttl` says, with another end."""
    before, subject, after = text.partition(f"<{iri}> a :Run")
    line, stop, rest = after.partition(" .\n")
    return before + subject + END.sub("", line) + end + stop + rest


def _record(folder: Path) -> Record:
    """What a run says of itself that nobody waits for; nothing of any other, or of one that is packed."""
    with contextlib.suppress(OSError):
        if SIGN in run_source.content(folder / run_source.HEAD):
            return read.read_head(folder)
    return {}


def _goes_on(folder: Path, record: Record) -> bool:
    """Whether a process of this host is there that recorded something, or was started to."""
    images = filter(liveness.alive, liveness.process_images(folder, record))
    return any(images) or folder.name in liveness.started_runs()
