"""Says settings of a Task, a Configuration or an entity: its number and any values in, typed records out."""

from __future__ import annotations

from .values import INTEGERS, LONGEST, Taken
from .words import encoded, text

TYPE_CHECKING = False  # what is for types alone is dear to load
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


def say(found: Any, number: int, values: Any) -> Taken:
    """Say each setting to the recorder; return what was taken, and what not."""
    taken = Taken()
    for name, sort, value in taken.settings(values):
        if sort == "text":
            found.setting_text(number, text(name), encoded(value))
        elif sort == "dateTime":
            found.setting_typed(number, text(name), value.encode(), b"dateTime")
        elif sort == "truth":
            found.setting_truth(number, text(name), int(value))
        else:
            getattr(found, "setting_" + sort)(number, text(name), value)
    return taken


def say_attributes(found: Any, number: int, attributes: Mapping[str, Any]) -> None:
    """Say the same of a few values that are plain, as most attributes are, without looking for more in them."""
    for name, value in attributes.items():
        kind = type(value)
        if "." in name or "\\" in name:
            say(found, number, {name: value})
        elif kind is int and value in INTEGERS:
            found.setting_integer(number, text(name), value)
        elif kind is float:
            found.setting_real(number, text(name), value)
        elif kind is str and len(value) <= LONGEST:
            found.setting_text(number, text(name), encoded(value))
        else:
            say(found, number, {name: value})
