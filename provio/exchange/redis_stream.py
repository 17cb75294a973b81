"""Adds the events of runs to a Redis Stream, each once, also after an interruption of either side.

The id of an entry is the number of its event, so the server refuses an event that is there already, and the last id
is the place from which to go on. The fields are those of an event; `data` is JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from provio.base.errors import NotAllowed, ProvioError
from provio.system import installation

Event = dict[str, Any]
SCHEMES = ("redis", "rediss", "unix")
STREAM = "provio"  # the name of a stream, if the URL has none
PASSWORD = "REDISCLI_AUTH"  # noqa: S105 (a variable, which redis-cli reads, too)
BATCH = 500  # events that are sent at once
FIRST, LONGEST = 0.5, 30.0  # seconds between two attempts
SECONDS = 30.0  # without an answer, after which a connection counts as lost
ENOUGH = 10.0  # seconds for which a server is tried that must not be awaited


class Address:
    """The URL of a stream: `redis://HOST:PORT/DB?stream=NAME`. Its text form has no password."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        self.stream = dict(pairs).get("stream") or STREAM
        more = urlencode([pair for pair in pairs if pair[0] != "stream"])
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path}{f'?{more}' if more else ''}"
        self.password = os.environ.get(PASSWORD)
        self.shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        if parts.scheme not in SCHEMES:
            raise ProvioError(
                "--to has no URL of a Redis server: use redis://HOST:PORT/DB?stream=NAME, rediss:// or unix://"
            )

    def __str__(self) -> str:
        return self.shown


class RedisStream:
    """A stream of a server. `report` receives a message when the server does not answer; if `waits`, the server is
    tried until it does."""

    def __init__(self, address: Address, report: Callable[[str], None], waits: bool) -> None:
        try:
            import redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ModuleNotFoundError:
            raise installation.missing("redis", "--to redis://… needs") from None
        self.address, self.report, self.waits, self.errors = address, report, waits, redis.exceptions
        self.known = 0  # the number of the last event that the stream had
        options: dict[str, Any] = {"password": address.password} if address.password else {}
        options |= {"socket_timeout": SECONDS, "socket_connect_timeout": SECONDS, "retry": Retry(NoBackoff(), 0)}
        try:
            self.client: Any = redis.Redis.from_url(address.url, **options)
            pool = self.client.connection_pool
            pool.connection_class(**pool.connection_kwargs)  # checks the options of the URL, without connecting
        except (ValueError, TypeError):
            raise ProvioError(f"--to: {address} has a wrong part: use redis://HOST:PORT/DB?stream=NAME") from None

    def last(self) -> int:
        """Return the number of the last event in the stream; 0 if there is none. The server is awaited."""
        self.known = self._repeated(lambda: self._last(self.client))
        return self.known

    def add(self, events: Sequence[Event]) -> bool:
        """Add events, all or none. Return False if the stream lacks earlier ones, or may lack them: the server was
        started again with an earlier state, or does not answer. Then `last` is the place from which to go on."""
        try:
            return self._add(events)
        except self.errors.WatchError:  # another exporter has added some
            return False
        except self._passing() as error:
            self._explain(error)
            self._repeated(lambda: self._last(self.client), is_explained=True)
            return False
        except self.errors.RedisError as error:
            raise self._failure(error) from None

    def check(self, numbers: Iterable[int]) -> None:
        """Raise ProvioError if the stream lacks one of these events and has later ones."""
        earlier = [number for number in numbers if number <= self.known]
        if earlier and self._repeated(lambda: self._lacks(self.client, earlier)):
            raise ProvioError(
                f"the stream {self.address.stream!r} of {self.address} has later entries than events that it lacks, "
                "and no entry can be added before others: use a stream of its own for each selection of runs"
            )

    def _last(self, client: Any) -> int:
        found = self._info(client)
        return _number(found["last-generated-id"]) if found else 0

    def _info(self, client: Any) -> dict[str, Any]:
        try:
            found: dict[str, Any] = client.xinfo_stream(self.address.stream)
        except self.errors.ResponseError as error:
            if "no such key" not in str(error):
                raise
            return {}
        return found

    def _add(self, events: Sequence[Event]) -> bool:
        with self.client.pipeline() as pipe:
            pipe.watch(self.address.stream)
            last = self._last(pipe)
            if last < self.known:
                return False
            self.known = last
            self.check(int(event["id"]) for event in events)
            new = [event for event in events if int(event["id"]) > last]
            pipe.multi()
            for event in new:
                fields = {name: event[name] for name in ("time", "type", "run", "subject")}
                pipe.xadd(self.address.stream, fields | {"data": json.dumps(event["data"])}, id=f"{event['id']}-0")
            pipe.execute()
            self.known = max([last, *(int(event["id"]) for event in new)])
        return True

    def _lacks(self, client: Any, numbers: Sequence[int]) -> list[int]:
        """Return the numbers without an entry; not those before the first entry of a trimmed stream."""
        info = self._info(client)
        if info.get("entries-added") != info.get("length"):
            first = info.get("first-entry")
            numbers = [number for number in numbers if first and number >= _number(first[0])]
        with client.pipeline(transaction=False) as pipe:
            for number in numbers:
                pipe.xrange(self.address.stream, f"{number}-0", f"{number}-0")
            return [number for number, found in zip(numbers, pipe.execute(), strict=True) if not found]

    def _repeated(self, action: Callable[[], Any], is_explained: bool = False) -> Any:
        """Do something as soon as the server answers, with growing pauses between the attempts."""
        pause, start = FIRST, time.monotonic()
        while True:
            try:
                return action()
            except self._passing() as error:
                if self._refuses(error) or not (self.waits or time.monotonic() - start < ENOUGH):
                    raise self._failure(error) from None
                if not is_explained:
                    self._explain(error)
                is_explained = True
            except self.errors.RedisError as error:
                raise self._failure(error) from None
            time.sleep(pause)
            pause = min(2 * pause, LONGEST)

    def _passing(self) -> tuple[type[Exception], ...]:
        """Return the errors after which another attempt may succeed."""
        names = ("ConnectionError", "TimeoutError", "OutOfMemoryError", "ReadOnlyError", "ClusterDownError")
        return tuple(getattr(self.errors, name) for name in names)

    def _refuses(self, error: Exception) -> bool:
        """Return whether the server refuses the user: no wait changes that."""
        return isinstance(error, (self.errors.AuthenticationError, self.errors.AuthorizationError))

    def _explain(self, error: Exception) -> None:
        if self._refuses(error):
            raise self._failure(error) from None
        self.report(f"{self.address} does not accept events ({_reason(error)}): trying again")

    def _failure(self, error: Exception) -> ProvioError:
        """Return the error to report; no message repeats a password."""
        if self._refuses(error):
            return NotAllowed(f"{self.address} refuses the user or the password: give them in the URL or {PASSWORD}")
        if "WRONGTYPE" in str(error):
            return ProvioError(f"{self.address} has {self.address.stream!r}, which is no stream: name another one")
        return ProvioError(f"{self.address} does not accept events ({_reason(error)}): check the URL and the server")


def export(
    stream: RedisStream,
    follow: Callable[[int], Generator[Event | None]],
    earliest: Callable[[], Iterable[int]],
) -> int:
    """Add events to a stream and return their number. `follow` yields those after a number, and None when there are no
    more for now; `earliest` returns the number of the first event of each run that has any."""
    count = 0
    last = stream.last()
    stream.check(earliest())
    while True:
        with contextlib.closing(follow(last)) as events:
            for batch in _batches(events):
                if not stream.add(batch):
                    break
                count += len(batch)
            else:
                return count
        last = stream.last()


def _batches(events: Iterable[Event | None]) -> Iterator[list[Event]]:
    batch: list[Event] = []
    for event in events:
        batch += [event] if event else []
        if batch and (event is None or len(batch) == BATCH):
            yield batch
            batch = []
    if batch:
        yield batch


def _number(entry: bytes | str) -> int:
    """Return the number of the event with the id of an entry."""
    return int((entry.decode() if isinstance(entry, bytes) else entry).partition("-")[0])


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
