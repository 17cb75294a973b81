"""Bytes in the literals of a trace: a record in, a path or the arguments of a command out."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

from provio.system.statx import Record

LONGEST_PATH = 1 << 16  # bytes; the shim writes 8192 at most


def decode_argv(text: str) -> list[bytes]:
    """Return the arguments of an `:argv` literal (an empty argument is `%`)."""
    return [b"" if part == "%" else unquote_to_bytes(part) for part in text.split(" ")] if text else []


def path_of(record: Record, name: str) -> bytes | None:
    """Return a path that a record states, as bytes, whichever way it is written; None where it states none, or what can
    be the name of nothing."""
    if name in record:
        path = record[name].encode("utf-8", "surrogateescape")
    elif name + "Encoded" in record:
        path = unquote_to_bytes(record[name + "Encoded"])
    else:
        return None
    return None if b"\0" in path or len(path) > LONGEST_PATH else path
