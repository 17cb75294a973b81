"""Pages of documentation that are run: the commands of a page in, what they print held against what it shows.

A command stands in a block of code, behind `$ `, and goes on behind `> `; what it prints follows. `…` stands for
anything: alone on a line for lines, in a line for a part of it. Of a command with nothing behind it nothing is asked.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Step(NamedTuple):
    """A command, and the lines that the page shows of what it prints."""

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
    """Run a page's commands in a folder, one after the other; return how many printed what the page shows."""
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
    """Return what the lines of a page stand for."""
    parts = [
        r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line.rstrip()).replace("…", ".*?") + r"\n" for line in shown
    ]
    return re.compile("".join(parts))
