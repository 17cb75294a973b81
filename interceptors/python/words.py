"""Names that a program gives to things: any value in, bytes of UTF-8 without NUL out."""

from __future__ import annotations

from .foreign import description

TYPE_CHECKING = False  # what is for types alone is dear to load
if TYPE_CHECKING:
    from typing import Any

LONGEST = 64 * 1024  # bytes: more than one reads
_known: dict[str, bytes] = {}  # encoded before: a program says the same names again and again
MOST_KNOWN = 4096


def text(value: Any) -> bytes:
    """Return a name as it is recorded."""
    if type(value) is not str:
        value = _string(value)
    found = _known.get(value)
    if found is None:
        found = encoded(value)
        if len(_known) < MOST_KNOWN and len(found) <= 256:
            _known[value] = found
    return found


def optional(value: Any) -> bytes | None:
    """Return the same, or None for None."""
    return None if value is None else text(value)


def encoded(value: str) -> bytes:
    """Return a text as bytes, no more than so many, whole characters, without the passwords of addresses in it."""
    if "@" in value and "//" in value:
        from .addresses import without_passwords  # dear to load, and seldom needed

        value = without_passwords(value)
    found = value.replace("\0", "").encode("utf-8", "surrogatepass")
    return found if len(found) <= LONGEST else found[:LONGEST].decode("utf-8", "ignore").encode()


def _string(value: Any) -> str:
    if isinstance(value, str):
        return str.__str__(value)
    return value.decode("utf-8", "replace") if type(value) is bytes else description(value)
