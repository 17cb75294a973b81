"""Read event files: the rows that the processes of a parallel framework wrote in, typed events out.

The rows are those of `interceptors/python/events.py` (`docs/trace-format.md`, "Event files"). Their times are seconds
since 1970, as the framework states them. A damaged file ends where it is damaged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from struct import error, unpack_from
from typing import Any, NamedTuple

from provio.base.records import field, pattern, plain
from provio.interceptors.python import events as rows
from provio.trace import run_source
from provio.trace.digests import Digests
from provio.trace.run_facts import Damage
from provio.trace.run_source import EVENTS_ENDING, RunFile

NAME = pattern(r"([0-9]{1,20})\.([0-9]{1,20})\.[0-9]{1,4}" + EVENTS_ENDING.replace(".", r"\."))


class Transition(NamedTuple):
    """The change of a task's state, in the scheduler's or a worker's log."""

    key: str
    before: str
    recommended: str
    after: str
    stimulus: str
    at: float


class Dependencies(NamedTuple):
    """A task of a graph, and the keys whose results it needs; `stimulus` is that of its first transition. `level` and
    `order` are its priority, if that is known."""

    key: str
    stimulus: str
    keys: tuple[str, ...]
    level: tuple[float, float] | None = None
    order: int = 0

    @property
    def priority(self) -> tuple[float, float, int] | None:
        """Its priority in the scheduler: a task with a lower one runs first."""
        return (*self.level, self.order) if self.level else None


class Restrictions(NamedTuple):
    """Where a task may run, and similar conditions, as JSON text."""

    key: str
    text: str


class Submitted(NamedTuple):
    """The place in the program at which a client submitted a graph: `PATH:LINE FUNCTION`. A client's n-th place is that
    of its n-th graph."""

    place: str


class Result(NamedTuple):
    """The result of a Task (its number in its process): the attempt, the bytes and the type."""

    task: int
    attempt: int
    size: int
    type: str


class Arguments(NamedTuple):
    """The arguments of a Task, as JSON text."""

    task: int
    text: str


class Transfer(NamedTuple):
    """Results that a worker received: from whom, when (s since 1970), how many bytes, which keys with their bytes."""

    sender: str
    start: float
    stop: float
    size: int
    keys: tuple[tuple[str, int], ...]


class Keys(NamedTuple):
    """Keys (by their digests) in a role, such as those whose results a client gathered; `task` is the Task that it was
    in (0: none)."""

    role: int
    task: int
    at: float
    keys: tuple[bytes, ...]


class Fact(NamedTuple):
    """A rare event: its name, its time and its other facts."""

    what: str
    at: float
    facts: dict[str, Any]


Event = Transition | Dependencies | Restrictions | Submitted | Result | Arguments | Transfer | Keys | Fact
DAMAGED = (ValueError, LookupError, TypeError, AttributeError, RecursionError, error)  # of damaged rows
LATEST = 1e11  # s since 1970
PARTS = ("scheduler", "worker", "nanny", "client")
ALL = frozenset({Transition, Dependencies, Restrictions, Submitted, Result, Arguments, Transfer, Keys, Fact})
OF_LINEAGE = ALL - {Transition, Transfer, Restrictions, Submitted}
NOTHING = "NoneType"  # the type of a result without data


def is_of_lineage(event: Event) -> bool:
    """Return whether conclusions depend on an event: of the results, on those without data."""
    return not isinstance(event, Result) or event.type == NOTHING


@plain()
class EventFile:
    """An event file: one part of a framework in one process."""

    host: str
    pid: int
    tick: int
    events: list[Event] = field(default_factory=list)

    def facts(self, *names: str) -> Iterator[Fact]:
        """Yield the rare events with one of these names."""
        return (one for one in self.events if isinstance(one, Fact) and one.what in names)

    @property
    def part(self) -> str:
        """`scheduler`, `worker`, `nanny`, `client` or `pool`; empty if the process ended before it stated that."""
        return next((one.what for one in self.facts(*PARTS, "pool")), "")

    @property
    def address(self) -> str:
        """Its address in the framework; empty if unknown."""
        return next((str(one.facts.get("address") or "") for one in self.facts(self.part)), "") if self.part else ""


def read(
    folder: Path,
    record: dict[str, str],
    damages: list[Damage],
    wanted: Container[type] = ALL,
    parts: Container[str] = PARTS,
    keep: Callable[[Event], bool] = lambda _: True,
) -> list[EventFile]:
    """Return the event files of a run, with the events of the wanted classes that `keep` accepts; of the files of other
    `parts` than the given ones only the start, up to the event that states the part."""
    found = (of_file(file, damages, wanted, parts=parts, keep=keep) for file in run_source.of(folder).events(record))
    return [file for file in found if file]


def of_file(
    file: RunFile,
    damages: list[Damage],
    wanted: Container[type] = ALL,
    digests: Digests | None = None,
    parts: Container[str] = PARTS,
    keep: Callable[[Event], bool] = lambda _: True,
) -> EventFile | None:
    """Return the content of an event file, and add it to `digests`; None if its name is not that of one."""
    name = NAME.fullmatch(file.name)
    if name is None:
        return None
    found = EventFile(file.host, int(name[1]), int(name[2]))
    try:
        data = file.load()
        if digests is not None:
            digests.add((file.host, file.name), data)
        if not data.startswith(rows.MAGIC):
            raise ValueError("is no event file")
        for event in filter(keep, _events(data, wanted)):
            found.events.append(event)
            if type(event) is Fact and event.what in PARTS and event.what not in parts:
                break
    except (OSError, *DAMAGED) as problem:
        damages.append(Damage(file.path, 0, getattr(problem, "strerror", None) or "is damaged; events are lost"))
    return found


def _events(data: bytes, wanted: Container[type]) -> Iterator[Event]:
    """Yield the events of a file. Raises one of DAMAGED where it is damaged."""
    tables = _Tables(wanted)
    at, size = len(rows.MAGIC), rows.FIRST_CHUNK
    end = size
    while at < len(data):
        row = data[at] if at < end else 0
        if row == 0:  # the rest of the chunk is empty
            at, size = end, min(2 * size, rows.LARGEST_CHUNK)
            end += size
        elif row == rows.TRANSITION:
            if tables.transitions:
                yield tables.transition(data, at)
            at += 12
        else:
            length, event = tables.row(row, data, at)
            at += length
            if event is not None and at <= len(data):
                yield event
    if len(data) != at or at not in (end, end - size):  # a file has whole chunks
        raise ValueError("is cut")


class _Tables:
    """The texts, states and stimuli that the rows of a file refer to by number."""

    def __init__(self, wanted: Container[type]) -> None:
        self.wanted, self.transitions = wanted, Transition in wanted
        self.texts: list[str] = []
        self.last = b""  # text
        self.states: list[tuple[str, str, str]] = []
        self.stimuli: list[str] = []
        self.clock = 0.0
        self.level = (0.0, 0.0)

    def transition(self, data: bytes, at: int) -> Transition:
        """Return the transition at a place."""
        _, states, stimulus, key, since = rows.TRANSITION_ROW.unpack_from(data, at)
        last = len(self.stimuli) - 1
        stimulus = last - (last - stimulus) % rows.RING  # the latest with this number
        before, recommended, after = self.states[states]
        return Transition(self.texts[key], before, recommended, after, self.stimuli[stimulus], self.clock + since / 1e6)

    def row(self, row: int, data: bytes, at: int) -> tuple[int, Event | None]:
        """Return the length of another row, and its event; None if it only adds to a table, or is not wanted."""
        if row in (rows.TEXT, rows.SIMILAR):
            return self._text(row, data, at), None
        if row == rows.STIMULUS:
            _, text, moment = rows.STIMULUS_ROW.unpack_from(data, at)
            self.stimuli.append(self.texts[-1] if text == rows.NO_TEXT else f"{self.texts[text]}-{moment!r}")
            return rows.STIMULUS_ROW.size, None
        if row == rows.CLOCK:
            _, moment = rows.CLOCK_ROW.unpack_from(data, at)
            self.clock = _moment(moment)
            return rows.CLOCK_ROW.size, None
        if row == rows.STATES:
            _, before, recommended, after = rows.STATES_ROW.unpack_from(data, at)
            self.states.append((self.texts[before], self.texts[recommended], self.texts[after]))
            return rows.STATES_ROW.size, None
        if row == rows.LEVEL:
            self.level = rows.LEVEL_ROW.unpack_from(data, at)[1:]
            return rows.LEVEL_ROW.size, None
        length, event = READERS[row](self, data, at) if row in READERS else _unknown(row)
        return length, event if type(event) in self.wanted else None

    def dependencies(self, data: bytes, at: int) -> tuple[int, Event]:
        """Return the length and the event of a task of a graph."""
        _, key, stimulus, count = rows.DEPENDENCIES_ROW.unpack_from(data, at)
        length = rows.DEPENDENCIES_ROW.size
        keys = unpack_from(f"<{count}I", data, at + length)
        return length + 4 * count, Dependencies(self.texts[key], self.stimuli[stimulus], self._names(keys))

    def ordered(self, data: bytes, at: int) -> tuple[int, Event]:
        """Return the length and the event of a task of a graph with its priority."""
        _, key, stimulus, order, count = rows.ORDERED_ROW.unpack_from(data, at)
        length = rows.ORDERED_ROW.size
        keys = self._names(unpack_from(f"<{count}I", data, at + length))
        return length + 4 * count, Dependencies(self.texts[key], self.stimuli[stimulus], keys, self.level, order)

    def restrictions(self, data: bytes, at: int) -> tuple[int, Event]:
        """Return the length and the event of the restrictions of a task."""
        _, key, text = rows.RESTRICTIONS_ROW.unpack_from(data, at)
        return rows.RESTRICTIONS_ROW.size, Restrictions(self.texts[key], self.texts[text])

    def submitted(self, data: bytes, at: int) -> tuple[int, Event]:
        """Return the length and the event of the place that submitted a graph."""
        _, text = rows.SUBMITTED_ROW.unpack_from(data, at)
        return rows.SUBMITTED_ROW.size, Submitted(self.texts[text])

    def result(self, data: bytes, at: int) -> tuple[int, Event]:
        """Return the length and the event of a result."""
        _, task, attempt, size, kind = rows.RESULT_ROW.unpack_from(data, at)
        return rows.RESULT_ROW.size, Result(task, attempt, size, self.texts[kind])

    def arguments(self, data: bytes, at: int) -> tuple[int, Event]:
        """Return the length and the event of arguments."""
        _, task, size = rows.ARGUMENTS_ROW.unpack_from(data, at)
        place = at + rows.ARGUMENTS_ROW.size
        return rows.ARGUMENTS_ROW.size + size, Arguments(task, data[place : place + size].decode("utf-8", "replace"))

    def transfer(self, data: bytes, at: int) -> tuple[int, Event]:
        """Return the length and the event of a transfer."""
        _, start, stop, size, sender, count = rows.TRANSFER_ROW.unpack_from(data, at)
        place = at + rows.TRANSFER_ROW.size
        pairs = (rows.PAIR.unpack_from(data, place + number * rows.PAIR.size) for number in range(count))
        keys = tuple((self.texts[key], part) for key, part in pairs)
        event = Transfer(self.texts[sender], _moment(start), _moment(stop), size, keys)
        return rows.TRANSFER_ROW.size + count * rows.PAIR.size, event

    def keys(self, data: bytes, at: int) -> tuple[int, Event]:
        """Return the length and the event of keys of a client."""
        _, role, task, moment, count = rows.KEYS_ROW.unpack_from(data, at)
        place = at + rows.KEYS_ROW.size
        digests = tuple(data[place + 8 * number : place + 8 * number + 8] for number in range(count))
        return rows.KEYS_ROW.size + 8 * count, Keys(role, task, _moment(moment), digests)

    def object(self, data: bytes, at: int) -> tuple[int, Event]:
        """Return the length and the event of JSON text."""
        _, size = rows.OBJECT_ROW.unpack_from(data, at)
        place = at + rows.OBJECT_ROW.size
        facts = json.loads(data[place : place + size])
        what, moment = str(facts.pop("what")), _moment(float(facts.pop("at")))
        return rows.OBJECT_ROW.size + size, Fact(what, moment, facts)

    def _text(self, row: int, data: bytes, at: int) -> int:
        """Add a text; return the length of its row."""
        form = rows.TEXT_ROW if row == rows.TEXT else rows.SIMILAR_ROW
        *shared, size = form.unpack_from(data, at)[1:]
        start = self.last[: shared[0]] if shared else b""
        self.last = start + data[at + form.size : at + form.size + size]
        self.texts.append(self.last.decode("utf-8", "replace"))
        return form.size + int(size)

    def _names(self, numbers: tuple[int, ...]) -> tuple[str, ...]:
        return tuple(self.texts[number] for number in numbers)


READERS = {
    rows.DEPENDENCIES: _Tables.dependencies, rows.RESULT: _Tables.result, rows.ARGUMENTS: _Tables.arguments,
    rows.TRANSFER: _Tables.transfer, rows.KEYS: _Tables.keys, rows.OBJECT: _Tables.object,
    rows.ORDERED: _Tables.ordered, rows.RESTRICTIONS: _Tables.restrictions, rows.SUBMITTED: _Tables.submitted,
}  # fmt: skip


def _unknown(row: int) -> tuple[int, Event | None]:
    raise ValueError(f"unknown row {row}")


def _moment(value: float) -> float:
    """Return a time, unless it cannot be one (infinite, no number): then the row is damaged."""
    if not 0 <= value < LATEST:
        raise ValueError(f"no time: {value}")
    return value
