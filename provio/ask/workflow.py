"""The characteristics of a workflow of tasks. In: runs. Out: the numbers of its graphs, tasks, files, calls, transfers.

These are the rows of table I of Gueroudji et al. (*Performance Characterization and Provenance of Distributed
Task-based Workflows on HPC Platforms*, 2024). Files and calls are those of the tasks; system files do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from provio.ask import task_list
from provio.ask.kept_memory import has_tasks
from provio.ask.task_events import files_of
from provio.base.text import plural
from provio.lineage.identity import SEALED
from provio.trace.events import Fact, Transfer

if TYPE_CHECKING:
    from provio.settings.home import Home
    from provio.store import Store


class Workflow(NamedTuple):
    """`tasks` are distinct keys, `calls` reads and writes, `transfers` results that a worker received from another."""

    graphs: int
    tasks: int
    files: int
    calls: int
    transfers: int

    def __str__(self) -> str:
        """Return the numbers in words."""
        return ", ".join(
            (
                plural(self.graphs, "graph"), plural(self.tasks, "distinct task"), plural(self.files, "file"),
                f"{self.calls:,} reads and writes", plural(self.transfers, "transfer"),
            )
        )  # fmt: skip


def of_runs(store: Store, home: Home, wanted: Sequence[str]) -> Workflow | None:
    """Return the sum over runs (ids); None if no task of a framework ran in them. Graphs and transfers are those of the
    runs whose files are in this `.provio`."""
    if not has_tasks(store):
        return None
    rows = [row for row in task_list.listed(store, home, wanted, results=False).rows if row.kind in SEALED]
    if not rows:
        return None
    events = [
        event for run in wanted for file in files_of(home, run, frozenset({Fact, Transfer})) for event in file.events
    ]
    return Workflow(
        graphs=sum(isinstance(event, Fact) and event.what == "graph" for event in events),
        tasks=len({(row.run, row.name) for row in rows}),
        files=len(set().union(*(row.files for row in rows))),
        calls=sum(row.calls for row in rows),
        transfers=sum(isinstance(event, Transfer) for event in events),
    )
