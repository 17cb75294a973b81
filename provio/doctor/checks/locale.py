"""The locale: whether names that are no ASCII can be shown."""

from __future__ import annotations

import locale
from collections.abc import Iterator

from provio.doctor import Finding, Place, note, ok

ABOUT = "locale"


def look(place: Place) -> Iterator[Finding]:  # noqa: ARG001
    """Yield how answers are written."""
    encoding = locale.getencoding()
    if encoding.lower().replace("-", "") == "utf8":
        yield ok(f"{encoding}")
    else:
        yield note(
            f"{encoding}: answers are in ASCII, other characters written out; what is recorded is the same",
            "export LC_ALL=C.UTF-8",
        )
