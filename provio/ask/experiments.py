"""Declarations of programs in the graph, and their evaluation.

In: a reader. Out: configurations, metrics and checkpoints; the best value of a metric under each configuration.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from provio.ask import unknown_values
from provio.ask.comparison import Value, of_term, rank
from provio.ask.walk import batches
from provio.base import turtle
from provio.base.errors import NothingKnown
from provio.base.vocab import RUN_BASE
from provio.settings.types import among, quoted
from provio.store import Reader
from provio.trace.run_facts import METRICS

WITHIN = " "  # suffix of the name of a level: configurations taken up in parts of the level are included


@dataclass
class Configuration:
    """One version of a configuration: name, number and settings; `complete` means that all settings were declared."""

    iri: str
    name: str = ""
    version: int | None = None
    complete: bool = True
    settings: dict[str, Value] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Return its name and version, such as `args 2`."""
        name = self.name or "configuration"
        return name if self.version is None else f"{name} {self.version}"


@dataclass
class Metric:
    """The value of a quantity at a time and a step; `place` is the Task or process that reported it."""

    iri: str
    name: str
    value: Value
    step: int | None
    at: str
    run: str
    place: str


@dataclass
class Checkpoint:
    """A saved state: its path, step, time and run; the IRIs of its configurations, metrics and file versions."""

    iri: str
    path: str
    step: int | None = None
    at: str = ""
    configurations: list[str] = field(default_factory=list)
    metrics: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    @property
    def run(self) -> str:
        """Return the id of its run."""
        return run_of(self.iri)


@dataclass
class Use:
    """The time from which a Task or process used a version of a configuration."""

    at: str
    configuration: str
    place: str


def run_of(iri: str) -> str:
    """Return the id of the run under which an IRI is named."""
    return iri.removeprefix(RUN_BASE).partition("/")[0]


def labels(every: Iterable[Configuration]) -> str:
    """Return the names and versions of configurations on one line."""
    return ", ".join(one.label for one in every)


def metric_names(reader: Reader) -> list[str]:
    """Return the names of all metrics, sorted."""
    rows = reader.rows("SELECT DISTINCT ?name { ?m a provio:Metric ; provio:name ?name }")
    return sorted(row["name"] for row in rows)


def reported_metrics(reader: Reader, name: str) -> list[Metric]:
    """Return the reported values of a metric in order of time."""
    rows = reader.rows(f"""SELECT DISTINCT ?m ?value ?type ?step ?at ?place {{
        ?m a provio:Metric ; provio:name {turtle.literal(name)} ; provio:value ?value ; prov:generatedAtTime ?at ;
            prov:wasGeneratedBy/provio:partOf ?place .
        OPTIONAL {{ ?m provio:step ?step }} BIND (DATATYPE(?value) AS ?type) }}""")
    found = [
        Metric(row["m"], name, of_term(row["value"], row["type"]), _integer(row.get("step")), row["at"],
               run_of(row["m"]), row["place"])
        for row in rows
    ]  # fmt: skip
    return sorted(found, key=lambda one: (moment(one.at), one.iri))


def values(reader: Reader, iris: Iterable[str]) -> dict[str, tuple[str, Value]]:
    """Return the name and value of each of these metrics."""
    found = {}
    for batch in batches(dict.fromkeys(iris)):
        rows = reader.rows(f"""SELECT DISTINCT ?m ?name ?value ?type {{ VALUES ?m {{ {_names(batch)} }}
            ?m provio:name ?name ; provio:value ?value BIND (DATATYPE(?value) AS ?type) }}""")
        found.update({row["m"]: (row["name"], of_term(row["value"], row["type"])) for row in rows})
    return found


def of_run(reader: Reader, run: str) -> dict[str, Configuration]:
    """Return the configurations in force at the end of a run, by name: for each name the version taken up last."""
    taken_up = configuration_uses(reader, run)
    known = all_configurations(reader, (use.configuration for use in taken_up))
    return {known[use.configuration].name: known[use.configuration] for use in taken_up}


def configuration_uses(reader: Reader, run: str = "") -> list[Use]:
    """Return the times at which configurations were taken up, in order; with `run`, only those of that run."""
    of_it = f"FILTER (STRSTARTS(STR(?use), {turtle.literal(RUN_BASE + run + '/')}))" if run else ""
    rows = reader.rows(f"""SELECT DISTINCT ?use ?at ?version ?place {{ {of_it}
        ?phase prov:qualifiedUsage ?use ; provio:partOf ?place . ?use prov:atTime ?at ; prov:entity ?version .
        ?version a provio:Configuration }}""")
    found = sorted((moment(row["at"]), row["use"], row["at"], row["version"], row["place"]) for row in rows)
    return [Use(*one[2:]) for one in found]


def parents(reader: Reader) -> dict[str, str]:
    """Return for each Task and process the whole of which it is a part."""
    rows = reader.rows("""SELECT DISTINCT ?part ?whole {
        { ?part a provio:Task } UNION { ?part a provio:Process } ?part provio:partOf ?whole }""")
    return {row["part"]: row["whole"] for row in rows}


def all_configurations(reader: Reader, iris: Iterable[str]) -> dict[str, Configuration]:
    """Return these versions of configurations with all their settings."""
    found = {iri: Configuration(iri) for iri in iris}
    for batch in batches(found):
        values = f"VALUES ?c {{ {_names(batch)} }}"
        rows = reader.rows(f"""SELECT DISTINCT ?c ?name ?version ?complete {{ {values}
            OPTIONAL {{ ?c provio:name ?name }} OPTIONAL {{ ?c provio:version ?version }}
            OPTIONAL {{ ?c provio:complete ?complete }} }}""")
        for row in rows:
            one = found[row["c"]]
            one.name, one.version = row.get("name", one.name), _integer(row.get("version"))
            one.complete = row.get("complete") not in ("false", "0")
        rows = reader.rows(f"""SELECT DISTINCT ?c ?key ?value ?type {{ {values}
            ?c prov:hadMember ?s . ?s provio:name ?key ; provio:value ?value BIND (DATATYPE(?value) AS ?type) }}""")
        for row in sorted(rows, key=lambda row: row["key"]):
            found[row["c"]].settings[row["key"]] = of_term(row["value"], row["type"])
    return found


def checkpoints(reader: Reader) -> list[Checkpoint]:
    """Return all checkpoints in order of time."""
    found = {}
    for row in reader.rows("""SELECT DISTINCT ?c ?path ?step ?at {
        ?c a provio:Checkpoint ; prov:generatedAtTime ?at . OPTIONAL { ?c provio:path|provio:pathEncoded ?path }
        OPTIONAL { ?c provio:step ?step } }"""):
        found[row["c"]] = Checkpoint(row["c"], row.get("path", ""), _integer(row.get("step")), row["at"])
    for word, name in (("provio:hadConfiguration", "configurations"), ("provio:hadMetric", "metrics"),
                       ("prov:hadMember", "files")):  # fmt: skip
        query = f"SELECT DISTINCT ?c ?o {{ ?c a provio:Checkpoint ; {word} ?o }}"
        for row in reader.rows(query):
            if row["c"] in found:
                getattr(found[row["c"]], name).append(row["o"])
    return sorted(found.values(), key=lambda one: (moment(one.at), one.iri))


class InForce:
    """The configurations in force for Tasks and processes at any time.

    For each name this is the latest version that was taken up in the Task itself, or else in a part of it; or else in
    the whole of which it is a part, and so on.
    """

    def __init__(self, every: Iterable[Use], above: Mapping[str, str], known: Mapping[str, Configuration]) -> None:
        self.above = above
        self.levels: dict[str, dict[str, tuple[list[datetime], list[str]]]] = {}
        for use in every:
            line = list(self._line(use.place))
            for level in (line[0], *(whole + WITHIN for whole in line)):
                times, versions = self.levels.setdefault(level, {}).setdefault(known[use.configuration].name, ([], []))
                times.append(moment(use.at))
                versions.append(use.configuration)

    def at(self, when: str, place: str) -> list[str]:
        """Return the versions in force, sorted by name."""
        found: dict[str, str] = {}
        for level in (level for whole in self._line(place) for level in (whole, whole + WITHIN)):
            for name, (times, versions) in self.levels.get(level, {}).items():
                before = bisect_right(times, moment(when))
                if before:
                    found.setdefault(name, versions[before - 1])
        return [found[name] for name in sorted(found)]

    def _line(self, place: str) -> Iterator[str]:
        seen: set[str] = set()
        while place and place not in seen:
            seen.add(place)
            yield place
            place = self.above.get(place, "")


def moment(text: str) -> datetime:
    """Return a time in a comparable form: its text has a variable number of digits."""
    return datetime.fromisoformat(text)


def _names(iris: Iterable[str]) -> str:
    return " ".join(f"<{iri}>" for iri in iris)


def _integer(text: str | None) -> int | None:
    return int(text) if text else None


# Configurations ranked by a metric: a reader and the metric's name in, the best value under each configuration out.


NO_METRIC = "no metric is recorded: declare one with provio.metric(NAME, VALUE)"
# Words of names of metrics of which the lowest value is the best; others end in one of the second list.
LOWER_IS_BETTER = frozenset(
    "aic aicc bic bpb bpc brier chi chi2 chisq chisquare chisquared cost costs crossentropy dic divergence duration "
    "elapsed err errors fid kl latency mad mae mape misfit mse msle nll nmse nrmse ppl residual residuals rmsd rmse "
    "rmsle runtime smape sse time times waic walltime wer wmse".split()
)
LOWER_ENDINGS = ("loss", "losses", "error", "perplexity")
WORD = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*")


class Best(NamedTuple):
    """The best value of a metric under a set of configuration versions, and the checkpoint saved with it, if there is
    one."""

    metric: Metric
    configurations: list[Configuration]
    checkpoint: str | None


def lowest(name: str) -> bool:
    """Return whether the name of a metric implies that its lowest value is the best: one of its words, which end at
    other characters, at digits, and at a capital letter, is in the list. `neg` before such words, or before a
    likelihood, negates the quantity (`neg_mean_squared_error`)."""
    words = [one.lower() for one in WORD.findall(name)]
    lower = any(
        word in LOWER_IS_BETTER or word.rstrip("0123456789") in LOWER_IS_BETTER
        or word.rstrip("0123456789").endswith(LOWER_ENDINGS) for word in words
    )  # fmt: skip
    is_negated = words[:1] in (["neg"], ["negative"]) and (lower or "likelihood" in words)
    return lower is not is_negated


def found(reader: Reader, name: str, low: bool) -> tuple[list[Best], set[str]]:
    """Return the best value under each set of versions, the best first, and the runs with values of the metric; raises
    NothingKnown if there is no such metric."""
    every = reported_metrics(reader, name)
    if not every:
        names = metric_names(reader)
        if not names:
            raise unknown_values.nothing(reader, METRICS, None, NO_METRIC)
        left_out = unknown_values.line(reader, METRICS, None)
        near = among(name, names, "provio query metrics-of-run lists")
        raise NothingKnown(f"no metric {quoted(name)} is recorded{near}{'; ' * bool(left_out)}{left_out}")
    uses = configuration_uses(reader)
    known = all_configurations(reader, (use.configuration for use in uses))
    force = InForce(uses, parents(reader), known)
    groups: dict[tuple[str, ...], Metric] = {}
    better = _better(low)
    for one in every:
        key = tuple(force.at(one.at, one.place))
        if key not in groups or better(one.value) < better(groups[key].value):
            groups[key] = one
    saved = _saved(reader, groups.values())
    ordered = sorted(groups.items(), key=lambda group: better(group[1].value))
    best = [Best(one, [known[iri] for iri in key], saved.get(one.iri)) for key, one in ordered]
    return best, {one.run for one in every}


def _better(low: bool) -> Callable[[Value], tuple[bool, float]]:
    """Return a sort key by which the best value is the smallest."""

    def key(value: Value) -> tuple[bool, float]:
        last, number = rank(value)
        return last, number if low else -number

    return key


def _saved(reader: Reader, metrics: Iterable[Metric]) -> dict[str, str]:
    """Return the path of the first checkpoint that was saved with each of these values."""
    wanted = {one.iri for one in metrics}
    paths: dict[str, str] = {}
    for checkpoint in checkpoints(reader):
        for iri in wanted.intersection(checkpoint.metrics):
            paths.setdefault(iri, checkpoint.path)
    return paths
