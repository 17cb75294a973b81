"""Types of the conclusions from declarations: versions of configurations, checkpoints, states of entities without a
file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from provio.base.records import field, plain
from provio.lineage.identity import BASE
from provio.trace.declarations import Checkpoint, Configuration, Entity, Settings
from provio.trace.facts import Process
from provio.trace.metrics import Metric


@plain(slots=True)
class Version:
    """A version of a configuration: equal class, name and values are one version, in any run and order."""

    iri: str
    declaration: Configuration


@plain(slots=True)
class ConfigurationUse:
    """The use of a configuration's version by a program from a moment on; `series` identifies the program and the
    name."""

    iri: str
    version: str
    series: str
    actor: Process
    process: str
    task: str
    at: int
    name: str


@plain(slots=True)
class SavedCheckpoint:
    """A checkpoint, with the IRIs of its file versions and of the configurations and metrics in force."""

    declaration: Checkpoint
    actor: Process
    files: list[str] = field(default_factory=list)
    configurations: list[str] = field(default_factory=list)
    metrics: list[str] = field(default_factory=list)


@plain(slots=True)
class State:
    """The state of an entity without a file at a moment. `maker` is the process with the phase that made it; None if
    unknown."""

    iri: str
    of: str
    at: int
    maker: Process | None = None


class StateNames:
    """The IRIs of the successive states of entities without a file, in one run."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.count: dict[str, int] = {}

    def next(self, of: str) -> str:
        """Return the IRI of the next state of an entity. If other runs may know the entity, it contains the run's
        id."""
        number = self.count[of] = self.count.get(of, -1) + 1
        if not of.startswith(self.run):
            return f"{of}~{self.run.rpartition('/')[2]}.{number}"
        return f"{of}~{number}" if number else of


@plain()
class DeclaredFacts:
    """All conclusions from declarations.

    `kept` has the declared entities by their IRI in the graph, `made` has (process, moment) of each declared product,
    `measured` the metrics from files.
    """

    versions: dict[str, Version] = field(default_factory=dict)
    under: list[ConfigurationUse] = field(default_factory=list)
    saved: list[SavedCheckpoint] = field(default_factory=list)
    kept: dict[str, list[Entity]] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    made: list[tuple[str, int]] = field(default_factory=list)
    measured: list[Metric] = field(default_factory=list)


def version_iri(declaration: Configuration) -> str:
    """Return the IRI of a configuration's version: a hash of its class, name and typed settings."""
    one = declaration
    return BASE + "configuration/" + _digest(one.kind, one.name, one.complete, _listed(one.settings))


def series_of(program: str, name: str) -> str:
    """Return the identifier that separates the versions of a program's configuration from those of others."""
    return _digest(program, name)


def entity_iri(run: str, declaration: Entity) -> str:
    """Return the IRI of an entity without a file: unique within its run, or with an identifier, common to all runs."""
    if declaration.identifier:
        return BASE + "entity/" + _digest(declaration.kind, declaration.identifier)
    return f"{run}/entity/{_digest(declaration.kind, declaration.name)[:32]}"


def _listed(settings: Settings) -> Iterable[tuple[str, str, str]]:
    return [(name, *settings[name]) for name in sorted(settings)]


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, default=list).encode("utf-8", "surrogatepass")).hexdigest()
