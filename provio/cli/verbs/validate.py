"""`provio validate`: checks graphs against PROV-CONSTRAINTS, provio's shapes and lints."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from provio.ask import session
from provio.base import terminal
from provio.cli.option_types import Choice, Form
from provio.cli.options import stoppable, store_option

if TYPE_CHECKING:
    from provio.validate.check import Outcome


@click.command("validate", short_help="Check graphs against PROV-CONSTRAINTS.")
@click.argument("arguments", nargs=-1, metavar="[RUN|FILE]...")
@click.option(
    "--as", "form", cls=Form, type=Choice(["table", "json", "csv", "tsv", "junit"]), default="table", show_default=True
)
@click.option("--strict", is_flag=True, help="Exit with 1 for a lint too.")
@click.option("--shacl", is_flag=True, help="Check the shapes with pyshacl (small graphs) instead of SPARQL.")
@store_option
@stoppable
def command(arguments: tuple[str, ...], form: str, strict: bool, shacl: bool) -> int:
    """Check RUNs or FILEs (or all runs together) against PROV-CONSTRAINTS, provio's shapes, and lints.

    A FILE is RDF in any syntax, PROV-JSON or PROV-XML, by its suffix. Exit code 1 if a constraint or shape is violated;
    3 if there is nothing to check.

    Example: provio validate export.trig --as junit > report.xml
    """
    from provio.render import validation
    from provio.validate.rules import VIOLATION

    _load_user_vocabulary()
    outcomes = [_outcome(one, shacl) for one in arguments or (None,)]
    show = {"table": validation.table, "json": validation.as_json, "junit": validation.junit}
    terminal.out(show[form](outcomes) if form in show else validation.for_programs(outcomes, form))
    return int(any(outcome.findings if strict else outcome.of(VIOLATION) for outcome in outcomes))


def _load_user_vocabulary() -> None:
    """Load the user's own classes, which the checks of documents need too."""
    settings = session.settings()
    if settings.ontology:
        from provio.store import user_vocabulary

        user_vocabulary.of(settings)


def _outcome(arguments: str | None, shacl: bool) -> Outcome:
    from provio.base.errors import NothingKnown
    from provio.base.vocab import RUN_BASE
    from provio.graph.lines import bundle_iri
    from provio.validate import documents
    from provio.validate.check import check
    from provio.validate.rules import Graph

    if arguments and (os.path.lexists(arguments) or Path(arguments).suffix.lower() in documents.SUFFIXES):
        graphs = documents.graphs(Path(arguments))
        if not graphs:
            raise NothingKnown(f"{arguments} holds no statements: name a file with a graph")
        return check(arguments, graphs, shacl=shacl)
    reader = session.reader(None)
    if arguments is None:
        return check("all runs", [Graph(reader.quads(), union=True)], shacl=shacl)
    run = session.run_id(reader, arguments)
    bundle = bundle_iri(RUN_BASE + run)
    if [graph for graph in reader.run_graphs() if graph.startswith(RUN_BASE)] == [bundle]:
        return check(f"run {run}", [Graph(reader.quads(), bundle, union=True)], shacl=shacl)
    return check(f"run {run}", [Graph(reader.quads(bundle), bundle)], shacl=shacl)
