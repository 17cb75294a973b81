"""Where a question ends: patterns of file names in, of some versions those that match out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from glob import escape
from urllib.parse import unquote

from provio.describe import PREFIXES, batches
from provio.store import Reader


class Until:
    """Files beyond which a question does not go: patterns in, the versions whose names match them out.

    A pattern without a slash is held against a file's last name, one with a slash against its whole path; `*` matches
    slashes too. `unmatched` are the patterns that nothing matched yet.
    """

    def __init__(self, reader: Reader, patterns: Iterable[str], folder: str) -> None:
        self.reader = reader
        self.patterns = {
            text: os.path.normpath(os.path.join(escape(folder), text)) if "/" in text else "*/" + text
            for text in patterns
        }
        self.unmatched = dict.fromkeys(self.patterns)

    def ends(self, versions: list[str]) -> set[str]:
        """Return those of the versions that match."""
        found: set[str] = set()
        inside: dict[str, list[str]] = {}
        for iri in versions:
            inside.setdefault(iri.partition("#")[0], []).append(iri)
        for batch in batches(inside):
            values = " ".join(f"<{iri}>" for iri in batch)
            query = f"""{PREFIXES} SELECT DISTINCT ?v ?path {{ VALUES ?v {{ {values} }}
                ?v prov:specializationOf? ?file . ?file provio:path ?path }}"""
            for row in self.reader.rows(query):
                for iri in inside[row["v"]]:
                    found |= self._match(iri, row["path"])
        return found

    def _match(self, iri: str, path: str) -> set[str]:
        """An object inside a file matches where its file does, or its name behind the file's."""
        mark, name = iri.partition("#")[1:]
        names = {path, path + mark + unquote(name, errors="replace")}
        matched = [text for text, pattern in self.patterns.items() if any(fnmatchcase(one, pattern) for one in names)]
        for text in matched:
            self.unmatched.pop(text, None)
        return {iri} if matched else set()
