"""Packages and reruns from Python: runs and files in, rows out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from provio.api.connection import Connection
from provio.api.rows import Rows
from provio.base.errors import BadQuery, NotAllowed

if TYPE_CHECKING:
    from provio.ask.redo import Redo
    from provio.rerun.outcome import Outcome, Prepared

COLUMNS = ("verdict", "path", "reason", "largest")


class Rerun(Rows):
    """The files of a rerun with their verdicts; `notes` are the messages of `provio rerun`.

    `folder` contains the new files, `commands` are the commands that were started, as in `provio impact --as json`,
    `failed` those that did not end as recorded, with their ends. `ok` is False where `provio rerun` has the exit code
    1.
    """

    def __init__(self, ready: Prepared, outcome: Outcome, notes: Iterable[str]) -> None:
        from provio.rerun.outcome import USUAL

        rows = ([one.verdict, one.path, one.reason or None, one.largest] for one in outcome.results)
        super().__init__(COLUMNS, rows, notes)
        self.folder = Path(outcome.folder)
        self.commands: list[Redo] = [step.command.redo for step in ready.plan.steps]
        self.failed: list[tuple[str, int]] = [(one.shown, end) for one, end in outcome.failed]
        self.ok = not outcome.code(USUAL)


class RerunQueries(Connection):
    """The packages of runs, and reruns."""

    def packages(self, name: str | os.PathLike[str] | None = None) -> Rows:
        """Return the packages whose files a run used, the programs that made a file and its sources, or all runs.

        The rows are those of `provio packages --as json`, with `files` as paths with `, ` between. Raises NothingKnown
        if there is no such run or file.
        """
        from provio.ask import packages
        from provio.render.records import TABLES

        found, _ = packages.named(self._open(), None if name is None else os.fspath(name))
        rows = ([*row[:6], packages.paths(row), row[7]] for row in (one.row() for one in found))
        return Rows(TABLES["packages"].names, rows)

    def rerun(
        self, *names: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None, only_stale: bool = False,
        anyway: bool = False, changed_inputs: bool = False, maps: Mapping[str, str] | None = None,
        tolerance: float | Mapping[str, float] | None = None,
    ) -> Rerun:  # fmt: skip
        """Run the command of a run, or the commands that made files, again in a new folder, and compare the files.

        `folder` is the new folder, by default PROJECT-rerun; `maps` gives new folders for those outside the project.
        Raises NotAllowed if the record has gaps, unless `anyway`; or if inputs changed, unless `changed_inputs` or
        `only_stale`. Raises NothingKnown if nothing is recorded of a name. With a `tolerance`, or one for each name,
        files may differ in numbers: `largest` is the largest difference (docs/how-to/rerun.md).
        """
        from provio.ask import things
        from provio.compare import tolerances
        from provio.rerun import outcome as whole

        whole.complete_hashes(self._home, self._settings())
        home, reader = self._open_both()
        found = [things.named(reader, os.fspath(name)) for name in names]
        if problem := whole.problem(found, only_stale):
            raise BadQuery(problem)
        ready = whole.prepare(reader, home, found, stale=only_stale, anyway=anyway)
        if ready.wrong and not (changed_inputs or only_stale):
            shown = "; ".join(one.line(ready.plan.shown) for one in ready.wrong)
            raise NotAllowed(f"{shown}: nothing was run: restore the inputs, or use changed_inputs=True")
        notes = ready.lines()
        pairs = [f"{old}={new}" for old, new in (maps or {}).items()]
        place = None if folder is None else os.fspath(folder)
        return Rerun(ready, whole.execute_plan(ready, place, pairs, notes.append, tolerances.of(tolerance)), notes)
