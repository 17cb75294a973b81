"""Tasks, as their programs named them. In: the store and a name. Out: the newest Task of that name, and its facts."""

from __future__ import annotations

from provio.ask import notes, run_summary
from provio.base.errors import NothingKnown
from provio.base.text import cut_end, cut_path, duration, moment, printable
from provio.base.turtle import literal
from provio.base.vocab import RUN_BASE
from provio.lineage.identity import SEALED
from provio.settings.home import Home
from provio.store import Reader

FACTS = """SELECT ?label ?name ?kind ?status ?start ?end ?source ?program { <%s> a provio:Task ; provio:name ?name .
    OPTIONAL { <%s> rdfs:label ?label } OPTIONAL { <%s> provio:kind ?kind } OPTIONAL { <%s> provio:status ?status }
    OPTIONAL { <%s> prov:startedAtTime ?start }
    OPTIONAL { <%s> prov:endedAtTime ?end } OPTIONAL { <%s> provio:sourceText ?source }
    OPTIONAL { <%s> prov:wasAssociatedWith ?p . ?p a provio:Program ; provio:path ?program } }"""
SETTINGS = """SELECT DISTINCT ?name ?value { <%s> provio:hadSetting ?s . ?s provio:name ?name ; provio:value ?value }
    ORDER BY ?name"""
FILES = """SELECT ?did ?path (SUM(?moved) AS ?bytes) { ?io provio:partOf+ <%s> ; a ?kind .
    FILTER(?kind IN (provio:Read, provio:Write)) BIND(IF(?kind = provio:Read, "read", "wrote") AS ?did)
    ?version provio:wasReadBy|provio:wasWrittenBy ?io ; prov:specializationOf ?file . ?file provio:path ?path .
    FILTER NOT EXISTS { ?user provio:usedAsNoise ?version ; provio:partOf <%s> }
    OPTIONAL { ?io provio:bytes ?size } BIND(COALESCE(?size, 0) AS ?moved) } GROUP BY ?did ?path ORDER BY ?path"""
STARTING = """SELECT DISTINCT ?name { ?t a provio:Task ; provio:name ?name . FILTER(STRSTARTS(?name, %s)) } LIMIT 3"""
SHOWN = ("setting", "source", "configuration", "metric", "checkpoint", "wrote", "read")
HISTORY = (  # of a task of Dask
    "prefix", "graph", "code", "priority", "restriction", "dependency", "dependent", "attempt", "state", "result",
    "transfer", "arguments", "exception", "traceback", "io",
)  # fmt: skip


def named(reader: Reader, name: str) -> list[str]:
    """Return the Tasks of a name or label, oldest first; or the one Task that has this IRI."""
    if name.startswith(RUN_BASE):
        values, pattern = f"VALUES ?t {{ <{name}> }}" if not set(name) & set(' <>"{}|^`\\') else "", ""
        if not values:
            return []
    else:
        values, pattern = f"VALUES ?name {{ {literal(name)} }}", "?t provio:name|rdfs:label ?name ."
    query = f"""SELECT DISTINCT ?t ?start {{ {values} {pattern} ?t a provio:Task ; provio:name ?own .
        OPTIONAL {{ ?t prov:startedAtTime ?start }} }} ORDER BY ?start ?t"""
    return [row["t"] for row in reader.rows(query)]


def starting(reader: Reader, text: str) -> list[str]:
    """Return the Tasks of the one name that starts with a text, oldest first; none if no name does. Raises
    NothingKnown if several do."""
    names = [row["name"] for row in reader.rows(STARTING % literal(text))]
    if len(names) > 1:
        some = ", ".join(cut_path(printable(name), 40) for name in names[:2])
        raise NothingKnown(f"several tasks start with {text!r}: give more of the name ({some} …)")
    return named(reader, names[0]) if names else []


def facts(reader: Reader, task: str, home: Home | None = None) -> list[tuple[str, str, int | None]]:
    """Return the facts of a Task by the columns of the table `show`: its name, program, times, declarations, and the
    files that it wrote and read, with the number of bytes."""
    row = next(iter(reader.rows(FACTS % ((task,) * 8))))
    followed = row.get("kind") in SEALED  # of these, the graph omits the status of a successful one
    known = {
        "task": row.get("label", row["name"]),
        "program": row.get("program"),
        "run": task.removeprefix(RUN_BASE).partition("/")[0],
        "status": row.get("status", "ok" if followed else "not ended"),
        "start": row.get("start"),
        "end": row.get("end"),
    }
    found: list[tuple[str, str, int | None]] = [(what, value, None) for what, value in known.items() if value]
    found += [("setting", f"{one['name']} {one['value']}", None) for one in reader.rows(SETTINGS % task)]
    found += [("note", notes.line(note), None) for note in notes.of(reader, [task])]
    found += [("source", line, None) for line in row.get("source", "").rstrip().splitlines()]
    found += [(what, text, None) for what, text in run_summary.declaration_rows(reader, task)]
    moved = [(one["did"], one["path"], int(one["bytes"])) for one in reader.rows(FILES % (task, task))]
    found += sorted(moved, key=lambda one: one[0] == "read")
    if followed:
        from provio.ask import task_provenance

        found += task_provenance.facts(reader, task, row["name"], home)
    return found


def show(
    reader: Reader, task: str, same: int = 1, unicode: bool = True, fold: bool = False, width: int | None = None
) -> str:
    """Return the facts of a Task as lines of text; `same` Tasks have its name. Notes and states are cut to `width`."""
    rows = facts(reader, task)
    stated = {what: value for what, value, _ in rows}
    lines = [f"task     {stated['task']}" + (f"  (the last of {same} with this name)" if same > 1 else "")]
    lines += [f"program  {stated['program']}"] if "program" in stated else []
    if "start" in stated:
        took = f", {duration(stated['start'], stated['end'])}" if "end" in stated else ""
        lines.append(f"when     {moment(stated['start'])}{took}, {stated['status']}")
    lines.append(f"run      {stated['run']}")
    lines += notes.lines((value for what, value, _ in rows if what == "note"), width, unicode)
    lines = [printable(line, unicode) for line in [*lines, *run_summary.listed(rows, (*SHOWN, *HISTORY), fold)]]
    return "".join(
        (cut_end(line, width, unicode) if width is not None and line.startswith("state ") else line) + "\n"
        for line in lines
    )
