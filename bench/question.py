"""What a benchmark of a question is: something that measures, and tells line by line what it found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from case import Place
from measure import Spread


@dataclass(frozen=True)
class Figure:
    """One line of the table: what was measured, in `unit`, and at most how much it may be."""

    title: str
    spread: Spread
    unit: str
    bound: float | None = None
    digits: int = 2

    @property
    def verdict(self) -> str:
        """Say how median and upper quartile stand to the bound."""
        return self.spread.verdict(self.bound)

    def cells(self) -> tuple[str, str, str, str]:
        """Return the line's cells as Markdown."""
        low, middle, high = (
            f"{value:,.{self.digits}f}" for value in (self.spread.low, self.spread.median, self.spread.high)
        )
        bound = "" if self.bound is None else f"{self.bound:,g} {self.unit}"
        return self.title, f"{middle} {self.unit} ({low} to {high})", bound, self.verdict


@dataclass(frozen=True)
class Question:
    """A benchmark that is no command under a preload: `measure` is given where to work and how many rounds. Where it is
    `only_named` it takes long, and is left out unless it is asked for."""

    key: str
    measure: Callable[[Place, int], Sequence[Figure]]
    only_named: bool = False
