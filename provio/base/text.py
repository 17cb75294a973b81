"""Makes any string safe to show: one line that a terminal or a page shows literally.

File names may contain anything: terminal escapes, newlines, marks that change the direction of writing, bytes that
are not UTF-8. Characters with an effect are escaped (`\\x1b`, `\\n`, `\\u202e`); undecodable bytes become U+FFFD.
"""

from __future__ import annotations

import unicodedata
from datetime import datetime

from provio.base.sizes import size as size  # noqa: PLC0414

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Cc, Cf: control and format characters; Cs: lone surrogates; Co, Cn: no agreed glyph; Zl, Zp: line ends.
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def printable(text: str, unicode: bool = True) -> str:
    """Return `text` with characters that a terminal would interpret escaped; without `unicode`, all but ASCII."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character, unicode) for character in text)


def _shown(character: str, unicode: bool) -> str:
    if "\ud800" <= character <= "\udfff":
        return "\ufffd" if unicode else "\\ufffd"
    if character in _SHORT:
        return _SHORT[character]
    if character.isascii():
        return character if character.isprintable() else f"\\x{ord(character):02x}"
    if unicode and unicodedata.category(character) not in _HIDDEN:
        return character
    return escaped(character)


def escaped(character: str) -> str:
    """Return one character as Python escapes it in a string: `\\xe9`, `\\u202e`, `\\U0001f600`."""
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def columns(text: str) -> int:
    """Return the number of terminal columns of a printable text: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut_end(text: str, room: int, unicode: bool = True) -> str:
    """Return `text` in at most `room` columns; an ellipsis replaces the end that does not fit."""
    if columns(text) <= room:
        return text
    mark = "…" if unicode else "..."
    return _head(text, room - len(mark)) + mark


def cut_list(text: str, room: int, unicode: bool = True) -> str:
    """Return a list `title: name value, name value` in at most `room` columns, cut after a value; if not even the first
    fits, within it."""
    if columns(text) <= room:
        return text
    mark = " …" if unicode else " ..."
    kept = _head(text, room - len(mark) + 2)  # with the `, ` that follows
    whole = kept.rpartition(", ")[0]
    return whole + mark if whole else cut_end(text, room, unicode)


def fit(text: str, facts: str, room: int, unicode: bool, path: bool) -> tuple[str, str]:
    """Return a printable text (a path is cut in the middle) and facts to show after it, in at most `room` columns."""
    text, facts = printable(text, unicode), printable(facts, unicode)
    free = room - columns(facts) - 2
    if facts and free < min(columns(text), 20):
        facts = cut_end(facts, max(room - min(columns(text), 20) - 2, 0), unicode)
        free = room - columns(facts) - 2
    cut = cut_path if path else cut_end
    return cut(text, free if facts else room, unicode), facts


def folded(text: str, room: int, unicode: bool = True, most: int = 6) -> list[str]:
    """Return `text` in at most `most` lines of at most `room` columns, broken at spaces; the rest is cut."""
    lines: list[str] = []
    for word in text.split(" "):
        if lines and columns(lines[-1]) + 1 + columns(word) <= room:
            lines[-1] += " " + word
        else:
            lines.append(word)
    kept = lines if len(lines) <= most else [*lines[: most - 1], " ".join(lines[most - 1 :])]
    return [cut_end(line, room, unicode) for line in kept]


def cut_path(path: str, room: int, unicode: bool = True) -> str:
    """Return `path` in at most `room` columns, cut in the middle; the last component is kept in full if it fits."""
    if columns(path) <= room:
        return path
    mark = "…" if unicode else "..."
    free = max(room - len(mark), 2)
    name = columns("/" + path.rstrip("/").rsplit("/", 1)[-1]) + path.endswith("/")
    tail = name if name <= free else free // 2
    return _head(path, free - tail) + mark + _head(path[::-1], tail)[::-1]


def _head(text: str, room: int) -> str:
    used = 0
    for place, character in enumerate(text):
        used += _width(character)
        if used > room:
            return text[:place]
    return text


def shorter_path(path: str, folder: str | None) -> str:
    """Return `path` relative to `folder` if that is shorter. A path with `..` is kept: the component before may be a
    link."""
    if folder and path.startswith(folder + "/") and "/." not in path and "//" not in path and path[-1] != "/":
        return path[len(folder) + 1 :]
    parts = path.split("/")
    if folder in (None, "", "/") or parts[0] or not {"..", ".", ""}.isdisjoint(parts[1:]):
        return path
    here = [part for part in folder.split("/") if part]
    same = next((n for n, pair in enumerate(zip(parts[1:], here, strict=False)) if pair[0] != pair[1]), len(here))
    relative = "/".join([".."] * (len(here) - same) + parts[1 + same :])
    return relative if relative and len(relative) < len(path) else path


def moment(time: str) -> str:
    """Format an xsd:dateTime in UTC, to the second: `2026-11-20 12:15:46 UTC`."""
    return time[:19].replace("T", " ") + " UTC"


def sortable(time: str) -> str:
    """Return a text that sorts an xsd:dateTime in UTC by its time: stores omit zeros at the end of the fraction, and
    `Z` sorts after the full stop and after digits."""
    return time.removesuffix("Z")


def seconds(start: str, end: str) -> float | None:
    """Return the seconds between two xsd:dateTime; None if either is not a time."""
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return None


def duration(start: str, end: str) -> str:
    """Format the time between two xsd:dateTime: `12 ms`, `3.2 s`, `2 min 5 s`, `1 h 2 min`; empty if either is not a
    time."""
    took = seconds(start, end)
    return "" if took is None else span(took)


def ago(time: str, now: str) -> str:
    """Return the time between two xsd:dateTime in its largest unit, `2 h ago`; `0 s ago` if `time` is not before."""
    passed = max(0, int(seconds(time, now) or 0))
    for length, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if passed >= length:
            return f"{passed // length} {unit} ago"
    return f"{passed} s ago"


def span(took: float) -> str:
    """Format a number of seconds: `12 ms`, `3.2 s`, `2 min 5 s`, `1 h 2 min`."""
    if took < 0.9995:
        return f"{took * 1000:.0f} ms"
    if took < 59.95:
        return f"{took:.1f} s"
    whole = round(took)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def plural(count: int, one: str, many: str = "") -> str:
    """Format a count: `1 file`, `2 files`."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def binary(count: float) -> str:
    """Format a number of bytes in binary units: `812 B`, `4.0 KiB`."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if value < 1023.95 or unit == "PiB":
            break
        value /= 1024
    return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"


def elapsed(nanoseconds: float) -> str:
    """Format a time in nanoseconds: `812 ns`, `4.0 µs`, `12.3 ms`, `3.2 s`, `1 h 2 min`."""
    value = float(nanoseconds)
    for unit in ("ns", "µs", "ms", "s"):
        if value < 999.95 or unit == "s":
            break
        value /= 1000
    if unit == "s" and value >= 59.95:
        whole = round(value)
        return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{value:.0f} ns" if unit == "ns" else f"{value:.1f} {unit}"
