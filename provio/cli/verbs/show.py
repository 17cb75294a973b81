"""`provio show`: shows the record of a run, a Task, a file, or an object inside a file."""

from __future__ import annotations

import os

import click

from provio.ask import runs, session, tasks
from provio.ask.member_origins import Origins
from provio.ask.nodes import describe, is_member
from provio.ask.target import Target, find
from provio.ask.walk import Nodes
from provio.base import terminal
from provio.base.errors import NothingKnown, NotYet
from provio.base.text import moment, plural, printable, size
from provio.base.vocab import local_name
from provio.cli.verbs import TEXT_FORMS, Form, fold_option, stoppable, store_option
from provio.store import Reader, Store


@click.command("show", short_help="Show one run, task, file or dataset.")
@click.argument("what", metavar="RUN|TASK|FILE[#/DATASET]")
@click.option("--run", "kind", flag_value="run", help="It is a run.")
@click.option("--task", "kind", flag_value="task", help="It is a task.")
@click.option("--file", "kind", flag_value="file", help="It is a file.")
@click.option("--as", "form", cls=Form, type=TEXT_FORMS, default="text", show_default=True)
@fold_option
@store_option
@stoppable
def command(what: str, kind: str | None, form: str, fold: bool) -> int:
    """Show one thing: a run (its programs, the files that it read and wrote), a task, a file (as provio why), or a
    dataset, attribute or group inside a file.

    It is looked up in this order: the id of a run or the start of one, `last` or `last~1` (the run before), the name of
    a run, the name of a task, a file. --run, --task and --file select one of them.

    \b
    Example: provio show last
             provio show results/fig3.h5
             provio show xcorr.h5#/stack
    """
    # A path belongs to the record above it; a name to the record here.
    reader = session.reader(what if "/" in what else None)
    text, unicode = form == "text", terminal.unicode()
    place = what if "#" in what and kind in (None, "file") else None
    run = None if place or kind in ("task", "file") else runs.find(reader, what, start=not os.path.lexists(what))
    if kind == "run" or not what:
        run = session.run_id(reader, what)
    if run:
        shown = runs.show(reader, run, unicode=unicode, fold=fold) if text else _rows(runs.facts(reader, run), form)
    elif not place and kind != "file" and (found := tasks.named(reader, what)):
        one, same = found[-1], len(found)
        shown = tasks.show(reader, one, same, unicode, fold) if text else _rows(tasks.facts(reader, one), form)
    elif kind == "task":
        raise NothingKnown(f"no task {what!r} is recorded: provio query tasks lists them")
    else:
        shown = _of_file(reader, what, form, fold, only=kind == "file")
    terminal.out(shown)
    return 0


def _of_file(reader: Store, name: str, form: str, fold: bool, only: bool) -> str:
    """Return the facts of an object inside a file, or the maker of a file, as `provio why` prints it."""
    from provio.ask.why import why
    from provio.cli.verbs.why import shown
    from provio.settings.types import suggestion

    try:
        target = find(reader, name, None, None)
    except NotYet:
        raise
    except NothingKnown as error:
        near = suggestion(name, [row["name"] for row in reader.rows(runs.LISTING) if "name" in row])
        is_path = only or "/" in name or "#" in name or os.path.lexists(name)
        if is_path or (not near and "did you mean" in str(error)):
            raise
        hint = near or ": provio runs lists the runs"
        raise NothingKnown(f"no run, task or file {name!r} is recorded{hint}") from error
    if not is_member(target.iri):
        return shown(why(reader, target), form, fold)
    if form == "text":
        return show(reader, target, unicode=terminal.unicode())
    return _rows(facts(reader, target), form)


def _rows(rows: list[tuple[str, str, int | None]], form: str) -> str:
    from provio.render import records

    return records.render("show", rows, form)


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
