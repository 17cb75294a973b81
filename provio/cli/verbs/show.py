"""`provio show`: shows the record of a run, or of an object inside a file."""

from __future__ import annotations

import click

from provio.ask import runs, session
from provio.ask.member_origins import Origins
from provio.ask.nodes import describe
from provio.ask.target import Target, find_targets
from provio.ask.walk import Nodes
from provio.base import terminal
from provio.base.text import moment, plural, printable, size
from provio.base.vocab import local_name
from provio.cli.verbs import TEXT_FORMS, Form, fold_option, stoppable, store_option
from provio.store import Reader


@click.command("show", short_help="Show one run, or a dataset.")
@click.argument("run", metavar="RUN|FILE#/DATASET")
@click.option("--as", "form", cls=Form, type=TEXT_FORMS, default="text", show_default=True)
@fold_option
@store_option
@stoppable
def command(run: str, form: str, fold: bool) -> int:
    """Show one RUN (its id, the start of it, its name, or `last`): its programs and the files that it read and wrote.
    Or show a dataset, attribute or group inside a file: its type, its creator and the operations on it.

    \b
    Example: provio show last
             provio show xcorr.h5#/stack
    """
    if "#" in run:
        request = find_targets([run])
        if form == "text":
            terminal.out(show(request.reader, request.targets[0], unicode=terminal.unicode()))
            return 0
        rows = facts(request.reader, request.targets[0])
    else:
        reader = session.reader(None)
        run = session.run_id(reader, run)
        if form == "text":
            terminal.out(runs.show(reader, run, unicode=terminal.unicode(), fold=fold))
            return 0
        rows = runs.facts(reader, run)
    from provio.render import records

    terminal.out(records.render("show", rows, form))
    return 0


FACTS = ("shape", "maxShape", "datatype", "chunks", "filters")


def facts(reader: Reader, target: Target) -> list[tuple[str, str, int | None]]:
    """Return the type of an object, its creators and the operations on it in all runs, as rows of the table `show`; the
    number is the bytes that calls transferred."""
    inside = Origins(reader, Nodes(reader))
    iri = target.iri if inside.properties(target.iri) else next(iter(inside.origins(target.iri)), target.iri)
    node = describe(reader, {iri})[0]
    properties = {local_name(row["p"]): row["o"] for row in reader.rows(f"SELECT ?p ?o {{ <{iri}> ?p ?o }}")}
    rows: list[tuple[str, str, int | None]] = [(node["type"].lower(), target.path or node.get("path") or iri, None)]
    rows += [("!", target.changed, None)] if target.changed else []
    if iri != target.iri:
        rows.append(("as", f"{node.get('path', iri)}: unchanged since", None))
    rows += [(name, properties[name], None) for name in FACTS if name in properties]
    rows += [
        ("made", f"{moment(row['start'])} by {row['label']}, run {row['run']}", None) for row in _made(reader, iri)
    ]
    return rows + [_done(row) for row in _calls(reader, iri)]


def show(reader: Reader, target: Target, unicode: bool = True) -> str:
    """Return the same facts as lines of text."""
    lines = [
        f"{'' if key == '!' else key:8} {'! ' if key == '!' else ''}{value}" for key, value, _ in facts(reader, target)
    ]
    return "".join(printable(line, unicode) + "\n" for line in lines)


def _made(reader: Reader, iri: str) -> list[dict[str, str]]:
    query = f"""SELECT DISTINCT ?start ?label ?run {{ <{iri}> prov:wasGeneratedBy ?a .
        ?a prov:startedAtTime ?start ; prov:wasAssociatedWith ?p ; provio:partOf+ ?r . ?p a provio:Program ;
        rdfs:label ?label . ?r a provio:Run . BIND(STRAFTER(STR(?r), "/run/") AS ?run) }} ORDER BY ?start"""
    return list(reader.rows(query))


def _calls(reader: Reader, iri: str) -> list[dict[str, str]]:
    query = f"""SELECT ?how ?api (SUM(?c) AS ?calls) (SUM(?b) AS ?bytes) (COUNT(DISTINCT ?run) AS ?runs) {{
        SELECT DISTINCT ?how ?api ?io ?c ?b ?run {{ <{iri}> ?how ?io . ?io provio:api ?api ; provio:partOf+ ?run .
        ?run a provio:Run . OPTIONAL {{ ?io provio:count ?n }} OPTIONAL {{ ?io provio:bytes ?m }}
        FILTER NOT EXISTS {{ ?io provio:errors ?errors }}
        BIND(COALESCE(?n, 1) AS ?c) BIND(COALESCE(?m, 0) AS ?b) }} }} GROUP BY ?how ?api ORDER BY ?how ?api"""
    return list(reader.rows(query))


def _done(row: dict[str, str]) -> tuple[str, str, int]:
    how = local_name(row["how"]).removeprefix("was").removesuffix("By").lower()
    moved = f", {size(int(row['bytes']))}" if row["bytes"] != "0" else ""
    text = f"{row['api']}: {plural(int(row['calls']), 'call')}{moved}, in {plural(int(row['runs']), 'run')}"
    return how, text, int(row["bytes"])
