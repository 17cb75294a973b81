"""Name the present folders in a run's graph: a project can move, and folders can be relocated.

In: the pieces of a graph (N-Triples), the renamed folders. Out: the pieces, with the present folders in paths, command
lines and reasons of gaps, and in the IRIs of Files and Programs, which are names. Other IRIs (of versions, runs,
processes) and other texts (values, names, metadata, notebook cells) stay as recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote_to_bytes

from provio.base import turtle
from provio.base.records import frozen
from provio.base.vocab import NS
from provio.lineage.identity import BASE

PATHS = frozenset({"path", "cwd", "from", "to", "target"})
COMMANDS = frozenset({"argv", "commandLine", "redirections"})  # their arguments are percent-encoded
PROGRAM = re.escape(f"{BASE}program/")
REASON = f"<{NS}reason>"
# Before a folder: the start of a text, a space, a quote, an assignment, a redirection, an option such as `-I`; not the
# rest of a longer path, and not a remote host (`host:/folder`).
BEFORE = r"""(?:(?<=["\s'=(\[,<>])|(?<=%2[0278C])|(?<=%3[CDE])|(?<=%0[9AD])|(?<=\\[nt])|(?<=["\s]-[A-Za-z])|(?<=://))"""
AFTER = r"""(?=["\s'/:;,)\]<>&|#]|%2[0279C]|%3[ABCE]|%7C|\\|$)"""
LITERAL = re.compile(r'(<[^>]*>) (<[^>]*>) "((?:[^"\\]|\\.)*)" \.\n')


@frozen
class Renamed:
    """A recorded folder and its present path; `inside` is the same for their paths in their file systems, as IRIs have
    them."""

    old: bytes
    new: bytes
    inside: tuple[bytes, bytes] | None = None


def relocated(pieces: Iterable[str], renamed: Iterable[Renamed]) -> Iterator[str]:
    """Yield the pieces of a graph with the present folders."""
    every = [_Rename(one) for one in renamed if one.old != one.new]
    for piece in pieces:
        text = piece
        for one in every:
            text = one.of_piece(text)
        yield text


class _Rename:
    def __init__(self, renamed: Renamed) -> None:
        self.old, self.new = renamed.old.rstrip(b"/"), renamed.new.rstrip(b"/")
        self.forms = _forms(self.old)
        text, _, argument = zip(self.forms, _forms(self.new), strict=True)
        self.text, self.argument = (
            (re.compile(f"{BEFORE}{re.escape(form)}(?:{AFTER})"), other) for form, other in (text, argument)
        )
        self.inside, present = (turtle.path_iri(path.rstrip(b"/")) for path in renamed.inside or (self.old, self.new))
        names = rf"(<(?:file://|{PROGRAM})[^/>]*){re.escape(self.inside)}(?=[/>])"
        self.iris, self.present = re.compile(names), present

    def of_piece(self, piece: str) -> str:
        """Return a piece with the present folder; most pieces of a moved run contain it."""
        if any(form in piece for form in self.forms):
            piece = LITERAL.sub(self._line, piece)
        return self.iris.sub(lambda found: found[1] + self.present, piece) if self.inside in piece else piece

    def _line(self, found: re.Match[str]) -> str:
        subject, predicate, text = found.groups()
        name = predicate[len(NS) + 1 : -1] if predicate.startswith(f"<{NS}") else ""
        word = name.removesuffix("Encoded")
        if word in PATHS:
            path = self._path(text, encoded=name != word)
            if path is None:
                return found[0]
            name, value = turtle.text_or_encoded(word, path)
            return f"{subject} <{NS}{name}> {value} .\n"
        if word not in COMMANDS and predicate != REASON:
            return found[0]
        search, other = self.argument if word in COMMANDS else self.text
        value = search.sub(lambda match: other or "/" * (match.string[match.end()] != "/"), f'"{text}"')
        return f"{subject} {predicate} {value} .\n"

    def _path(self, text: str, encoded: bool) -> bytes | None:
        """Return the present path; None if a path is not below the old folder."""
        path = unquote_to_bytes(text) if encoded else _unescaped(text).encode("utf-8", "surrogatepass")
        below = path == self.old or path.startswith((self.old + b"/", self.old + b"#"))
        return (self.new + path[len(self.old) :]) or b"/" if below else None


def _forms(folder: bytes) -> tuple[str, str, str]:
    """Return the forms of a folder in literals: as a text, as an encoded path, in a command line."""
    text = turtle.literal(folder.decode("utf-8", "replace"))[1:-1]
    return text, turtle.path_iri(folder), turtle.encode_argv([folder]) if folder else ""


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    names = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
    return re.sub(r"\\(?:u([0-9A-F]{4})|(.))", lambda m: chr(int(m[1], 16)) if m[1] else names.get(m[2], m[2]), text)
