"""What is concluded of what programs said: versions of configurations, checkpoints, states of what no file shows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from provio.base.records import field, plain
from provio.lineage.identity import BASE
from provio.trace.declarations import Checkpoint, Configuration, Entity, Settings
from provio.trace.facts import Process


@plain(slots=True)
class Version:
    """A version of a configuration: equal class, name and values are one, in any run and order."""

    iri: str
    said: Configuration


@plain(slots=True)
class Under:
    """That a program was under a version from a moment on; `series` is of which program and name."""

    iri: str
    version: str
    series: str
    actor: Process
    process: str
    task: str
    at: int
    name: str


@plain(slots=True)
class Saved:
    """A checkpoint, with the file versions that it is, and what was in force: IRIs."""

    said: Checkpoint
    actor: Process
    files: list[str] = field(default_factory=list)
    configurations: list[str] = field(default_factory=list)
    metrics: list[str] = field(default_factory=list)


@plain(slots=True)
class State:
    """What something that no file shows was at a time; `maker` is whose phase made it so, where that is known."""

    iri: str
    of: str
    at: int
    maker: Process | None = None


@plain()
class Sayings:
    """All of it; `kept` are the entities by their IRI in the graph, `made` when each process made some."""

    versions: dict[str, Version] = field(default_factory=dict)
    under: list[Under] = field(default_factory=list)
    saved: list[Saved] = field(default_factory=list)
    kept: dict[str, list[Entity]] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    made: list[tuple[str, int]] = field(default_factory=list)


def version_iri(said: Configuration) -> str:
    """Return the IRI of a configuration's version: a hash of its class, name and typed settings."""
    return BASE + "configuration/" + _digest(said.kind, said.name, said.complete, _listed(said.settings))


def series_of(program: str, name: str) -> str:
    """Return what tells the versions of a program's configuration from others."""
    return _digest(program, name)


def entity_iri(run: str, said: Entity) -> str:
    """Return the IRI of something that no file shows: within its run, or where it has an identifier, in all."""
    if said.identifier:
        return BASE + "entity/" + _digest(said.kind, said.identifier)
    return f"{run}/entity/{_digest(said.kind, said.name)[:32]}"


def _listed(settings: Settings) -> Iterable[tuple[str, str, str]]:
    return [(name, *settings[name]) for name in sorted(settings)]


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, default=list).encode("utf-8", "surrogatepass")).hexdigest()
