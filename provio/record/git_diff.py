"""Keeps the uncommitted changes of a run's Git checkout in the run (`record.git_diff`). Out: `git.diff` of its host.

Git is called before the command starts; the secrets are replaced, and the file is written, while the command runs.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from provio.trace import environment
from provio.trace.recording import Recording, host_folder
from provio.trace.run_source import DIFF


def ask(recording: Recording) -> None:
    """Take the changes as they are now. A failure costs only the changes."""
    if not recording.detail.leaves_out("environment"):
        recording.changes = environment.git_diff(Path.cwd())


def write(recording: Recording) -> None:
    """Write the changes into the run, once."""
    changes, recording.changes = recording.changes, None
    if changes is None:
        return
    text = environment.without_secrets(changes, recording.redaction).encode("utf-8", "surrogateescape")
    with contextlib.suppress(OSError), recording.home.closed():
        descriptor = os.open(host_folder(recording) / DIFF, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(text)
