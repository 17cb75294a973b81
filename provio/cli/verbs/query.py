"""`provio query`: runs a SPARQL query, or one that has a name, and prints the result."""

from __future__ import annotations

import os
import re
import shlex
import sys
from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.base.errors import BadQuery
from provio.base.times import Between
from provio.cli.option_types import FORMS, Form
from provio.cli.options import runs_options, stoppable, store_option

if TYPE_CHECKING:
    from provio.ask.queries import Question
    from provio.ask.target import Selection
    from provio.render.rows import Term
    from provio.store import Answer


@click.command("query", short_help="Run a SPARQL query.")
@click.argument("question", required=False)
@click.argument("values", metavar="[VALUE]...", nargs=-1)
@click.option("--parameter", "-p", "parameters", multiple=True, metavar="NAME=VALUE", help="Fill in a parameter.")
@click.option("--list", "listed", is_flag=True, help="List the named queries.")
@click.option("--show", is_flag=True, help="Show the title of QUESTION, its parameters, an example and its SPARQL.")
@click.option(
    "--as", "form", cls=Form, type=FORMS, default=None, help="table on a terminal, otherwise tsv.  [table|json|csv|tsv]"
)
@click.option(
    "--service", is_flag=True, help="Allow SERVICE (and LOAD in an update), which send requests to other servers."
)
@click.option("--update", is_flag=True, help="Execute an update of your own graphs.")
@runs_options
@store_option
@stoppable
def command(
    question: str | None,
    values: tuple[str, ...],
    parameters: tuple[str, ...],
    listed: bool,
    show: bool,
    form: str | None,
    service: bool,
    update: bool,
    campaign: str | None,
    name: str | None,
    between: Between | None,
) -> int:
    """Run the SPARQL query QUESTION on the union of all runs. QUESTION is the name of a query (--list), SPARQL text, a
    file, or - for standard input.

    VALUEs fill in the parameters of a named query (--show) in their order; -p fills them in by name. --campaign and
    --name restrict the query to the graphs of these runs.

    The prefixes provio, prov, xsd, rdf, rdfs are declared. CONSTRUCT and DESCRIBE print Turtle. A statement about a
    file that several runs recorded is found once for each run: use DISTINCT. A rebuild of the store removes the results
    of updates.

    \b
    Example: provio query upstream results/fig3.h5
             provio query io-by-api -p api=write --as csv
             provio query 'SELECT ?file WHERE { ?file a provio:File }'
    """
    if listed:
        terminal.out(_list(form or _form()))
        return 0
    if question is None:
        raise click.UsageError("no query: give one, or --list")
    chosen = _find(question)
    if show:
        from provio.render import queries as report

        terminal.out(report.render(chosen, unicode=terminal.unicode()))
        return 0
    if not chosen.name:
        from provio.ask import suggestions

        for line in suggestions.of_words(chosen.text):
            terminal.warn(line)
    _check_parameter_syntax(chosen, values)
    filled = _values(chosen, values, parameters)
    from provio.ask.target import Selection

    which = Selection(campaign=campaign, name=name, between=between)
    if update:
        _update(chosen, filled, service, which)
        return 0
    terminal.out(_answer(chosen, filled, which, form or _form(), service))
    return 0


def _form() -> str:
    return "table" if sys.stdout.isatty() else "tsv"


def _find(question: str) -> Question:
    """Return the query; print a note if a query of the user replaces a built-in one."""
    from provio.ask import query

    found = query.find(question, folders())
    if found.instead:
        terminal.note(f"{found.name} is {found.path} (instead of {found.instead})")
    return found


def folders() -> list[str]:
    """Return the user's folders of queries; relative ones are resolved from the settings file that names them."""
    return session.query_folders(session.settings())


def _values(chosen: Question, given: tuple[str, ...], parameters: tuple[str, ...]) -> dict[str, str]:
    """Return the values on the command line, by name."""
    from provio.ask.parameters import by_place, check_names

    for parameter in parameters:
        if "=" not in parameter:
            raise click.UsageError(f"--parameter takes NAME=VALUE, not {parameter}")
    by_name = {name: value for name, _, value in (parameter.partition("=") for parameter in parameters)}
    found = by_place(chosen, given)
    for name in found.keys() & by_name.keys():
        raise click.UsageError(f"{name} is given twice, as {found[name]!r} and with -p: give it once")
    check_names(chosen, found | by_name)
    return found | by_name


def _check_parameter_syntax(chosen: Question, given: tuple[str, ...]) -> None:
    """Reject NAME=VALUE without -p, unless a file has this name."""
    for value in given:
        name, equals, _ = value.partition("=")
        if equals and any(name == one.name for one in chosen.parameters) and not os.path.lexists(value):
            raise click.UsageError(f"to fill in {name} by name, use -p {shlex.quote(value)}")


def _answer(chosen: Question, values: dict[str, str], which: Selection, form: str, service: bool) -> str:
    from provio.ask import parameters, query, suggestions
    from provio.ask.target import graphs
    from provio.settings import home as homes

    store = session.reader(parameters.where(chosen, values))
    with query.reading():
        bound = parameters.bound(chosen, values, store)
        home, only = homes.find(), graphs(store, which)
        answer = query.answer(store, chosen, bound.text, values, home, only, service=service)
        shown = _shown(answer, form, _command_lines(bound.text))
    paths = [values[one.name] for one in chosen.parameters if one.kind == "path" and one.name in values]
    for note in (*bound.notes, *filter(None, (suggestions.of_path(store, path) for path in paths))):
        terminal.warn(note)
    return shown


def _list(form: str) -> str:
    """Return the list of named queries, with titles and parameters."""
    from provio.ask import queries
    from provio.base import table
    from provio.render import records

    found = queries.questions(folders())
    names = records.TABLES["query --list"].names
    cells = [(one.name, one.title, _parameters(one)) for one in found]
    width = terminal.width()
    room = sum(max(map(len, column)) + 2 for column in zip(names, *cells, strict=True)) - 2
    if form == "table" and width is not None and room > width:  # titles are never cut
        terminal.note("provio query NAME --show lists the parameters, with an example")
        return table.align(names[:2], [cell[:2] for cell in cells], width=width, unicode=terminal.unicode())
    return records.render("query --list", cells, form, width=width, unicode=terminal.unicode())


def _parameters(question: Question) -> str:
    return " ".join(one.name if one.required else f"[{one.name}]" for one in question.parameters)


def _update(chosen: Question, values: dict[str, str], service: bool, which: Selection) -> None:
    from provio.ask import parameters, query
    from provio.settings import home as homes

    if (which.campaign, which.name, which.between) != (None,) * 3:
        raise click.UsageError("--update changes the whole store: omit --campaign, --name and --between")
    settings = session.settings()
    if settings.stores:
        raise BadQuery("an update changes one record, but several are queried together: set PROVIO_STORES= for it")
    bound = parameters.bound(chosen, values, session.reader(None))
    query.update(homes.find(), settings, bound.text, service=service)


def _command_lines(question: str) -> set[str]:
    """Return the variables of a query that hold command lines."""
    return set(re.findall(r"provio:(?:argv|commandLine)\s+\?(\w+)", question))


def _typed(term: Term | None) -> Term | None:
    """Return a command line quoted for a shell."""
    import pyoxigraph as ox

    from provio.ask.document import arguments

    return ox.Literal(shlex.join(arguments(term.value))) if isinstance(term, ox.Literal) else term


def _shown(answer: Answer, form: str, commands: set[str]) -> str:
    """Return the result in a form; only a table quotes command lines for a shell."""
    import pyoxigraph as ox

    from provio.render import rows

    if isinstance(answer, ox.QueryTriples):
        from provio.base.turtle import inert
        from provio.base.vocab import PREFIXES

        return inert(ox.serialize(answer, format=ox.RdfFormat.TURTLE, prefixes=PREFIXES) or b"").decode()
    if isinstance(answer, ox.QueryBoolean):
        return rows.boolean(bool(answer), form)
    names = [variable.value for variable in answer.variables]
    found = ([solution[name] for name in names] for solution in answer)
    if form == "table":
        found = (
            [_typed(term) if name in commands else term for name, term in zip(names, row, strict=True)] for row in found
        )
    return rows.render(names, found, form, width=terminal.width(), unicode=terminal.unicode())
