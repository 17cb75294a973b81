"""The content of files for people. In: a lineage document and a store. Out: for each small picture or table that is
still the version of the document, a picture as a data URI, or the first rows or lines.

A file is read only if its present content is the recorded one. Hidden files and folders, and names of keys and
passwords, are left out; secrets in tables and texts are redacted (`preview_secrets.py`). All limits are per page.
"""

from __future__ import annotations

import base64
import csv
import os
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote_to_bytes

from provio.ask import preview_secrets
from provio.ask.content import SAME, Contents
from provio.ask.document import LineageDocument, Node, Preview, targets
from provio.ask.target import current_version
from provio.store import Reader
from provio.system.content import QUIETLY
from provio.trace.redact import REDACTED, Redaction

LARGEST, HEAD = 200_000, 4_096  # bytes of a picture, of a text
IN_ALL, FILES = 2_000_000, 200  # bytes, files of a page
NEAR = 3  # the last parts of a path that must not be the name of a key or password
ROWS, COLUMNS, CELL, LINE = 10, 12, 40, 160
PICTURES: Final = {
    ".png": ("image/png", (b"\x89PNG\r\n\x1a\n",)), ".gif": ("image/gif", (b"GIF87a", b"GIF89a")),
    ".jpg": ("image/jpeg", (b"\xff\xd8\xff",)), ".jpeg": ("image/jpeg", (b"\xff\xd8\xff",)),
    ".svg": ("image/svg+xml", ()),
}  # fmt: skip
TABLES: Final = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
TEXTS: Final = frozenset({".txt", ".md", ".log", ".json", ".jsonl", ".ndjson"})
SECRET_NAME: Final = re.compile(
    r"secret|passw|passphrase|credential|token|cookie|private|htpasswd|id_(rsa|dsa|ecdsa|ed25519)|api[-_.]?key"
    r"|\.(pem|key|p12|pfx|jks|keystore|kdbx|gpg|asc|ovpn)(\.|$)",
    re.IGNORECASE,
)
SVG: Final = re.compile(rb"<svg[\s>]")
TAG: Final = re.compile(r"<[^>]*>")


def add(reader: Reader, document: LineageDocument, redaction: Redaction) -> None:
    """Add `previews` to a document: the targets' first, then those of the nearest files."""
    contents = Contents(reader)
    first = set(targets(document))
    wanted = [node for node in document["nodes"] if node["type"] == "FileVersion" and _is_shown(node)]
    wanted.sort(key=lambda node: (node["iri"] not in first, node.get("depth", 0), node["path"]))
    found: dict[str, Preview] = {}
    left = IN_ALL
    for node in wanted[: 10 * FILES]:
        preview = _preview(contents, node, redaction)
        size = len(str(preview)) if preview else 0
        if preview and size <= left:
            found[node["iri"]] = preview
            left -= size
        if len(found) == FILES:
            break
    if found:
        document["previews"] = found


def _is_shown(node: Node) -> bool:
    """Return whether the name of a file permits a preview, and the file is not too large for one."""
    path = node.get("path", "")
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in PICTURES and suffix not in TABLES and suffix not in TEXTS:
        return False
    if is_private(path):
        return False
    return suffix not in PICTURES or node.get("size", 0) <= LARGEST


def is_private(path: str) -> bool:
    """Return whether a file, by its name, may be a key or a setting of a user: hidden, or named like a secret."""
    parts = path.split("/")
    return any(part.startswith(".") for part in parts) or bool(SECRET_NAME.search("/".join(parts[-NEAR:])))


def _preview(contents: Contents, node: Node, redaction: Redaction) -> Preview | None:
    """Return the preview of a file; None if it is another version now, or cannot be shown."""
    encoded = node.get("pathEncoded")
    path = unquote_to_bytes(encoded) if encoded else node["path"].encode("utf-8", "surrogatepass")
    suffix = os.path.splitext(node["path"])[1].lower()
    most = LARGEST if suffix in PICTURES else HEAD
    now = contents.current(path)
    if now is None or (now != node["iri"] and contents.file(node["iri"], path).state != SAME):
        return None
    data = _read(path, most + 1)
    if not data or current_version(path) != now:
        return None
    if suffix in PICTURES:
        return _picture(data, suffix, redaction) if len(data) <= most else None
    return _head(data[:most], len(data) > most, TABLES.get(suffix), redaction)


def _read(path: bytes, most: int) -> bytes:
    """Return the first bytes of a plain file; none if it cannot be read, or its content may not be on this machine."""
    try:
        fd = os.open(path, QUIETLY)
    except OSError:
        return b""
    with os.fdopen(fd, "rb") as stream:
        facts = os.fstat(fd)
        released = facts.st_size > HEAD and facts.st_blocks * 512 * 8 < facts.st_size
        try:
            return b"" if released else stream.read(most)
        except OSError:
            return b""


def _picture(data: bytes, suffix: str, redaction: Redaction) -> Preview | None:
    kind, starts = PICTURES[suffix]
    if starts and not data.startswith(starts):
        return None
    if not starts and (not SVG.search(data) or _has_secret(data.decode("utf-8", "replace"), redaction)):
        return None
    return Preview(kind="picture", data=f"data:{kind};base64,{base64.b64encode(data).decode()}")


def _has_secret(drawing: str, redaction: Redaction) -> bool:
    """Return whether a drawing contains a secret, in its markup or in one of its texts."""
    texts = TAG.sub("\n", drawing)
    if redaction.text(drawing) != drawing or redaction.text(texts) != texts:
        return True
    return preview_secrets.is_open(texts, redaction)


def _head(data: bytes, more: bool, separator: str | None, redaction: Redaction) -> Preview | None:
    """Return the first rows of a table, or lines of a text; None for binary data."""
    try:
        text = data.decode("utf-8") if not more else data[: data.rfind(b"\n") + 1 or None].decode("utf-8", "ignore")
    except UnicodeDecodeError:
        return None
    if "\0" in text or not text.strip():
        return None
    raw = text.removeprefix("\ufeff")
    text = redaction.text(raw)
    lines = text.splitlines()
    more = more or len(lines) > ROWS
    if separator is None:
        lines = lines[:ROWS]
        if preview_secrets.is_open("\n".join(lines), redaction):
            return None
        return Preview(kind="text", text="\n".join(_cut(line, LINE) for line in lines), more=more)
    rows = _table(raw.splitlines()[: ROWS + 1], lines[: ROWS + 1], separator, redaction)
    return Preview(kind="table", rows=rows[:ROWS], more=more) if rows is not None else None


def _table(raw: list[str], lines: list[str], separator: str, redaction: Redaction) -> list[list[str]] | None:
    """Return the rows of a table without secrets; None if a cell may still contain one."""
    rows, redacted = _rows(raw, separator), _rows(lines, separator)
    if [len(row) for row in rows] != [len(row) for row in redacted]:
        return None  # a secret extends over several cells
    rows = [
        [redaction.text(clean) if cell == own else REDACTED for own, cell, clean in zip(*row, strict=True)]
        for row in zip(rows, preview_secrets.hidden(rows, redaction), redacted, strict=True)
    ]
    if any(preview_secrets.is_open(cell, redaction, cell=True) for row in rows for cell in row):
        return None
    return [[_cut(cell, CELL) for cell in row[:COLUMNS]] for row in rows]


def _rows(lines: Iterable[str], separator: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(lines, delimiter=separator) if row]
    except csv.Error:
        return [line.split(separator) for line in lines]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
