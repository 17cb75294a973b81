"""Stored queries: the files of `queries/` and of the user's folders in; each query and its parameters, by its header,
out.

The header of a file contains `title`, `example`, optional lines `about`, `events` if its rows are not in the graph
(`provio.ask.event_questions`), and for each parameter a line `parameter:
NAME (TYPE[, required | , default VALUE]): description` (`provio.ask.parameters` defines the types); the folder is the
registry. A parameter is one of these places in the text: `VALUES ?NAME { UNDEF }`, which matches everything until it
is filled in, or the same with a default value; `LIMIT 20 # ?NAME`; or, for a required IRI, `<urn:parameter:NAME>`,
because servers evaluate a property path only from a given IRI. So each file is SPARQL that any server answers without
changes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from provio.base import turtle
from provio.base.errors import BadQuery
from provio.base.records import frozen
from provio.settings import load
from provio.settings.types import among

FOLDER = Path(__file__).parent.parent / "queries"
HEADER = re.compile(r"# (\w+): (.*)")
PARAMETER = re.compile(r"(\w+) \((\w+)(?:, (required)|, default ([^)]+))?\): (.+)")
PLACES = re.compile(
    r"(?P<open>(?i:VALUES)\s+\?(?P<name>\w+)\s*\{\s*)[^{}]*?(?P<close>\s*\})|LIMIT [0-9]+ # \?(?P<most>\w+)"
    r"|<urn:parameter:(?P<iri>\w+)>"
)
PLACE = re.compile(r"VALUES\s+\?(\w+)\s*\{\s*UNDEF\s*\}", re.IGNORECASE)
IRI = re.compile(r"<[^\x00-\x20<>\"{}|^`\\]+>")
NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
ANY = "any"  # the type of a parameter without a header line
KINDS = {  # the valid values of each type, in words; `provio.ask.parameters` makes terms of them
    "text": "text",
    "words": "part of a command line, quoted as for a shell",
    "path": "path, which is made absolute",
    "file": "file, or FILE#/DATASET: the version that is there now",
    "run": "run: `last`, `last~1`, an id, the beginning of one, or a name",
    "iri": "IRI: <https://…>, or a name such as provio:Read",
    "integer": "integer",
    "count": "number of rows",
    "decimal": "decimal number",
    "value": "value: a number, which is compared as one, true, false, or text",
    "boolean": "boolean: true or false",
    "dateTime": "time: 2026-11-20T12:15, yesterday, '2 hours ago'",
    "duration": "duration: 200 ms, 1.5 s, 2 min; in the graph, nanoseconds",
    ANY: "integer, IRI in <…>, or text",
}


@frozen
class Parameter:
    """A parameter: its name, its type, whether it is required, its default value, its description."""

    name: str
    kind: str
    required: bool
    default: str
    says: str


@frozen
class Question:
    """A stored query: its name, title, description (`about`), parameters in order, example and SPARQL text.

    `path` is its file, `instead` the file of the same name that it replaces; `events` names the function of
    `provio.ask.event_questions` that finds its rows, if these are not in the graph.
    """

    name: str
    title: str
    about: str
    parameters: tuple[Parameter, ...]
    example: str
    text: str
    path: Path | None = None
    instead: Path | None = None
    events: str = ""


def questions(folders: Sequence[str] = ()) -> list[Question]:
    """Return all stored queries, sorted by name; a query of a later folder replaces one of the same name.

    provio's own folder comes first. Raises BadQuery for a user's folder that cannot be read.
    """
    paths: dict[str, Path] = {}
    instead: dict[str, Path] = {}
    for folder in (FOLDER, *map(Path, folders)):
        for path in _files(folder):
            if path.stem in paths:
                instead[path.stem] = paths[path.stem]
            paths[path.stem] = path
    return [_read(path, instead.get(name)) for name, path in sorted(paths.items())]


def named(name: str, folders: Sequence[str] = ()) -> Question | None:
    """Return the query of a name; None if there is none. Raises BadQuery, as `questions` does."""
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return None
    found = [path for folder in (FOLDER, *map(Path, folders)) for path in _files(folder) if path.stem == name]
    return _read(found[-1], found[-2] if len(found) > 1 else None) if found else None


def _files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".rq")
    except OSError as error:
        reason = f"cannot be read ({error.strerror}): create it, or fix the setting queries"
        raise BadQuery(f"{folder}, a folder of queries, {reason} (provio config)") from error


def of_text(text: str, name: str = "", path: Path | None = None, instead: Path | None = None) -> Question:
    """Return a query by its text. A parameter without a header line has the type `any`."""
    lines = [(found[1], found[2]) for line in text.splitlines() if (found := HEADER.fullmatch(line))]
    header = dict(lines)
    parameters = [_parameter(value, path or name) for key, value in lines if key == "parameter"]
    known = {parameter.name for parameter in parameters}
    others = dict.fromkeys(found[1] for found in PLACE.finditer(text) if found[1] not in known)
    parameters += [Parameter(other, ANY, False, "", "") for other in others]
    about = " ".join(value for key, value in lines if key == "about")
    title, example, events = (header.get(key, "") for key in ("title", "example", "events"))
    return Question(name, title, about, tuple(parameters), example, text, path, instead, events)


def filled(text: str, values: dict[str, str]) -> str:
    """Return a text with values in the places of its parameters of the type `any`.

    An integer stays an integer, `<…>` is an IRI, any other value is text. Raises BadQuery for a parameter that the
    text does not have.
    """
    known = list(dict.fromkeys(PLACE.findall(text)))
    for name in values:
        if name not in known:
            has = f"it has {', '.join(known)}" if known else "it has none"
            raise BadQuery(f"the query has no parameter {name}: {has}")
    return with_terms(text, {name: any_term(value) for name, value in values.items()})


def with_terms(text: str, terms: dict[str, str]) -> str:
    """Return a text with terms, in SPARQL syntax, in the places of its parameters.

    One pass replaces all of them, so that text inside a term is never taken for a place.
    """

    def put(found: re.Match[str]) -> str:
        name = found["name"] or found["most"] or found["iri"]
        if name not in terms or found["iri"]:
            return terms.get(name, found[0])
        return f"{found['open']}{terms[name]}{found['close']}" if found["name"] else f"LIMIT {terms[name]} # ?{name}"

    return PLACES.sub(put, text)


def any_term(value: str) -> str:
    """Return a value as a term: an integer, an IRI in `<…>`, or text."""
    return value if IRI.fullmatch(value) or NUMBER.fullmatch(value) else turtle.literal(value)


def _parameter(line: str, where: object) -> Parameter:
    found = PARAMETER.fullmatch(line)
    if found and found[2] not in KINDS:
        raise BadQuery(f"{where}: no type {found[2]!r}{among(found[2], KINDS, 'docs/queries.md lists')}")
    if found:
        return Parameter(found[1], found[2], bool(found[3]), found[4] or "", found[5])
    name, colon, says = line.partition(": ")
    if colon and re.fullmatch(r"\w+", name):
        return Parameter(name, ANY, False, "", says)
    form = "# parameter: NAME (TYPE, required): description"
    raise BadQuery(f"{where}: {line!r} is no parameter: use {form}, or (TYPE), or (TYPE, default VALUE)")


def _read(path: Path, instead: Path | None) -> Question:
    try:
        text = load.content(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadQuery(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from error
    return of_text(text, path.stem, path, instead)
