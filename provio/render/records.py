"""The rows that verbs print, of plain values: a table of `TABLES` and its rows in; table, JSON, CSV or TSV out.

Programs read `json`, a list of objects with the columns' names, numbers as numbers and null where nothing is known;
`csv`, as RFC 4180 has it, with an apostrophe before what a spreadsheet would take for a formula; `tsv`, a row a line,
in which tabs, line ends and backslashes are written `\\t`, `\\n`, `\\r` and `\\\\`. Their columns are stable: a new one
comes last. What a terminal would obey is written out in all of them. docs/output.md is made from `TABLES` by
`python -m provio.render.records`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from provio.base.records import frozen
from provio.base.table import align
from provio.base.text import printable
from provio.render import rows as terms

Value = str | int | float | bool | list[Any] | dict[str, Any] | None
Row = Sequence[Value]


class Column(NamedTuple):
    """A column: its name, its type (`text`, `integer`, `number`, `boolean`, `time`; `value`: any), what it holds."""

    name: str
    kind: str
    says: str


@frozen
class Table:
    """What a verb prints in rows: its columns; what its JSON is, where that is more than a list of the rows."""

    columns: tuple[Column, ...]
    document: str = ""

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return [column.name for column in self.columns]


def _table(text: str, document: str = "") -> Table:
    """A table whose columns stand one a line: name, type, what it holds."""
    lines = [line.split(maxsplit=2) for line in text.strip().splitlines()]
    return Table(tuple(Column(*line) for line in lines), document)


TABLES = {
    "runs": _table("""
        run text its id
        start time when it began
        seconds number how long it took
        end text `exit CODE`, `signal NUMBER`, `ended` of one without either, or `not seen`
        name text what it was called
        campaign text the campaign that it belongs to
        size integer bytes that its files take on the disk
        files integer how many they are: one, once it is packed
        command text its command line
    """),
    "show": _table("""
        what text which fact: of a run `run`, `name`, … `task`, `configuration`, `metric`, `checkpoint`, `wrote`, `read`
        value text the fact: a command line of a process, the path of a file, what a program said of itself
        number integer the process's pid; how many bytes were read or written
    """),
    "lineage": _table(
        """
        type text the class, such as `FileVersion` or `Phase`
        label text what to call it
        via text how it is tied: `data`, `carried`, `control`, `code`
        depth integer steps from file to file
        path text the path of a file
        run text the id of the run of a process
        start time when a process began
        iri text its name in the graph
        gap text what was not observed
        stale text with --stale, why it is
    """,
        "the [lineage document](questions.md)",
    ),
    "why": _table(
        """
        what text which fact: `path`, `command`, `read`, `launched` …, as the text has them
        value text the fact
    """,
        "an object with all that is known of it",
    ),
    "impact": _table(
        """
        step integer the place in an order in which all can be made
        path text the product
        state text `there`, or of what a later product needs `gone` or `earlier`
        command text what made it
        in text the folder in which
        run text the id of the run in which
    """,
        "an object with `targets`, `steps` (each with what it comes `after`) and `leftOut`",
    ),
    "verify": _table(
        """
        state text what became of the file
        path text the file
        word text in words
        run text the id of the run that made it, or else used it
    """,
        "an object with `files`, which are the rows, and `counts`",
    ),
    "doctor": _table("""
        level text `ok`, `note` or `problem`
        about text what was looked at
        says text what was found
        remedy text what to do about it
    """),
    "config": _table("""
        key text the dotted name of a setting, or of an entry of a table
        value value as a settings file has it; in JSON the value itself: text, number, boolean, list or object
        source text where it was set: a file and line, a variable, or `default`
    """),
    "query --list": _table("""
        question text its name
        asks text its title
        parameters text the names of what can be filled in, in their order; in brackets what need not be
    """),
    "best": _table("""
        value value what the metric came to at its best: a number, or text where it is none
        step integer at which step
        time time when
        run text the id of the run
        configuration text what it went by: names and versions, as in `args 2, model 1`
        settings value the settings: in JSON an object, else `key = value` with `; ` between
        checkpoint text the path of a checkpoint that was saved with that value
    """),
    "checkpoint list": _table("""
        path text where it was saved: a file or a folder
        step integer at which step
        time time when
        run text the id of the run
        configuration text what it was saved under: names and versions
        metrics value what metrics were then: in JSON an object, else `name = value` with `; ` between
        settings value the settings, in the same way
    """),
    "checkpoint verify": _table("""
        key text the dotted name of a setting that differs
        checkpoint value what the checkpoint was saved under; nothing where it knows none
        configuration value what the file says; nothing where it says none
    """),
    "diff": _table("""
        configuration text the name of the configuration
        key text the dotted name of a setting that differs
        first value what it was in the first run; nothing where there was none
        second value what it was in the second
    """),
    "vocab": _table("""
        word text the word, with its prefix; of your own its IRI
        kind text `class` or `property`
        above text the words that it is below, with `, ` between
        means text what it means
        source text `provio`, or the file that says it
    """),
    "validate": _table(
        """
        what text the run or file that was held against the rules
        severity text `violation` or `lint`
        rule text the rule
        title text what it asks
        graph text the graph in which
        message text what was found
    """,
        "an object with all that was asked and found",
    ),
}


def render(
    what: str | Sequence[str], rows: Iterable[Row], form: str, *, width: int | None = None, unicode: bool = True
) -> str:
    """Return the rows of a table of `TABLES`, or of columns that are documented elsewhere, in one of the forms; `width`
    and `unicode` concern `table` alone."""
    columns = TABLES[what].columns if isinstance(what, str) else tuple(Column(name, "text", "") for name in what)
    names = [column.name for column in columns]
    held: list[list[Value]] = [list(row) for row in rows]
    header: list[Value] = [*names]
    if form == "json":
        body = ",\n".join(" " + json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=True) for row in held)
        return f"[\n{body}\n]\n" if body else "[]\n"
    if form == "csv":
        fields = ((terms.csv_field(_harmless(cell)) for cell in row) for row in [header, *held])
        return "".join(",".join(row) + "\r\n" for row in fields)
    if form == "tsv":
        return "".join("\t".join(_tsv(cell) for cell in row) + "\n" for row in [header, *held])
    right = {column.name for column in columns if column.kind in ("integer", "number")}
    return align(names, [[_text(cell) for cell in row] for row in held], width=width, unicode=unicode, right=right)


def _text(value: Value) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _harmless(value: Value) -> str:
    text = terms.without_escapes(_text(value))
    return "'" + text if isinstance(value, str) and text.startswith(terms.FORMULA) else text


def _tsv(value: Value) -> str:
    special = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
    return re.sub(r"[\\\t\n\r]|[^ -~]", lambda found: special.get(found[0]) or printable(found[0]), _text(value))


INTRODUCTION = """# What verbs print, for programs

Made by `python -m provio.render.records`. Every verb that prints rows has `--as table|json|csv|tsv` (`lineage` and `why`
print something else than a table when they are not told; of `query` see below, of `stats` [statistics.md](statistics.md)).

| form | is |
|---|---|
| `table` | for people, aligned; it may be cut to the terminal's width, and its columns may change; command lines are as a shell takes them |
| `json` | a list of objects with the names below; numbers are numbers, and `null` is what is not known. Where a verb says more than rows, the document that is named below |
| `csv` | RFC 4180, UTF-8, a header; what a spreadsheet would take for a formula (text that begins with `=`, `+`, `-`, `@`) has an apostrophe before it |
| `tsv` | a header, a row a line; a tab, line end or backslash in a value is `\\t`, `\\n`, `\\r`, `\\\\` |

The columns of `json`, `csv` and `tsv` are stable: names and types stay, a new column comes last. `value` may be any of them; `time` is ISO 8601 in UTC; times of
files and processes as they were recorded. What a terminal would obey is written out in every form (`\\x1b`).

`provio query` prints what SPARQL 1.1 says of results: JSON (`head`, `results`), CSV and TSV of terms, with its safety for
spreadsheets. What the columns of a question are, its `SELECT` says ([queries.md](queries.md)).
"""  # noqa: E501


def page() -> str:
    """Return the reference of what verbs print in rows, as Markdown."""
    return INTRODUCTION + "".join(_section(name, table) for name, table in TABLES.items())


def _section(name: str, table: Table) -> str:
    document = f"`--as json` is {table.document}.\n\n" if table.document else ""
    rows = "".join(f"| `{one.name}` | {one.kind} | {one.says} |\n" for one in table.columns)
    return f"\n## {name}\n\n{document}| column | type | |\n|---|---|---|\n{rows}"


if __name__ == "__main__":
    sys.stdout.write(page())
