"""Search by any part of a name: a store in, the files, runs and programs whose names hold some words out.

All names lie in one text in memory, a line each, which is looked through for the longest word: a million of them take
some hundredths of a second, and no index of SPARQL finds a part of a word.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import Any, NamedTuple
from urllib.parse import unquote

from provio import runs
from provio.document import command_line
from provio.store import Reader
from provio.vocab import NS, PROV, RUN_BASE

MOST = 3_000  # matches that are put in order; of more, the first
# The system's own files come last: whoever looks for a name rarely means one.
NAMED = f"SELECT DISTINCT ?iri ?path {{ ?iri a <{NS}%s> ; <{NS}%s> ?path }}"
SYSTEM = f"""SELECT DISTINCT ?file {{
    {{ SELECT DISTINCT ?version {{ {{ ?by <{NS}usedAsNoise>|<{NS}ranAsNoise> ?version }}
        UNION {{ ?version <{NS}wasOpenedBy>/<{NS}noise> true }} }} }} ?version <{PROV}specializationOf> ?file }}"""


class Name(NamedTuple):
    """What a name is of: `file`, `system` (a file of the system's), `run` or `program`; its IRI, and its text."""

    kind: str
    iri: str
    text: str


class Names:
    """The names of a store."""

    def __init__(self, reader: Reader) -> None:
        self.names = _all(reader)
        lines, self.starts, at = [], array("Q"), 0
        for name in self.names:
            line = name.text.casefold().replace("\n", " ") + "\n"
            self.starts.append(at)
            lines.append(line)
            at += len(line)
        self.text = "".join(lines)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return what a request looks for (`words`, `kind` or all, `limit`), the best first, and how many there are;
        `more` says that there are others still."""
        words = str(request.get("words", "")).casefold().replace("\n", " ").split()
        matches, more = self._matches(words, str(request.get("kind", ""))) if words else ([], False)
        matches.sort(key=lambda place: self._rank(place, words))
        found = [self.names[place]._asdict() for place in matches[: int(request.get("limit", 20))]]
        return {"found": found, "count": len(matches), "more": more}

    def _matches(self, words: list[str], kind: str) -> tuple[list[int], bool]:
        longest, at, found = max(words, key=len), 0, list[int]()
        while (at := self.text.find(longest, at)) >= 0:
            place = bisect_right(self.starts, at) - 1
            line = self._line(place)
            at = self.starts[place] + len(line)
            if all(word in line for word in words) and kind in ("", self.names[place].kind):
                if len(found) == MOST:
                    return found, True
                found.append(place)
        return found, False

    def _line(self, place: int) -> str:
        end = self.starts[place + 1] if place + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[place] : end]

    def _rank(self, place: int, words: list[str]) -> tuple[bool, int, int, str]:
        """A name that is the word, one that begins with it, one that holds it, the rest. Short before long."""
        line = self._line(place).rstrip("\n")
        last, word = line.rpartition("/")[2], words[-1]
        how = 0 if last == word else 1 if last.startswith(word) else 2 if word in last else 3
        return self.names[place].kind == "system", how, len(line), line


def _all(reader: Reader) -> list[Name]:
    system = {file for (file,) in reader.table(SYSTEM)}
    found = [Name("run", RUN_BASE + row["run"], _of_run(row)) for row in reversed(list(reader.rows(runs.LISTING)))]
    found += [Name("program", iri, path) for iri, path in _named(reader, "Program")]
    files = [Name("system" if iri in system else "file", iri, path) for iri, path in _named(reader, "File")]
    return found + sorted(files, key=lambda name: name.kind)


def _named(reader: Reader, kind: str) -> dict[tuple[str, str], None]:
    """All things of a class with their paths; of one that is not UTF-8, as near as text comes to it."""
    encoded = reader.table(NAMED % (kind, "pathEncoded"))
    paths = [*map(tuple, reader.table(NAMED % (kind, "path"))), *((iri, unquote(path)) for iri, path in encoded)]
    return dict.fromkeys(paths)  # type: ignore[arg-type]


def _of_run(row: dict[str, str]) -> str:
    command = command_line({"iri": "", "type": "Run", "label": "", "argv": row.get("argv", "")})
    return "  ".join(part for part in (row.get("name"), row.get("campaign"), command, row["run"]) if part)
