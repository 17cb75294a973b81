"""The latest moment at which a process image may have written, with facts that are hard to produce with real
programs."""

from __future__ import annotations

from pathlib import Path

from provio.lineage.versions import lives
from provio.trace.facts import Event, Process, Thread
from provio.trace.fast.compact_record import Packed
from provio.trace.run_facts import Trace


def process(number: int, pid: int, started: int) -> Process:
    return Process(f"urn:p{number}/", "host", pid, number, "0", {"startedNs": str(started)})


def ended(parent: Process, pid: int, at: int) -> None:
    """Record the end of a child in its parent."""
    thread = Thread(parent.iri + "0/", parent, parent.pid, 0)
    parent.events.append(Event(f"{parent.iri}e{at}", "ChildEnd", parent, thread, at, Packed({"childPid": str(pid)})))


def test_a_pid_that_recurs() -> None:
    """Each process with that id ends at the first recorded end after its start, in any order of records."""
    shell, first, second, unheard = process(0, 1, 5), process(1, 7, 10), process(2, 7, 50), process(3, 8, 20)
    ended(shell, 7, 60)
    ended(shell, 7, 30)
    trace = Trace(Path(), "id", {"endedNs": "99"}, [], {p.iri: p for p in (shell, first, second, unheard)}, [], [], "")
    assert lives(trace) == {shell.iri: 99, first.iri: 30, second.iri: 60, unheard.iri: 99}
