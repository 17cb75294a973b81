"""Benchmarks other than commands under a preload: a function that returns figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from case import Place
from measure import Spread


@dataclass(frozen=True)
class Figure:
    """One row of the table: title, measured values in `unit`, and an upper bound."""

    title: str
    spread: Spread
    unit: str
    bound: float | None = None
    digits: int = 2

    @property
    def verdict(self) -> str:
        """Return whether median and upper quartile keep the bound."""
        return self.spread.verdict(self.bound)

    def cells(self) -> tuple[str, str, str, str]:
        """Return the line's cells as Markdown."""
        low, middle, high = (
            f"{value:,.{self.digits}f}" for value in (self.spread.low, self.spread.median, self.spread.high)
        )
        bound = "" if self.bound is None else f"{self.bound:,g} {self.unit}"
        return self.title, f"{middle} {self.unit} ({low} to {high})", bound, self.verdict


@dataclass(frozen=True)
class Measurement:
    """A benchmark: `measure` takes the folders and the number of rounds. One that is `only_named` takes long, and runs
    only on request."""

    key: str
    measure: Callable[[Place, int], Sequence[Figure]]
    only_named: bool = False
