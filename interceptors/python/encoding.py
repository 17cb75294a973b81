"""Encode names and texts of the program: any value in, UTF-8 bytes without NUL out."""

from __future__ import annotations

from .guard import description

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from typing import Any

LONGEST = 64 * 1024  # bytes
MOST_CACHED = 4096
_cache: dict[str, bytes] = {}  # a program repeats the same names


def encode(value: Any) -> bytes:
    """Return a name as it is recorded."""
    if type(value) is not str:
        value = _string(value)
    found = _cache.get(value)
    if found is None:
        found = encode_text(value)
        if len(_cache) < MOST_CACHED and len(found) <= 256:
            _cache[value] = found
    return found


def encode_optional(value: Any) -> bytes | None:
    """Return the same, or None for None."""
    return None if value is None else encode(value)


def encode_text(value: str) -> bytes:
    """Return a text as bytes, without the passwords of URLs, cut to LONGEST at a character's end."""
    if "@" in value and "//" in value:
        from .secret_words import without_passwords  # slow to import, and rarely needed

        value = without_passwords(value)
    found = value.replace("\0", "").encode("utf-8", "surrogatepass")
    return found if len(found) <= LONGEST else found[:LONGEST].decode("utf-8", "ignore").encode()


def _string(value: Any) -> str:
    if isinstance(value, str):
        return str.__str__(value)
    return value.decode("utf-8", "replace") if type(value) is bytes else description(value)
