"""Wait for the import of known libraries in an observed Python, and turn their calls into declarations
(`python/declarations.py`), as if the program had made them.

Each file of `recognise/` handles the library of its name. Its table `WATCHED` maps the name of a module to a function,
which is called with that module once it is imported, and with `follow`. A file is read only when its library is
imported, and `sys.modules` is not changed before the first declaration. Every Python executes this file at its start:
it imports no module that is not loaded already, and therefore has no annotations.
"""

import posix
import sys
from _thread import _local, allocate_lock

PLACE = []  # the folder of the interceptors
ALIKE = {"pytorch_lightning": "lightning", "tensorboardX": "tensorboard"}  # handled by the file of another library
INSIDE = _local()  # set during a wrapped call: wrapped calls inside it declare nothing


def begin(place):
    """Wait for the libraries of `recognise/`; `place` is the folder of the interceptors."""
    off = posix.environ.get(b"PROVIO_RECOGNISE", b"").decode("ascii", "replace").split(",")
    waiting = any(type(finder).__name__ == Waiting.__name__ for finder in sys.meta_path)
    if sys.version_info < (3, 8) or waiting or "off" in off or posix.environ.get(b"PROVIO_OFF"):
        return
    PLACE.append(place)
    names = [name[:-3] for name in posix.listdir(place + "/recognise") if name[-3:] == ".py" and name[0] != "_"]
    files = dict(zip(names + list(ALIKE), names + list(ALIKE.values())))
    waiting_for = {name: file for name, file in files.items() if "-" + file not in off}
    sys.meta_path.insert(0, Waiting({"h5py": _unseen_hdf5, **waiting_for}))


class Waiting:
    """A finder that finds nothing itself: it notices the import of a module in `waits`."""

    def __init__(self, waits):
        self.waits = waits  # by module: a function; by library: the name of its file, until the file is read
        self.busy = set()

    def find_spec(self, name, path=None, target=None):
        """Return None for a module that is not in `waits`, else the spec that the other finders find."""
        if name not in self.waits or name in self.busy:
            return None
        self.busy.add(name)
        try:
            if isinstance(self.waits[name], str):
                self.waits.update(_run("recognise/" + self.waits.pop(name))["WATCHED"])
            return self.found(name, path, target) if name in self.waits else None
        except Exception as error:
            _reraise_from_program(error)
            return None
        finally:
            self.busy.discard(name)

    def found(self, name, path, target):
        """Return the module's spec, with a loader that calls the function of `waits` after execution."""
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None and spec.origin and not isinstance(spec.loader, type):
                    _when_executed(spec.loader, self.waits[name])
                return spec
        return None


def watch_loaded():
    """Watch the libraries that are loaded already, in a process whose recording begins later than its imports.

    Return the names of those with functions that are not followed: a function that another object holds already would
    no longer be the one that its module has, and could not be pickled.
    """
    left_out = set()

    def follow_unshared(owners, name, report=None, **how):
        if _is_shared(owners if isinstance(owners, tuple) else (owners,), name):
            left_out.add(library.partition(".")[0])
        else:
            follow(owners, name, report, **how)

    for finder in sys.meta_path:
        if type(finder) is Waiting:
            for name, file in list(finder.waits.items()):
                if isinstance(file, str) and name in sys.modules:
                    finder.waits.update(_run("recognise/" + finder.waits.pop(name))["WATCHED"])
            for library, watch in list(finder.waits.items()):
                if library in sys.modules and not isinstance(watch, str):
                    try:
                        watch(sys.modules[library], follow_unshared)
                    except Exception as error:
                        _reraise_from_program(error)
    return sorted(left_out)


def _is_shared(owners, name):
    """Return whether any object but the owners holds a function."""
    original = getattr(owners[0], name, None)
    if original is None or hasattr(original, "provio"):
        return False
    held = sum(vars(owner).get(key) is original for owner in owners for key in (name, "__wrapped__"))
    alone = object()  # with the references that each variable and call has in this version of Python
    return sys.getrefcount(original) - held > sys.getrefcount(alone) or type(original) is not type(follow)


def _when_executed(loader, watch):
    execute = loader.exec_module

    def exec_module(module):
        vars(loader).pop("exec_module", None)
        execute(module)
        try:
            watch(module, follow)
        except Exception as error:
            _reraise_from_program(error)

    # Tracebacks do not show frames of the import system; this name makes the frame one of them.
    exec_module.__code__ = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap>")
    loader.exec_module = exec_module


def _run(name):
    """Execute a file of the interceptors outside of sys.modules; byte code is read, but not written."""
    from _frozen_importlib_external import SourceFileLoader

    module = "_provio." + name.replace("/", ".")
    loader = SourceFileLoader(module, f"{PLACE[0]}/{name}.py")
    loader.set_data = lambda *_, **__: None
    names = {"__name__": module}
    exec(loader.get_code(module), names)  # noqa: S102
    return names


def _reraise_from_program(error):
    _run("python/guard")["reraise_from_program"](error)


def follow(owners, name, report=None, task=None, around=None, arguments=None, result=None, after=None):
    """Wrap a function or method of one owner or several, so that `report` is called after each successful call.

    `report` gets the module `declarations`, the result, and the arguments of the call. In place of it:
    `task` gets the arguments, and returns the name and the kind of a Task, and a dictionary of settings if it has any:
    each call is this Task. `arguments` gets the arguments, and returns those to use instead, positional ones and named
    ones. `result` gets the result, and returns the one to use instead. `after` gets the result and the arguments of
    each successful call, also within other wrapped calls. `around` gets the module `declarations` and the function, and
    returns the function to use instead: it raises nothing of its own.
    """
    owners = owners if isinstance(owners, tuple) else (owners,)
    original = getattr(owners[0], name, None)
    if original is None or hasattr(original, "provio"):
        return
    if around is not None:
        wrapped = _around(original, around)
    elif task is not None:
        wrapped = _within(original, task)
    elif arguments is not None or result is not None or after is not None:
        wrapped = _changed(original, arguments, result, after)
    else:
        wrapped = _wrapped(original, report)
    for owner in owners:
        if getattr(owner, name, None) is original:
            setattr(owner, name, wrapped)


def _wrapped(original, report):
    def wrapped(*arguments, **keywords):
        outermost = not hasattr(INSIDE, "call")
        if outermost:
            INSIDE.call = True
        try:
            result = original(*arguments, **keywords)
        except BaseException as error:
            # Without the line of this function; not kept in a variable, which would keep the caller's objects.
            error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
            raise
        finally:
            if outermost:
                del INSIDE.call
        if outermost:
            try:
                with _silent():
                    report(sys.modules["_provio.python.declarations"], result, *arguments, **keywords)
            except Exception as error:
                _reraise_from_program(error)
        return result

    _update_wrapper(wrapped, original)
    return wrapped


def _within(original, task):
    def wrapped(*arguments, **keywords):
        with _activity(task, arguments, keywords):
            try:
                return original(*arguments, **keywords)
            except BaseException as error:
                error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next  # as in `_wrapped`
                raise

    _update_wrapper(wrapped, original)
    return wrapped


def _around(original, around):
    with _silent():
        wrapped = around(sys.modules["_provio.python.declarations"], original)
    _update_wrapper(wrapped, original)
    return wrapped


def _activity(task, arguments, keywords):
    """Return the Task of a call, to be entered; a lock, which does nothing, if it cannot be declared."""
    try:
        with _silent():
            name, kind, *settings = task(*arguments, **keywords)
            return sys.modules["_provio.python.declarations"].activity(name, kind, **(settings[0] if settings else {}))
    except Exception as error:
        _reraise_from_program(error)
        return allocate_lock()


def _changed(original, change_arguments, change_result, after):
    def wrapped(*arguments, **keywords):
        if change_arguments is not None:
            arguments, keywords = _or_as_before(change_arguments, (arguments, keywords), *arguments, **keywords)
        try:
            result = original(*arguments, **keywords)
        except BaseException as error:
            error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next  # as in `_wrapped`
            raise
        if after is not None:
            _or_as_before(after, None, result, *arguments, **keywords)
        return result if change_result is None else _or_as_before(change_result, result, result)

    _update_wrapper(wrapped, original)
    return wrapped


def _or_as_before(change, before, /, *arguments, **keywords):
    """Return the result of `change`; if it fails, the value before it."""
    try:
        with _silent():
            return change(*arguments, **keywords)
    except Exception as error:
        _reraise_from_program(error)
        return before


def _update_wrapper(function, original):
    """Do the same as functools.update_wrapper; `functools` is not always loaded."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        if hasattr(original, name):
            setattr(function, name, getattr(original, name))
    function.__dict__.update(getattr(original, "__dict__", {}))
    function.__wrapped__ = original
    function.provio = True


def _unseen_hdf5(h5py, _):
    """Wrap an h5py whose calls of HDF5 do not reach the shim, such as one loaded with RTLD_DEEPBIND."""
    import ctypes

    calls = getattr(ctypes.CDLL(None), "provio_hdf5_calls", None)  # None: there is no shim
    before = calls and calls()
    h5py.h5.get_libversion()
    if calls is None or calls() == before:
        _loaded("python.h5py.follow", then=lambda layer: layer.follow(h5py))


def _loaded(*names, then=None):
    """Import modules of the interceptors without writing byte code; `then` is called with the last one."""
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
    """Return a context in which declarations cause no warnings: the program did not make them."""
    if "_provio.recognise" not in sys.modules:
        _loaded("python.declarations", "recognise")
    return sys.modules["_provio.python.warn"].silent()
