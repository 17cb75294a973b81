"""Format bytes and numbers as Turtle, byte for byte as the shim."""

from __future__ import annotations

import datetime
import math
from typing import Any

ESCAPED = {byte: b"\\u00%02X" % byte for byte in (*range(0x20), 0x7F)}
ESCAPED.update({0x22: b'\\"', 0x5C: b"\\\\"})
LONGEST_NAME = 1 << 16
SHORT, MOST_CACHED = 64, 1000
_cache: dict[tuple[str, bytes], bytes] = {}  # of short names, which a program repeats
PLAIN = bytes(byte for byte in range(0x20, 0x7F) if byte not in b'"\\')
KEPT = bytes(byte for byte in range(0x21, 0x7F) if byte not in b'%"\\')


def to_bytes(value: Any) -> bytes:
    """Return a name as a C string, up to its first NUL."""
    data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
    return data.split(b"\0", 1)[0]


def is_plain(data: bytes) -> bool:
    """Whether a literal can hold the bytes without escapes."""
    return not data.translate(None, PLAIN)


def percent(data: bytes) -> bytes:
    """Return the bytes percent-encoded."""
    return b"".join(b"%c" % byte if byte in KEPT else b"%%%02X" % byte for byte in data)


def argument(data: bytes) -> bytes:
    """Return an argument of a command line, percent-encoded; an empty one is `%`."""
    return percent(data) if data else b"%"


def name(word: str, value: bytes, encoded: str | None = None) -> bytes:
    """Return ` ; :word "value"`; with the property `encoded` if the value is not UTF-8."""
    if is_plain(value):
        return b' ; :%s "%s"' % (word.encode(), value)
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return b' ; :%s "%s"' % ((encoded or word).encode(), percent(value))
    return b' ; :%s "%s"' % (word.encode(), b"".join(ESCAPED.get(byte) or b"%c" % byte for byte in value))


def number(word: str, value: int) -> bytes:
    """Return ` ; :word 12`."""
    return b" ; :%s %d" % (word.encode(), value)


def word(word: str, value: Any, longest: int = LONGEST_NAME, encoded: str | None = None) -> bytes:
    """Return a name, cut to `longest` bytes at a character's end; nothing for None."""
    if value is None:
        return b""
    if type(value) is not bytes:
        value = to_bytes(value)
    found = _cache.get((word, value))
    if found is None:
        found = _word(word, to_bytes(value), longest, encoded)
        if len(value) <= SHORT and len(_cache) < MOST_CACHED:
            _cache[word, value] = found
    return found


def _word(word: str, data: bytes, longest: int, encoded: str | None) -> bytes:
    size = min(len(data), longest)
    least = size if len(data) < longest else size - 3
    while size > least and data[size : size + 1] and data[size] & 0xC0 == 0x80:
        size -= 1
    return name(word, data[:size], encoded or word + "Encoded")


def task(number: int) -> bytes:
    """Return ` ; :task <../t3>`; nothing for 0."""
    return b" ; :task <../t%d>" % number if number else b""


def real(value: float) -> bytes:
    """Return a floating-point number with the fewest digits that parse to the same number."""
    if math.isnan(value) or math.isinf(value):
        shown = "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"
        return b'"%s"^^xsd:double' % shown.encode()
    shown, _, power = repr(float(value)).partition("e")
    sign, shown = ("-", shown[1:]) if shown[0] == "-" else ("", shown)
    whole, _, part = shown.partition(".")
    digits = (whole + part).lstrip("0")
    exponent = int(power or 0) + len(digits) - 1 - len(part) if digits else 0
    digits = digits.rstrip("0") or "0"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}".encode()


def date(nanoseconds: int) -> bytes:
    """Return an xsd:dateTime in UTC, to the microsecond."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    day = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    return b"%s.%06dZ" % (day.strftime("%Y-%m-%dT%H:%M:%S").encode(), rest // 1000)


def counters(words: list[str], digits: int = 0) -> bytes:
    """Return counters at 0, each with a label of 16 bytes and 16 digits."""
    return b"".join(b"%-16b%016d" % (b"; :" + word.encode(), digits) for word in words)


def aligned(head: bytes) -> bytes:
    """Return a block's head with spaces up to the next offset at which counters may begin, a multiple of 16."""
    return head + b" " * (-(len(head) + 1) % 16)  # 1: the block's first byte, which commits it
