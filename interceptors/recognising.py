"""Waits, in a watched Python, for the libraries that say what it does: their calls in, what the program says of itself
out (`python/said.py`), as if it had said so.

Each file of `recognise/` is about the library of its name. It has a table `WATCHED`: the name of a module, and a
function that is given that module once it is imported, and `follow`. Nothing is read but what is imported, and nothing
of this is in `sys.modules` before something is said. Every Python that starts carries this out: it imports nothing that
is not there already, so that it has no annotations either.
"""

import posix
import sys
from _thread import _local

PLACE = []  # of the interceptors
ALIKE = {"pytorch_lightning": "lightning", "tensorboardX": "tensorboard"}  # theirs is another one's as well
INSIDE = _local()  # what another call that is followed does is said by that one


def begin(place):
    """Wait for what there are recognisers for."""
    off = posix.environ.get(b"PROVIO_RECOGNISE", b"").decode("ascii", "replace").split(",")
    waiting = any(type(finder).__name__ == Waiting.__name__ for finder in sys.meta_path)
    if sys.version_info < (3, 8) or waiting or "off" in off or posix.environ.get(b"PROVIO_OFF"):
        return
    PLACE.append(place)
    names = [name[:-3] for name in posix.listdir(place + "/recognise") if name[-3:] == ".py" and name[0] != "_"]
    waits = dict(zip(names + list(ALIKE), names + list(ALIKE.values())))
    waiting_for = {name: of for name, of in waits.items() if "-" + of not in off}
    sys.meta_path.insert(0, Waiting({"h5py": _unseen_hdf5, **waiting_for}))


class Waiting:
    """A finder that finds nothing: it sees a module asked for that somebody waits for."""

    def __init__(self, waits):
        self.waits = waits  # by module: a function; of a library, its recogniser's name until that was read
        self.busy = set()

    def find_spec(self, name, path=None, target=None):
        """Find nothing, where nobody waits for it; else what the other finders find."""
        if name not in self.waits or name in self.busy:
            return None
        self.busy.add(name)
        try:
            if isinstance(self.waits[name], str):
                self.waits.update(_run("recognise/" + self.waits.pop(name))["WATCHED"])
            return self.found(name, path, target) if name in self.waits else None
        except Exception as error:
            _of_provio(error)
            return None
        finally:
            self.busy.discard(name)

    def found(self, name, path, target):
        """Return the module's spec, with a loader that tells when it is executed."""
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None and spec.origin and not isinstance(spec.loader, type):
                    _when_executed(spec.loader, self.waits[name])
                return spec
        return None


def _when_executed(loader, watch):
    execute = loader.exec_module

    def exec_module(module):
        vars(loader).pop("exec_module", None)
        execute(module)
        try:
            watch(module, follow)
        except Exception as error:
            _of_provio(error)

    # The lines of a traceback that belong to the import system are not shown; this is one of them.
    exec_module.__code__ = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap>")
    loader.exec_module = exec_module


def _run(name):
    """Carry out one of the interceptors' files; its byte code is read where it lies, but never written."""
    from _frozen_importlib_external import SourceFileLoader

    module = "_provio." + name.replace("/", ".")
    loader = SourceFileLoader(module, f"{PLACE[0]}/{name}.py")
    loader.set_data = lambda *_, **__: None
    names = {"__name__": module}
    exec(loader.get_code(module), names)  # noqa: S102
    return names


def _of_provio(error):
    """Raise an exception again unless it is provio's own: a handler of a signal of the program's raised it."""
    if _run("python/raised")["by_a_handler"](error):
        raise error


def follow(owners, name, tell):
    """Put a function in the place of a function or method (of each of some owners) that calls it and then tells.

    `tell` is given what says things (`said`), the result, and the arguments of the call.
    """
    owners = owners if isinstance(owners, tuple) else (owners,)
    original = getattr(owners[0], name, None)
    if original is None or hasattr(original, "provio"):
        return
    followed = _followed(original, tell)
    for owner in owners:
        if getattr(owner, name, None) is original:
            setattr(owner, name, followed)


def _followed(original, tell):
    def followed(*arguments, **keywords):
        outermost = not hasattr(INSIDE, "call")
        if outermost:
            INSIDE.call = True
        try:
            result = original(*arguments, **keywords)
        except BaseException as error:
            # Without this function's own line; in no variable, which would hold all that the caller has.
            error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
            raise
        finally:
            if outermost:
                del INSIDE.call
        if outermost:
            try:
                with _silent():
                    tell(sys.modules["_provio.python.said"], result, *arguments, **keywords)
            except Exception as error:
                _of_provio(error)
        return result

    _take_after(followed, original)
    return followed


def _take_after(function, original):
    """As functools.wraps, which is not imported everywhere."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        if hasattr(original, name):
            setattr(function, name, getattr(original, name))
    function.__dict__.update(getattr(original, "__dict__", {}))
    function.__wrapped__ = original
    function.provio = True


def _unseen_hdf5(h5py, _):
    """Have the layer in Python follow an h5py whose calls of HDF5 pass the shim by: loaded with RTLD_DEEPBIND, say."""
    import ctypes

    calls = ctypes.CDLL(None).provio_hdf5_calls
    before = calls()
    h5py.h5.get_libversion()
    if calls() == before:
        _loaded("hdf5", then=lambda layer: layer.watch(h5py))


def _loaded(*names, then=None):
    """Load modules of the interceptors' without leaving byte code; `then` is given the last one."""
    if "_provio" not in sys.modules:
        package = type(sys)("_provio")
        package.__path__ = [PLACE[0]]
        sys.modules["_provio"] = package
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        for name in names:
            __import__("_provio." + name)
        if then is not None:
            then(sys.modules["_provio." + names[-1]])
    finally:
        sys.dont_write_bytecode = kept


def _silent():
    """Load what says things; the program did not say them, and is not warned of what is wrong with them."""
    if "_provio.recognise" not in sys.modules:
        _loaded("python.said", "recognise")
    return sys.modules["_provio.python.warned"].silent()
