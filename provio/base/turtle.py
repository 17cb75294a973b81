"""Writes RDF terms as text (N-Triples literals and IRIs), escaped so that no name can end its quotes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import IO
from urllib.parse import quote, quote_from_bytes

from provio.base.records import pattern

XSD = "http://www.w3.org/2001/XMLSchema#"
PATH_SAFE = "/-._~!$&'()*+,;=:@"
_SPECIAL = pattern(r'[\x00-\x1f"\\\x7f\ud800-\udfff\ufffe\uffff]')
# In UTF-8: C0 except layout characters, DEL, C1, and the marks and overrides of direction; no letters.
_OBEYED = pattern(
    rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8b\x8e\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf"
)
_CONTROLS = bytes({*range(0x20), 0x7F} - set(b"\t\n\r"))  # those of `_OBEYED` in ASCII
_PLAIN_PATH = pattern(rb"[A-Za-z0-9/\-._~!$&'()*+,;=:@]*")
_PLAIN_SEGMENT = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if "\ud800" <= char <= "\udfff":
        return "\ufffd"
    return _NAMED.get(char) or f"\\u{ord(char):04X}"


def literal(text: str) -> str:
    """Return `text` as a quoted literal, valid in N-Triples and Turtle; lone surrogates become U+FFFD."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{_SPECIAL.sub(_escape, text)}"'


def inert(document: bytes) -> bytes:
    """Return a Turtle, TriG or N-Quads document with the characters escaped that a terminal would interpret or that
    change the direction of writing. Its meaning is unchanged."""
    if document.isascii() and len(document.translate(None, _CONTROLS)) == len(document):
        return document  # the usual case, ten times as fast as the pattern
    return _OBEYED.sub(lambda match: b"\\u%04X" % ord(match[0].decode()), document)


class InertOutput:
    """A binary file for a serializer: passes complete lines on to `output`, each made inert."""

    def __init__(self, output: IO[bytes]) -> None:
        self._output, self._rest = output, b""

    def write(self, data: bytes) -> int:
        """Write the lines that are complete now."""
        end = data.rfind(b"\n") + 1
        if end:
            self._output.write(inert(self._rest + data[:end]))
            self._rest = data[end:]
        else:
            self._rest += data
        return len(data)

    def flush(self) -> None:
        """Do nothing: the last line may be incomplete."""

    def end(self) -> None:
        """Write the last line, if it has no end."""
        self._output.write(inert(self._rest))
        self._rest = b""


def integer(number: int) -> str:
    """Return `number` as an xsd:integer."""
    return f'"{number}"^^<{XSD}integer>'


def boolean(value: bool) -> str:
    """Return `value` as an xsd:boolean."""
    return f'"{str(value).lower()}"^^<{XSD}boolean>'


def instant(ns: int) -> str:
    """Return nanoseconds since 1970 as an xsd:dateTime in UTC with six fractional digits (other stores cut more)."""
    return f'"{instant_text(ns)}"^^<{XSD}dateTime>'


def instant_text(ns: int) -> str:
    """Return the lexical form of `instant`; times outside the calendar are clamped to the years 1 to 9999."""
    seconds, rest = divmod(ns, 1_000_000_000)
    second = _second(seconds)
    return f"{second}.{rest // 1000:06d}Z" if second else "0001-01-01T00:00:00.000000Z"


@lru_cache(maxsize=4096)
def _second(seconds: int) -> str:
    """Return the seconds part of an instant, empty before the year 1000. Cached, because a run has few different
    seconds."""
    from datetime import UTC, datetime  # slow to import, and recording needs no calendar

    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        moment = datetime.min if seconds < 0 else datetime.max
    return f"{moment:%Y-%m-%dT%H:%M:%S}" if moment.year > 999 else ""


def segment(text: str | bytes) -> str:
    """Return one path segment of an IRI, percent-encoded."""
    if isinstance(text, bytes):
        return quote_from_bytes(text, safe="-._~")
    return text if _PLAIN_SEGMENT.issuperset(text) else quote(text, safe="-._~")


def path_iri(path: bytes) -> str:
    """Return a path, percent-encoded as an IRI requires; slashes are kept."""
    if _PLAIN_PATH.fullmatch(path):
        return path.decode("ascii")
    return quote_from_bytes(path, safe=PATH_SAFE)


def encode_argv(arguments: list[bytes]) -> str:
    """Return a command line in the trace format: arguments percent-encoded, joined by spaces; `%` for an empty
    argument."""
    safe = bytes(set(range(0x21, 0x7F)) - {0x25}).decode()
    return " ".join(quote_from_bytes(argument, safe=safe) or "%" for argument in arguments)


def text_or_encoded(name: str, value: bytes) -> tuple[str, str]:
    """Return a property's name and literal for bytes: unchanged if they are UTF-8, else percent-encoded under
    `nameEncoded`."""
    try:
        return name, literal(value.decode("utf-8"))
    except UnicodeDecodeError:
        return name + "Encoded", literal(quote_from_bytes(value, safe=PATH_SAFE))
