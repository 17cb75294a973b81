"""Wait for the import of h5py and of the libraries of `recognising.py`, in a Python without the shim; then import the
program's own sitecustomize.

This folder is on PYTHONPATH only for such a Python. It leaves no entry in sys.path or sys.modules.
"""

import sys


class _Waiting(object):  # noqa: UP004 (a Python 2 must be able to read this file)
    """A finder that finds nothing itself: it notices the import of h5py, and removes itself."""

    here = __file__

    def find_spec(self, name, path=None, target=None):
        if name != "h5py":
            return None
        try:
            sys.meta_path.remove(self)
            return self.found(name, path, target)
        except Exception:
            return None

    def found(self, name, path, target):
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None and spec.origin:
                    self.observe(spec.loader)
                return spec
        return None

    def observe(self, loader):
        execute, here = loader.exec_module, self.here

        def exec_module(module):
            vars(loader).pop("exec_module", None)
            execute(module)
            try:
                _follow(here, module)
            except Exception:
                pass

        # Tracebacks do not show frames of the import system; this name makes the frame one of them.
        exec_module.__code__ = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap>")
        loader.exec_module = exec_module


def _follow(here, module):
    import importlib
    import os
    import types

    package = types.ModuleType("_provio")
    package.__path__ = [os.path.dirname(os.path.dirname(here))]
    sys.modules["_provio"] = package
    importlib.import_module("_provio.python.h5py.follow").follow(module)


def _load(place, name):
    from _frozen_importlib_external import SourceFileLoader

    loader = SourceFileLoader("_provio." + name, place + "/" + name + ".py")
    loader.set_data = lambda *_, **__: None
    names = {"__name__": "_provio." + name}
    exec(loader.get_code("_provio." + name), names)  # noqa: S102
    return names


def _begin():
    here = __file__.rpartition("/")[0]
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path_importer_cache.pop(here, None)
    waiting = any(type(finder).__name__ == _Waiting.__name__ for finder in sys.meta_path)
    place = here.rpartition("/")[0]
    if sys.version_info >= (3, 8) and not waiting:
        sys.meta_path.insert(0, _Waiting())
        try:
            _load(place, "recognising")["begin"](place)
        except Exception as error:
            _load(place, "python/guard")["reraise_from_program"](error)


_begin()
sys.modules.pop(__name__, None)
import sitecustomize  # noqa: E402, F401 (the next one on the path; an ImportError if there is none)
