"""Marks of a graph for people. In: a lineage document and a store. Out: the same document, in which failed steps and
their files have `failed`, stale files `stale`, their inputs that are not as recorded `changed`; configurations have all
their `settings`, and `runNames` names the runs of the steps.
"""

from __future__ import annotations

import os
import shlex

from provio.ask import failures, run_uses
from provio.ask.content import NOT_COMPARED
from provio.ask.document import ACTIVITIES, Lineage, LineageDocument, Node, RunName, arguments, stale_reason
from provio.ask.nodes import MOST_SETTINGS, SETTINGS
from provio.ask.walk import GENERATED
from provio.base.text import cut_end, moment
from provio.base.vocab import is_run
from provio.lineage.identity import is_result
from provio.store import Reader

MOST = 1_000  # files: in more, a search for stale ones takes longer than the page itself
LONGEST = 60  # characters of the command line of a run without a name
CUT = " …"  # the end of a configuration's label that does not have all settings
RUNS = "SELECT ?r ?name ?start ?argv {{ {} OPTIONAL {{ ?r provio:name ?name }} " \
    "OPTIONAL {{ ?r prov:startedAtTime ?start }} OPTIONAL {{ ?r provio:commandLine ?argv }} }}"  # fmt: skip


def add(reader: Reader, document: LineageDocument) -> None:
    """Add the marks to a document; `unmarked` states why stale files are not marked."""
    failures.mark(reader, document["nodes"], document["edges"])
    _mark_steps(reader, document)
    _add_settings(reader, document)
    document["runNames"] = _runs(reader, {node["run"] for node in document["nodes"] if "run" in node})
    files = sum(node["type"] == "FileVersion" for node in document["nodes"])
    if "stale" not in document and files > MOST:
        document["unmarked"] = f"stale files are not marked in a page of more than {MOST:,} files"
        return
    _mark_stale(reader, document)


def _mark_steps(reader: Reader, document: LineageDocument) -> None:
    """Mark the steps whose process failed. The end of a run is that of the program that it started."""
    steps = [node for node in document["nodes"] if node["type"] in ACTIVITIES and "process" in node]
    known = {node[name] for node in steps for name in ("process", "run") if name in node}
    ends, typed = failures.ends_of(reader, known), document.get("runs", {})
    for node in steps:
        end = ends.get(node["process"], "")
        run = node.get("run", "")
        if not end and "exitCode" not in node and ("command" in node or node.get("argv") == typed.get(run)):
            end = ends.get(run, "")
        if failures.is_failure(end, node["label"]):
            node["failed"] = end


def _add_settings(reader: Reader, document: LineageDocument) -> None:
    """Add all settings to the configurations whose label is cut."""
    for node in document["nodes"]:
        if node["type"] == "Configuration" and node["label"].endswith(CUT):
            rows = reader.rows(SETTINGS % (node["iri"], MOST_SETTINGS))
            node["settings"] = sorted(f"{row['name']} {row['value']}" for row in rows)


def _mark_stale(reader: Reader, document: LineageDocument) -> None:
    """Mark the files that are not the result of their present inputs, with the first reason, and these inputs.

    The document of a run has no target file: its products are the targets.
    """
    from provio.ask.stale import Finder

    made = {edge["subject"] for edge in document["edges"] if edge["predicate"] == GENERATED}
    if "stale" in document:
        found = inputs = document["stale"]
    else:
        nodes = document["nodes"]
        if is_run(document["target"]):
            files = {iri for iri in made if not is_result(iri)}
            nodes = [Node(**{**node, "depth": 0}) if node["iri"] in files else node for node in nodes]
        finder = Finder(reader, Lineage({**document, "nodes": nodes}))
        found = finder.find()
        replaced = [one for reasons in finder.reasons.values() for one in reasons if one["input"] not in made]
        inputs = [*found, *replaced]  # also of products that are no longer there
    folder = os.getcwd()
    reasons = {one["product"]: one for one in reversed(found)}
    changed = {one["input"]: one for one in inputs if one["reason"] == "changed"}
    for node in document["nodes"]:
        if node["iri"] in reasons:
            node["stale"] = stale_reason(reasons[node["iri"]], folder)
        if node["iri"] in changed:
            recorded = f" {moment(node['modified'])}" if "modified" in node else ""
            content = f" ({NOT_COMPARED})" if "content" in changed[node["iri"]] else ""
            node.setdefault("changed", f"changed since{recorded}{content}")


def _runs(reader: Reader, runs: set[str]) -> dict[str, RunName]:
    """Return the title and start of each run, the earliest first."""
    found: dict[str, RunName] = {}
    for values in run_uses.values("r", runs):
        for row in reader.rows(RUNS.format(values)):
            title = row.get("name") or _typed(row.get("argv", "")) or run_uses.run_of(row["r"])
            found[row["r"]] = RunName(title=title, start=row.get("start", ""))
    return dict(sorted(found.items(), key=lambda one: (one[1]["start"], one[0])))


def _typed(argv: str) -> str:
    """Return a command line without the folders of its words."""
    words = [word.rstrip("/").rpartition("/")[2] or word for word in arguments(argv)] if argv else []
    return cut_end(shlex.join(words), LONGEST)
