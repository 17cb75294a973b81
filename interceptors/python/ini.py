"""INI files: a parser that has read one in, its sections out, with what is written like a number taken for one."""

from __future__ import annotations

import re
from typing import Any

INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})")
REAL = re.compile(r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][+-]?[0-9]+)?|[+-]?(inf|nan)")


def sections(value: Any) -> Any:
    """Return the sections of an INI file, each with its values and those of DEFAULT."""
    found = {name: value.items(name, raw=True) for name in value.sections()} or {
        "DEFAULT": list(value.defaults().items())
    }
    return {name: {key: value_of(text) for key, text in pairs} for name, pairs in found.items()}


def value_of(text: Any) -> Any:
    """Return what a text of an INI file stands for, where it is written like a number, `true` or `false`."""
    if type(text) is not str:  # a key without a value
        return text
    if INTEGER.fullmatch(text):
        return int(text)
    return float(text) if REAL.fullmatch(text) else {"true": True, "false": False}.get(text.lower(), text)
