"""Regular expressions that are compiled when they are first used: the text of one in, a pattern as `re` makes it out.

To compile those of redaction and of terms alone took a third of the time of a `provio run` that uses none of them.
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
        for method in METHODS:  # from now on they are found at once
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern that is not compiled yet."""
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))
