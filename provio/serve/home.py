"""The table of runs of the explorer's home, and two runs side by side. In: a store and a request. Out: plain data."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from provio.ask import comparison, experiments, run_metrics, run_parameters, run_summary, runs, unknown_values
from provio.ask.content import SAME, Contents
from provio.ask.walk import VERSION
from provio.base.errors import NothingKnown
from provio.base.text import moment, size
from provio.base.turtle import instant_text
from provio.base.vocab import RUN_BASE
from provio.graph.lines import bundle_iri
from provio.store import Confined, Store
from provio.trace.run_facts import METRICS, PARAMETERS

PAGE = 50  # runs
MOST_COLUMNS = 200  # metrics and parameters to choose from
MOST_ROWS = 200  # of a part of a comparison
FRESH = 30.0  # seconds for which the state of the files is kept
FACTS = ("command", "name", "campaign", "start", "finish", "end", "host", "folder", "system", "kernel", "cpu", "git",
         "changes", "job")  # fmt: skip
FILE_PARTS = ("Inputs", "Outputs")
MADE = "SELECT DISTINCT ?a ?f { ?v prov:wasGeneratedBy ?a ; prov:specializationOf ?f . ?f a provio:File }"
ENVIRONMENT = """SELECT DISTINCT ?name ?value { <%s> prov:used ?e .
    ?e a provio:Environment ; provio:name ?name ; provio:value ?value }"""
FILES = """SELECT DISTINCT ?path ?v { %s ?v prov:specializationOf ?f . ?f a provio:File .
    ?f provio:path|provio:pathEncoded ?path }"""
INPUTS, OUTPUTS = FILES % "?a prov:used ?v .", FILES % "?v prov:wasGeneratedBy ?a ."
WORDS = {role: (f"with unknown {role}", f"with {role} known in part") for role in (METRICS, PARAMETERS)}


class Table:
    """The rows of all runs of one snapshot, made at the first request."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.rows: list[dict[str, Any]] = []
        self.columns: list[dict[str, str]] = []
        self.unknown: list[str] = []

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return one page of runs by a column, with their values of the chosen columns, all columns, and lines about
        the runs with values that are not known."""
        if not self.rows:
            self._read()
        sort, chosen = request["sort"], set(request["columns"]) or {one["key"] for one in self._usual()}
        found = _sorted(self.rows, sort, request["descending"])
        page = found[request["skip"] : request["skip"] + PAGE]
        shown = [row | {"values": {key: row["values"][key] for key in chosen if key in row["values"]}} for row in page]
        return {
            "runs": shown, "count": len(found), "columns": self.columns,
            "chosen": [one["key"] for one in self.columns if one["key"] in chosen], "unknown": self.unknown,
        }  # fmt: skip

    def _usual(self) -> list[dict[str, str]]:
        """Return the columns that are shown first: two metrics and two parameters that differ."""
        kinds = ("metric", "parameter")
        return [one for kind in kinds for one in [each for each in self.columns if each["kind"] == kind][:2]]

    def _read(self) -> None:
        made: dict[str, set[str]] = {}
        for activity, file in self.store.table(MADE):
            made.setdefault(experiments.run_of(activity), set()).add(file)
        values: dict[str, dict[str, Any]] = {}
        metrics, names = _metrics(self.store, None), set()
        for run, name, value in metrics:
            names.add(name)
            values.setdefault(run, {})[f"metric:{name}"] = value
        parameters, keys = _parameters(self.store)
        for run, several in parameters.items():
            values.setdefault(run, {}).update({f"parameter:{key}": value for key, value in several.items()})
        with_values = (METRICS, {run for run, _, _ in metrics}), (PARAMETERS, parameters)
        lines = (unknown_values.line(self.store, role, None, known, WORDS[role]) for role, known in with_values)
        self.unknown = [line for line in lines if line]
        self.columns = [
            {"key": f"{kind}:{name}", "kind": kind, "name": name}
            for kind, every in (("metric", sorted(names)), ("parameter", keys)) for name in every[:MOST_COLUMNS]
        ]  # fmt: skip
        self.rows = [
            {**row, "wrote": len(made.get(str(row["run"]), ())), "values": values.get(str(row["run"]), {})}
            for row in runs.listing(self.store)
        ]


def _metrics(store: Store, ids: list[str] | None) -> list[tuple[str, str, Any]]:
    try:
        return [(one.run, one.name, comparison.plain(one.value)) for one in run_metrics.of_runs(store, ids)]
    except NothingKnown:
        return []


def _parameters(store: Store) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the parameters of each run that differ between runs; the values of several programs as one text."""
    try:
        table = run_parameters.of_runs(store, None)
    except NothingKnown:
        return {}, []
    keys = table.keys(everything=False)
    found: dict[str, dict[str, Any]] = {}
    for row in table.rows:
        own = found.setdefault(row.run, {})
        for key in keys[:MOST_COLUMNS]:
            if key in row.values:
                value = comparison.plain(row.values[key])
                own[key] = value if own.get(key, value) == value else f"{own[key]}, {value}"[:200]
    return found, keys


def _cell(row: Mapping[str, Any], column: str) -> Any:
    return row["values"].get(column) if ":" in column else row.get(column)


def _sorted(rows: list[dict[str, Any]], column: str, descending: bool) -> list[dict[str, Any]]:
    """Return rows in order of a column; those without a value come last in both directions."""
    known = [row for row in rows if _cell(row, column) is not None]
    known.sort(key=lambda row: (*comparison.rank(_cell(row, column)), str(_cell(row, column))), reverse=descending)
    return known + [row for row in rows if _cell(row, column) is None]


class State:
    """The states of the files of the project, as `provio status` states them; kept for some seconds."""

    def __init__(self, store: Store) -> None:
        self.store, self.at = store, 0.0
        self.answer: dict[str, Any] = {}

    def counts(self) -> dict[str, Any]:
        """Return the number of files in each state, and the first files that are not current."""
        if not self.answer or time.monotonic() - self.at > FRESH:
            from provio.ask.status import place_of, status
            from provio.settings import home as homes

            found = status(self.store, place_of(str(homes.find().project), []))
            counts = Counter(row.state for row in found.rows)
            self.answer = {"counts": dict(counts), "gaps": len(found.gaps)}
            self.at = time.monotonic()
        return self.answer


def environment(store: Store, run: str) -> list[tuple[str, str]]:
    """Return the recorded variables of a run."""
    return sorted((name, value) for name, value in store.table(ENVIRONMENT % (RUN_BASE + run)))


def reported(store: Store, run: str) -> dict[str, Any]:
    """Return the parameters and metrics of a run, its variables, packages and the notes about it, and the
    reasons why values are not known."""
    from provio.ask import notes, used_packages

    settings: list[tuple[str, str]] = []
    with contextlib.suppress(NothingKnown):
        rows = run_parameters.of_runs(store, [run]).rows
        for row in rows:
            program = f"{row.program}: " if rows[1:] else ""
            settings += [
                (program + key, comparison.text(value)) for key, value in sorted(row.values.items())[:MOST_ROWS]
            ]
    metrics = {name: value for _, name, value in _metrics(store, [run])[:MOST_ROWS]}
    about = notes.of(store, [RUN_BASE + run])
    return {
        "parameters": settings[:MOST_ROWS], "metrics": [*metrics.items()], "environment": environment(store, run),
        "notes": [notes.line(note) for note in about],
        "unread": unknown_values.reasons(store, ids=[run]).get(run, []),
        "packages": [(name, ", ".join(sorted(some))) for name, some in used_packages.of_run(store, run).items()],
    }  # fmt: skip


def compare(store: Store, first: str, second: str) -> dict[str, Any]:
    """Return where two runs differ: their names, and parts with a title, rows of a name and the value on each side
    (None: there is none), the number of further rows, that of equal ones, and whether a run `recorded` any."""
    sides = [_side(store, run) for run in (first, second)]
    contents = Contents(store)
    contents.load(version for side in sides for title in FILE_PARTS for version in side[title].values())
    parts = [
        _part(title, one, other, contents)
        for (title, one), other in zip(sides[0].items(), sides[1].values(), strict=True)
    ]
    heads = [_head(store, run, side["Run"].get("name", "")) for run, side in zip((first, second), sides, strict=True)]
    return {"runs": heads, "parts": parts}


def _head(store: Store, run: str, name: str) -> dict[str, str]:
    """Return how a run is called: its name, or its command and time."""
    title = runs.title(store, run)
    return {"run": run, "name": name or title, "title": title}


def _side(store: Store, run: str) -> dict[str, dict[str, Any]]:
    facts = {what: value for what, value, number in run_summary.facts(store, run) if number is None and what in FACTS}
    graph = Confined(store, [bundle_iri(RUN_BASE + run)])
    used, made = (_versions(graph.table(query)) for query in (INPUTS, OUTPUTS))
    settings = [one.settings for one in experiments.of_run(store, run).values()]
    return {
        "Run": facts,
        "Parameters": {key: value for each in settings for key, value in each.items()},
        "Metrics": {name: value for _, name, value in _metrics(store, [run])},
        "Environment": dict(environment(store, run)),
        "Inputs": {path: version for path, version in used.items() if path not in made},
        "Outputs": made,
    }


def _versions(rows: Iterable[list[str]]) -> dict[str, str]:
    return dict(sorted(rows))


def _part(title: str, first: Mapping[str, Any], second: Mapping[str, Any], contents: Contents) -> dict[str, Any]:
    found = comparison.differences(first, second)
    if title in FILE_PARTS:
        found = [one for one in found if not _is_same(one, contents)]
        rows = [[one.key, *_versions_text(one, contents)] for one in found[:MOST_ROWS]]
    else:
        rows = [[one.key, _plain(one.first), _plain(one.second)] for one in found[:MOST_ROWS]]
    same = len(first.keys() | second.keys()) - len(found)
    recorded = bool(first or second)
    return {"title": title, "rows": rows, "more": len(found) - len(rows), "same": same, "recorded": recorded}


def _plain(value: Any) -> Any:
    return None if value is None else comparison.plain(value)


def _is_same(one: comparison.Difference, contents: Contents) -> bool:
    """Return whether two versions have the same content."""
    if one.first is None or one.second is None:
        return False
    return contents.versions(str(one.first), str(one.second)).state == SAME


def _versions_text(one: comparison.Difference, contents: Contents) -> list[str | None]:
    """Return the size and time of the version on each side; on the second also how the contents were compared."""
    sides = [None if side is None else _version(str(side)) for side in (one.first, one.second)]
    if sides[0] and sides[1]:
        sides[1] += f"; {contents.versions(str(one.first), str(one.second)).reason}"
    return sides


def _version(iri: str) -> str:
    its = VERSION.match(iri)
    return f"{size(int(its[2]))}, {moment(instant_text(int(its[1])))}" if its else iri.rpartition("/")[2]
