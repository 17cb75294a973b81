"""Configurations by what a metric came to under each: a reader and the metric's name in, the best of each out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from provio import configurations as said
from provio.compared import Value, rank
from provio.configurations import Configuration, InForce, Metric
from provio.errors import NothingKnown
from provio.settings import among
from provio.store import Reader

LOWER_IS_BETTER = re.compile(r"(?i)(^|[^a-z])(loss|error|err|mse|rmse|mae|perplexity|ppl|nll|divergence)($|[^a-z])")


class Best(NamedTuple):
    """What a metric came to at its best under some versions of configurations; the checkpoint that was saved with that
    value, where there is one."""

    metric: Metric
    configurations: list[Configuration]
    checkpoint: str | None


def lowest(name: str) -> bool:
    """Tell whether the lowest value of a metric is taken for the best, by its name."""
    return bool(LOWER_IS_BETTER.search(name))


def found(reader: Reader, name: str, low: bool) -> list[Best]:
    """Return the best value under each set of versions, the best first; NothingKnown where there is no such metric."""
    every = said.metrics(reader, name)
    if not every:
        names = said.metric_names(reader)
        if not names:
            raise NothingKnown("no metric is recorded: a program says provio.metric(NAME, VALUE)")
        raise NothingKnown(f"no metric {name!r} is recorded{among(name, names, 'provio query metrics-of-run lists')}")
    uses = said.uses(reader)
    known = said.configurations(reader, (use.configuration for use in uses))
    force = InForce(uses, said.parents(reader), known)
    groups: dict[tuple[str, ...], Metric] = {}
    better = _better(low)
    for one in every:
        key = tuple(force.at(one.at, one.place))
        if key not in groups or better(one.value) < better(groups[key].value):
            groups[key] = one
    saved = _saved(reader, groups.values())
    ordered = sorted(groups.items(), key=lambda group: better(group[1].value))
    return [Best(one, [known[iri] for iri in key], saved.get(one.iri)) for key, one in ordered]


def _better(low: bool) -> Callable[[Value], tuple[bool, float]]:
    """What the best value is least by."""

    def key(value: Value) -> tuple[bool, float]:
        last, number = rank(value)
        return last, number if low else -number

    return key


def _saved(reader: Reader, metrics: Iterable[Metric]) -> dict[str, str]:
    """The path of the first checkpoint that was saved with each of these values."""
    wanted = {one.iri for one in metrics}
    paths: dict[str, str] = {}
    for checkpoint in said.checkpoints(reader):
        for iri in wanted.intersection(checkpoint.metrics):
            paths.setdefault(iri, checkpoint.path)
    return paths
