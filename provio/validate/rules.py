"""The rules, read from `queries/constraints` and `queries/lints`, and their application to a graph.

Each file is one SELECT that returns the errors. Its header has `name`, `title`, `severity` (violation, lint),
`message` (with variables in braces), and if applicable `number` (in the W3C recommendation), `clocks` (two variables
with activities: compare the clocks of their hosts), `order` (two variables, the first of which must precede the second;
a loop with a `?strict` step is an error) and `meaning` (for readers). The folder is the registry.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

import pyoxigraph as ox

from provio.base.algorithms import components
from provio.base.vocab import NS, PREFIXES, PROV
from provio.store import implied
from provio.store.sparql_patterns import widened

# Loops in the order of events.


Node = TypeVar("Node")


def loops(steps: Iterable[tuple[Node, Node, bool]]) -> list[tuple[Node, Node]]:
    """Return the strict steps that are on a loop; `steps` are (before, after, strict)."""
    numbers: dict[Node, int] = {}
    edges: set[tuple[int, int]] = set()
    strict: set[tuple[int, int]] = set()
    for before, after, is_strict in steps:
        edge = numbers.setdefault(before, len(numbers)), numbers.setdefault(after, len(numbers))
        edges.add(edge)
        if is_strict:
            strict.add(edge)
    left = _peeled(edges) if strict else set()
    if not left:
        return []
    onward: dict[int, list[int]] = defaultdict(list)
    for one, other in left:
        onward[one].append(other)
    part = components(onward)
    names = list(numbers)
    return [(names[a], names[b]) for a, b in sorted(strict & left) if part[a] == part[b]]


def _peeled(edges: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the edges that remain after the repeated removal of all nodes without incoming edges."""
    leads: dict[int, list[int]] = defaultdict(list)
    arrivals: dict[int, int] = defaultdict(int)
    for before, after in edges:
        leads[before].append(after)
        arrivals[after] += 1
    free = [node for node in leads if not arrivals[node]]
    removed = set(free)
    while free:
        for after in leads.get(free.pop(), ()):
            arrivals[after] -= 1
            if not arrivals[after]:
                removed.add(after)
                free.append(after)
    return {edge for edge in edges if edge[0] not in removed}


QUERIES = Path(__file__).parent.parent / "queries"
FOLDERS = ("constraints", "lints")
VIOLATION, LINT = "violation", "lint"
# A store states this sub-property without the wider property.
USED, WIDER = re.compile(rf"(?:\bprov:used|<{PROV}used>)(?= [?<])"), "(prov:used|provio:usedAsNoise)"

# The host with the clock of an activity's times, if the graph contains it.
HOST = "SELECT ?host WHERE {{ {} provio:partOf* ?whole . ?whole provio:host ?host }} LIMIT 1"


class Finding(NamedTuple):
    """One error, or (for a lint) one suspicious place: the rule's label and title, the message, and the graph."""

    rule: str
    title: str
    severity: str
    message: str
    nodes: tuple[str, ...]
    graph: str | None = None


@dataclass(frozen=True)
class Rule:
    """A query that returns the errors."""

    name: str
    title: str
    severity: str
    message: str
    query: str
    number: str = ""
    clocks: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()  # patterns of `?this`: if one of them matches no node, there are no errors

    @property
    def label(self) -> str:
        """The rule's name in outputs, after the constraint's number."""
        return f"{self.number} {self.name}" if self.number else self.name


@cache
def rules() -> tuple[Rule, ...]:
    """Return all rules, constraints before lints, ordered by file name."""
    return tuple(_read(path) for folder in FOLDERS for path in sorted((QUERIES / folder).glob("*.rq")))


def _read(path: Path) -> Rule:
    text = path.read_text(encoding="utf-8")
    head = dict(re.findall(r"^# ([a-z]+): (.*)$", text, re.MULTILINE))
    return Rule(
        head["name"], head["title"], head["severity"], head["message"], text, head.get("number", ""),
        tuple(head.get("clocks", "").split()), tuple(head.get("order", "").split()),
    )  # fmt: skip


class Graph:
    """The data that the rules query: one graph of a store, or the union of all. If it contains the PROV classes that
    others imply (`provio.store.implied`), each pattern goes through them."""

    def __init__(self, store: ox.Store, name: str | None = None, *, union: bool = False) -> None:
        self.store = store
        self.name = name
        self.label = name
        self.implies = any(store.quads_for_pattern(None, ox.NamedNode(implied.IMPLIES), None, None))
        self.options: dict[str, object] = {"prefixes": PREFIXES}
        self._has: dict[str, bool] = {}
        if union:
            self.options["use_default_graph_as_union"] = True
        elif name:
            self.options["default_graph"] = [ox.NamedNode(name), ox.NamedNode(implied.CLASSES)]

    def quads(self) -> Iterator[ox.Quad]:
        """Yield the quads of the graph, with the quads that they imply."""
        wanted = None if "use_default_graph_as_union" in self.options else ox.DefaultGraph()
        name = ox.NamedNode(self.name) if self.name and wanted else wanted
        found = self.store.quads_for_pattern(None, None, None, name)
        return implied.quads(found) if self.implies else found

    def solutions(self, query: str) -> Iterator[dict[str, ox.NamedNode | ox.BlankNode | ox.Literal]]:
        """Yield the solutions of a SELECT: variable → term, without the unbound ones."""
        query = USED.sub(WIDER, widened(query)) if self.implies else query
        answer = self.store.query(query, **self.options)  # type: ignore[arg-type]
        assert isinstance(answer, ox.QuerySolutions)  # noqa: S101 - the rules are SELECTs
        names = [variable.value for variable in answer.variables]
        for solution in answer:
            yield {name: solution[name] for name in names if solution[name] is not None}

    def has(self, pattern: str) -> bool:
        """Return whether the graph has a node that matches a pattern."""
        if pattern not in self._has:
            self._has[pattern] = any(self.solutions(f"SELECT ?this WHERE {{ {pattern} }} LIMIT 1"))
        return self._has[pattern]

    def is_ours(self) -> bool:
        """Return whether provio made the graph, so that provio's own shapes apply: it contains a Run."""
        return bool(self.store.query(f"ASK {{ ?run a <{NS}Run> }}", **self.options))  # type: ignore[arg-type]

    def host(self, activity: ox.NamedNode | ox.BlankNode | ox.Literal) -> str | None:
        """Return the host that an activity ran on, None if the graph does not contain it."""
        if not isinstance(activity, ox.NamedNode):
            return None
        return next((row["host"].value for row in self.solutions(HOST.format(activity))), None)


def findings(graph: Graph, chosen: Iterable[Rule] | None = None) -> Iterator[Finding]:
    """Yield the errors in a graph by the given rules."""
    for rule in rules() if chosen is None else chosen:
        if all(graph.has(pattern) for pattern in rule.needs):
            yield from _broken(graph, rule)


def _broken(graph: Graph, rule: Rule) -> Iterator[Finding]:
    solutions = graph.solutions(onward(rule) if rule.order else rule.query)
    if rule.order:
        before, after = rule.order
        steps = ((row[before], row[after], "strict" in row) for row in solutions)
        solutions = iter({before: one, after: other} for one, other in loops(steps))
    for row in solutions:
        label, severity = rule.label, rule.severity
        if rule.clocks and _two_clocks(graph, *(row[name] for name in rule.clocks)):
            label, severity = f"clock skew ({label})", LINT
        nodes = tuple(term.value for term in row.values() if not isinstance(term, ox.Literal))
        yield Finding(label, rule.title, severity, _filled(rule.message, row), nodes, graph.label)


def onward(rule: Rule) -> str:
    """Return an order's query, restricted to the steps from nodes that another step leads to: a loop has no other
    steps."""
    before, after = rule.order
    head, _, body = rule.query.partition("WHERE")
    earlier = re.sub(rf"\?{after}\b", f"?{before}", re.sub(rf"\?{before}\b", "?earlier", body))
    return f"{head} WHERE {{ {{ SELECT * WHERE {body} }} {{ SELECT DISTINCT ?{before} WHERE {earlier} }} }}"


def _two_clocks(
    graph: Graph, one: ox.NamedNode | ox.BlankNode | ox.Literal, other: ox.NamedNode | ox.BlankNode | ox.Literal
) -> bool:
    """Return whether two activities ran on different hosts: a wrong order between their clocks indicates clock skew
    rather than a wrong history."""
    hosts = {graph.host(one), graph.host(other)}
    return len(hosts) == 2 and None not in hosts


def _filled(message: str, row: dict[str, ox.NamedNode | ox.BlankNode | ox.Literal]) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: shown(row.get(match[1])), message)


def shown(term: ox.NamedNode | ox.BlankNode | ox.Literal | None) -> str:
    """Return a term for users: a known prefix instead of its namespace, the text of a literal."""
    if term is None:
        return "something"
    if isinstance(term, ox.NamedNode):
        for prefix, namespace in PREFIXES.items():
            if term.value.startswith(namespace):
                return f"{prefix}:{term.value[len(namespace) :]}"
        return "nothing" if term.value == "urn:provio:none" else term.value
    return term.value if isinstance(term, ox.Literal) else f"_:{term.value}"
