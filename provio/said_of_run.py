"""What the programs of a run said of themselves: a run and a store in, configurations, metrics and checkpoints, each as
a line of text, out."""

from __future__ import annotations

from collections.abc import Iterator

from provio.across.known import nanoseconds
from provio.configured import called, told
from provio.reports.text import cut_path
from provio.store import Reader

TITLES = ("configuration", "metric", "checkpoint")
CONFIGURATIONS = """SELECT DISTINCT ?g ?name ?version ?whole (MIN(?at) AS ?first) { <%s> provio:hadConfiguration ?g .
    ?use prov:entity ?g ; prov:atTime ?at . FILTER(STRSTARTS(STR(?use), "%s/"))
    OPTIONAL { ?g provio:name ?name } OPTIONAL { ?g provio:version ?version } OPTIONAL { ?g provio:complete ?whole }
    } GROUP BY ?g ?name ?version ?whole ORDER BY ?first"""
METRICS = """SELECT DISTINCT ?m ?name ?at ?value ?step { <%s> provio:hadMetric ?m .
    ?m provio:name ?name ; provio:value ?value ; prov:generatedAtTime ?at OPTIONAL { ?m provio:step ?step } }"""
CHECKPOINTS = """SELECT DISTINCT ?c ?path ?step ?at { <%s> provio:hadCheckpoint ?c .
    ?c provio:path|provio:pathEncoded ?path ; prov:generatedAtTime ?at OPTIONAL { ?c provio:step ?step } }
    ORDER BY ?at ?c"""
ATTRIBUTES = """SELECT DISTINCT ?t ?s ?name ?value { ?t a provio:Task ; provio:hadSetting ?s .
    FILTER(STRSTARTS(STR(?t), "%s/")) ?s provio:name ?name ; provio:value ?value } ORDER BY ?t ?name"""
WIDTH = 80  # of what is shown of a Task's attributes


def rows(reader: Reader, run: str) -> Iterator[tuple[str, str]]:
    """Yield (configuration, metric or checkpoint; what to say of it); of metrics the last of each name."""
    for row in reader.rows(CONFIGURATIONS % (run, run)):
        if "g" in row:
            yield "configuration", _configuration(reader, row)
    for name, (count, last) in sorted(_metrics(reader, run).items()):
        several = f", the last of {count}" if count > 1 else ""
        yield "metric", f"{name} {last['value']}{_step(last)}{several}"
    for row in reader.rows(CHECKPOINTS % run):
        yield "checkpoint", cut_path(row["path"], 60) + _step(row)


def attributes(reader: Reader, run: str) -> dict[str, str]:
    """Return what each Task was begun with, and was said of it later: by its IRI."""
    found: dict[str, list[str]] = {}
    for row in reader.rows(ATTRIBUTES % run):
        found.setdefault(row["t"], []).append(f"{row['name']} {row['value']}")
    lines = {task: ", ".join(said) for task, said in found.items()}
    return {task: line if len(line) <= WIDTH else line[: WIDTH - 1] + "…" for task, line in lines.items()}


def _configuration(reader: Reader, row: dict[str, str]) -> str:
    cut_short = " (not all of it: the program ended before)" if row.get("whole") == "false" else ""
    return told(reader, row["g"], called(row.get("name", ""), row.get("version")) + cut_short)


def _metrics(reader: Reader, run: str) -> dict[str, tuple[int, dict[str, str]]]:
    """How many values each metric had, and the last of them; a store would take longer to group so many."""
    found: dict[str, tuple[int, dict[str, str]]] = {}
    for row in reader.rows(METRICS % run):
        count, last = found.get(row["name"], (0, row))
        found[row["name"]] = count + 1, max(last, row, key=lambda one: nanoseconds(one["at"]))
    return found


def _step(row: dict[str, str]) -> str:
    return f", step {row['step']}" if "step" in row else ""
