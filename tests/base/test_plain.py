"""Record classes behave like `dataclass` with the same text: construction, comparison, hash and repr."""

from __future__ import annotations

import dataclasses
import pickle
from dataclasses import dataclass

import pytest

from provio.base.records import field, plain


@plain(frozen=True, slots=True)
class Slotted:
    name: str
    size: int = 3


@plain()
class Open:
    name: str
    size: int = 3
    inner: list[int] = field(default_factory=list)

    @property
    def twice(self) -> int:
        return 2 * self.size


@dataclass
class Model:
    name: str
    size: int = 3
    inner: list[int] = dataclasses.field(default_factory=list)


def test_as_a_dataclass() -> None:
    """Values and defaults, by place and by name; lists that are not shared; equality; the text that is shown."""
    for arguments, named in ((("a",), {}), (("a", 4), {}), (("a",), {"inner": [1]}), ((), {"size": 1, "name": "b"})):
        made, model = Open(*arguments, **named), Model(*arguments, **named)  # type: ignore[arg-type]
        assert (made.name, made.size, made.inner) == (model.name, model.size, model.inner)
        assert repr(made) == repr(model).replace("Model", "Open")
    assert Open("a").inner is not Open("a").inner
    assert (Open("a") == Open("a"), Open("a") == Open("b"), Open("a") == "a") == (True, False, False)
    assert Open("a", 4).twice == 8
    with pytest.raises(TypeError, match="missing 1 required"):
        Open()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unhashable"):
        hash(Open("a"))


def test_frozen_ones_are_keys_and_slotted_ones_have_no_more() -> None:
    """Equal ones are one key; there is no room for another attribute; a copy that was sent is the same."""
    assert {Slotted("a"): 1}[Slotted("a", 3)] == 1
    assert not hasattr(Slotted("a"), "__dict__")
    assert pickle.loads(pickle.dumps(Slotted("a"))) == Slotted("a")
