"""The files of a run folder in, the hash that tells whether any changed out."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Iterable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from provio import runfiles
from provio.digests import Digests

if TYPE_CHECKING:
    from provio.runfiles import RunFile, RunFiles
    from provio.statx import Record


def content_hash(folder: Path, record: Record, source: RunFiles | None = None) -> str:
    """Return the hash of the run of a folder as it is now, without parsing anything; `source` is where to read."""
    digests = Digests()
    for file in all_of(source or runfiles.of(folder), record):  # a pack is read as it is asked
        with contextlib.suppress(OSError):
            key, parts = (file.host, file.name), file.parts()
            if parts is None:
                digests.add(key, content(file))
            else:
                deque(digests.through(key, parts), maxlen=0)
                digests.read()
    return digests.hexdigest()


def held_since(folder: Path, record: Record, digests: Digests) -> int:
    """Return the moment (ns since 1970) of which the digests of a run tell: now, where no file has changed since."""
    files = all_of(runfiles.of(folder), record)
    digests.still(((file.host, file.name), file.path, partial(content, file)) for file in files)
    return digests.moment


def all_of(source: RunFiles, record: Record) -> Iterable[RunFile]:
    """Return the files of a run that are read."""
    return chain([source.head()], source.files(record))


def content(file: RunFile) -> bytes:
    """Return what a file holds, or the reason of a gap."""
    return file.load() if file.gap is None else os.fsencode(file.gap)
