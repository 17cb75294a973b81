"""Runs the commands in a page of documentation, and compares their output with that on the page.

A command is in a block of code after `$ ` and continues after `> `; its output follows. `…` stands for any text: alone
on a line for lines, in a line for a part of it. The output of a command without lines below it is not checked.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Step(NamedTuple):
    """A command, and the lines of its output on the page."""

    command: str
    shown: list[str]


def steps(page: Path) -> list[Step]:
    """Return the commands of a page, in their order."""
    found: list[Step] = []
    for line in page.read_text(encoding="utf-8").splitlines():
        if not line.startswith("    "):
            continue
        text = line[4:]
        if text.startswith("$ "):
            found.append(Step(text[2:], []))
        elif text.startswith("> ") and found and not found[-1].shown:
            found[-1] = Step(f"{found[-1].command}\n{text[2:]}", [])
        elif found:
            found[-1].shown.append(text)
    return found


def run(page: Path, folder: Path, env: Mapping[str, str]) -> int:
    """Run the commands of a page in a folder; return the number of those with the output of the page."""
    held = 0
    for step in steps(page):
        done = subprocess.run(
            ["bash", "-ec", step.command], cwd=folder, env=env, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, f"{page.name}: {step.command}\n{done.stdout}{done.stderr}"
        if step.shown:
            printed = "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())
            assert pattern(step.shown).fullmatch(printed), f"{page.name}: {step.command}\nprinted\n{printed}"
            held += 1
    return held


def pattern(shown: list[str]) -> re.Pattern[str]:
    """Return a regular expression for lines of a page."""
    parts = [
        r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line.rstrip()).replace("…", ".*?") + r"\n" for line in shown
    ]
    return re.compile("".join(parts))
