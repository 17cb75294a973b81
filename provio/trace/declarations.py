"""The declarations of programs as typed records: configurations, metrics, checkpoints, entities without a file.

Times are nanoseconds since 1970; processes and Tasks are given by their IRIs.
"""

from __future__ import annotations

from provio.base.records import field, plain
from provio.system.statx import Facts
from provio.trace.metrics import Metrics
from provio.trace.values import Value

Settings = dict[str, Value]


@plain(slots=True)
class Configuration:
    """Settings that apply from a moment on; not `complete` if the program ended before it had declared all."""

    iri: str
    process: str
    task: str
    at: int
    name: str
    kind: str
    complete: bool
    settings: Settings


@plain(slots=True)
class Checkpoint:
    """A file or folder (`path`) that was declared to hold a state from which a program can continue."""

    iri: str
    process: str
    task: str
    at: int
    path: bytes
    kind: str
    step: int | None


@plain(slots=True)
class Entity:
    """An entity that is not a file; `identifier`, if not empty, is unique among all runs."""

    iri: str
    process: str
    at: int
    name: str
    kind: str
    identifier: str
    settings: Settings


@plain(slots=True)
class Use:
    """The use or generation (`made`) of a declared `entity` or of a file."""

    process: str
    task: str
    at: int
    made: bool
    entity: str = ""
    path: bytes | None = None
    facts: Facts | None = None


@plain()
class Declarations:
    """All declarations of the programs of a run, each kind in the order of the thread files."""

    configurations: list[Configuration] = field(default_factory=list)
    metrics: Metrics = field(default_factory=Metrics)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    entities: dict[str, Entity] = field(default_factory=dict)
    uses: list[Use] = field(default_factory=list)
    settings: dict[str, Settings] = field(default_factory=dict)  # of Tasks, by their IRIs

    def holders(self) -> list[Settings]:
        """Return all settings: of configurations, entities and Tasks."""
        own = [*(one.settings for one in self.configurations), *(one.settings for one in self.entities.values())]
        return [*own, *self.settings.values()]
