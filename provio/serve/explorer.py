"""The queries of the explorer: a request in, the result as plain data out."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import unquote

from provio.ask import run_summary, runs, whole_run
from provio.ask.document import LineageDocument, Node, command_line
from provio.ask.lineage import Scope, lineage
from provio.ask.target import find_target, is_iri
from provio.base.errors import NothingKnown
from provio.base.vocab import NS, PROV, RUN_BASE
from provio.graph.lines import bundle_iri
from provio.serve import home
from provio.store import Confined, Reader, Store

MOST = 300  # nodes of one step
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
        return _cut(lineage(self.store, [find_target(self.store, target)], scope), request["most"])

    def run(self, request: Request) -> dict[str, Any]:
        """Return a whole run as a lineage document, cut like that of a file."""
        run = self._run(request["run"])
        document = _cut(whole_run.document(self.store, run, everything=request["everything"]), request["most"])
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
        """Return the facts of a run, and its I/O by operation, by file, and bottlenecks."""
        from provio.stats import figures

        run = self._run(request["run"])
        facts = run_summary.facts(self.store, run)
        found = figures(Confined(self.store, [bundle_iri(RUN_BASE + run)]))
        return {
            "run": run,
            "facts": [fact for fact in facts if fact[2] is None],
            "files": {key: [fact for fact in facts if fact[0] == key][:ROWS] for key in ("wrote", "read")},
            "operations": found.rows("operation")[:ROWS],
            "slow": found.rows("bottleneck")[:ROWS],
            "unknown": found.unknown(),
            **home.reported(self.store, run),
        }

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


def _cut(document: LineageDocument, most: int) -> dict[str, Any]:
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


MOST_FOUND = 3_000  # matches to sort; if there are more, the first
# System files come last: a search is rarely for one.
NAMED = f"SELECT DISTINCT ?iri ?path {{ ?iri a <{NS}%s> ; <{NS}%s> ?path }}"
SYSTEM = f"""SELECT DISTINCT ?file {{
    {{ SELECT DISTINCT ?version {{ {{ ?by <{NS}usedAsNoise>|<{NS}ranAsNoise> ?version }}
        UNION {{ ?version <{NS}wasOpenedBy>/<{NS}noise> true }} }} }} ?version <{PROV}specializationOf> ?file }}"""


class Name(NamedTuple):
    """A name: its kind (`file`, `system` for a system file, `run` or `program`), its IRI and its text."""

    kind: str
    iri: str
    text: str


class Names:
    """The names in a store, for a search by any part of a name."""

    def __init__(self, reader: Reader) -> None:
        self.names = _all(reader)
        lines, self.starts, at = [], array("Q"), 0
        for name in self.names:
            line = name.text.casefold().replace("\n", " ") + "\n"
            self.starts.append(at)
            lines.append(line)
            at += len(line)
        self.text = "".join(lines)

    def execute(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the names that match a request (`words`, `kind` or all, `limit`), the best first, and their number;
        `more` is true if there are more than were counted."""
        words = str(request.get("words", "")).casefold().replace("\n", " ").split()
        matches, more = self._matches(words, str(request.get("kind", ""))) if words else ([], False)
        matches.sort(key=lambda place: self._rank(place, words))
        found = [self.names[place]._asdict() for place in matches[: int(request.get("limit", 20))]]
        return {"found": found, "count": len(matches), "more": more}

    def _matches(self, words: list[str], kind: str) -> tuple[list[int], bool]:
        longest, at, found = max(words, key=len), 0, list[int]()
        while (at := self.text.find(longest, at)) >= 0:
            place = bisect_right(self.starts, at) - 1
            line = self._line(place)
            at = self.starts[place] + len(line)
            if all(word in line for word in words) and kind in ("", self.names[place].kind):
                if len(found) == MOST_FOUND:
                    return found, True
                found.append(place)
        return found, False

    def _line(self, place: int) -> str:
        end = self.starts[place + 1] if place + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[place] : end]

    def _rank(self, place: int, words: list[str]) -> tuple[bool, int, int, str]:
        """Return a sort key: the word itself, names that start with it, names that contain it, others; short before
        long."""
        line = self._line(place).rstrip("\n")
        last, word = line.rpartition("/")[2], words[-1]
        match = 0 if last == word else 1 if last.startswith(word) else 2 if word in last else 3
        return self.names[place].kind == "system", match, len(line), line


def _all(reader: Reader) -> list[Name]:
    system = {file for (file,) in reader.table(SYSTEM)}
    found = [Name("run", RUN_BASE + row["run"], _of_run(row)) for row in reversed(list(reader.rows(runs.LISTING)))]
    found += [Name("program", iri, path) for iri, path in _named(reader, "Program")]
    files = [Name("system" if iri in system else "file", iri, path) for iri, path in _named(reader, "File")]
    return found + sorted(files, key=lambda name: name.kind)


def _named(reader: Reader, kind: str) -> dict[tuple[str, str], None]:
    """Return all nodes of a class with their paths; a path that is not UTF-8 with replacement characters."""
    encoded = reader.table(NAMED % (kind, "pathEncoded"))
    paths = [*map(tuple, reader.table(NAMED % (kind, "path"))), *((iri, unquote(path)) for iri, path in encoded)]
    return dict.fromkeys(paths)  # type: ignore[arg-type]


def _of_run(row: dict[str, str]) -> str:
    command = command_line({"iri": "", "type": "Run", "label": "", "argv": row.get("argv", "")})
    return "  ".join(part for part in (row.get("name"), row.get("campaign"), command, row["run"]) if part)
