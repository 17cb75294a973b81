"""The messages that the parts of a framework sent each other: the nodes of an answer in, their number by process out.

They move no data of the user. An answer counts those of the runs whose tasks it shows; `--all` shows each process.
"""

from __future__ import annotations

from collections.abc import Iterable

from provio.ask.document import Messages, Node, arguments
from provio.ask.started_as import name
from provio.graph.lines import messages_of
from provio.lineage.identity import SEALED
from provio.store import Reader

CALLS = """SELECT ?io ?did ?count ?bytes ?pid ?argv {
    VALUES ?messages { %s } VALUES ?did { provio:wasReadBy provio:wasWrittenBy }
    ?messages ?did ?io . ?io provio:count ?count ; provio:bytes ?bytes ; provio:partOf+ ?process .
    ?process a provio:Process ; provio:pid ?pid ; provio:argv ?argv } ORDER BY ?pid ?io"""


def of(reader: Reader, nodes: Iterable[Node]) -> list[Messages]:
    """Return the messages of each process of the runs of the framework's tasks among these nodes."""
    runs = sorted({node["run"] for node in nodes if node.get("kind") in SEALED and "run" in node})
    if not runs:
        return []
    found: dict[str, Messages] = {}
    for row in reader.rows(CALLS % " ".join(f"<{messages_of(run)}>" for run in runs)):
        process = row["io"].rpartition("messages/")[0]
        program = name(row["argv"], "") if arguments(row["argv"]) else ""
        one = found.setdefault(
            process, Messages(process=process, pid=int(row["pid"]), program=program, written=0, bytes=0, read=0)
        )
        if row["did"].endswith("wasWrittenBy"):
            one["written"], one["bytes"] = int(row["count"]), int(row["bytes"])
        else:
            one["read"] = int(row["count"])
    return list(found.values())
