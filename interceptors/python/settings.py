"""Says settings of a Task, a Configuration or an entity: its number and any values in, typed records out."""

from __future__ import annotations

from typing import Any

from .values import Taken
from .words import encoded, text


def say(found: Any, number: int, values: Any) -> Taken:
    """Say each setting to the recorder; return what was taken, and what not."""
    taken = Taken()
    said = {
        "text": lambda name, value: found.setting_text(number, name, encoded(value)),
        "integer": lambda name, value: found.setting_integer(number, name, value),
        "real": lambda name, value: found.setting_real(number, name, value),
        "truth": lambda name, value: found.setting_truth(number, name, int(value)),
        "dateTime": lambda name, value: found.setting_typed(number, name, value.encode(), b"dateTime"),
    }
    for name, sort, value in taken.settings(values):
        said[sort](text(name), value)
    return taken
