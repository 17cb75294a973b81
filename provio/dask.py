"""Record the tasks of a Dask cluster that was not started by `provio run`.

`client.register_plugin(provio.dask())` records the workers of a cluster from then on; `dask worker --preload
provio.dask` and `dask scheduler --preload provio.dask` from their start. Each process has an implicit run: its tasks,
transitions and transfers are recorded, its files are not (docs/tasks.md).
"""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path
from typing import Any

import provio
from provio.base.errors import ProvioError

WATCHED = ("distributed.scheduler", "distributed.worker_state_machine", "distributed.worker")
PLACE = str(Path(__file__).parent / "interceptors")


def dask_setup(server: Any) -> None:
    """Record a scheduler or worker that has this module as `--preload`."""
    attach(server)


def attach(server: Any) -> None:
    """Record a scheduler or worker of this process, unless it is recorded already."""
    scheduler = hasattr(server, "transition_log")
    log = server.transition_log if scheduler else server.state.log if hasattr(server, "state") else None
    provio._declarations()  # lets the recorder begin an implicit run
    if log is None or hasattr(log, "file") or _module("python.recorder").recorder() is None:
        return
    recognising = _module("recognising")
    recognising.PLACE[:] = [PLACE]
    names = recognising._run("recognise/distributed")
    for module in WATCHED if "distributed.worker" in sys.modules else ():
        names["WATCHED"][module](sys.modules[module], recognising.follow)
    if scheduler:
        names["_scheduler_state"](server)
        names["_scheduler"](server)
    else:
        names["_worker_state"](server.state)
        names["_worker"](server)


def _module(name: str) -> Any:
    return importlib.import_module(f"_provio.{name}")


class _Module(types.ModuleType):
    """The module is the function `provio.dask()`, too; its class `RecordTasks` is made when Dask is there."""

    def __call__(self) -> Any:
        """Return a plugin that records the tasks of each worker; a second registration changes nothing."""
        return self.RecordTasks()

    def __getattr__(self, name: str) -> Any:
        if name != "RecordTasks":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            from distributed import WorkerPlugin
        except ImportError:
            reason = "provio.dask needs the package distributed, which is not installed: pip install distributed"
            raise ProvioError(reason) from None
        members = {"name": "provio", "setup": lambda _, worker: attach(worker), "__module__": __name__}
        self.RecordTasks = type(name, (WorkerPlugin,), members)
        return self.RecordTasks


sys.modules[__name__].__class__ = _Module
