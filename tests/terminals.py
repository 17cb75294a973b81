"""Runs provio on a terminal and returns its output."""

from __future__ import annotations

import os
import pty
import select
import subprocess

from conftest import Project, provio_command


def on_a_terminal(project: Project, *arguments: str, columns: int = 100) -> bytes:
    """All that provio writes to a terminal of so many columns."""
    controller, terminal = pty.openpty()
    env = {**project.env, "TERM": "xterm-256color", "COLUMNS": str(columns), "LANG": "C.UTF-8"}
    process = subprocess.Popen(
        [*provio_command(), *arguments], cwd=project.path, env=env, stdin=terminal, stdout=terminal, stderr=terminal
    )
    os.close(terminal)
    said = b""
    while select.select([controller], [], [], 60)[0]:
        try:
            piece = os.read(controller, 1 << 16)
        except OSError:
            break
        said += piece
    process.wait(60)
    os.close(controller)
    return said
