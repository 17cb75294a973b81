"""The rows of the table of truth.

In: programs.toml and patterns.toml, whose product is the grid, and rows/*.toml. Out: `Row`, and the groups of rows that
are recorded together. The tables explain their keys.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PLANTED = ("a", "b", "c")  # in the folder of each row
LINES = 3  # of each of them
WORD = re.compile(r"TOKEN")
FORM = re.compile(r"FILTER|READ\(([^\s,]+)\)|COPY\(([^\s,]+), ([^\s,]+)\)")
FORMS = {"FILTER": "filter", "READ": "read", "COPY": "copy"}
UNWATCHED = "unwatched: "


@dataclass(frozen=True)
class Question:
    """A question about a file of a row, and its true answer."""

    row: str
    way: str  # "back": its ancestors; "into": its products
    file: str
    truth: tuple[str, ...]

    @property
    def key(self) -> str:
        """Return the name of the question in deviations.toml."""
        return f"{self.row} · {self.way} {self.file}"


@dataclass(frozen=True)
class Row:
    """A pattern, carried out by a program."""

    pattern: str
    program: str
    steps: Sequence[str]
    back: Mapping[str, Sequence[str]] = field(default_factory=dict)
    into: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    show: Mapping[str, str] = field(default_factory=dict)  # file -> the command that prints its content as text
    opaque: Sequence[str] = ()  # files whose content shows no word of its ancestors
    needs: Sequence[str] = ()
    alone: bool = False  # recorded in runs of its own

    @property
    def name(self) -> str:
        """Return the name of the row."""
        return f"{self.pattern}: {self.program}"

    @property
    def folder(self) -> str:
        """Return the name of the folder of the row."""
        return re.sub(r"[^\w.+-]+", "_", self.name)

    def questions(self) -> Iterator[Question]:
        """Yield the questions about the row."""
        for way, asked in (("back", self.back), ("into", self.into)):
            for file, truth in asked.items():
                yield Question(self.name, way, file, tuple(truth))

    def word(self, file: str) -> str:
        """Return the unique word in a file that was planted."""
        return "w" + hashlib.sha256(f"{self.name}/{file}".encode()).hexdigest()[:14].translate(LETTERS)

    def planted(self) -> dict[str, str]:
        """Return the files to write before the first step, and their texts."""
        usual = dict.fromkeys(PLANTED, "TOKEN\n" * LINES)
        return {name: WORD.sub(self.word(name), text) for name, text in {**usual, **self.files}.items()}

    def missing(self) -> list[str]:
        """Return the commands that this machine lacks."""
        return [name for name in self.needs if not (Path(name).exists() if "/" in name else shutil.which(name))]


LETTERS = str.maketrans("0123456789", "ghijklmnop")


def table(name: str, key: str) -> list[dict[str, Any]]:
    """Return the entries of a table."""
    return list(tomllib.loads((HERE / name).read_text(encoding="utf-8"))[key])


def grid() -> Iterator[Row]:
    """Yield each pattern with each program that has its form."""
    patterns = table("patterns.toml", "pattern")
    for program in table("programs.toml", "program"):
        for pattern in patterns:
            texts = [*pattern["steps"], *pattern.get("files", {}).values()]
            form = FORMS[next(match[0].partition("(")[0] for text in texts if (match := FORM.search(text)))]
            if form in program and (pattern.get("often") or not program.get("few")):
                yield filled(pattern, program)


def filled(pattern: dict[str, Any], program: dict[str, Any]) -> Row:
    """Return a pattern with the commands of a program."""

    def command(match: re.Match[str]) -> str:
        form, *names = FORMS[match[0].partition("(")[0]], *filter(None, match.groups())
        return str(program[form]).format(*names)

    def text(given: str) -> str:
        return FORM.sub(command, given)

    files = {name: text(content) for name, content in pattern.get("files", {}).items()}
    steps = [text(step) for step in pattern["steps"]]
    needs = [*pattern.get("needs", ()), *program.get("needs", ())]
    answers = {way: pattern.get(way, {}) for way in ("back", "into")}
    return Row(pattern["name"], program["name"], steps, files=files, needs=needs, **answers)


def single() -> Iterator[tuple[str, Row]]:
    """Yield the rows that are no part of the grid, each with the name of its table."""
    for path in sorted((HERE / "rows").glob("*.toml")):
        for entry in table(f"rows/{path.name}", "row"):
            yield path.stem, Row(**entry)


def groups() -> dict[str, list[Row]]:
    """Return the rows that are recorded together, by a name: those of a program, those of a table."""
    found: dict[str, list[Row]] = {}
    for row in grid():
        found.setdefault(row.program, []).append(row)
    for table_name, row in single():
        found.setdefault(row.name if row.alone else table_name, []).append(row)
    return found
