"""Follow data through extended attributes of files (`user.…`).

To set an attribute changes neither the time nor the content of its file, so attributes are no part of a version: each
is an entity of its own, which has a new state each time it is set. A process that gets it uses its state, and the
version of the file (`spans`). A process that only reads the file uses neither.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from urllib.parse import quote

from provio.lineage.declared import State, StateNames, entity_iri
from provio.lineage.identity import Identity
from provio.lineage.model import Conclusions, Input
from provio.lineage.writing import Stretches
from provio.trace.declarations import Entity
from provio.trace.facts import Event
from provio.trace.run_facts import Trace

KINDS = frozenset({"GetAttribute", "SetAttribute"})
REMOVALS = frozenset({"removexattr", "lremovexattr", "fremovexattr"})
DATA = b"user."  # the attributes of users; the others are metadata of the system


def follow(trace: Trace, identity: Identity, conclusions: Conclusions) -> None:
    """Add the states of all attributes, with their makers, and the inputs of the processes that got them."""
    calls: dict[str, list[Event]] = {}
    for process in trace.processes.values():
        for event in process.events:
            if event.kind in KINDS and event.record.get("api") not in REMOVALS:
                one = _entity(event, identity)
                if one:
                    iri = entity_iri(trace.iri, one)
                    conclusions.declared.kept.setdefault(iri, [one])
                    calls.setdefault(iri, []).append(event)
    names = StateNames(trace.iri)
    for iri, events in calls.items():
        _states(iri, sorted(events, key=lambda event: event.at), names, conclusions)


def _entity(event: Event, identity: Identity) -> Entity | None:
    """Return the attribute of a call as an entity; None if it has no data of a user."""
    name, facts, path = event.text("attribute") or b"", event.facts(), event.text("path") or b""
    if facts is None or not name.startswith(DATA):
        return None
    file = f"{identity.domain(facts.device)}/{facts.inode}.{facts.birth}"
    shown = (path.rstrip(b"/").rpartition(b"/")[2] + b"@" + name).decode("utf-8", "replace")
    return Entity(event.iri, event.process.iri, event.at, shown, "extended attribute", f"{file}@{quote(name)}", {})


def _states(of: str, events: list[Event], names: StateNames, conclusions: Conclusions) -> None:
    """Add the states of one attribute; `events` are in the order of time."""
    made: list[State] = []
    times: list[tuple[int, int]] = []  # of each, from when it may have been and was certainly there
    known, error = conclusions.declared, conclusions.clocks.clock_error
    for event in (one for one in events if one.kind == "SetAttribute"):
        state = State(names.next(of), of, event.at, event.process)
        known.states[state.iri] = state
        known.made.append((event.process.iri, event.at))
        made.append(state)
        times.append((event.at, event.at + event.number("elapsed") + error))
    there = sorted((since, at) for at, since in times)
    latest = list(accumulate((at for _, at in there), max))
    uncertain = Stretches(times)
    found = None
    for event in (one for one in events if one.kind == "GetAttribute"):
        last = event.at + event.number("elapsed") + error
        before = bisect_left(there, (event.at, 0))
        over = latest[before - 1] if before else 0  # earlier ones are replaced
        seen = [made[number] for number in sorted(uncertain.reaching(last, over))]
        if not over:
            found = found or State(names.next(of), of, event.at)
            known.states[found.iri] = found
            seen.append(found)
        for state in seen:
            moment = max(event.at, state.at)
            conclusions.inputs[event.process.iri].append(Input(event.process, state.iri, moment, moment))
