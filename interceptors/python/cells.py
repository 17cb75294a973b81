"""Each cell of a notebook as a Task: IPython's shell in, a Task for each cell that it carries out, with its source."""

from __future__ import annotations

from typing import Any

from . import following, tasks
from .foreign import of_provio


class Cells:
    """What to do before and after each cell. Nothing that goes wrong here reaches the cell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.begun: dict[int, tuple[int, int]] = {}  # by the cell's own record: its Task, and what the thread was in

    def before(self, info: Any) -> None:
        """A cell is about to be carried out."""
        try:
            # The shell's own counter may have moved on by now; the inputs of the cells before are all kept.
            number = len(self.shell.history_manager.input_hist_raw) if info.store_history else 0
            task = tasks.begin(f"[{number}]" if number else "[ ]", "cell", info.raw_cell, number)
            if task:
                tasks.SCOPE.set(task)
                self.begun[id(info)] = task, tasks.enter(task)
        except Exception as error:
            of_provio(error)

    def after(self, result: Any) -> None:
        """A cell was carried out, or interrupted."""
        try:
            task, before = self.begun.pop(id(result.info))
            tasks.SCOPE.set(0)
            tasks.enter(before)
            tasks.end(task, "ok" if result.success else "error")
        except Exception as error:
            of_provio(error)


def watch(shell: Any) -> None:
    """Make each cell of a shell a Task."""
    following.follow()
    cells = Cells(shell)
    shell.events.register("pre_run_cell", cells.before)
    shell.events.register("post_run_cell", cells.after)
