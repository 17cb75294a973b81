"""`provio validate`: runs or files in, what breaks PROV-CONSTRAINTS and provio's shapes out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.cli.verbs import Choice, stoppable, store_option

if TYPE_CHECKING:
    from provio.validate.check import Outcome


@click.command("validate", short_help="Hold graphs against PROV-CONSTRAINTS.")
@click.argument("what", nargs=-1, metavar="[RUN|FILE]...")
@click.option("--as", "form", type=Choice(["table", "json", "csv", "tsv", "junit"]), default="table", show_default=True)
@click.option("--strict", is_flag=True, help="End with 1 for a lint too.")
@click.option("--shacl", is_flag=True, help="Ask provio's shapes by pyshacl (small graphs), not as SPARQL.")
@store_option
@stoppable
def command(what: tuple[str, ...], form: str, strict: bool, shacl: bool) -> int:
    """Hold RUNs or FILEs (or else all runs together) against PROV-CONSTRAINTS, provio's shapes, and lints.

    A FILE is RDF in any syntax, PROV-JSON or PROV-XML, by its ending. Ends with 1 where a constraint or shape is
    violated; 3 where there is nothing to ask.

    Example: provio validate export.trig --as junit > report.xml
    """
    from provio.render import validation
    from provio.validate.rules import VIOLATION

    _own_words()
    outcomes = [_outcome(one, shacl) for one in what or (None,)]
    show = {"table": validation.table, "json": validation.as_json, "junit": validation.junit}
    terminal.out(show[form](outcomes) if form in show else validation.for_programs(outcomes, form))
    return int(any(outcome.findings if strict else outcome.of(VIOLATION) for outcome in outcomes))


def _own_words() -> None:
    """Make classes of the user's own known: documents are held against them too."""
    settings = session.settings()
    if settings.ontology:
        from provio.store import user_vocabulary

        user_vocabulary.of(settings)


def _outcome(what: str | None, shacl: bool) -> Outcome:
    from provio.base.errors import NothingKnown
    from provio.base.vocab import RUN_BASE
    from provio.graph.lines import bundle_iri
    from provio.validate import documents
    from provio.validate.check import check
    from provio.validate.rules import Graph

    if what and (os.path.lexists(what) or Path(what).suffix.lower() in documents.SUFFIXES):
        graphs = documents.graphs(Path(what))
        if not graphs:
            raise NothingKnown(f"{what} says nothing: name a file that holds a graph")
        return check(what, graphs, shacl=shacl)
    reader = session.reader(None)
    if what is None:
        return check("all runs", [Graph(reader.quads(), union=True)], shacl=shacl)
    run = session.run_id(reader, what)
    bundle = bundle_iri(RUN_BASE + run)
    if [graph for graph in reader.run_graphs() if graph.startswith(RUN_BASE)] == [bundle]:
        return check(f"run {run}", [Graph(reader.quads(), bundle, union=True)], shacl=shacl)
    return check(f"run {run}", [Graph(reader.quads(bundle), bundle)], shacl=shacl)
