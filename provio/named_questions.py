"""Questions that have a name: files of `queries/` in, their SPARQL with its parameters filled in out.

The header of each file has `title`, `example`, and for each parameter a line `parameter: NAME: what it does`; the
folder is the registry. A parameter is a place `VALUES ?NAME { UNDEF }` in the text, which holds for all until it is
filled in: so each file is SPARQL that any server answers as it is.
"""

from __future__ import annotations

import re
from pathlib import Path

from provio import turtle
from provio.errors import BadQuery
from provio.plain import plain

FOLDER = Path(__file__).parent / "queries"
HEADER = re.compile(r"# (\w+): (.*)")
IRI = re.compile(r"<[^\x00-\x20<>\"{}|^`\\]+>")
NUMBER = re.compile(r"[+-]?[0-9]{1,18}")


@plain(frozen=True)
class Question:
    """A question of the folder: its name, what it asks, its parameters (name, what it does), an example, its SPARQL."""

    name: str
    title: str
    parameters: tuple[tuple[str, str], ...]
    example: str
    text: str


def questions() -> list[Question]:
    """Return all that have a name, sorted by it."""
    return [_read(path) for path in sorted(FOLDER.glob("*.rq"))]


def named(name: str) -> Question | None:
    """Return the question of a name; None where no such one is there."""
    path = FOLDER / f"{name}.rq"
    return _read(path) if re.fullmatch(r"[a-z0-9-]+", name) and path.exists() else None


def filled(text: str, values: dict[str, str]) -> str:
    """Return a question's SPARQL with values in the places of its parameters. An integer is one, `<…>` is an IRI, all
    else is text. Raises BadQuery for a parameter that it has not."""
    for name, value in values.items():
        place = re.compile(rf"VALUES\s+\?{re.escape(name)}\s*\{{\s*UNDEF\s*\}}", re.IGNORECASE)
        if not place.search(text):
            known = re.findall(r"VALUES\s+\?(\w+)\s*\{\s*UNDEF\s*\}", text, re.IGNORECASE)
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise BadQuery(f"the question has no parameter {name}: {has}")
        term = f"VALUES ?{name} {{ {_term(value)} }}"
        text = place.sub(lambda _, term=term: term, text)  # type: ignore[misc]
    return text


def _term(value: str) -> str:
    return value if IRI.fullmatch(value) or NUMBER.fullmatch(value) else turtle.literal(value)


def _read(path: Path) -> Question:
    text = path.read_text(encoding="utf-8")
    lines = [(found[1], found[2]) for line in text.splitlines() if (found := HEADER.fullmatch(line))]
    said = dict(lines)
    pairs = [value.partition(": ") for key, value in lines if key == "parameter"]
    parameters = tuple((name, does) for name, _, does in pairs)
    return Question(path.stem, said.get("title", ""), parameters, said.get("example", ""), text)
