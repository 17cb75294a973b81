"""Waits for the import of h5py and of what `recognising.py` waits for, in a Python where nothing else does; then comes
the program's own sitecustomize.

This folder is on PYTHONPATH for such a Python alone. Nothing of it is left in sys.path or sys.modules.
"""

import sys


class _Waiting(object):  # noqa: UP004 (an older Python, which has nothing to do with this, must be able to read it)
    """A finder that finds nothing: it sees h5py asked for, and is gone."""

    here = __file__

    def find_spec(self, name, path=None, target=None):
        if name != "h5py":
            return None
        try:
            sys.meta_path.remove(self)
            return self.followed(name, path, target)
        except Exception:
            return None

    def followed(self, name, path, target):
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None and spec.origin:
                    self.follow(spec.loader)
                return spec
        return None

    def follow(self, loader):
        execute, here = loader.exec_module, self.here

        def exec_module(module):
            vars(loader).pop("exec_module", None)
            execute(module)
            try:
                _watch(here, module)
            except Exception:
                pass

        # The lines of a traceback that belong to the import system are not shown; this is one of them.
        exec_module.__code__ = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap>")
        loader.exec_module = exec_module


def _watch(here, module):
    import importlib
    import os
    import types

    package = types.ModuleType("_provio")
    package.__path__ = [os.path.dirname(os.path.dirname(here))]
    sys.modules["_provio"] = package
    importlib.import_module("_provio.hdf5").watch(module)


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
            if _load(place, "python/raised")["by_a_handler"](error):
                raise


_begin()
sys.modules.pop(__name__, None)
import sitecustomize  # noqa: E402, F401 (the next one on the path, or the ImportError that says there is none)
