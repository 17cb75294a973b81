"""Answers the questions of the HTTP API and of the server for agents: a store and a request in, plain data out.

Rows are those of `--as json` of the verbs (docs/output.md), with `next`, the cursor of the following ones.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from provio.ask import runs, session
from provio.ask.experiments import run_of
from provio.ask.target import Targets, find
from provio.base import common_names
from provio.base.errors import NothingKnown
from provio.base.text import sortable
from provio.base.vocab import RUN_BASE
from provio.graph.lines import bundle_iri
from provio.render.records import TABLES
from provio.serve.api_table import QUESTIONS, Invalid
from provio.settings import home as homes
from provio.store import Confined
from provio.trace import run_source

if TYPE_CHECKING:
    from provio.settings.home import Home
    from provio.settings.schema import Config
    from provio.store import Reader, Store

FILES = """SELECT ?version ?path ?encoded ?size ?modified {
    { SELECT ?version ?file { ?version prov:specializationOf ?file . ?version a provio:FileVersion } }
    { SELECT ?file ?path ?encoded { { ?file provio:path ?path } UNION { ?file provio:pathEncoded ?encoded } } }
    OPTIONAL { SELECT ?version ?size { ?version provio:size ?size } }
    OPTIONAL { SELECT ?version ?modified { ?version provio:modified ?modified } } }"""
WRITTEN = "SELECT ?version ?part { ?version prov:wasGeneratedBy ?part }"
READ = "SELECT ?version ?part { ?part prov:used ?version }"

Request = dict[str, Any]
Answer = dict[str, Any]
Item = dict[str, Any]


class ApiQueries:
    """The questions on a store; paths are relative to the project of the current folder."""

    def __init__(self, store: Store, settings: Config) -> None:
        self.store, self.home = store, homes.find()
        self.expected = settings.diff_expected
        self.records: Home = self.home  # with other records (setting `stores`), the home of all
        if settings.stores:
            from provio.ask import federated

            self.records = federated.combined_home(self.home, settings, lambda _: None)
        self.handlers: dict[str, Callable[[Request], Answer]] = {
            "runs": self.runs, "campaigns": self.campaigns, "tasks": self.tasks, "files": self.files,
            "lineage": self.lineage, "why": self.why, "impact": self.impact, "status": self.status, "show": self.show,
            "stats": self.stats, "metrics": self.metrics, "params": self.params, "diff": self.diff,
            "query": self.query, "tasks/query": self.documents,
        }  # fmt: skip
        assert {*self.handlers} == {*QUESTIONS}  # noqa: S101 - one table for both

    def execute(self, request: Request) -> Answer:
        """Return the answer to a request, by its `question`; raises ProvioError, Invalid."""
        return self.handlers[request["question"]](request)

    # Runs, and the data that they report.

    def runs(self, request: Request) -> Answer:
        """The recorded runs."""
        from provio.ask import notes

        noted = notes.of_runs(self.store)
        found = runs.listing(self.store, self._ids(request))
        page = _page("runs", request, ([*row.values(), noted.get(str(row["run"]), [])] for row in found), "start")
        for row in page["rows"]:  # only now, because this reads the run folders
            folder = self.home.runs / row["run"]
            if run_source.exists(folder):
                size, files = session.disk_usage([folder])
                row.update(size=size, bytes=size, files=files)
        return page

    def campaigns(self, request: Request) -> Answer:
        """The campaigns."""
        from provio.ask import campaigns

        found = campaigns.listed(self.store, self.records, request["campaign"])
        return _page("campaigns", request, map(campaigns.cells, found), "start", "campaign")

    def tasks(self, request: Request) -> Answer:
        """The tasks of runs."""
        from provio.ask import task_list

        found = task_list.listed(self.store, self.records, self._every(request), request["kind"]).rows
        status = request["status"]
        rows = (task_list.cells(row) for row in found if status is None or task_list.STATUS[status](row))
        return _page("tasks", request, rows, "start", "iri")

    def documents(self, request: Request) -> Answer:
        """The tasks as documents with FlowCept's fields."""
        from provio.ask import task_documents

        options = {name: request[name] for name in ("filter", "projection", "aggregation", "sort", "limit")}
        return {"rows": task_documents.selected(self.store, self.records, self._ids(request), {}, **options)}

    def metrics(self, request: Request) -> Answer:
        """The last value of each metric of runs."""
        from provio.ask import run_metrics
        from provio.ask.comparison import plain

        try:
            found = run_metrics.of_runs(self.store, self._ids(request))
        except NothingKnown:
            found = []
        wanted = (one for one in found if request["metric"] in (None, one.name))
        rows = ([one.run, one.name, plain(one.value), one.step, one.at, one.count] for one in wanted)
        return _page("metrics", request, rows, "time", "run", "metric")

    def params(self, request: Request) -> Answer:
        """The parameters of runs."""
        from provio.ask import run_parameters
        from provio.ask.comparison import plain

        ids = self._ids(request)
        try:
            found = run_parameters.of_runs(self.store, ids).rows
        except NothingKnown:
            found = []
        rows = ([*row.cells(), {key: plain(value) for key, value in row.values.items()}] for row in found)
        return _page("params", request, rows, "start", "run", "program", "parameters")

    def stats(self, request: Request) -> Answer:
        """The I/O of runs by operation, and bottlenecks; of the newest run if none is chosen."""
        from provio.stats import figures

        last = runs.find(self.store, "last")
        ids = self._ids(request) or ([last] if last else [])
        if not ids:
            raise NothingKnown("no run is recorded: record one first (provio run -- COMMAND)")
        found = figures(self._confined(ids), home=self.home)
        return {
            "runs": ids, "operations": found.rows("operation"), "bottlenecks": found.rows("bottleneck"),
            "unknown": found.unknown(),
        }  # fmt: skip

    def diff(self, request: Request) -> Answer:
        """The differences of two runs, and where they differ first."""
        from provio.compare import answer
        from provio.render.diff import divergence_object

        ids = [session.run_or_campaign(self.store, request[name]) for name in ("first", "second")]
        found = answer.of_runs(self.store, self.records, ids, self.home.project, self.expected)
        first = [divergence_object(one) for one in found.first]
        return {"rows": _items("diff", found.table(texts=False)), "notCompared": found.notes, "first": first}

    # Files.

    def files(self, request: Request) -> Answer:
        """The versions of files that runs wrote or read, without files of the system that were only read."""
        ids = self._ids(request)
        reader = self.store if ids is None else self._confined(ids)
        below = request["below"] and os.fsencode(os.path.normpath(self._path(request["below"]))).rstrip(b"/") + b"/"
        written, read = (_newest(reader.table(query)) for query in (WRITTEN, READ))
        rows, names = [], dict[str, str]()
        for version, path, encoded, size, modified in reader.table(FILES):
            name = unquote_to_bytes(encoded) if encoded else path.encode()
            if (version in written or version in read) and (not below or (name + b"/").startswith(below)):
                text = name.decode("utf-8", "replace")
                names |= {version: encoded} if encoded else {}
                rows.append([text, int(size) if size else None, modified or None, written.get(version),
                             read.get(version), version])  # fmt: skip
        page = _page("files", request, rows, "time", "path", "iri")
        for row in page["rows"]:
            row.update({"pathEncoded": names[row["iri"]]} if row["iri"] in names else {})
        return page

    def lineage(self, request: Request) -> Answer:
        """The lineage document of a file, as `provio lineage --as json` prints it; `more` counts nodes left out."""
        from provio.ask.lineage import answer
        from provio.serve.explorer import cut

        options = {
            "forward": request["forward"], "depth": request["depth"] or None, "via": None, "until": (), "code": False,
            "everything": request["all"], "level": None,
        }  # fmt: skip
        return cut(answer(self._targets(request), options, roots=False, stale=False), request["nodes"])

    def why(self, request: Request) -> Answer:
        """The process that made a file, as `provio why --as json` prints it."""
        from provio.ask.why import why

        return {**why(self.store, self._targets(request).targets[0])}

    def impact(self, request: Request) -> Answer:
        """The commands to repeat, as `provio impact --as json` prints them."""
        from provio.ask.impact import of

        return {**of(self._targets(request))}

    def status(self, request: Request) -> Answer:
        """The files that are not current."""
        from collections import Counter

        from provio.ask import status
        from provio.render.status import cells

        project = str(self.home.project)
        names = [self._path(request["below"])] if request["below"] else []
        found = status.status(self.store, status.place_of(project, names, project))
        rows = [cells(row) for row in found.rows if request["every"] or row.state != "current"]
        counts = {"counts": dict(Counter(row.state for row in found.rows)), "gaps": found.gaps}
        return _page("status", request, rows, "", "path", "state") | counts

    def show(self, request: Request) -> Answer:
        """The record of a run, a task or a file, as `provio show --as json` prints it."""
        from provio.ask import run_summary, tasks, things
        from provio.ask.nodes import is_member
        from provio.ask.why import why

        name = request["thing"]
        one = things.named(self.store, self._path(name) if "/" in name else name)
        if one.file and not is_member(one.file.iri):
            return {**why(self.store, one.file)}
        if one.run:
            return _page("show", request, run_summary.facts(self.store, one.run))
        if one.task:
            return _page("show", request, tasks.facts(self.store, one.task))
        return _page("show", request, things.facts(self.store, one.file) if one.file else [])

    # SPARQL.

    def query(self, request: Request) -> Answer:
        """The result of a SELECT or an ASK, in the form of SPARQL 1.1 Query Results JSON."""
        import pyoxigraph as ox

        from provio.ask import query
        from provio.store import sparql

        if sparql.updates(request["query"]):
            raise Invalid("this record is read-only: updates are refused")
        if sparql.calls_service(request["query"]):
            raise Invalid("SERVICE is refused because it queries another server: remove it")
        with query.reading(request["query"]):
            answer = query.execute(self.store, request["query"])
            if isinstance(answer, ox.QueryTriples):
                raise Invalid("CONSTRUCT and DESCRIBE are answered only by a SPARQL endpoint: send a SELECT or an ASK")
            if isinstance(answer, ox.QueryBoolean):
                return {"head": {}, "boolean": bool(answer)}
            return _bindings(answer, request)

    # The choice of runs and files.

    def _ids(self, request: Request) -> list[str] | None:
        """Return the chosen runs, oldest first; None: all."""
        named = [session.run_id(self.store, name) for name in request["run"] or ()]
        chosen = runs.chosen(self.store, request["campaign"], request["name"])
        if not named:
            return chosen
        return sorted(set(named) if chosen is None else set(named) & set(chosen))

    def _every(self, request: Request) -> list[str]:
        ids = self._ids(request)
        return [row["run"] for row in self.store.rows(runs.LISTING)] if ids is None else ids

    def _confined(self, ids: Iterable[str]) -> Reader:
        return Confined(self.store, [bundle_iri(RUN_BASE + run) for run in ids])

    def _path(self, path: str) -> str:
        """Return a path, which is relative to the project; an IRI stays."""
        return path if path.startswith(("https:", "http:", "file:")) else os.path.join(self.home.project, path)

    def _targets(self, request: Request) -> Targets:
        path = self._path(request["path"])
        return Targets(self.store, [find(self.store, path, None, None)], [path])


def _newest(rows: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return the newest run of each version, from versions and parts of runs."""
    found: dict[str, str] = {}
    for version, part in rows:
        found[version] = max(found.get(version, ""), run_of(part))
    return found


def _items(table: str, rows: Iterable[Sequence[Any]]) -> list[Item]:
    names = TABLES[table].names
    return [common_names.completed(dict(zip(names, row, strict=True)), table) for row in rows]


def _page(table: str, request: Request, rows: Iterable[Sequence[Any]], time: str = "", *keys: str) -> Answer:
    """Return the rows of a table since a time and after a cursor, at most `limit`, in the order of `time`
    and of the other `keys`, which distinguish rows; without any, in their own order. The last page has no `next`."""
    items = _items(table, rows)
    order = [name for name in (time, *keys) if name]
    since = request.get("since")
    keyed = [([_key(item[name]) for name in order] if order else [f"{place:012}"], item)
             for place, item in enumerate(items)
             if not since or _key(item[time]) >= since]  # fmt: skip
    if order:
        keyed.sort(key=lambda one: one[0])
    after, limit = _read_cursor(request["cursor"]), request["limit"]
    rest = [one for one in keyed if after is None or one[0] > after]
    shown = rest[:limit]
    return {"rows": [item for _, item in shown], "next": _cursor(shown[-1][0]) if len(rest) > limit else None}


def _key(value: Any) -> str:
    return sortable(value) if isinstance(value, str) else "" if value is None else json.dumps(value, sort_keys=True)


def _bindings(answer: Any, request: Request) -> Answer:
    """Return a page of the rows of a SELECT, in their order, which the query must state for pages to fit together."""
    names = [variable.value for variable in answer.variables]
    start = (_read_cursor(request["cursor"]) or ["0"])[0]
    first, limit = int(start) if start.isdecimal() else 0, request["limit"]
    rows: list[Item] = []
    for place, solution in enumerate(answer):
        if place >= first + limit:
            break
        if place >= first:
            rows.append({name: _term(solution[name]) for name in names if solution[name] is not None})
    else:
        first = -1
    following = _cursor([str(first + limit)]) if first >= 0 else None
    return {"head": {"vars": names}, "results": {"bindings": rows}, "next": following}


def _term(term: Any) -> dict[str, str]:
    """Return a term in the form of SPARQL 1.1 Query Results JSON."""
    import pyoxigraph as ox

    if isinstance(term, ox.NamedNode):
        return {"type": "uri", "value": term.value}
    if isinstance(term, ox.BlankNode):
        return {"type": "bnode", "value": term.value}
    if term.language:
        return {"type": "literal", "value": term.value, "xml:lang": term.language}
    of_type = term.datatype.value
    return {"type": "literal", "value": term.value} | ({} if of_type.endswith("#string") else {"datatype": of_type})


def _cursor(keys: list[str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(keys).encode()).decode().rstrip("=")


def _read_cursor(text: str | None) -> list[str] | None:
    """Return the keys in a cursor; raises NothingKnown."""
    if not text:
        return None
    try:
        keys = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, RecursionError):
        keys = None
    if not isinstance(keys, list) or not keys or not all(isinstance(key, str) for key in keys):
        raise NothingKnown("no answer had this cursor as its `next`: leave it out to start again")
    return keys
