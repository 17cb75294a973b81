"""The last value of each metric of runs. In: a store and the runs. Out: a row for each run and metric."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from provio.ask import runs, unknown_values
from provio.ask.comparison import Value, of_term
from provio.ask.experiments import NO_METRIC, run_of
from provio.ask.walk import batches
from provio.base.text import sortable
from provio.base.vocab import RUN_BASE
from provio.store import Store
from provio.trace.run_facts import METRICS

VALUES = """SELECT ?m ?name ?value ?type ?at ?step { %s ?m a provio:Metric ; provio:name ?name ;
    provio:value ?value ; prov:generatedAtTime ?at . OPTIONAL { ?m provio:step ?step }
    BIND (DATATYPE(?value) AS ?type) }"""


@dataclass(slots=True)
class Last:
    """The last of the `count` values of a metric of a run."""

    run: str
    name: str
    text: str
    type: str
    step: int | None
    at: str
    count: int
    order: tuple[str, int, str]

    @property
    def value(self) -> Value:
        """The value: a number, or text if it is no number."""
        return of_term(self.text, self.type)


def of_runs(store: Store, ids: Collection[str] | None) -> list[Last]:
    """Return the last value of each metric of these runs, None: of all; oldest run first, metrics by name.

    Raises NothingKnown if there are none.
    """
    found: dict[tuple[str, str], Last] = {}
    for iri, name, text, kind, at, step in _values(store, ids):
        run = run_of(iri)
        order = sortable(at), len(iri), iri
        last = found.get((run, name))
        if last is None:
            found[run, name] = Last(run, name, text, kind, int(step) if step else None, at, 1, order)
            continue
        last.count += 1
        if order > last.order:
            last.text, last.type, last.step, last.at, last.order = text, kind, int(step) if step else None, at, order
    if not found:
        raise unknown_values.nothing(store, METRICS, ids, NO_METRIC)
    place = {row["run"]: number for number, row in enumerate(store.rows(runs.LISTING))}
    return sorted(found.values(), key=lambda one: (place.get(one.run, -1), one.name))


def left_out(store: Store, ids: Collection[str] | None, found: Iterable[Last]) -> str:
    """Return a line about the runs with values that are not known; empty if there are none."""
    return unknown_values.line(store, METRICS, ids, {one.run for one in found})


def _values(store: Store, ids: Collection[str] | None) -> Iterator[list[str]]:
    """Yield all values of metrics, in no order."""
    if ids is None:
        yield from store.table(VALUES % "")
        return
    for batch in batches(f"<{RUN_BASE}{run}>" for run in ids):
        yield from store.table(VALUES % f"VALUES ?run {{ {' '.join(batch)} }} ?run provio:hadMetric ?m .")
