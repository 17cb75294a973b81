"""The results of validation as a table, JSON, CSV or TSV, or as JUnit XML for services that show test results."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

from provio.base.text import plural
from provio.render import records
from provio.validate.check import Outcome
from provio.validate.rules import LINT, VIOLATION, Finding

MOST = 20  # findings of one rule that the table shows


def table(outcomes: list[Outcome]) -> str:
    """Return a line for each finding below its rule, and a line with the counts."""
    lines = [line for outcome in outcomes for line in _lines(outcome)]
    counts = {kind: sum(len(outcome.of(kind)) for outcome in outcomes) for kind in (VIOLATION, LINT)}
    rules = plural(len({label for outcome in outcomes for label in outcome.labels}), "rule")
    found = ", ".join(plural(number, kind) for kind, number in counts.items() if number)
    subject = plural(len(outcomes), "subject") if len(outcomes) > 1 else outcomes[0].subject
    return "\n".join([*lines, f"{subject}: {rules} checked, {found or 'nothing found'}", ""])


def _lines(outcome: Outcome) -> list[str]:
    lines = []
    by_rule: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in outcome.findings:
        by_rule.setdefault((finding.severity, finding.rule, finding.title), []).append(finding)
    for (severity, rule, title), found in by_rule.items():
        lines.append(f"{severity}: {rule}: {title} ({outcome.subject})")
        lines += [f"  {finding.message}{f' in {finding.graph}' if finding.graph else ''}" for finding in found[:MOST]]
        if len(found) > MOST:
            lines.append(f"  and {len(found) - MOST} more (--as json has all)")
    return lines


def as_json(outcomes: list[Outcome]) -> str:
    """Return a document with all checked rules and all findings."""
    checked = [
        {"what": one.subject, "asked": list(one.labels), "findings": [finding._asdict() for finding in one.findings]}
        for one in outcomes
    ]
    counts = {kind + "s": sum(len(one.of(kind)) for one in outcomes) for kind in (VIOLATION, LINT)}
    return json.dumps({**counts, "checked": checked}, indent=2, ensure_ascii=False) + "\n"


def for_programs(outcomes: list[Outcome], form: str) -> str:
    """Return the findings by the columns of the table `validate`, as CSV or TSV."""
    rows = (
        (outcome.subject, one.severity, one.rule, one.title, one.graph, one.message)
        for outcome in outcomes
        for one in outcome.findings
    )
    return records.render("validate", rows, form)


def junit(outcomes: list[Outcome]) -> str:
    """Return a suite for each subject and a case for each rule; violations are failures, lints are output of the
    case."""
    root = ElementTree.Element("testsuites")
    for outcome in outcomes:
        failed = {finding.rule for finding in outcome.of(VIOLATION)}
        numbers = {"tests": str(len(outcome.labels)), "failures": str(len(failed)), "errors": "0", "skipped": "0"}
        suite = ElementTree.SubElement(root, "testsuite", {"name": _plain(outcome.subject), **numbers})
        for label in outcome.labels:
            case = ElementTree.SubElement(suite, "testcase", {"classname": "provio.validate", "name": label})
            _case(case, [finding for finding in outcome.findings if finding.rule == label])
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _case(case: ElementTree.Element, found: list[Finding]) -> None:
    for severity, name in ((VIOLATION, "failure"), (LINT, "system-out")):
        messages = [_plain(finding.message) for finding in found if finding.severity == severity]
        if messages:
            head = {"message": messages[0], "type": severity} if name == "failure" else {}
            ElementTree.SubElement(case, name, head).text = "\n".join(messages)


def _plain(text: str) -> str:
    """Return a text without control characters, which XML does not allow."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
