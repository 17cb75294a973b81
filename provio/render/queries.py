"""Questions that have a name, in; what each asks, what can be filled in, an example and its SPARQL, as text, out.

`python -m provio.render.queries` prints the page of all of them, docs/queries.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from provio.ask.queries import ANY, KINDS, Parameter, Question, questions
from provio.base.text import printable


def render(question: Question, *, unicode: bool = True) -> str:
    """Return what people want to know before they ask it, and the text that a server takes as it is."""
    lines = [f"{question.name or 'a question of your own'}: {question.title}".rstrip(": ")]
    lines += [f"  {question.about}"] if question.about else []
    lines += [f"  {one.name}  ({said(one)})  {one.says}".rstrip() for one in question.parameters]
    lines += [f"example: {question.example}"] if question.example else []
    lines += [f"in {question.path}, instead of {question.instead}"] if question.instead else []
    body = [line for line in question.text.splitlines() if not line.startswith("# ")]
    return "".join(printable(line, unicode) + "\n" for line in (*lines, *body))


def said(parameter: Parameter) -> str:
    """Return the type of a parameter in words, and what it is where nothing is said."""
    kind = KINDS[parameter.kind]
    if parameter.required:
        return f"{kind}; required"
    return f"{kind}; default {parameter.default}" if parameter.default else kind


INTRODUCTION = """# Questions that have a name

Made from `queries/` by `python -m provio.render.queries`. `provio query --list` names these; `provio query NAME
VALUE…` asks one, with values in the order below, or by name with `-p NAME=VALUE`; `provio query --show NAME` says the
same as this page, with the SPARQL. Each file is SPARQL that any server answers as it is.

In a question of your own, `?x a prov:Entity` finds each node whose class implies it, such as a `provio:FileVersion`.
`?x a ?class`, `DESCRIBE` and a pattern inside `GRAPH` see the stored classes alone ([graph.md](graph.md)).

A parameter without a value holds for all, unless it is required. Folders of your own are added by the setting
[`queries`](settings-howto.md): a file `NAME.rq` there, with a header such as

    # title: What was written after a time
    # parameter: after (dateTime, required): a moment
    # parameter: most (count, default 10): so many
    # example: provio query written-after yesterday

    SELECT ?path ?modified WHERE {
      VALUES ?after { UNDEF }
      ?version prov:wasGeneratedBy ?activity ; provio:modified ?modified ; prov:specializationOf/provio:path ?path .
      FILTER (?modified > ?after)
    }
    ORDER BY DESC(?modified)
    LIMIT 10 # ?most

A place is `VALUES ?NAME { UNDEF }`, or with its default in the braces, or `LIMIT 10 # ?NAME`; or, where a path begins
that servers shall follow, `<urn:parameter:NAME>` of a file, a run or an IRI that is required. A value is checked, and
becomes a term of its type; it is never pasted as text. A header may say `(TYPE)`, `(TYPE, required)` and
`(TYPE, default VALUE)`, where TYPE is one of

"""


def page(every: Iterable[Question]) -> str:
    """Return the reference of questions, as Markdown."""
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
