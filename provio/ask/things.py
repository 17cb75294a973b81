"""One thing of the record: the name of a run, Task, file or object inside a file in, that thing and its facts out.

A name is looked up in this order: the id of a run or the start of one, `last` or `last~1`, the name of a run, the name
of a Task, a file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from provio.ask import notes, runs, session, tasks
from provio.ask.member_origins import Origins
from provio.ask.nodes import describe
from provio.ask.target import Target, find
from provio.ask.walk import Nodes
from provio.base.errors import NothingKnown, NotYet
from provio.base.text import moment, plural, printable, size
from provio.base.vocab import local_name
from provio.store import Reader, Store

Kind = Literal["run", "task", "file"]


@dataclass(frozen=True)
class Thing:
    """A run by its id, a Task by its IRI, with the number of Tasks of its name, or a file or object by its target."""

    run: str = ""
    task: str = ""
    same: int = 0
    file: Target | None = None


def named(reader: Store, name: str, kind: Kind | None = None) -> Thing:
    """Return the thing of a name, if `kind` is given among those of that kind; raises NothingKnown."""
    inside = "#" in name and kind in (None, "file")
    run = None if inside or kind in ("task", "file") else runs.find(reader, name, start=not os.path.lexists(name))
    if kind == "run" or not name:
        run = session.run_id(reader, name)
    if run:
        return Thing(run=run)
    if not inside and kind != "file" and (found := tasks.named(reader, name)):
        return Thing(task=found[-1], same=len(found))
    if kind == "task":
        if found := tasks.starting(reader, name):
            return Thing(task=found[-1], same=len(found))
        raise NothingKnown(f"no task {name!r} is recorded: provio tasks lists them")
    try:
        return Thing(file=_file(reader, name, only=kind == "file"))
    except NothingKnown:
        if kind == "file" or inside or os.path.lexists(name) or not (found := tasks.starting(reader, name)):
            raise
        return Thing(task=found[-1], same=len(found))


def _file(reader: Store, name: str, only: bool) -> Target:
    from provio.settings.types import suggestion

    try:
        return find(reader, name, None, None)
    except NotYet:
        raise
    except NothingKnown as error:
        near = suggestion(name, [row["name"] for row in reader.rows(runs.LISTING) if "name" in row])
        is_path = only or "/" in name or "#" in name or os.path.lexists(name)
        if is_path or (not near and "did you mean" in str(error)):
            raise
        hint = near or ": provio runs lists the runs"
        raise NothingKnown(f"no run, task or file {name!r} is recorded{hint}") from error


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
    rows += [("note", notes.line(note), None) for note in notes.of(reader, {target.iri, iri})]
    if iri != target.iri:
        rows.append(("as", f"{node.get('path', iri)}: unchanged since", None))
    rows += [(name, properties[name], None) for name in FACTS if name in properties]
    rows += [
        ("made", f"{moment(row['start'])} by {row['label']}, run {row['run']}", None) for row in _made(reader, iri)
    ]
    return rows + [_done(row) for row in _calls(reader, iri)]


def show(reader: Reader, target: Target, unicode: bool = True, width: int | None = None) -> str:
    """Return the same facts as lines of text; notes are cut to `width` columns."""
    rows = facts(reader, target)
    lines = [
        f"{'' if key == '!' else key:8} {'! ' if key == '!' else ''}{value}" for key, value, _ in rows if key != "note"
    ]
    lines[1:1] = notes.lines((value for key, value, _ in rows if key == "note"), width, unicode)
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
