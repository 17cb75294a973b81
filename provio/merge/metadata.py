"""Read the metadata of a run's files in a child process: a crash of a library on a damaged file, a file that takes too
long or too much memory costs only the metadata of this file.

In: versions of files. Out: names and texts of their attributes.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping

from provio.base.records import plain
from provio.lineage.model import FOREVER, Version
from provio.system import child, metadata, statx

FILES, SECONDS = 2_000, 5.0  # of a run, unless all files are to be hashed
LONGEST = 10.0  # seconds for one file
ENVIRONMENT = {"HDF5_USE_FILE_LOCKING": "FALSE", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
Answer = Mapping[str, object]


@plain()
class Reader:
    """Reads metadata within limits; `everything`: without. The child process is started for the first file."""

    everything: bool = False
    files: int = FILES
    seconds: float = SECONDS
    unread: int = 0  # files that were not read because of these limits
    process: subprocess.Popen[bytes] | None = None

    def of(self, version: Version) -> dict[str, str]:
        """Return the metadata of a version; nothing if the file is not this version any more, cannot be read, or a
        limit is reached."""
        for path in filter(None, dict.fromkeys([version.last_name, *version.names.values()])):
            if version.until == FOREVER and self._may_read(path) and _is(path, version):
                if not self.everything and (self.files <= 0 or self.seconds <= 0):
                    self.unread += 1
                    return {}
                start = time.monotonic()
                answer = self._ask(os.fsdecode(path))
                self.files, self.seconds = self.files - 1, self.seconds - (time.monotonic() - start)
                pairs = answer.get("pairs")
                if isinstance(pairs, list) and _is(path, version):
                    return {str(name): str(text) for name, text in pairs}
        return {}

    def close(self) -> None:
        """End the child process."""
        if self.process:
            self.process.kill()
            self.process.communicate()
        self.process = None

    def _may_read(self, path: bytes) -> bool:
        """Return whether a file may be read: reading a file with fewer blocks than its size may call it back from
        tape."""
        if not metadata.kind_of(os.fsdecode(path)) or not os.path.isfile(path):
            return False
        found = os.stat(path)
        return self.everything or found.st_blocks * 512 >= found.st_size

    def _ask(self, path: str) -> Answer:
        """Return the child's answer about a file; an empty one if the child does not give one in time."""
        process = self.process = self.process or _started()
        if process is None or process.stdin is None or process.stdout is None:
            return {}
        try:
            process.stdin.write(json.dumps(path).encode() + b"\n")
            process.stdin.flush()
            line, until = b"", time.monotonic() + LONGEST
            while not line.endswith(b"\n"):
                if not select.select([process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                    break
                part = os.read(process.stdout.fileno(), 1 << 16)
                if not part:
                    break
                line += part
            if line.endswith(b"\n"):
                answer: Answer = json.loads(line)
                return answer
        except (OSError, ValueError):
            pass
        self.close()
        return {}


def is_candidate(version: Version, host: str) -> bool:
    """Return whether a version may have metadata, by its names."""
    if not version.facts.size or version.host not in ("", host):
        return False
    return any(metadata.kind_of(os.fsdecode(path)) for path in version.names.values())


def _is(path: bytes, version: Version) -> bool:
    try:
        return statx.facts(path).key == version.facts.key
    except OSError:
        return False


def _started() -> subprocess.Popen[bytes] | None:
    command = [sys.executable, "-P", "-m", "provio.system.metadata"]
    try:
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=child.unwatched() | ENVIRONMENT,
        )  # fmt: skip
    except OSError:
        return None
