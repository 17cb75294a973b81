"""`provio query`: a SPARQL question in, its answer out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from provio import asking, terminal
from provio.errors import BadQuery
from provio.verbs import FORMS, runs_options, stoppable, store_option

if TYPE_CHECKING:
    from provio.store import Answer


@click.command("query", short_help="Ask a SPARQL question.")
@click.argument("question", required=False)
@click.option("--parameter", "-p", "parameters", multiple=True, metavar="NAME=VALUE", help="Fill in a parameter.")
@click.option("--list", "listed", is_flag=True, help="List the questions that have a name.")
@click.option("--as", "form", type=FORMS, default=None, help="table on a terminal, else tsv.  [table|json|csv|tsv]")
@click.option("--service", is_flag=True, help="Allow SERVICE (and LOAD in an update), which ask other servers.")
@click.option("--update", is_flag=True, help="Carry out an update, of graphs of your own.")
@runs_options
@store_option
@stoppable
def command(
    question: str | None,
    parameters: tuple[str, ...],
    listed: bool,
    form: str | None,
    service: bool,
    update: bool,
    campaign: str | None,
    name: str | None,
) -> int:
    """Ask the union of all runs a SPARQL QUESTION: the name of one (--list), the text, a file, or - for standard input.

    With --campaign or --name, the union of these runs' graphs and of no other.

    The prefixes provio, prov, xsd, rdf, rdfs are known. CONSTRUCT and DESCRIBE print Turtle. Where several runs saw
    one file, what they all say of it is found once for each: say DISTINCT. What an update added is forgotten when the
    store is made anew.

    Example: provio query 'SELECT ?file WHERE { ?file a provio:File }'
    """
    from provio import named_questions, query

    form = form or ("table" if sys.stdout.isatty() else "tsv")
    if listed:
        terminal.out(_list(form))
        return 0
    if question is None:
        raise click.UsageError("no question: give one, or --list")
    sparql = named_questions.filled(query.text_of(question), _values(parameters))
    if update:
        _update(sparql, service, campaign or name)
        return 0
    store = asking.reader(None)
    with query.reading():
        answer = query.ask(
            store, sparql, asking.graphs(store, asking.Which(campaign=campaign, name=name)), service=service
        )
        shown = _shown(answer, form)
    terminal.out(shown)
    return 0


def _values(parameters: tuple[str, ...]) -> dict[str, str]:
    """The parameters of the command line, by name."""
    for parameter in parameters:
        if "=" not in parameter:
            raise click.UsageError(f"--parameter takes NAME=VALUE, not {parameter}")
    return {name: value for name, _, value in (parameter.partition("=") for parameter in parameters)}


def _list(form: str) -> str:
    """The questions that have a name, with what they ask and what can be filled in."""
    from pyoxigraph import Literal

    from provio import named_questions
    from provio.reports import rows

    every = ((one.name, one.title, " ".join(name for name, _ in one.parameters)) for one in named_questions.questions())
    found = ([Literal(cell) for cell in cells] for cells in every)
    names = ("question", "asks", "parameters")
    return rows.render(names, found, form, width=terminal.width(), unicode=terminal.unicode())


def _update(sparql: str, service: bool, chosen: str | None) -> None:
    from provio import home as homes
    from provio import query

    if chosen is not None:
        raise click.UsageError("--update is of the whole store: leave out --campaign and --name")
    settings = asking.settings()
    if settings.stores:
        raise BadQuery("an update is of one record, and several are asked together: say PROVIO_STORES= before it")
    asking.reader(None)
    query.update(homes.find(), settings, sparql, service=service)


def _shown(answer: Answer, form: str) -> str:
    import pyoxigraph as ox

    from provio.reports import rows

    if isinstance(answer, ox.QueryTriples):
        from provio.turtle import inert
        from provio.vocab import PREFIXES

        return inert(ox.serialize(answer, format=ox.RdfFormat.TURTLE, prefixes=PREFIXES) or b"").decode()
    if isinstance(answer, ox.QueryBoolean):
        return rows.boolean(bool(answer), form)
    names = [variable.value for variable in answer.variables]
    found = ([solution[name] for name in names] for solution in answer)
    return rows.render(names, found, form, width=terminal.width(), unicode=terminal.unicode())
