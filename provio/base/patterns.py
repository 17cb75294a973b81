"""Regular expressions that are compiled at their first use.

Compiling the patterns of redaction and of vocabulary terms took a third of the time of a `provio run` that uses none
of them.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub")


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
