"""Marks of a graph for people. In: a lineage document and a store. Out: the same document, in which failed steps and
their files have `failed`, stale files `stale`, and `runNames` names the runs of its steps.
"""

from __future__ import annotations

import os
import shlex

from provio.ask import failures, run_uses
from provio.ask.document import ACTIVITIES, Lineage, LineageDocument, RunName, arguments, stale_reason
from provio.ask.failures import FOUND_NOTHING
from provio.base.text import cut_end
from provio.store import Reader

MOST = 1_000  # files: in more, a search for stale ones takes longer than the page itself
LONGEST = 60  # characters of the command line of a run without a name
RUNS = "SELECT ?r ?name ?start ?argv {{ {} OPTIONAL {{ ?r provio:name ?name }} " \
    "OPTIONAL {{ ?r prov:startedAtTime ?start }} OPTIONAL {{ ?r provio:commandLine ?argv }} }}"  # fmt: skip


def add(reader: Reader, document: LineageDocument) -> None:
    """Add the marks to a document; `unmarked` states why stale files are not marked."""
    failures.mark(reader, document["nodes"], document["edges"])
    _mark_steps(reader, document)
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
        if end and not (end == "exit 1" and node["label"] in FOUND_NOTHING):
            node["failed"] = end


def _mark_stale(reader: Reader, document: LineageDocument) -> None:
    """Mark the files that are not the result of their present inputs, with the first reason."""
    from provio.ask.stale import Finder

    found = document["stale"] if "stale" in document else Finder(reader, Lineage(document)).find()
    folder = os.getcwd()
    reasons = {one["product"]: one for one in reversed(found)}
    for node in document["nodes"]:
        if node["iri"] in reasons:
            node["stale"] = stale_reason(reasons[node["iri"]], folder)


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
