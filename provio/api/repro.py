"""The reproducibility of runs from Python: names of runs and bounds in, typed rows out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from provio.api.connection import Connection
from provio.api.rows import Rows
from provio.ask import session
from provio.base.errors import BadQuery

if TYPE_CHECKING:
    from provio.compare.repro import Reproducibility


class Repro:
    """How reproducible runs are: `results`, `performance`, `schedule` and `io` are rows, each with `to_pandas()`.

    The columns are those of `provio repro --only PART` (docs/output.md). `runs` are the ids, the first of which is the
    reference; `notes` state the limits of the comparison, `verdicts` counts the results, `outliers` names by run the
    phases, prefixes and hosts in which it is one. `ok` is False where `provio repro` has the exit code 1.
    """

    def __init__(self, found: Reproducibility) -> None:
        from provio.render import records, repro

        def rows(part: str) -> Rows:
            return Rows(records.TABLES[repro.TABLES[part]].names, repro.cells(found, part))

        self.runs, self.notes = tuple(found.runs), tuple(found.notes)
        self.ok = found.is_reproducible
        self.verdicts, self.outliers = dict(found.counts), dict(found.outliers)
        self.results, self.performance = rows("results"), rows("performance")
        self.schedule, self.io = rows("schedule"), rows("io")
        self._found = found

    def card(self, form: str = "html") -> str:
        """Return the score card that `provio repro -o` writes: `html` or `md`."""
        from provio.render import repro_card

        if form not in ("html", "md"):
            raise BadQuery(f"form: {form!r} is not allowed (allowed: 'html', 'md')")
        return repro_card.page(self._found) if form == "html" else repro_card.markdown(self._found)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as one dictionary, as `provio repro --as json` prints it."""
        from provio.render import repro

        return repro.document(self._found)

    def __str__(self) -> str:
        from provio.render import repro

        return repro.as_text(self._found, width=None, unicode=True)

    def __repr__(self) -> str:
        shown = ", ".join(f"{count} {verdict}" for verdict, count in self.verdicts.items()) or "no results"
        return f"<{len(self.runs)} runs: {shown}>"


class ReproQueries(Connection):
    """Comparisons of several runs."""

    def repro(
        self, *runs: str, campaign: str | None = None, name: str | None = None,
        bounds: Mapping[str, float] | None = None,
    ) -> Repro:  # fmt: skip
        """Compare several runs with the first: the runs named, or those of a campaign or a name.

        `bounds` are by a pattern of the results' names: the mean difference of the numbers of a result that is within
        bounds is equivalent to zero (docs/repro.md). Raises BadQuery for fewer than two runs and for a wrong bound,
        NothingKnown if there is no such run.
        """
        from provio.ask import runs as every
        from provio.compare import repro
        from provio.rerun.outcome import complete_hashes

        for pattern, bound in (bounds or {}).items():
            if not isinstance(bound, int | float) or not 0 <= bound < math.inf:
                raise BadQuery(f"bounds: {pattern!r}: {bound!r} is not allowed (allowed: a finite number from 0 on)")
        complete_hashes(self._home, self._settings())
        home, store = self._open_both()
        chosen = every.chosen(store, campaign, name)
        named = [session.run_id(store, one) for one in runs]
        if not named and chosen is None:
            raise BadQuery("repro: no runs are named: name two or more, or give a campaign or a name")
        ids = named if chosen is None else [one for one in named or chosen if one in set(chosen)]
        return Repro(repro.of_runs(store, home, ids, bounds or {}))
