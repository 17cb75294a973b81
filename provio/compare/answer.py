"""The answer of `provio diff`. In: a store and two runs. Out: their differences, the first divergence, the limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from provio.ask import unknown_values
from provio.ask.comparison import Value
from provio.base.text import plural
from provio.compare import comparison, differences, divergence, expected, results, script_text, side
from provio.compare.comparison import Comparison, Row
from provio.compare.divergence import Divergence
from provio.compare.expected import KINDS
from provio.compare.parts import Parts
from provio.compare.tolerances import Tolerances
from provio.settings.home import Home
from provio.store import Store
from provio.system.hash_limits import Limits
from provio.trace.run_facts import PARAMETERS

COLUMNS = ("configuration", "key", "first", "second", "kind", "expected", "reason", "activity", "text")
LEVELS = {"detail": "detail", "hdf5": "HDF5 layer"}  # facts of a run that limit its record


@dataclass
class Answer:
    """Two runs: `rows` are their differences, `notes` the limits of the comparison, `values` the parts of results."""

    comparison: Comparison
    rows: list[Row]
    notes: list[str]
    values: dict[str, Parts]
    kinds: Sequence[str] = KINDS  # those that were compared

    @cached_property
    def first(self) -> list[Divergence]:
        """Where the runs differ first."""
        return divergence.first(self.comparison)

    def text(self, row: Row) -> list[str]:
        """Return the text difference of a script, for a row about code; nothing if a version is not known."""
        return script_text.of_row(self.comparison, row)

    def table(self, texts: bool = True) -> list[list[Value | None]]:
        """Return the rows with the text difference as a last column (`COLUMNS`), which is None without `texts`."""
        return [
            [*(getattr(row, name) for name in COLUMNS[:-1]), "\n".join(self.text(row)) or None if texts else None]
            for row in self.rows
        ]

    @property
    def unexpected(self) -> list[Row]:
        """The differences that are not expected."""
        return [row for row in self.rows if not row.expected]


def of_runs(
    store: Store, home: Home, runs: Sequence[str], project: Path, rules: Iterable[str] = (), only: Iterable[str] = (),
    deep: bool = False, tolerances: Tolerances | None = None,
) -> Answer:  # fmt: skip
    """Return the comparison of two runs. `project` is the folder with the file of expected differences, `rules` are
    those of the settings; raises ConfigError for wrong rules."""
    wanted = expected.read(project, rules)
    first, second = side.read(store, runs)
    found = comparison.compare(store, home, (first, second), wanted, Limits(everything=True) if deep else None)
    kinds = [kind for kind in KINDS if not only or kind in only]
    rows = list(differences.rows(found, kinds))
    values: dict[str, Parts] = {}
    if deep:
        rows = list(results.by_values(found, rows, tolerances or Tolerances(), values))
    return Answer(found, rows, [*_notes(found)], values, kinds)


def _notes(found: Comparison) -> Iterator[str]:
    """Yield the limits of the comparison."""
    first, second = found.sides
    if first.run == second.run:
        yield f"both are run {first.run}"
        return
    for key, word in LEVELS.items():
        levels = [own.facts.facts.get(key, "unknown") for own in found.sides]
        if levels[0] != levels[1]:
            yield f"recorded with other {word}: {levels[0]} and {levels[1]}; only data that both recorded are compared"
    if not found.pairs:
        yield "no activity of one run corresponds to one of the other"
    for own in found.sides:
        if own.facts.as_of:
            yield f"run {own.run} is in progress: later activities are not compared"
        if own.facts.gaps:
            more = f"; and {plural(len(own.facts.gaps) - 3, 'other')}" if own.facts.gaps[3:] else ""
            yield f"run {own.run} has gaps: {'; '.join(own.facts.gaps[:3])}{more}"
    ids = [own.run for own in found.sides]
    if partly := unknown_values.line(found.store, PARAMETERS, ids, ids, ("", "compared in part")):
        yield partly
    if names := found.unknown:
        some = ", ".join(names[:3]) + (" …" if names[3:] else "")
        yield f"not compared by content, without a SHA-256: {plural(len(names), 'file')} ({some})"
