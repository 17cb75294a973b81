"""Record classes and regular expressions that are compiled at their first use.

`dataclass` compiles up to six methods per class, which took a seventh of the time of `provio run -- true`. Here only
`__init__` is compiled; all classes share the other methods. Only mypy checks that no code assigns to a frozen
instance. Compiling the patterns of redaction and of vocabulary terms took a third of the time of a `provio run` that
uses none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any, AnyStr, TypeVar, cast, dataclass_transform

Class = TypeVar("Class", bound=type)
MISSING = object()
METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub")


class Field:
    """A field with a default that is created for each instance."""

    __slots__ = ("default_factory",)

    def __init__(self, default_factory: Callable[[], Any]) -> None:
        self.default_factory = default_factory


def field(*, default_factory: Callable[[], Any]) -> Any:
    """Declare a field with a default factory."""
    return Field(default_factory)


@dataclass_transform(field_specifiers=(field,))
def plain(*, frozen: bool = False, slots: bool = False) -> Callable[[Class], Class]:
    """Return a decorator that makes a record class from the annotated names of a class. Instances are equal if all
    values are equal, and hashable if `frozen`."""
    return partial(_record_class, is_frozen=frozen, slots=slots)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Class) -> Class:
    """Make a record class with immutable, hashable instances."""
    return _record_class(cls, is_frozen=True, slots=False)


def _record_class(cls: Class, is_frozen: bool, slots: bool) -> Class:
    names = tuple(cls.__annotations__)
    defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    methods: dict[str, Any] = {"__eq__": _equal, "__repr__": _shown, "__hash__": _hash if is_frozen else None}
    methods |= {"_names": names, "_values": staticmethod(attrgetter(*names))}
    kept = {name: value for name, value in cls.__dict__.items() if name not in names}
    if slots:
        kept = {name: value for name, value in kept.items() if name not in ("__dict__", "__weakref__")}
        cls = type(cls)(cls.__name__, cls.__bases__, {**kept, "__slots__": names})
    for name, value in methods.items():
        setattr(cls, name, value)
    _make_later(cls, names, defaults)
    return cls


Instance = TypeVar("Instance")


def replace(one: Instance, **values: Any) -> Instance:
    """Return a copy of an instance with some values replaced, as `dataclasses.replace` does."""
    kept = {name: getattr(one, name) for name in one._names}  # type: ignore[attr-defined]
    return type(one)(**(kept | values))


def values(one: object) -> tuple[Any, ...]:
    """Return the values of an instance, in the order of its annotations."""
    return tuple(getattr(one, name) for name in one._names)  # type: ignore[attr-defined]


def _make_later(cls: Any, names: tuple[str, ...], defaults: dict[str, Any]) -> None:
    """Compile `__init__` at the first instance: half of the classes have no instance in a process."""

    def first(self: Any, *arguments: Any, **named: Any) -> None:
        cls.__init__ = _init(names, defaults)
        cls.__init__(self, *arguments, **named)

    cls.__init__ = first


def _init(names: tuple[str, ...], defaults: dict[str, Any]) -> Callable[..., None]:
    """Compile `__init__`; the default of a `field` is created for each instance."""
    space: dict[str, Any] = {"missing": MISSING}
    arguments, lines = ["self"], []
    for name in names:
        default = defaults.get(name, MISSING)
        if hasattr(default, "default_factory"):  # also true of a field of the standard library's dataclasses
            space[f"make_{name}"] = default.default_factory
            arguments.append(f"{name}=missing")
            lines.append(f" self.{name} = make_{name}() if {name} is missing else {name}")
            continue
        space[f"default_{name}"] = getattr(default, "default", default)  # a key of the settings has its default
        arguments.append(name if default is MISSING else f"{name}=default_{name}")
        lines.append(f" self.{name} = {name}")
    exec(f"def __init__({', '.join(arguments)}):\n" + "\n".join(lines), space)  # noqa: S102 (names of annotations)
    return space["__init__"]  # type: ignore[no-any-return]


def _equal(self: Any, other: Any) -> Any:
    if self.__class__ is not other.__class__:
        return NotImplemented
    return self is other or self._values(self) == self._values(other)


def _hash(self: Any) -> int:
    return hash(self._values(self))


def _shown(self: Any) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._names)})"


class _Pattern:
    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._text, self._flags)
        for method in METHODS:  # later calls find the methods directly
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return an object with the methods of `re.Pattern` that compiles its text at first use."""
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))
