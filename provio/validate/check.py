"""The entry point of the verb: graphs in, an outcome out with the rules that were applied and the findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from provio.validate import rules, shapes
from provio.validate.rules import LINT, VIOLATION, Finding, Graph


class Outcome(NamedTuple):
    """The labels of the rules that were applied to one subject (a file, a run, all runs), and the findings."""

    subject: str
    labels: tuple[str, ...]
    findings: tuple[Finding, ...]

    def of(self, severity: str) -> list[Finding]:
        """Return the findings of one severity."""
        return [finding for finding in self.findings if finding.severity == severity]


def check(subject: str, graphs: Iterable[Graph], *, shacl: bool = False) -> Outcome:
    """Apply the constraints and lints to each graph, and provio's shapes to provio's own graphs (`shacl`: by
    pyshacl)."""
    labels = [rule.label for rule in rules.rules()]
    found: list[Finding] = []
    for graph in graphs:
        found += rules.findings(graph)
        if graph.is_ours():
            found += shapes.by_pyshacl(graph) if shacl else rules.findings(graph, shapes.rules())
            labels += ["shape"] if shacl else dict.fromkeys(rule.label for rule in shapes.rules())
    labels += [finding.rule for finding in found]
    return Outcome(subject, tuple(dict.fromkeys(labels)), tuple(_once(found)))


def _once(found: Iterable[Finding]) -> Iterator[Finding]:
    """Yield each finding once: one of the same rule with the same nodes adds no information."""
    seen = set()
    for finding in sorted(found, key=lambda one: (one.severity != VIOLATION, one.severity != LINT)):
        key = finding.rule, finding.graph, frozenset(finding.nodes), finding.message
        if key not in seen:
            seen.add(key)
            yield finding
