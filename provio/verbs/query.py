"""`provio query`: a SPARQL question in, its answer out."""

from __future__ import annotations

import sys

import click

from provio import asking, terminal
from provio.verbs import FORMS, runs_options


@click.command("query", short_help="Ask a SPARQL question.")
@click.argument("question")
@click.option("--as", "form", type=FORMS, default=None, help="table on a terminal, else tsv.  [table|json|csv|tsv]")
@runs_options
def command(question: str, form: str | None, campaign: str | None, name: str | None) -> int:
    """Ask the union of all runs a SPARQL QUESTION: the text, a file, or - for standard input.

    With --campaign or --name, the union of these runs' graphs and of no other.

    The prefixes provio, prov, xsd, rdf, rdfs are known. CONSTRUCT and DESCRIBE print Turtle. Where several runs saw
    one file, what they all say of it is found once for each: say DISTINCT.

    Example: provio query 'SELECT ?file WHERE { ?file a provio:File }'
    """
    import pyoxigraph as ox

    from provio.query import ask, text_of
    from provio.reports import rows

    sparql = text_of(question)
    store = asking.reader(None)
    answer = ask(store, sparql, asking.graphs(store, asking.Which(campaign=campaign, name=name)))
    form = form or ("table" if sys.stdout.isatty() else "tsv")
    if isinstance(answer, ox.QueryTriples):
        from provio.vocab import PREFIXES

        terminal.out((ox.serialize(answer, format=ox.RdfFormat.TURTLE, prefixes=PREFIXES) or b"").decode())
    elif isinstance(answer, ox.QueryBoolean):
        terminal.out(rows.boolean(bool(answer), form))
    else:
        names = [variable.value for variable in answer.variables]
        found = ([solution[name] for name in names] for solution in answer)
        width = terminal.width()
        terminal.out(rows.render(names, found, form, width=width, unicode=terminal.unicode()))
    return 0
