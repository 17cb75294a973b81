"""Metrics by the million, in columns: fifty bytes for each instead of a thousand.

Each text is stored once. A metric that does not fit into the columns (a text value, an integer above 2^53) is stored as
an object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from provio.base.records import plain
from provio.trace.values import Value

EXACT = 1 << 53  # integers that a double holds
MOST = 1 << 63
WHOLE, STEPPED, OBJECT = 1, 2, 4  # marks of a metric: its value is an integer; it has a step; it is an object
COLUMNS, TIME = "BIIIIIQqqd", 7  # marks; process, task, name, kind, checkpoint; number, time, step, value
SPECIAL = {"nan": "NaN", "inf": "INF", "-inf": "-INF"}


@plain(slots=True)
class Metric:
    """A number at a moment; `step` is None if none was given; `given_with` is the checkpoint of the same call."""

    process: str
    number: str
    task: str
    at: int
    name: str
    kind: str
    value: Value
    step: int | None
    given_with: str

    @property
    def iri(self) -> str:
        """Its IRI."""
        return f"{self.process}m{self.number}"


class Metrics:
    """Metrics in the order in which they were added."""

    def __init__(self) -> None:
        self._columns: list[Any] = []
        self._texts: dict[str, int] = {}
        self._objects: dict[int, Metric] = {}
        self._add: Callable[[Metric], None] = self._first

    def __len__(self) -> int:
        return len(self._columns[0]) if self._columns else 0

    def __iter__(self) -> Iterator[Metric]:
        return map(partial(self._made, list(self._texts)), range(len(self)), *self._columns)

    def in_order(self) -> Iterator[Metric]:
        """Yield them in the order of time."""
        times, make = self._columns[TIME] if self._columns else (), partial(self._made, list(self._texts))
        for place in sorted(range(len(self)), key=times.__getitem__):
            yield make(place, *(column[place] for column in self._columns))

    def add(self, metric: Metric) -> None:
        """Add a metric."""
        self._add(metric)

    def extend(self, others: Metrics) -> None:
        """Append other metrics."""
        for one in others:
            self._add(one)

    def _first(self, metric: Metric) -> None:
        """Add the first metric, and create the columns: most runs have none."""
        from array import array

        self._columns = [array(kind) for kind in COLUMNS]
        self._add = self._next
        self._next(metric)

    def _next(self, metric: Metric) -> None:
        row = _row(metric)
        if row is None:
            self._objects[len(self)] = metric
            row = OBJECT, 0, min(max(-MOST, metric.at), MOST - 1), 0, 0.0
            texts: tuple[str, ...] = ("",) * 5
        else:
            texts = metric.process, metric.task, metric.name, metric.kind, metric.given_with
        known = self._texts
        numbers = [known.setdefault(text, len(known)) for text in texts]
        for column, value in zip(self._columns, (row[0], *numbers, *row[1:]), strict=True):
            column.append(value)

    def _made(
        self, texts: list[str], place: int, marks: int, process: int, task: int, name: int, kind: int, given_with: int,
        number: int, at: int, step: int, value: float,
    ) -> Metric:  # fmt: skip
        if marks & OBJECT:
            return self._objects[place]
        shown = repr(int(value)) if marks & WHOLE else repr(value)
        return Metric(
            texts[process], str(number), texts[task], at, texts[name], texts[kind],
            Value("integer", shown) if marks & WHOLE else Value("double", SPECIAL.get(shown, shown)),
            step if marks & STEPPED else None, texts[given_with],
        )  # fmt: skip


def _row(metric: Metric) -> tuple[int, int, int, int, float] | None:
    """Return a metric's marks, number, time, step and value; None if they do not fit into the columns."""
    kind, text = metric.value
    number, step = int(metric.number), metric.step
    if str(number) != metric.number or number >= 2 * MOST or not -MOST <= metric.at < MOST:
        return None
    if step is not None and not -MOST <= step < MOST:
        return None
    marks = 0 if step is None else STEPPED
    if kind == "double":
        value = float(text)
    elif kind == "integer" and abs(int(text)) <= EXACT:
        marks, value = marks | WHOLE, float(text)
    else:
        return None
    return marks, number, metric.at, step or 0, value
