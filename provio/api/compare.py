"""The comparison of runs from Python: names of runs in, rows out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from provio.api.connection import Connection
from provio.api.rows import Rows
from provio.ask import session

if TYPE_CHECKING:
    from provio.compare.answer import Answer


class Differences(Rows):
    """The differences of two runs, one a row, `expected` or not; `notes` are the limits of the comparison.

    `divergences` are the places where the runs differ first, as `provio diff --first --as json` lists them. `ok` is
    False where `provio diff` has the exit code 1.
    """

    def __init__(self, found: Answer) -> None:
        from provio.compare.answer import COLUMNS
        from provio.render.diff import divergence_object

        super().__init__(COLUMNS, found.table(), found.notes)
        self.divergences: list[dict[str, Any]] = [divergence_object(one) for one in found.first]
        self.ok = not found.unexpected


class CompareQueries(Connection):
    """Comparisons of runs."""

    def diff(
        self, first: str, second: str, *, only: Iterable[str] = (), deep: bool = False,
        tolerance: float | Mapping[str, float] | None = None,
    ) -> Differences:  # fmt: skip
        """Return the differences of two runs, as `provio diff`.

        Each name is one of a run, or of a campaign: its newest run. `only` are the kinds to compare; `deep` compares
        also the values of results, which may differ by a `tolerance`, or by one for each name. Raises NothingKnown if
        there is no such run, ConfigError for wrong rules of expected differences.
        """
        from provio.compare import answer, tolerances
        from provio.rerun.outcome import complete_hashes

        complete_hashes(self._home, self._settings())
        home, reader = self._open_both()
        ids = [session.run_or_campaign(reader, name) for name in (first, second)]
        rules, given = self._settings().diff_expected, tolerances.of(tolerance)
        return Differences(answer.of_runs(reader, home, ids, self._home.project, rules, only, deep, given))
