"""Describe the arguments of a task: a function and its arguments in, a short JSON text out.

The text has types, shapes and short values. No code of the program is called, not even `__repr__`; a value that may be
a secret is left out.
"""

from __future__ import annotations

import _thread
import json
import re
from collections.abc import Mapping
from itertools import islice

from .events import key_text, type_name
from .secret_words import REDACTED, is_secret

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

MOST_ARGUMENTS, MOST_ITEMS, DEEPEST = 20, 5, 2
LONGEST = 120  # characters of a text
LARGEST = 1 << 63
# Texts that may be or contain a secret: words for secrets, addresses with a user, long words of letters and digits.
SUSPECT = re.compile(r"(?i)pass|secret|token|credential|auth|key\s*[=:]|@|\b(?=\w*\d)(?=\w*[a-z])[\w+-]{20,}")
ARRAYS = frozenset("numpy pandas torch cupy scipy xarray dask pyarrow tensorflow jax jaxlib".split())
NOTHING: Mapping[int, Any] = {}
_local = _thread._local()
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, allow_nan=True).encode


def describe(
    function: Any, arguments: Iterable[Any], keywords: Mapping[str, Any], results: Mapping[int, Any] = NOTHING
) -> str:
    """Return `[function, [argument, …], {name: argument, …}]` as JSON, without empty parts at the end. `results` are
    the keys of other tasks' results that are among the arguments, by the identity of the objects."""
    _local.results = results
    found: list[Any] = [function_name(function), [_described(one, 0) for one in tuple(arguments)[:MOST_ARGUMENTS]]]
    if keywords:
        items = list(keywords.items())[:MOST_ARGUMENTS]
        found.append({name: _named(name, value) for name, value in items if type(name) is str})
    elif not found[1]:
        del found[1]
    return _encode(found)


def described(values: Mapping[Any, Any]) -> dict[str, Any]:
    """Return descriptions of named values, as of arguments."""
    _local.results = NOTHING
    items = islice(values.items(), MOST_ARGUMENTS)
    return {name[:LONGEST]: _named(name, value) for name, value in items if type(name) is str}


def function_name(function: Any) -> str:
    """Return the module and name of a function; the type of any other callable object."""
    name, module = getattr(function, "__qualname__", None), getattr(function, "__module__", None)
    if type(name) is not str:
        return type_name(function)
    return f"{module}.{name}" if type(module) is str and module else name


def _named(name: str, value: Any) -> Any:
    return REDACTED if type(value) in (str, bytes) and is_secret(name, str(value)) else _described(value, 0)


def _described(value: Any, depth: int) -> Any:
    kind = type(value)
    if _local.results and id(value) in _local.results:
        return {"task": key_text(_local.results[id(value)])}
    if value is None or kind is bool or kind is float:
        return value
    if kind is int:
        return value if -LARGEST <= value < LARGEST else {"type": "int"}
    if kind is str:
        return value if len(value) <= LONGEST and not SUSPECT.search(value) else {"type": "str", "size": len(value)}
    if kind in (list, tuple, set, frozenset, dict, bytes):
        return _container(value, kind, depth)
    return _object(value, kind, depth)


def _object(value: Any, kind: type, depth: int) -> Any:
    if kind.__module__ == "dask._task_spec" and hasattr(kind, "substitute"):
        return _node(value, depth)
    found: dict[str, Any] = {"type": type_name(kind)}
    if kind.__module__.partition(".")[0] in ARRAYS:
        _add_shape(found, value)
    elif callable(value) and hasattr(value, "__qualname__"):
        found = {"function": function_name(value)}
    return found


def _container(value: Any, kind: type, depth: int) -> Any:
    if kind in (list, tuple) and len(value) <= MOST_ITEMS and depth < DEEPEST:
        return [_described(one, depth + 1) for one in value]
    found: dict[str, Any] = {"type": kind.__name__, "size": len(value)}
    items = () if kind is bytes else value.values() if kind is dict else value
    some = [one for one in islice(items, MOST_ARGUMENTS) if one is not None]
    first = next((one for one in some if type(one) is not str), some[0] if some else None)
    return found if first is None else found | {"of": type_name(first)}


def _node(value: Any, depth: int) -> Any:
    """Describe a node of a graph of Dask: a reference to another task, or a nested call."""
    name = type(value).__name__
    if name in ("TaskRef", "Alias"):
        return {"task": key_text(getattr(value, "target", None) or value.key)}
    if name == "DataNode":
        return _described(value.value, depth)
    if getattr(value, "klass", None) in (list, tuple, set):
        return _container(list(value.args), list, depth)
    function = getattr(value, "func", None)
    return {"function": function_name(function)} if function is not None else {"type": type_name(value)}


def _add_shape(found: dict[str, Any], value: Any) -> None:
    try:
        shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
        if isinstance(shape, tuple) and all(type(one) is int for one in shape):
            found["shape"] = list(shape)
        if dtype is not None and type(dtype).__module__.partition(".")[0] in ARRAYS:
            found["dtype"] = str(dtype)[:LONGEST]
    except Exception:  # noqa: S110  # a property of the library failed: its type is enough
        pass
