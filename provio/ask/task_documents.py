"""Tasks as documents with FlowCept's fields: runs in, a document for each task out, with its used and generated values.

`used` has the parameters and arguments of a task by their names, and the paths of the files that it read (`files`);
`generated` has the last value of each of its metrics, and the paths of the files that it wrote. A run with parameters
or metrics outside of its tasks is a document, too, of the subtype `run`: so is a training that declares no tasks. If
its processes have several values of a parameter, `used` has their list; a condition holds for a list if it holds for a
member of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from provio.ask import runs, task_list
from provio.ask.comparison import of_term
from provio.ask.comparison import plain as plain_value
from provio.ask.document_query import Document, select
from provio.ask.task_events import files_of
from provio.base import turtle
from provio.base.records import field, plain
from provio.base.text import sortable
from provio.base.vocab import RUN_BASE
from provio.graph.lines import bundle_iri
from provio.lineage.identity import SEALED
from provio.store import Confined
from provio.trace.events import Arguments

if TYPE_CHECKING:
    from provio.settings.home import Home
    from provio.store import Reader, Store

OWNERS = "{ SELECT ?t { { ?t a provio:Task } UNION { ?t a provio:Run } } }"
SETTINGS = f"""SELECT ?t ?c ?name ?value ?type {{ {OWNERS}
    {{ ?t provio:hadConfiguration ?c . ?c prov:hadMember ?s }} UNION {{ ?t provio:hadSetting ?s BIND (?t AS ?c) }}
    ?s provio:name ?name ; provio:value ?value BIND (DATATYPE(?value) AS ?type) }}"""
METRICS = f"""SELECT ?t ?m ?name ?value ?type ?at {{ {OWNERS} ?t provio:hadMetric ?m .
    ?m provio:name ?name ; provio:value ?value ; prov:generatedAtTime ?at BIND (DATATYPE(?value) AS ?type) }}"""
FILES = """SELECT DISTINCT ?part ?did ?path { { SELECT ?io ?part { ?io provio:partOf ?part } }
    { SELECT ?version ?did ?io { VALUES ?did { provio:wasReadBy provio:wasWrittenBy } ?version ?did ?io } }
    { SELECT ?version ?path { ?version prov:specializationOf ?file . ?file provio:path ?path } }
    FILTER NOT EXISTS { ?part provio:usedAsNoise ?version } }"""
STATES = {"exit 0": "ok", "in progress": "unfinished"}
USED, GENERATED = "used", "generated"


@plain(slots=True)
class _Values:
    """The values of one task or run: by name, each with its order, and the configuration or metric that has it."""

    of: dict[str, list[tuple[str, str, Any]]] = field(default_factory=dict)

    def add(self, name: str, value: Any, origin: str, order: str = "") -> None:
        """Add a value."""
        self.of.setdefault(name, []).append((order, origin, value))

    def last(self) -> Document:
        """Return the last value of each name."""
        return {name: sorted(values, key=itemgetter(0))[-1][2] for name, values in self.of.items()}

    def distinct(self) -> Document:
        """Return the value of each name, or the list of several: processes of a run may have different ones."""
        found = {name: list(dict.fromkeys(value for _, _, value in values)) for name, values in self.of.items()}
        return {name: values[0] if len(values) == 1 else values for name, values in found.items()}

    def without(self, others: Iterable[_Values]) -> _Values:
        """Return the values that none of the others has."""
        origins = {origin for one in others for values in one.of.values() for _, origin, _ in values}
        kept = {name: [one for one in values if one[1] not in origins] for name, values in self.of.items()}
        return _Values({name: values for name, values in kept.items() if values})


def documents(store: Store, home: Home, wanted: Sequence[str], files: bool = True) -> Iterator[Document]:
    """Yield the documents of runs: of their tasks, oldest first, then of the runs themselves. Without `files`, paths
    are left out, which takes less time."""
    reader = Confined(store, [bundle_iri(RUN_BASE + run) for run in wanted])
    settings, metrics, none = _settings(reader), _metrics(reader), _Values()
    known = {str(row["run"]): row for row in runs.listing(store, wanted)}
    listed = task_list.listed(store, home, wanted)
    tasks = {row.iri for row in listed.rows}
    paths = _files(reader, tasks) if files else {}
    of_dask = {row.run for row in listed.rows if row.kind in SEALED}
    arguments = {task: given for run in of_dask for task, given in _arguments(home, run)}
    for row in listed.rows:
        yield {
            **row.flowcept(), "campaign_id": known.get(row.run, {}).get("campaign"),
            USED: arguments.get(row.iri, {}) | settings.get(row.iri, none).distinct() | paths.get((row.iri, USED), {}),
            GENERATED: metrics.get(row.iri, none).last() | paths.get((row.iri, GENERATED), {}),
        }  # fmt: skip
    for run, facts in known.items():
        iri = RUN_BASE + run
        own = (
            of.get(iri, none).without(of[task] for task in of if task in tasks and task.startswith(iri))
            for of in (settings, metrics)
        )
        found = {USED: next(own).distinct(), GENERATED: next(own).last()}
        if any(found.values()):
            yield _of_run(run, facts) | {side: held | paths.get((iri, side), {}) for side, held in found.items()}


def selected(
    store: Store, home: Home, wanted: Sequence[str] | None, equal: Mapping[str, str | None], **query: Any
) -> list[Document]:
    """Return the documents that a query selects (`document_query.select`), of these runs or of all, and of those with
    the values in `equal` (None: any). Only the campaign and the run that its filter names are read. Raises BadQuery."""
    found = runs.listing(store, wanted)
    given = query.get("filter") or {}
    for name, column in (("campaign_id", "campaign"), ("workflow_id", "run")):
        if isinstance(given, Mapping) and isinstance(given.get(name), str):
            found = [row for row in found if row[column] == given[name]]
    text = json.dumps([given, *(query.get(name) or () for name in ("projection", "aggregation", "sort"))], default=str)
    files = ".files" in text or query.get("projection") is None
    every = documents(store, home, [str(row["run"]) for row in found], files)
    return select(
        (one for one in every if all(value in (None, one.get(name)) for name, value in equal.items())), **query
    )


def _of_run(run: str, facts: dict[str, Any]) -> Document:
    started = datetime.fromisoformat(facts["start"]).timestamp() if facts["start"] else None
    ended = started + facts["seconds"] if started is not None and facts["seconds"] is not None else None
    return {
        "task_id": run, "activity_id": facts["name"] or facts["command"], "workflow_id": run, "subtype": "run",
        "status": STATES.get(facts["end"], "error"), "started_at": started, "ended_at": ended,
        "seconds": facts["seconds"], "iri": RUN_BASE + run, "campaign_id": facts["campaign"],
    }  # fmt: skip


def _settings(reader: Reader) -> dict[str, _Values]:
    found: dict[str, _Values] = {}
    for task, origin, name, value, kind in reader.table(SETTINGS):
        found.setdefault(task, _Values()).add(name, plain_value(of_term(value, kind)), origin)
    return found


def _metrics(reader: Reader) -> dict[str, _Values]:
    found: dict[str, _Values] = {}
    for task, origin, name, value, kind, at in reader.table(METRICS):
        found.setdefault(task, _Values()).add(name, plain_value(of_term(value, kind)), origin, sortable(at))
    return found


def _files(reader: Reader, tasks: set[str]) -> dict[tuple[str, str], Document]:
    """Return the paths of the files that each task read and wrote; those outside of any task belong to the run."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for part, did, path in reader.table(FILES):
        task = part.rpartition("phase/")[0]
        owner = task if task in tasks else "/".join(part.split("/")[:6])
        found.setdefault((owner, USED if did.endswith("wasReadBy") else GENERATED), {})[path] = None
    return {key: {"files": sorted(paths)} for key, paths in found.items()}


def _arguments(home: Home, run: str) -> Iterator[tuple[str, Document]]:
    """Yield the arguments of each task of Dask by its IRI: `arg0` … of those without a name."""
    for file in files_of(home, run, frozenset({Arguments}), ("worker",)):
        for event in file.events:
            if isinstance(event, Arguments):
                given: list[Any] = json.loads(event.text)
                process = f"{RUN_BASE}{run}/{turtle.segment(file.host)}/{file.pid}.{file.tick}.0/"
                unnamed = {f"arg{n}": one for n, one in enumerate(given[1] if len(given) > 1 else ())}
                yield f"{process}t{event.task}/", unnamed | (given[2] if len(given) > 2 else {})
