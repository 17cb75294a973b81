"""A kernel of Jupyter whose cells are Tasks: started with the arguments of ipykernel, under `provio run`.

It is run as a file, by any Python that has ipykernel, and imports nothing of provio but what lies beside it.
"""

from __future__ import annotations

import importlib
import os
import sys
import types
from typing import Any


def _watch(shell: object) -> None:
    package = types.ModuleType("_provio")
    package.__path__ = [os.path.dirname(os.path.realpath(__file__))]
    sys.modules.setdefault("_provio", package)
    importlib.import_module("_provio.python.cells").watch(shell)


def main() -> None:
    """Start the kernel."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry != here]
    if "" not in sys.path:
        sys.path.insert(0, "")  # the notebook's folder, as `python -m ipykernel_launcher` has it
    from ipykernel.kernelapp import IPKernelApp

    app: Any = IPKernelApp.instance()
    app.initialize()
    _watch(app.shell)
    app.start()


if __name__ == "__main__":
    main()
