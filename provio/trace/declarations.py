"""What programs said beside what they did, as typed records: configurations, metrics, checkpoints, things that no file
shows. Nothing is concluded here. Times are nanoseconds since 1970, processes and Tasks are named by their IRIs.
"""

from __future__ import annotations

from provio.base.records import field, plain
from provio.system.statx import Facts
from provio.trace.metrics import Metrics
from provio.trace.values import Value

Settings = dict[str, Value]


@plain(slots=True)
class Configuration:
    """Settings that a program was under from a moment on; not `complete` where it ended before it had told them."""

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
    """A file or folder (`path`) of which a program said that it holds a state to go on from."""

    iri: str
    process: str
    task: str
    at: int
    path: bytes
    kind: str
    step: int | None


@plain(slots=True)
class Entity:
    """Something that no file shows; `identifier`, if not empty, tells it from all others in any run."""

    iri: str
    process: str
    at: int
    name: str
    kind: str
    identifier: str
    settings: Settings


@plain(slots=True)
class Use:
    """That a program used something, or made it: an `entity` that it told of, or a file."""

    process: str
    task: str
    at: int
    made: bool
    entity: str = ""
    path: bytes | None = None
    facts: Facts | None = None


@plain()
class Declarations:
    """All that the programs of a run said, each in the order in which its threads' files have it."""

    configurations: list[Configuration] = field(default_factory=list)
    metrics: Metrics = field(default_factory=Metrics)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    entities: dict[str, Entity] = field(default_factory=dict)
    uses: list[Use] = field(default_factory=list)
    settings: dict[str, Settings] = field(default_factory=dict)  # of Tasks, by their IRIs

    def holders(self) -> list[Settings]:
        """All settings, whatever they are of."""
        own = [*(one.settings for one in self.configurations), *(one.settings for one in self.entities.values())]
        return [*own, *self.settings.values()]
