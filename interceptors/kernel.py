"""A Jupyter kernel that records each cell as a Task: the arguments of ipykernel in; started under `provio run`.

It is executed as a file, by any Python that has ipykernel, and imports only the modules next to it.
"""

from __future__ import annotations

import importlib
import os
import sys
import types
from typing import Any


def _load(name: str) -> Any:
    """Import a module of `interceptors/python`; the package `provio` cannot be imported here."""
    package = types.ModuleType("_provio")
    package.__path__ = [os.path.dirname(os.path.realpath(__file__))]
    sys.modules.setdefault("_provio", package)
    return importlib.import_module("_provio.python." + name)


class Cells:
    """Begins a Task before each cell and ends it after the cell. No exception of provio reaches the cell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.guard, self.tasks = _load("guard"), _load("tasks")
        # By the cell's `info` object: its Task, and the Task that the thread was in before.
        self.in_progress: dict[int, tuple[int, int]] = {}

    def before(self, info: Any) -> None:
        """Begin and enter the Task of a cell."""
        try:
            # Not `shell.execution_count`, which may be incremented already; the inputs of all previous cells are kept.
            number = len(self.shell.history_manager.input_hist_raw) if info.store_history else 0
            task = self.tasks.begin(f"[{number}]" if number else "[ ]", "cell", info.raw_cell, number)
            if task:
                self.tasks.SCOPE.set(task)
                self.in_progress[id(info)] = task, self.tasks.enter(task)
        except Exception as error:
            self.guard.reraise_from_program(error)

    def after(self, result: Any) -> None:
        """Leave and end the Task of a cell, which may have been interrupted."""
        try:
            task, before = self.in_progress.pop(id(result.info))
            self.tasks.SCOPE.set(0)
            self.tasks.enter(before)
            self.tasks.end(task, "ok" if result.success else "error")
        except Exception as error:
            self.guard.reraise_from_program(error)


def _observe(shell: Any) -> None:
    """Make each cell of a shell a Task."""
    _load("propagation").propagate()
    cells = Cells(shell)
    shell.events.register("pre_run_cell", cells.before)
    shell.events.register("post_run_cell", cells.after)


def main() -> None:
    """Start the kernel."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry != here]
    if "" not in sys.path:
        sys.path.insert(0, "")  # the notebook's folder, as in `python -m ipykernel_launcher`
    from ipykernel.kernelapp import IPKernelApp

    app: Any = IPKernelApp.instance()
    app.initialize()
    _observe(app.shell)
    app.start()


if __name__ == "__main__":
    main()
