"""Decompose a value of the program: an object in, its keys and values out, by its class.

Values are not compared, and attributes are read only with `guard.guarded`. Classes of libraries are recognised by the
names of their modules; no library is imported.
"""

from __future__ import annotations

import sys
from _collections_abc import Mapping

from .guard import CallFailed, guarded, reraise_from_program

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

MOST_ITEMS = 100  # of an array whose items become settings; a larger one becomes one text
MOST_BYTES = 64 * 1024 * 1024  # of an array that is hashed


class Parts:
    """Pairs of key and value; `named` if the keys are names. An exception during the iteration ends the pairs."""

    def __init__(self, pairs: Iterable[Any], named: bool = True) -> None:
        self.pairs = pairs
        self.named = named

    def __iter__(self) -> Iterator[Any]:
        try:
            pairs = guarded(iter, self.pairs)
            while True:
                pair = guarded(next, pairs, None)
                if pair is None:
                    return
                key, value = pair
                yield key, value
        except (CallFailed, TypeError, ValueError):
            yield "…", "more, which cannot be read"


class BuiltinParts(Parts):
    """The parts of one of Python's own containers, whose iteration does not raise."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self.pairs)


def parts(value: Any) -> Parts | None:
    """Return the parts of a value; None if it has none."""
    kind = type(value)
    if kind is dict:
        return BuiltinParts(list(value.items()))
    if kind in (list, tuple):
        return BuiltinParts(enumerate(list(value)), named=False)
    for matches, take in KINDS:
        try:
            if matches(kind):
                found: Parts | None = take(value)
                return found
        except Exception as error:  # a later row may match
            reraise_from_program(error)
    return None


def is_array(kind: type) -> bool:
    """Whether a class is one of arrays, or of their elements."""
    return _of(*ARRAYS)(kind) and hasattr(kind, "shape")


def content(value: Any) -> bytes:
    """Return the bytes of an array; raise ValueError if it has more than MOST_BYTES."""
    value = value.detach().cpu().numpy() if _module(type(value)) == "torch" else value
    if value.nbytes > MOST_BYTES:
        raise ValueError
    return bytes(value.tobytes())


def _module(kind: Any) -> str:
    return str(type.__getattribute__(kind, "__module__")).partition(".")[0]


def _names(value: Any, names: Iterable[str]) -> Parts:
    return Parts([(name, _attribute(value, name)) for name in names])


def _attribute(value: Any, name: str) -> Any:
    try:
        return guarded(getattr, value, name)
    except CallFailed:
        return "(cannot be read)"


def _variables(value: Any) -> Parts:
    return Parts(list(guarded(vars, value).items()))


def _mapping(value: Any) -> Parts:
    return Parts(_items(value))


def _items(value: Any) -> Iterator[Any]:  # a generator, whose first step is guarded too
    for key in value:
        yield key, value[key]


def _omegaconf(value: Any) -> Parts | None:
    to_container = sys.modules["omegaconf"].OmegaConf.to_container
    try:
        plain = guarded(lambda: to_container(value, resolve=True), seconds=1)
    except CallFailed:  # an interpolation refers to a missing key
        plain = guarded(lambda: to_container(value, resolve=False), seconds=1)
    return parts(plain)


def _ini(value: Any) -> Parts | None:
    from .documents import ini_sections

    return parts(ini_sections(value))


def _class(value: type) -> Parts:
    names = [name for name in vars(value) if not name.startswith("__")]
    plain = [(name, vars(value)[name]) for name in names]
    return Parts([(name, each) for name, each in plain if not callable(each) and not hasattr(type(each), "__get__")])


def _set(value: Any) -> Parts:
    items = list(frozenset.__iter__(value) if isinstance(value, frozenset) else set.__iter__(value))
    try:
        items = guarded(sorted, items)
    except CallFailed:
        items = guarded(lambda: sorted(items, key=repr))
    return Parts(enumerate(items), named=False)


def _array(value: Any) -> Parts | None:
    shape = guarded(getattr, value, "shape")
    size = 1
    for length in shape:
        size *= int(length)
    return Parts(enumerate(guarded(value.tolist)), named=False) if shape and size <= MOST_ITEMS else None


def _of(*modules: str) -> Callable[[Any], bool]:
    return lambda kind: any(_module(base) in modules for base in kind.__mro__)


def _under(base: type) -> Callable[[Any], bool]:
    return lambda kind: issubclass(kind, base)


def _has(word: str) -> Callable[[Any], bool]:
    return lambda kind: hasattr(kind, word)


ARRAYS = ("numpy", "torch", "jax", "jaxlib", "cupy", "tensorflow")
KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Any]], ...] = (
    (_of("omegaconf"), _omegaconf),
    (_of("ml_collections"), lambda value: Parts(list(guarded(value.items)))),
    (is_array, _array),
    (_of("configparser"), _ini),
    (_under(Mapping), _mapping),
    (_has("__dataclass_fields__"), lambda value: _names(value, list(type(value).__dataclass_fields__))),
    (_has("__attrs_attrs__"), lambda value: _names(value, [each.name for each in type(value).__attrs_attrs__])),
    (_has("_fields"), lambda value: _names(value, list(type(value)._fields))),
    (_of("argparse", "types", "pydantic"), _variables),
    (_has("flag_values_dict"), lambda value: Parts(list(guarded(value.flag_values_dict).items()))),
    (_under(type), _class),
    (_under(list), lambda value: Parts(enumerate(list.__iter__(value)), named=False)),
    (_under(tuple), lambda value: Parts(enumerate(tuple.__iter__(value)), named=False)),
    (lambda kind: issubclass(kind, (set, frozenset)), _set),
    (lambda kind: kind is range, lambda value: Parts(enumerate(value), named=False) if len(value) < 10 else None),
)
