"""Cells of a notebook as Tasks: an IPython shell in, a Task for each cell out.

`interceptors/kernel.py` uses it in a kernel that is started under `provio run`, `%load_ext provio` in a running one.
"""

from __future__ import annotations

from . import propagation, tasks
from .guard import reraise_from_program

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from typing import Any


class Cells:
    """Begins a Task before each cell and ends it after the cell. No exception of provio reaches the cell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        # By the cell's `info` object: its Task, and the Task that the thread was in before.
        self.in_progress: dict[int, tuple[int, int]] = {}
        self.current: tuple[int, int] | None = None  # of the cell that was in progress at the start of the recording

    def observe(self) -> None:
        """Make each further cell a Task."""
        propagation.propagate()
        self.shell.events.register("pre_run_cell", self.before)
        self.shell.events.register("post_run_cell", self.after)

    def begin_current(self) -> None:
        """Make the rest of the cell in progress a Task."""
        inputs = self.shell.history_manager.input_hist_raw
        self.current = self._begin(inputs[-1], len(inputs) - 1)

    def stop(self) -> None:
        """End the Tasks in progress; further cells are no Tasks."""
        self.shell.events.unregister("pre_run_cell", self.before)
        self.shell.events.unregister("post_run_cell", self.after)
        pending = [self.current, *self.in_progress.values()]
        self.current, self.in_progress = None, {}
        for entered in filter(None, pending):
            self._end(entered, "ok")

    def before(self, info: Any) -> None:
        """Begin and enter the Task of a cell."""
        try:
            # Not `shell.execution_count`, which may be incremented already; the inputs of all previous cells are kept.
            number = len(self.shell.history_manager.input_hist_raw) if info.store_history else 0
            entered = self._begin(info.raw_cell, number)
            if entered:
                self.in_progress[id(info)] = entered
        except Exception as error:
            reraise_from_program(error)

    def after(self, result: Any) -> None:
        """Leave and end the Task of a cell, which may have been interrupted."""
        try:
            entered, self.current = self.in_progress.pop(id(result.info), self.current), None
            if entered:
                self._end(entered, "ok" if result.success else "error")
        except Exception as error:
            reraise_from_program(error)

    def _begin(self, source: str, number: int) -> tuple[int, int] | None:
        task = tasks.begin(f"[{number}]" if number else "[ ]", "cell", source, number)
        if not task:
            return None
        tasks.SCOPE.set(task)
        return task, tasks.enter(task)

    def _end(self, entered: tuple[int, int], status: str) -> None:
        task, before = entered
        tasks.SCOPE.set(0)
        tasks.enter(before)
        tasks.end(task, status)
