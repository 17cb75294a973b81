"""Decodes bytes in the literals of a trace: paths and the arguments of commands."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

from provio.system.statx import Record

LONGEST_PATH = 1 << 16  # bytes; the shim writes 8192 at most


def decode_argv(text: str) -> list[bytes]:
    """Return the arguments of an `:argv` literal (an empty argument is `%`)."""
    return [b"" if part == "%" else unquote_to_bytes(part) for part in text.split(" ")] if text else []


def path_of(record: Record, name: str) -> bytes | None:
    """Return the path `name` of a record as bytes, from its literal or its encoded form; None if there is none or it
    cannot be a path."""
    if name in record:
        path = record[name].encode("utf-8", "surrogateescape")
    elif name + "Encoded" in record:
        path = unquote_to_bytes(record[name + "Encoded"])
    else:
        return None
    return None if b"\0" in path or len(path) > LONGEST_PATH else path
