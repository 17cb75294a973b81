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


def main() -> None:
    """Start the kernel."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry != here]
    if "" not in sys.path:
        sys.path.insert(0, "")  # the notebook's folder, as in `python -m ipykernel_launcher`
    from ipykernel.kernelapp import IPKernelApp

    app: Any = IPKernelApp.instance()
    app.initialize()
    app.shell.provio_cells = _load("cells").Cells(app.shell)  # `%load_ext provio` finds that cells are recorded
    app.shell.provio_cells.observe()
    app.start()


if __name__ == "__main__":
    main()
