"""What the verb asks: graphs in, an outcome out: everything that was asked of each, and what was found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from provio.validate import rules, shapes
from provio.validate.rules import LINT, VIOLATION, Finding, Graph


class Outcome(NamedTuple):
    """What was asked of one thing (a file, a run, all runs), by label, and what was found."""

    what: str
    asked: tuple[str, ...]
    findings: tuple[Finding, ...]

    def of(self, severity: str) -> list[Finding]:
        """Return the findings of one severity."""
        return [finding for finding in self.findings if finding.severity == severity]


def check(what: str, graphs: Iterable[Graph], *, shacl: bool = False) -> Outcome:
    """Ask the constraints and lints of each graph, and of those that provio made its shapes (`shacl`: by pyshacl)."""
    asked = [rule.label for rule in rules.rules()]
    found: list[Finding] = []
    for graph in graphs:
        found += rules.findings(graph)
        if graph.is_ours():
            found += shapes.by_pyshacl(graph) if shacl else rules.findings(graph, shapes.rules())
            asked += ["shape"] if shacl else dict.fromkeys(rule.label for rule in shapes.rules())
    asked += [finding.rule for finding in found]
    return Outcome(what, tuple(dict.fromkeys(asked)), tuple(_once(found)))


def _once(found: Iterable[Finding]) -> Iterator[Finding]:
    """A finding that names the same nodes by the same rule again says nothing more."""
    seen = set()
    for finding in sorted(found, key=lambda one: (one.severity != VIOLATION, one.severity != LINT)):
        key = finding.rule, finding.graph, frozenset(finding.nodes), finding.message
        if key not in seen:
            seen.add(key)
            yield finding
