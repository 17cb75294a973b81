"""The questions of the HTTP API and of the server for agents, with their parameters: one table for both.

`provio/serve/api_queries.py` answers them. The OpenAPI document, the parameters' checks and the tools are made from the
table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from provio.base.errors import ProvioError
from provio.base.records import frozen
from provio.settings.types import among

MOST = 10_000  # rows of an answer
USUAL = 100
NODES, MOST_NODES = 300, 3_000  # of a lineage
LONGEST, LONGEST_QUERY = 4_096, 20_000  # characters of a value, and of SPARQL
NO_NUL = r"^[^\u0000]*$"
TYPES_OF_EVENTS = ("run", "process", "task", "file", "metric", "checkpoint")
STATES = ("ok", "failed", "unfinished")


class Invalid(ProvioError):
    """A parameter is missing, unknown or has an impossible value."""

    exit_code = 2


@frozen
class Parameter:
    """A parameter: its type (a `TYPES`), and its limits. A `time` becomes the text of a time in UTC."""

    name: str
    type: str
    about: str
    default: Any = None
    required: bool = False
    allowed: tuple[str, ...] = ()
    least: int = 0
    most: int = 0  # of an integer; of texts, their characters

    def read(self, texts: list[str]) -> Any:
        """Return the value that a URL states; raises Invalid."""
        if self.type == "strings":
            return self.checked(texts)
        if len(texts) > 1:
            raise Invalid(f"{self.name} is given {len(texts)} times: give it once")
        text = texts[0]
        if self.type == "boolean":
            return self.checked({"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text))
        if self.type == "integer" and text.isascii() and text.removeprefix("-").isdigit() and len(text) < 19:
            return self.checked(int(text))
        return self.checked(text)

    def checked(self, value: Any) -> Any:
        """Return a value of JSON, or the default for null; raises Invalid."""
        if value is None and not self.required:
            return self.default
        if self.type == "integer" and isinstance(value, float) and value.is_integer():
            value = int(value)
        if not TYPES[self.type](value):
            raise Invalid(f"{self.name} is {WORDS[self.type]}, not {json.dumps(value)[:100]}")
        if self.type == "integer" and not self.least <= value <= self.most:
            raise Invalid(f"{self.name} is a number from {self.least} to {self.most}, not {value}")
        longest = self.most or LONGEST
        for text in value if self.type == "strings" else [value] if isinstance(value, str) else []:
            if len(text) > longest or "\0" in text:
                raise Invalid(f"{self.name} has more than {longest} characters, or a NUL: give another one")
            if self.allowed and text not in self.allowed:
                raise Invalid(f"{self.name}: {text[:100]!r} is unknown{among(text[:100], self.allowed)}")
        return _utc(self.name, value) if self.type == "time" else value

    def schema(self) -> dict[str, Any]:
        """Return its JSON Schema."""
        found: dict[str, Any] = {"description": self.about} | SCHEMAS[self.type]
        if self.type == "integer":
            found |= {"minimum": self.least, "maximum": self.most}
        elif self.type == "string":
            found |= {"maxLength": self.most or LONGEST}
        if self.allowed and self.type == "strings":
            found["items"] = {"enum": [*self.allowed]}
        elif self.allowed:
            found["enum"] = [*self.allowed]
        return found | ({"default": self.default} if self.default is not None else {})


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are(item: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(item, value))


TEXT = {"type": "string", "maxLength": LONGEST, "pattern": NO_NUL}
TYPES: Mapping[str, Callable[[Any], bool]] = {
    "string": _is_text, "time": _is_text, "strings": _are(_is_text), "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "pairs": _are(lambda pair: isinstance(pair, list) and len(pair) == 2),
}  # fmt: skip
WORDS = {
    "string": "a text", "time": "a time such as 2026-11-28T08:00:00Z", "strings": "a list of texts",
    "boolean": "true or false", "integer": "a whole number", "object": "an object", "pairs": "a list of pairs",
}  # fmt: skip
SCHEMAS: Mapping[str, dict[str, Any]] = {
    "string": TEXT, "time": {"type": "string", "format": "date-time"}, "strings": {"type": "array", "items": TEXT},
    "boolean": {"type": "boolean"}, "integer": {"type": "integer"}, "object": {"type": "object"},
    "pairs": {"type": "array", "items": {"type": "array", "minItems": 2, "maxItems": 2}},
}  # fmt: skip


def _utc(name: str, text: str) -> str:
    """Return a time in the form in which stores sort; one without a zone is in UTC."""
    try:
        time = datetime.fromisoformat(text)
        time = time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Invalid(f"{name} is {WORDS['time']}, not {text[:100]!r}") from None
    return time.replace(tzinfo=None).isoformat(timespec="microseconds").rstrip("0").rstrip(".")


def _parameter(name: str, kind: str, about: str, **more: Any) -> tuple[str, Parameter]:
    return name, Parameter(name, kind, about, **more)


KNOWN: Mapping[str, Parameter] = dict(
    [
        _parameter("path", "string", "A file, FILE#/DATASET or an IRI; relative to the project.", required=True),
        _parameter("below", "string", "Only this file, or files below this folder."),
        _parameter("run", "strings", "Only of these runs: an id, its first characters, a name, or `last`."),
        _parameter("campaign", "string", "Only of this campaign."),
        _parameter("name", "string", "Only of runs with this name."),
        _parameter("metric", "string", "Only this metric."),
        _parameter("kind", "string", "Only tasks of this kind: dask, cell, function, …"),
        _parameter("status", "string", "Only tasks that ended so.", allowed=STATES),
        _parameter("since", "time", "Only what started, or was written, at or after this time (ISO 8601)."),
        _parameter("limit", "integer", "At most this many rows.", default=USUAL, least=1, most=MOST),
        _parameter("cursor", "string", "Go on after an answer: its `next`."),
        _parameter("forward", "boolean", "The products instead of the origins.", default=False),
        _parameter("depth", "integer", "At most this many steps; 0: all.", default=0, most=10**9),
        _parameter("all", "boolean", "With files of the system.", default=False),
        _parameter("nodes", "integer", "At most this many nodes.", default=NODES, least=1, most=MOST_NODES),
        _parameter("every", "boolean", "Current files, too.", default=False),
        _parameter("thing", "string", "A run, a task or a file: an id, `last`, a name or a path.", required=True),
        _parameter("type", "strings", "Only events of these types.", allowed=TYPES_OF_EVENTS),
        _parameter("after", "string", "Only events after the one with this id, like `Last-Event-ID`."),
        _parameter("first", "string", "A run: an id, its first characters, a name, or `last`.", required=True),
        _parameter("second", "string", "Another run.", required=True),
        _parameter(
            "query",
            "string",
            "A SELECT or an ASK in SPARQL 1.1; provio's prefixes are known.",
            required=True,
            most=LONGEST_QUERY,
        ),
        _parameter("filter", "object", 'Conditions on fields, as in MongoDB: {"generated.loss": {"$lt": 1}}.'),
        _parameter("projection", "strings", "Only these fields."),
        _parameter("aggregation", "pairs", "Pairs of a function (min, max, sum, avg, count) and a field."),
        _parameter("sort", "pairs", "Pairs of a field and a direction: 1, -1, ascending or descending."),
    ]
)


@frozen
class Question:
    """A question: its parameters, and the table of its rows (docs/output.md), or an empty one for a document."""

    about: str
    names: tuple[str, ...]
    table: str = ""
    posted: bool = False  # its parameters are a JSON object in the body

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Its parameters by name."""
        return {name: KNOWN[name] for name in self.names}

    def read(self, given: Mapping[str, list[str]]) -> dict[str, Any]:
        """Return the values of the parameters that a URL states; raises Invalid."""
        return self._complete(given, lambda one: one.read(given[one.name]))

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the parameters in a JSON object; raises Invalid."""
        return self._complete(given, lambda one: one.checked(given[one.name]))

    def _complete(self, given: Mapping[str, Any], value: Callable[[Parameter], Any]) -> dict[str, Any]:
        for name in given:
            if name not in self.names:
                raise Invalid(f"there is no parameter {name[:100]!r}{among(name[:100], self.names)}")
        for name, one in self.parameters.items():
            if one.required and name not in given:
                raise Invalid(f"the parameter {name} is missing: give {WORDS[one.type]}")
        return {name: value(one) if name in given else one.default for name, one in self.parameters.items()}

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of its parameters as one object."""
        found: dict[str, Any] = {"type": "object", "additionalProperties": False}
        found["properties"] = {name: one.schema() for name, one in self.parameters.items()}
        required = [name for name, one in self.parameters.items() if one.required]
        return found | ({"required": required} if required else {})


CHOICE, PAGE = ("run", "campaign", "name"), ("limit", "cursor")
PAGES = ("since", *PAGE)
DOCUMENTS = ("filter", "projection", "aggregation", "sort", *CHOICE, "limit")
QUESTIONS: Mapping[str, Question] = {
    "runs": Question("The recorded runs, oldest first.", (*CHOICE, *PAGES), "runs"),
    "campaigns": Question("The campaigns, with their runs, hosts and states.", ("campaign", *PAGES), "campaigns"),
    "tasks": Question("The tasks of runs, oldest first.", (*CHOICE, "kind", "status", *PAGES), "tasks"),
    "tasks/query": Question(
        "The tasks as documents with FlowCept's fields, selected by a filter.", DOCUMENTS, posted=True
    ),
    "files": Question("The files that runs wrote or read, oldest first.", ("below", *CHOICE, *PAGES), "files"),
    "lineage": Question("The origins of a file, or its products.", ("path", "forward", "depth", "all", "nodes")),
    "why": Question("The process that made a file.", ("path",)),
    "impact": Question("The commands to repeat if a file changes.", ("path",)),
    "status": Question("The files that are stale, changed, failed or missing.", ("below", "every", *PAGE), "status"),
    "show": Question("The record of one run, task or file.", ("thing", *PAGE)),
    "stats": Question("I/O figures and bottlenecks of runs; of the newest if none is named.", CHOICE),
    "metrics": Question("The last value of each metric of runs.", (*CHOICE, "metric", *PAGES), "metrics"),
    "params": Question("The parameters of runs.", (*CHOICE, *PAGES), "params"),
    "diff": Question("The differences of two runs, and where they differ first.", ("first", "second"), "diff"),
    "query": Question("The answer to SPARQL: SELECT or ASK.", ("query", *PAGE)),
}
EVENTS = Question(
    "The events of runs as they come (server-sent events): of all runs from now on, or of named runs from their start.",
    ("run", "type", "after"),
)
