"""pyvis, without what it loads and no page of provio needs: nothing in, its class Network out.

networkx, jsonpickle and IPython are loaded when pyvis first uses them: together they take longer than a page of some
hundred nodes.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

LATE: Final = ("networkx", "jsonpickle", "IPython", "IPython.display")


def network() -> type[Any]:
    """Return pyvis.network.Network."""
    with _late():
        from pyvis.network import Network
    return Network  # type: ignore[no-any-return]


@contextmanager
def _late() -> Iterator[None]:
    """Let pyvis find something in the place of these modules that asks them once it is asked."""
    stand_ins = {} if "pyvis" in sys.modules else {name: _stand_in(name) for name in LATE if name not in sys.modules}
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for name in stand_ins:
            del sys.modules[name]


def _stand_in(name: str) -> ModuleType:
    def asked(attribute: str) -> Any:
        if attribute.startswith("__"):  # by whoever imports it
            raise AttributeError(attribute)
        return getattr(importlib.import_module(name), attribute)

    def frame(*given: Any, **more: Any) -> Any:
        return asked("IFrame")(*given, **more)

    module = ModuleType(name)
    vars(module)["__getattr__"] = asked
    if name.endswith(".display"):
        vars(module)["IFrame"] = frame  # pyvis asks for it by its name, at once
    return module
