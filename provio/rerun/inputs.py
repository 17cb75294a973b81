"""The inputs of a plan, compared by content with the files that are there now. In: a plan and a store. Out: the state
of each input, and the place of its recorded content."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from provio.ask.content import CHANGED, MISSING, NOT_COMPARED, UNKNOWN, Contents, Progress
from provio.merge import kept
from provio.rerun.files import Use
from provio.rerun.plan import Plan
from provio.settings.home import Home
from provio.store import Reader
from provio.system.hash_limits import Limits

KEPT = "kept"  # the recorded content is kept in `.provio`, the file has changed


@dataclass(frozen=True)
class Input:
    """An input: `state` is `same`, `changed`, `missing`, `unknown` (not compared by content) or `kept`; `digest` names
    the kept content."""

    use: Use
    state: str
    reason: str = ""
    digest: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether the recorded content is not available."""
        return self.state in (CHANGED, MISSING)

    def line(self, shown: Callable[[str], str]) -> str:
        """Return the sentence for a message; `shown` gives the form of a path."""
        path = shown(self.use.path)
        if self.state == UNKNOWN:
            return f"input {NOT_COMPARED}: {path} ({self.reason})"
        if self.state == KEPT:
            return f"input changed: {path} (its recorded content is kept, and used)"
        return f"input {self.state}: {path}"


class Inputs:
    """Compares inputs with the present files; the recorded SHA-256 decides."""

    def __init__(self, reader: Reader, home: Home, progress: Progress = lambda *_: None) -> None:
        self.contents = Contents(reader, Limits(everything=True), progress)
        self.home = home

    def of(self, plan: Plan) -> dict[Use, Input]:
        """Return the state of each input of a plan, and of each file of code."""
        uses = [use for use in plan.uses if use.kind != "system" or plan.inside(use.path)]
        self.contents.load((use.version for use in uses), (os.fsencode(use.path) for use in uses))
        return {use: self._compared(use) for use in uses}

    def _compared(self, use: Use) -> Input:
        path = os.fsencode(use.path)
        found = self.contents.file(use.version, path, read=use.kind == "input")
        state = found.state
        if state == UNKNOWN and not found.unread and self.contents.current(path) != use.version:
            state = CHANGED  # as far as size, times and inode show
        if state not in (CHANGED, MISSING):
            return Input(use, state, found.reason)
        digests = self.contents.digests(use.version)
        there = next((one for one in sorted(digests) if kept.is_kept(self.home, one)), "")
        return Input(use, KEPT if there else state, found.reason, there)
