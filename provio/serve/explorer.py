"""The queries of the explorer: a request in, the result as plain data out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from provio.ask import find, finding, run_summary, runs, whole_run
from provio.ask.document import LineageDocument, Node
from provio.ask.find import Found
from provio.ask.find_text import TextSearch
from provio.ask.lineage import Scope, lineage
from provio.ask.target import find_target, is_iri
from provio.base.errors import NothingKnown
from provio.base.vocab import PROV, RUN_BASE
from provio.graph.lines import bundle_iri
from provio.serve import home
from provio.store import Confined, Reader, Store

MOST = 300  # files that a search looks up
PAGE = 50  # runs in a list
ROWS = 20  # in a table of figures

Request = dict[str, Any]


class Queries:
    """Queries on a store; `folders` hold the user's own named queries."""

    def __init__(self, store: Store, folders: list[str]) -> None:
        self.store, self.folders = store, folders
        self.home, self.state = home.Table(store), home.State(store)
        self.handlers: dict[str, Callable[[Request], Any]] = {
            "lineage": self.lineage,
            "run": self.run,
            "runs": self.runs,
            "program": self.program,
            "statistics": self.statistics,
            "questions": self.questions,
            "question": self.question,
            "table": self.table,
            "state": lambda _: self.state.counts(),
            "compare": self.compare,
        }

    def execute(self, request: Request) -> Any:
        """Return the result of a request, by its `query`."""
        return self.handlers[request["query"]](request)

    def lineage(self, request: Request) -> dict[str, Any]:
        """Return the lineage document of the newest version of a file (`target`, an IRI), `depth` steps (0: all) back
        or `forward`, with at most `most` nodes; `more` is the number of omitted nodes."""
        target = request["target"]
        if not is_iri(target):
            raise NothingKnown("the target of a lineage must be an IRI: use the search")
        scope = Scope(
            forward=request["forward"],
            depth=request["depth"] or None,
            everything=request["everything"],
            inside="#" in target and "/version/" in target,
        )
        return cut(lineage(self.store, [find_target(self.store, target)], scope), request["most"])

    def run(self, request: Request) -> dict[str, Any]:
        """Return a whole run as a lineage document, cut like that of a file."""
        run = self._run(request["run"])
        document = cut(whole_run.document(self.store, run, everything=request["everything"]), request["most"])
        return {**document, "title": runs.title(self.store, run)}

    def runs(self, request: Request) -> dict[str, Any]:
        """Return the newest runs, after the first `skip`."""
        every = runs.listing(self.store)
        skip = request["skip"]
        return {"runs": every[::-1][skip : skip + PAGE], "count": len(every)}

    def table(self, request: Request) -> dict[str, Any]:
        """Return the runs of the home, with metrics and parameters."""
        return self.home.answer(request)

    def compare(self, request: Request) -> dict[str, Any]:
        """Return where two runs differ."""
        return home.compare(self.store, self._run(request["first"]), self._run(request["second"]))

    def program(self, request: Request) -> dict[str, Any]:
        """Return the runs of a program, newest first."""
        iri = request["program"]
        if not is_iri(iri) or any(sign in iri for sign in '<>"{}|^`\\ \n'):
            raise NothingKnown("a program must be given as an IRI: use the search")
        query = f"""SELECT DISTINCT ?run {{ ?activity <{PROV}wasAssociatedWith> <{iri}>
            BIND(STRBEFORE(STRAFTER(STR(?activity), "{RUN_BASE}"), "/") AS ?run) }}"""
        known = {run for (run,) in self.store.table(query)}
        found = runs.listing(self.store, known)[::-1]
        return {"runs": found[:PAGE], "count": len(found)}

    def statistics(self, request: Request) -> dict[str, Any]:
        """Return the facts of a run, and its I/O by file, by operation, and bottlenecks; with a `part` only the
        `facts`, or the `figures`, which take longer."""
        run, part = self._run(request["run"]), request.get("part", "")
        answer: dict[str, Any] = {"run": run}
        if part != "figures":
            facts = run_summary.facts(self.store, run)
            answer |= {
                "facts": [fact for fact in facts if fact[2] is None],
                "files": {key: [fact for fact in facts if fact[0] == key][:ROWS] for key in ("wrote", "read")},
                **home.reported(self.store, run),
            }
        if part != "facts":
            from provio.stats import figures

            found = figures(Confined(self.store, [bundle_iri(RUN_BASE + run)]))
            answer |= {
                "operations": found.rows("operation")[:ROWS],
                "slow": found.rows("bottleneck")[:ROWS],
                "unknown": found.unknown(),
            }
        return answer

    def questions(self, _: Request) -> dict[str, Any]:
        """Return the named queries with their parameters."""
        from provio.ask.queries import KINDS, questions

        found = [
            {
                "name": one.name,
                "title": one.title,
                "about": one.about,
                "text": one.text,
                "parameters": [
                    {key: getattr(each, key) for key in ("name", "kind", "required", "default", "says")}
                    for each in one.parameters
                ],
            }
            for one in questions(self.folders)
            if not one.events  # the page sends their SPARQL to the store
        ]
        return {"questions": found, "kinds": KINDS}

    def question(self, request: Request) -> dict[str, Any]:
        """Return the SPARQL of a named query with values for its parameters."""
        from provio.ask.parameters import bound
        from provio.ask.queries import named

        question = named(request["name"], self.folders)
        if question is None:
            raise NothingKnown(f"no query {request['name']!r}: provio query --list lists them")
        filled = bound(question, request["values"], self.store)
        return {"text": filled.text, "notes": filled.notes}

    def _run(self, name: str) -> str:
        found = runs.find(self.store, name.removeprefix(RUN_BASE))
        if found is None:
            raise NothingKnown(f"no run {name!r} is recorded: use the search")
        return found


def cut(document: LineageDocument, most: int) -> dict[str, Any]:
    """Return the document with only the nodes nearest to its target, and their edges and gaps."""
    nodes = document["nodes"]
    document.pop("runs", None)  # only for the tree
    if len(nodes) <= most:
        return {**document, "more": 0}
    kept = _nearest(document, most)
    return {
        **document,
        "nodes": [node for node in nodes if node["iri"] in kept],
        "edges": [edge for edge in document["edges"] if edge["subject"] in kept and edge["object"] in kept],
        "gaps": [gap for gap in document["gaps"] if gap["about"] in kept],
        "more": len(nodes) - len(kept),
    }


def _nearest(document: LineageDocument, most: int) -> set[str]:
    """Return at most `most` nodes: first those with the fewest edges to the target, then the others in order of
    time."""
    neighbours: dict[str, list[str]] = {}
    for edge in document["edges"]:
        neighbours.setdefault(edge["subject"], []).append(edge["object"])
        neighbours.setdefault(edge["object"], []).append(edge["subject"])
    waiting = [document["target"]]
    kept: dict[str, None] = {}
    for iri in waiting:
        if len(kept) >= most:
            break
        if iri not in kept:
            kept[iri] = None
            waiting += neighbours.get(iri, ())
    for node in _in_order(document["nodes"]):
        if len(kept) >= most:
            break
        kept[node["iri"]] = None
    return set(kept)


def _in_order(nodes: list[Node]) -> list[Node]:
    return sorted(nodes, key=lambda node: (node.get("start", "~"), node["iri"]))


class Search:
    """The search of `provio find TEXT`, with all names read once."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.search = TextSearch(reader, finding.project_root(), keep=True)
        self.search.read()

    def execute(self, request: Request) -> dict[str, Any]:
        """Return at most `limit` of the matches of a text (`words`), of one `kind` or all, and their number."""
        text, kind, limit = request["words"].strip(), request.get("kind", ""), request.get("limit", 20)
        if not text:
            return {"found": [], "count": 0}
        every, omitted = self.search.find(text, MOST)
        found = [one for one in find.newest_first(every) if kind in ("", one.kind)]
        found.sort(key=lambda one: (find.KINDS.index(one.kind), one.system, not _is_exact(one, text.lower())))
        shown = [one for group in find.shares(found, limit) for one in group]
        shown.sort(key=lambda one: (one.system, not _is_exact(one, text.lower())))
        find.add_runs(self.reader, shown)
        return {
            "found": [_match(one) for one in shown],
            "count": len(found) + (omitted if kind in ("", "file") else 0),
        }


def _is_exact(one: Found, text: str) -> bool:
    """Return whether a text is the whole name of a match, or the last parts of its path."""
    if one.kind == "run":
        return f"{one.label}  ".lower().startswith(text + "  ")
    return f"/{one.name}".lower().endswith("/" + text.lstrip("/"))


def _match(one: Found) -> dict[str, Any]:
    """Return a match with its text: a path, the name of a Task, the name and command line of a run."""
    return {
        "kind": "system" if one.system else one.kind, "iri": one.iri, "how": one.how, "run": one.run, "time": one.time,
        "text": find.displayed(one.label or one.name if one.kind == "run" else one.name),
    }  # fmt: skip
