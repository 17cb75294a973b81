"""Named queries over the event files of runs: a query and its values in, its rows out.

The file of such a query in `queries/` has a header line `events: NAME`, which names a function of this module, and a
SELECT with the columns of its rows. The function gets the event files of one run and a key (None: of all tasks), and
yields rows of these columns, without the last one, the run. Values of a row are texts, numbers, None, or `Moment`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING

from provio.ask import runs
from provio.ask.task_events import files_of
from provio.base.errors import BadQuery, NothingKnown
from provio.base.turtle import literal
from provio.base.vocab import RUN_BASE, XSD
from provio.trace.events import Event, EventFile, Fact, Transfer, Transition

if TYPE_CHECKING:
    from provio.ask.queries import Question
    from provio.settings.home import Home
    from provio.store import Answer, Reader

WARNINGS = ("line", "stall", "gc", "spill")


class Moment(float):
    """A time in seconds since 1970."""


Value = str | float | None
Row = tuple[Value, ...]
WANTED: dict[str, type] = {"transitions": Transition, "transfers": Transfer}  # events besides the rare ones


def answer(question: Question, values: Mapping[str, str], reader: Reader, home: Home, only: Sequence[str]) -> Answer:
    """Return the rows of a query as the solutions of its SELECT; `only` are the runs that other options select.

    Raises NothingKnown for a run that is not recorded.
    """
    import pyoxigraph as ox

    columns = re.findall(r"\?(\w+)", re.search(r"(?m)^SELECT (.*) WHERE", question.text)[1])  # type: ignore[index]
    lines = ["\t".join("?" + name for name in columns)]
    key = values.get("task")
    for run in _runs(reader, values.get("run"), only):
        rows = sorted(_rows(question, home, run, key), key=lambda row: next((v for v in row if type(v) is Moment), 0.0))
        iri = f"<{RUN_BASE}{run}>"
        lines += ["\t".join([*map(_term, row), iri]) for row in rows]
    text = "".join(line + "\n" for line in lines).encode("utf-8", "backslashreplace")
    return ox.parse_query_results(text, format=ox.QueryResultsFormat.TSV)


def _runs(reader: Reader, name: str | None, only: Sequence[str]) -> list[str]:
    if name is None:
        return list(only)
    run = runs.find(reader, name.removeprefix(RUN_BASE))
    if run is None:
        raise NothingKnown(f"no run {name!r} is recorded (provio runs lists them)")
    return [run] if run in only else []


def _rows(question: Question, home: Home, run: str, key: str | None) -> Iterator[Row]:
    found: dict[str, Callable[[list[EventFile], str | None], Iterator[Row]]] = {
        one.__name__: one for one in (transitions, transfers, steals, warnings)
    }
    if question.events not in found:
        known = ", ".join(found)
        raise BadQuery(f"{question.path}: there are no events {question.events!r}: use one of {known} in its header")
    wanted = {Fact, WANTED.get(question.events, Fact)}

    def keep(event: Event) -> bool:
        return key is None or not isinstance(event, Transition) or event.key == key

    yield from found[question.events](files_of(home, run, wanted, keep=keep), key)


def _term(value: Value) -> str:
    """Return a value as SPARQL's TSV has it."""
    if value is None:
        return ""
    if isinstance(value, Moment):
        return f'"{datetime.fromtimestamp(value, UTC):%Y-%m-%dT%H:%M:%S.%f}Z"^^<{XSD}dateTime>'
    return literal(value) if isinstance(value, str) else repr(value) if isinstance(value, int) else f"{value:.9f}"


def _place(file: EventFile) -> str:
    return file.address or file.part or f"{file.pid}@{file.host}"


def transitions(files: list[EventFile], key: str | None) -> Iterator[Row]:
    """Yield time, key, state before, state after, place, stimulus."""
    for file in files:
        place = _place(file)
        for event in file.events:
            if isinstance(event, Transition) and key in (None, event.key):
                yield Moment(event.at), event.key, event.before, event.after, place, event.stimulus


def transfers(files: list[EventFile], key: str | None) -> Iterator[Row]:
    """Yield sender, receiver, keys, bytes, start, stop, seconds, bandwidth; a long transfer has several events."""
    for file in files:
        every = (event for event in file.events if isinstance(event, Transfer)) if file.part == "worker" else ()
        for (sender, start, stop), events in groupby(every, lambda one: (one.sender, one.start, one.stop)):
            parts = list(events)
            keys = [name for one in parts for name, _ in one.keys]
            size, took = sum(one.size for one in parts), stop - start
            if key is None or key in keys:
                bandwidth = round(size / took) if took > 0 else None
                text = json.dumps(keys, ensure_ascii=False)
                yield sender, file.address, text, size, Moment(start), Moment(stop), took, bandwidth


def steals(files: list[EventFile], key: str | None) -> Iterator[Row]:
    """Yield time, event, key, victim, thief, stimulus. The first text in Dask's row of a steal is the key."""
    for file in files:
        for fact in file.facts("steal"):
            name, *texts = [one for one in fact.facts.get("row") or () if isinstance(one, str)] or [""]
            victim, thief = ([one for one in texts if "://" in one] + [None, None])[:2]
            stimulus = next((one for one in texts if one.startswith("steal-")), None)
            if key in (None, name):
                yield Moment(fact.at), str(fact.facts.get("event")), name, victim, thief, stimulus


def warnings(files: list[EventFile], _: str | None) -> Iterator[Row]:
    """Yield time, kind, level, place, seconds, text."""
    for file in files:
        for fact in file.facts(*WARNINGS):
            facts = fact.facts
            text = facts.get("text") or " ".join(str(facts[one]) for one in ("action", "key") if one in facts)
            taken = facts.get("seconds")
            level = str(facts["level"]) if "level" in facts else None
            yield (Moment(fact.at), fact.what, level, _place(file),
                   float(taken) if isinstance(taken, int | float) else None, text or None)  # fmt: skip
