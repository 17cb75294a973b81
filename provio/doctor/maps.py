"""Whether a file system maps files for writing, tried: a folder in, what to know where it does not out."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator

from provio.doctor import Finding, note

SIZE = 4096  # bytes


def refused(folder: str) -> Iterator[Finding]:
    """Yield that traces in a folder are written, where they cannot be mapped; raises OSError where it is not ours."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.truncate(SIZE)
        try:
            mmap.mmap(file.fileno(), SIZE).close()
        except OSError as error:
            yield note(
                f"{folder} maps no file for writing ({error.strerror}): traces are written record by record there; "
                "a kill -9 loses what a thread did since the last",
                "have them lie elsewhere: capture_dir, or PROVIO_HOME on a local disk",
            )
