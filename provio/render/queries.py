"""Named queries as text: title, parameters, example and SPARQL.

`python -m provio.render.queries` prints the page of all named queries, docs/queries.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from provio.ask.queries import ANY, KINDS, Parameter, Question, questions
from provio.base.text import printable


def render(question: Question, *, unicode: bool = True) -> str:
    """Return the description of a query, and its SPARQL text, which any server accepts."""
    lines = [f"{question.name or 'a query without a name'}: {question.title}".rstrip(": ")]
    lines += [f"  {question.about}"] if question.about else []
    lines += [f"  {one.name}  ({type_of(one)})  {one.says}".rstrip() for one in question.parameters]
    lines += [f"example: {question.example}"] if question.example else []
    lines += [f"in {question.path}, instead of {question.instead}"] if question.instead else []
    body = [line for line in question.text.splitlines() if not line.startswith("# ")]
    return "".join(printable(line, unicode) + "\n" for line in (*lines, *body))


def type_of(parameter: Parameter) -> str:
    """Return the type of a parameter in words, and its default value."""
    kind = KINDS[parameter.kind]
    if parameter.required:
        return f"{kind}; required"
    return f"{kind}; default {parameter.default}" if parameter.default else kind


INTRODUCTION = """# Named queries

Made from `queries/` by `python -m provio.render.queries`. `provio query --list` lists the names; `provio query NAME
VALUE…` executes one, with values in the order below, or by name with `-p NAME=VALUE`; `provio query --show NAME` prints
the same as this page, with the SPARQL. Each file is SPARQL that any server answers without changes. Four of them
(`transitions`, `transfers`, `steals`, `warnings`) have their rows from the event files of runs, which are not in the
graph: only `provio query` and `store.query()` answer them.

In your own queries, `?x a prov:Entity` finds each node of a class that implies it, such as a `provio:FileVersion`.
`?x a ?class`, `DESCRIBE` and a pattern inside `GRAPH` match only the stored classes ([graph.md](graph.md)).

A parameter without a value matches everything, unless it is required. The setting [`queries`](settings-howto.md) adds
your own folders, with files `NAME.rq` that have a header such as

    # title: Files written after a time
    # parameter: after (dateTime, required): a time
    # parameter: most (count, default 10): the number of rows
    # example: provio query written-after yesterday

    SELECT ?path ?modified WHERE {
      VALUES ?after { UNDEF }
      ?version prov:wasGeneratedBy ?activity ; provio:modified ?modified ; prov:specializationOf/provio:path ?path .
      FILTER (?modified > ?after)
    }
    ORDER BY DESC(?modified)
    LIMIT 10 # ?most

The place of a parameter is `VALUES ?NAME { UNDEF }`, or the same with a default value in the braces, or
`LIMIT 10 # ?NAME`; or, at the start of a property path, `<urn:parameter:NAME>` of a required file, run or IRI. A value
is checked and becomes a term of its type; it is never inserted as text. The header of a parameter is `(TYPE)`,
`(TYPE, required)` or `(TYPE, default VALUE)`, where TYPE is one of

"""


def page(every: Iterable[Question]) -> str:
    """Return the reference of named queries, as Markdown."""
    types = [f"| `{kind}` | {words} |\n" for kind, words in KINDS.items() if kind != ANY]
    return INTRODUCTION + "| type | a value is a |\n|---|---|\n" + "".join(types) + "".join(map(_section, every))


def _section(question: Question) -> str:
    rows = [f"| `{one.name}` | {_type(one)} | {one.says} |\n" for one in question.parameters]
    table = "| parameter | type | |\n|---|---|---|\n" + "".join(rows) + "\n" if rows else ""
    about = f"{question.about}\n\n" if question.about else ""
    return f"\n## {question.name}\n\n{question.title}.\n\n{about}{table}    {question.example}\n"


def _type(parameter: Parameter) -> str:
    default = f", default {parameter.default}" if parameter.default else ""
    return parameter.kind + (", required" if parameter.required else default)


if __name__ == "__main__":
    sys.stdout.write(page(questions()))
