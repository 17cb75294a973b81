"""What is recorded: the store in, the list of runs, one run's summary, or a run found by name, out."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

import pyoxigraph as ox

from provio.document import command_line
from provio.errors import NothingKnown
from provio.facts import RUN_BASE
from provio.reports.text import cut_path, duration, moment, printable, size
from provio.store import Store
from provio.vocab import NS, PROV

PREFIXES = f"PREFIX provio: <{NS}> PREFIX prov: <{PROV}> "
LISTING = f"""{PREFIXES} SELECT ?run ?start ?end ?exit ?signal ?name ?campaign ?argv WHERE {{
    ?bundle provio:ofRun ?iri . OPTIONAL {{ ?iri provio:commandLine ?argv }}
    OPTIONAL {{ ?iri prov:startedAtTime ?start }} OPTIONAL {{ ?iri prov:endedAtTime ?end }}
    OPTIONAL {{ ?iri provio:exitCode ?exit }} OPTIONAL {{ ?iri provio:signal ?signal }}
    OPTIONAL {{ ?iri provio:name ?name }} OPTIONAL {{ ?iri provio:campaign ?campaign }}
    BIND(STRAFTER(STR(?iri), "/run/") AS ?run) }} ORDER BY ?run"""
COLUMNS = ["run", "start", "seconds", "end", "name", "campaign", "size", "files", "command"]
MANY = 40


def chosen(reader: Store, campaign: str | None, name: str | None) -> list[str] | None:
    """Return the ids of the runs of a campaign, or of a name, or both; None where neither is said: all runs.

    Raises NothingKnown where there is no such run.
    """
    asked = {word: value for word, value in (("campaign", campaign), ("name", name)) if value is not None}
    if not asked:
        return None
    found = [row["run"] for row in reader.rows(LISTING) if all(row.get(word) == value for word, value in asked.items())]
    if not found:
        words = " and ".join(f"{word} {value!r}" for word, value in asked.items())
        raise NothingKnown(f"no run has the {words} (provio runs lists them)")
    return found


def listing(
    reader: Store,
    only: Collection[str] | None = None,
    extent: Callable[[str], tuple[int, int] | None] = lambda _: None,
) -> tuple[list[str], list[list[ox.Literal | None]]]:
    """Return the columns and rows of the list of runs (`only` these ids), oldest first; `end` is an exit code or a
    signal; `extent` tells of a run how many bytes and files it takes, where it is still there."""
    rows: list[list[ox.Literal | None]] = []
    for row in reader.rows(LISTING):
        if only is not None and row["run"] not in only:
            continue
        taken = extent(row["run"])
        cells: dict[str, str | int] = {
            "run": row["run"],
            "start": moment(row["start"]) if "start" in row else "",
            "seconds": duration(row["start"], row["end"]) if "start" in row and "end" in row else "",
            "end": _end(row),
            "name": row.get("name", ""),
            "campaign": row.get("campaign", ""),
            "size": taken[0] if taken else "",
            "files": taken[1] if taken else "",
            "command": command_line({"iri": "", "type": "Run", "label": "", "argv": row.get("argv", "")}),
        }
        rows.append([ox.Literal(cells[name]) if cells[name] != "" else None for name in COLUMNS])
    return COLUMNS, rows


def shortest(reader: Store) -> int:
    """Return how many characters of a run's id are enough to tell all runs apart: what a table shows."""
    ids = [row["run"] for row in reader.rows(LISTING)]
    return next((n for n in (13, 18, 23) if len({run[:n] for run in ids}) == len(ids)), 36)


def _end(row: dict[str, str]) -> str:
    if "signal" in row:
        return f"signal {row['signal']}"
    return f"exit {row['exit']}" if "exit" in row else "ended" if "end" in row else "not seen"


def title(reader: Store, run: str) -> str:
    """Return what to call a run: its command, and when it began."""
    row = next(row for row in reader.rows(LISTING) if row["run"] == run)
    command = command_line({"iri": "", "type": "Run", "label": "", "argv": row.get("argv", "")})
    return f"{cut_path(command, 80)} – {moment(row['start'])}" if "start" in row else command or run


def find(reader: Store, name: str) -> str | None:
    """Return the id of the run that `name` means: `last`, an id, the beginning of one, or a run's name (the newest)."""
    rows = list(reader.rows(LISTING))
    if not name:
        return None
    if name == "last":
        return rows[-1]["run"] if rows else None
    named = [row["run"] for row in rows if row.get("name") == name or row["run"] == name]
    begun = [row["run"] for row in rows if row["run"].startswith(name)]
    if not named and len(begun) > 1:
        raise NothingKnown(f"more than one run begins with {name!r}: {', '.join(begun[:3])}")
    return (named or begun)[-1] if named or begun else None


def show(reader: Store, run: str, unicode: bool = True) -> str:
    """Return the summary of a run as lines of text."""
    iri = RUN_BASE + run
    facts: dict[str, str] = {}
    for row in reader.rows(f"SELECT ?p ?o {{ <{iri}> ?p ?o }}"):
        facts[re.sub(r".*[#/]", "", row["p"])] = row["o"]
    lines = [f"run      {run}" + (f"  ({facts['name']})" if "name" in facts else "")]
    if "campaign" in facts:
        lines.append(f"campaign {facts['campaign']}")
    lines.append(
        "command  " + command_line({"iri": "", "type": "Run", "label": "", "argv": facts.get("commandLine", "")})
    )
    if "startedAtTime" in facts:
        took = f", {duration(facts['startedAtTime'], facts['endedAtTime'])}" if "endedAtTime" in facts else ""
        words = {"signal": "signal", "exitCode": "exit", "endedAtTime": "end"}
        end = _end({word: facts[name] for name, word in words.items() if name in facts})
        lines.append(f"when     {moment(facts['startedAtTime'])}{took}, {end}")
    lines.append(f"where    {facts.get('host', '?')}:{facts.get('cwd', '?')}")
    lines.append(f"system   {facts.get('system', '?')}, Linux {facts.get('kernel', '?')}, {facts.get('cpu', '?')}")
    if "gitCommit" in facts:
        lines.append(f"git      {facts['gitCommit']}{' and changes' if facts.get('gitDirty') == 'true' else ''}")
    for title, found in (
        ("process", _processes(reader, iri)),
        ("wrote", _files(reader, iri, "Write")),
        ("read", _files(reader, iri, "Read")),
    ):
        lines += [f"{title:8} {text}" for text in found[:MANY]]
        if len(found) > MANY:
            lines.append(f"{'':8} and {len(found) - MANY} more")
    return "".join(printable(line, unicode) + "\n" for line in lines)


def _processes(reader: Store, iri: str) -> list[str]:
    query = f"""{PREFIXES} SELECT ?argv ?pid WHERE {{ ?p a provio:Process ; provio:partOf <{iri}> ; provio:pid ?pid ;
        prov:startedAtTime ?start . OPTIONAL {{ ?p provio:argv ?argv }} }} ORDER BY ?start ?pid"""
    return [
        f"{row['pid']:>7}  " + command_line({"iri": "", "type": "Process", "label": "", "argv": row.get("argv", "")})
        for row in reader.rows(query)
    ]


def _files(reader: Store, iri: str, kind: str) -> list[str]:
    """Each file and how many bytes were read or written, system files left out."""
    query = f"""{PREFIXES} SELECT ?path (SUM(?b) AS ?bytes) WHERE {{ GRAPH <{iri}/bundle> {{
        ?io a provio:{kind} ; provio:bytes ?b . ?v provio:was{"Written" if kind == "Write" else "Read"}By ?io .
        {{ SELECT ?v (MIN(?p) AS ?path) WHERE {{ ?v prov:specializationOf ?f . ?f provio:path ?p }} GROUP BY ?v }}
        FILTER NOT EXISTS {{ ?v provio:noise true }} }} }} GROUP BY ?path ORDER BY ?path"""
    return [f"{size(int(row['bytes'])):>9}  {cut_path(row['path'], 60)}" for row in reader.rows(query)]
