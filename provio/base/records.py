"""Record classes: like `dataclass`, at a fifth of its start-up cost.

`dataclass` compiles up to six methods per class, which took a seventh of the time of `provio run -- true`. Here only
`__init__` is compiled; all classes share the other methods. Only mypy checks that no code assigns to a frozen
instance.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

Class = TypeVar("Class", bound=type)
MISSING = object()


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
    """Make a class from its annotated names. Instances are equal if all values are equal, and hashable if `frozen`."""

    def make(cls: Class) -> Class:
        names = tuple(cls.__annotations__)
        defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
        methods: dict[str, Any] = {"__eq__": _equal, "__repr__": _shown, "__hash__": _hash if frozen else None}
        methods |= {"_names": names, "_values": staticmethod(attrgetter(*names))}
        kept = {name: value for name, value in cls.__dict__.items() if name not in names}
        if slots:
            kept = {name: value for name, value in kept.items() if name not in ("__dict__", "__weakref__")}
            cls = type(cls)(cls.__name__, cls.__bases__, {**kept, "__slots__": names})
        for name, value in methods.items():
            setattr(cls, name, value)
        _make_later(cls, names, defaults)
        return cls

    return make


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
        if hasattr(default, "default_factory"):  # a `field`, a key of the settings, or a field of `dataclasses`
            space[f"make_{name}"] = default.default_factory
            arguments.append(f"{name}=missing")
            lines.append(f" self.{name} = make_{name}() if {name} is missing else {name}")
            continue
        space[f"default_{name}"] = default
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
