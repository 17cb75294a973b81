"""Turn calls of libraries into declarations: a file for each library, named as it is imported (see `recognising.py`).

This file has the functions that several of them need.
"""

from functools import partial
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType

# Parallel frameworks: their own functions that they pass to pools are no Tasks. Those that are have their own kinds.
FRAMEWORKS = ("dask", "distributed", "joblib", "parsl", "snakemake")
MOST_WRAPPERS = 16  # around one function


def path_of(target):
    """Return the path of a file that is saved or loaded: the path itself, or that of an open file, or None."""
    if isinstance(target, (str, bytes)) or hasattr(target, "__fspath__"):
        return target
    name = getattr(target, "name", None)
    return name if isinstance(name, str) and not name.startswith("<") else None


def step_of(value):
    """Return the step of a saved state, if it is a dictionary with a step; else None."""
    for name in ("iteration", "global_step", "step", "epoch"):
        step = value.get(name) if isinstance(value, dict) else None
        if isinstance(step, int) and not isinstance(step, bool) and step >= 0:
            return step
    return None


def metrics(declare, values, step):
    """Declare the numbers among named values as metrics."""
    for name, value in values.items():
        if name != "epoch" and not isinstance(value, (str, bytes, bool)):
            declare.metric(str(name), value, step=step)


# ---- Tasks of parallel frameworks


class _Failed(Exception):
    """Gives a Task the status `error`."""


def item(function, kind, failed=None, handed=()):
    """Return a function that does the same as one that a program passed to a framework, as a Task; the function itself
    if it belongs to a framework, or is a Task already. `failed` returns whether a result stands for an error; `handed`
    is the key of the call, and when a thread of this process passed it on (s since 1970)."""
    if type(function) is FunctionType and "provio_task" in function.__dict__:
        return function
    name = function_name(function)
    return function if name.partition(".")[0] in FRAMEWORKS else _as_task(function, name, kind, failed, handed)


def _as_task(function, name, kind, failed, handed):
    """Return a function that calls another one as a Task. The Task ends before the result is passed on: another thread
    may use it at once."""
    from _provio.python.declarations import activity
    from _provio.python.pool_calls import ran

    def within(*arguments, **keywords):
        try:
            with activity(name, kind) as entered:
                ran(entered.number, function, arguments, keywords, *handed)
                try:
                    result = function(*arguments, **keywords)
                except BaseException as error:
                    error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next  # without this line
                    raise
                if failed is not None and failed(result):
                    raise _Failed
        except _Failed:
            pass
        return result

    within.provio_task = True
    return within


def function_name(function):
    """Return the module and the qualified name of a callable object, or those of its class. Calls no method of it."""
    if type(function) is FunctionType and not function.__dict__:  # as most are
        return _joined(function.__module__, function.__qualname__)
    for _ in range(MOST_WRAPPERS):
        inner = _inner(function)
        if inner is None:
            break
        function = inner
    kind = type(function)
    if issubclass(kind, type):
        return _joined(*_class_names(function))
    name = _described(function, "__qualname__") or _described(function, "__name__")
    return _joined(_described(function, "__module__"), name) if name else _joined(*_class_names(kind))


def _inner(function):
    """Return the function that a callable object wraps or binds; None: none."""
    if type(function) is MethodType:
        return function.__func__
    if not issubclass(type(function), partial):
        found = _attributes(function)
        return found.get("__wrapped__") if type(found) is dict else None
    inner = function.func
    passed_on = type(inner) is BuiltinFunctionType and inner.__name__ == "run"  # of a Context, as asyncio calls it
    if type(inner) is FunctionType:
        passed_on = str(inner.__module__).partition(".")[0] in FRAMEWORKS
    return function.args[0] if passed_on and function.args else inner


def _attributes(value):
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None


def _described(value, name):
    """Return an attribute that a class written in C defines, such as the name of a function; else None."""
    for kind in type.__getattribute__(type(value), "__mro__"):
        found = type.__getattribute__(kind, "__dict__").get(name)
        if type(found) in (GetSetDescriptorType, MemberDescriptorType):
            return found.__get__(value)
    return None


def _class_names(kind):
    return [type.__getattribute__(kind, name) for name in ("__module__", "__qualname__")]


def _joined(module, name):
    """Return both names as one; the main module has the same name in all processes."""
    name = name if type(name) is str else "?"
    if type(module) is not str or module == "builtins":
        return name
    return f"{'__main__' if module == '__mp_main__' else module}.{name}"
