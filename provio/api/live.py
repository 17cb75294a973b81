"""Tasks, campaigns and events of runs, of finished ones and of those in progress: methods of `Store`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, cast

from provio.api.connection import Connection
from provio.ask import session
from provio.base.errors import ConfigError, NothingKnown

if TYPE_CHECKING:
    from provio.ask.campaigns import Campaign
    from provio.follow.stream import Stream


class Event(TypedDict):
    """An event of a run (docs/live.md). `id` is its number, which grows; `time` is ISO 8601 in UTC; `subject` is the
    IRI of the process, Task, file version … in the graph; `data` depends on `type`."""

    id: str
    time: str
    type: Literal["run", "process", "task", "file", "metric", "checkpoint"]
    run: str
    subject: str
    data: dict[str, Any]


class Events(Iterator[Event]):
    """Yields events of runs; a context manager that closes it. `close` lets other processes keep the events."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self._found = stream, iter(stream)

    def __next__(self) -> Event:
        try:
            return cast("Event", next(self._found))
        except StopIteration:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it."""
        self._found = iter(())
        self._stream.close()


class LiveQueries(Connection):
    """The part of `Store` that has tasks, campaigns and events."""

    def tasks(
        self,
        *run: str,
        campaign: str | None = None,
        kind: str | None = None,
        status: Literal["failed", "ok", "unfinished"] | None = None,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - the name of FlowCept
        projection: Sequence[str] | None = None,
        aggregation: Sequence[tuple[str, str]] | None = None,
        sort: Sequence[tuple[str, str | int]] | None = None,
        limit: int = 0,
    ) -> list[dict[str, Any]]:
        """Return the tasks of these runs, of those of a campaign, or else of the newest run with tasks, oldest first.

        Each is a dictionary with the names of FlowCept: task_id (the name; of a task of Dask its key), activity_id (the
        prefix of the key), workflow_id (the id of the run), subtype (the kind, as `dask`), status (`ok`, `error`,
        `unfinished`), started_at and ended_at (seconds since 1970; None: unknown), address (of the worker, or
        PID@HOST); and seconds, attempt, bytes_read, bytes_written, bytes_result, iri. Raises NothingKnown if there is
        no such run, or no run has tasks.

        With `filter`, `projection`, `aggregation`, `sort` or `limit`, those of FlowCept's queries, the tasks of all
        runs are queried, and runs themselves (docs/live.md): each also has campaign_id, `used` and `generated`. Raises
        BadQuery if one of them is invalid.
        """
        from provio.ask import runs, task_documents, task_list

        home, reader = self._open_both()
        wanted = [session.run_id(reader, name) for name in run] or None
        if campaign is not None:
            of_campaign = runs.chosen(reader, campaign, None) or []
            wanted = [one for one in of_campaign if wanted is None or one in wanted]
        if limit or any(one is not None for one in (filter, projection, aggregation, sort)):
            return task_documents.selected(
                reader, home, wanted, {"subtype": kind, "status": status}, filter=filter, projection=projection,
                aggregation=aggregation, sort=sort, limit=limit,
            )  # fmt: skip
        found = task_list.listed(reader, home, task_list.chosen(reader, wanted), kind)
        return [row.flowcept() for row in found.rows if status is None or task_list.STATUS[status](row)]

    def campaigns(self, name: str | None = None) -> list[Campaign]:
        """Return the campaigns, or the one with this name, in the order of their starts (`provio.ask.campaigns`).

        Each has its name, runs (ids, oldest first), hosts, records (the `.provio` folders that have its runs: more than
        one with the setting `stores`), start, end (None: a run is in progress), state (`ok`, `failed`, `in progress`,
        `ended`), states (the number of runs in each) and ties: maker, reader (ids of runs) and files, the number of
        files that the one wrote and the other read. Raises NothingKnown if no run is in a campaign of this name.
        """
        from provio.ask import campaigns, runs

        home, reader = self._open_both()
        if name is not None:
            runs.chosen(reader, name, None)
        return campaigns.listed(reader, home, name)

    def follow(self, run: str | None = None) -> Events:
        """Return the events of a run until it has ended; without `run`, of the runs that are in progress or start
        later, without an end.

        A run is given by its id, a prefix of the id, its name, or `last`. An ended run has the events, in the order,
        that it had for those who followed it. A run in progress is looked at every 0.2 seconds. Close the result, or
        use it in a `with` block, if it may not be read to its end. Raises NothingKnown if the run, or its data, is not
        in this record, ConfigError if the record is on a server: it has no events.
        """
        from provio.follow.stream import Stream
        from provio.trace import run_source

        if self._url:
            raise ConfigError(f"{self._url} has no events: follow runs where they are recorded (provio.open(FOLDER))")
        wanted = None if run is None else [session.run_id(self._open(), run)]
        for one in wanted or ():
            if not run_source.exists(self._home.runs / one):
                raise NothingKnown(f"the data of run {one} is not in {self._home.path}: open the record that has it")
        return Events(Stream(self._home, self._settings(), wanted))
