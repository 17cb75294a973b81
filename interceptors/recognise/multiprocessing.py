"""multiprocessing: each call of a function by a worker of a Pool or ThreadPool is a Task, also within a chunk.

The key of a call is the pool's queue, the number of its job there, and its number in the job.
"""

from collections import deque
from time import time


class _Calls:
    """The queue of a worker; each call that it returns is a Task."""

    def __init__(self, queue, results, pool):
        from _provio.python.pool_calls import place_of

        self._queue, self._results, self._pool = queue, results, pool
        self._place = place_of(queue)

    def get(self):
        call = self._queue.get()
        try:
            return call if call is None else self._task(*call)
        except Exception as error:
            from _provio.python.guard import reraise_from_program

            reraise_from_program(error)
            return call

    def _task(self, job, number, function, arguments, keywords):
        from _provio.python.pool_calls import got, note_own
        from _provio.recognise import item

        if hasattr(self._results, "_writer"):
            note_own(self._queue._reader.fileno(), self._results._writer.fileno())
        self._results = None
        got(f"{self._place}/{job}", f"{self._place}/{job}/{number}")
        if function in (self._pool.mapstar, self._pool.starmapstar):
            ((mapped, chunk),) = arguments
            arguments = ((item(mapped, "pool"), chunk),)
        elif function is not self._pool._helper_reraises_exception:
            function = item(function, "pool")
        return job, number, function, arguments, keywords

    def __getattr__(self, name):
        return getattr(self._queue, name)


class _Items(deque):
    """The results that an iterator has not returned yet; `numbers` are those of the calls, where their order is not
    that of the results; `latest` is the number of the call whose result was returned last."""

    latest = -1
    numbers = None

    def popleft(self):
        found = deque.popleft(self)
        self.latest = self.latest + 1 if self.numbers is None else self.numbers.popleft()
        return found


def _submitted(_, result, pool, *__, **___):
    """Give the result of a job its key. The items of an iterator are taken later, by a thread of the pool."""
    from _provio.python import pool_calls

    if hasattr(result, "_unsorted"):
        result._items = _Items()

    key = f"{pool_calls.place_in(pool, pool._inqueue, pool._change_notifier)}/{result._job}"
    setattr(result, pool_calls.KEY, key)
    pool_calls.submitted(key, time(), lazily=hasattr(result, "_unsorted"))


def _arrived(result, number, *arguments):
    """Return the arguments of `_set(number, …)` of a job's result: a callback gets the result at once."""
    from _provio.python.pool_calls import key_of, received

    if result._callback and not type(result._callback).__module__.startswith("joblib"):
        received(key_of(result) and f"{key_of(result)}/{number}")
    return (result, number, *arguments), {}


def _arrived_in_any_order(iterator, number, *arguments):
    """Return the arguments of `_set(number, …)` of an iterator whose next result is the one that arrived first."""
    if iterator._items.numbers is None:
        iterator._items.numbers = deque()
    iterator._items.numbers.append(number)
    return (iterator, number, *arguments), {}


def _received(result, thing, *_, **__):
    from _provio.python.pool_calls import key_of, received

    received(key_of(thing))


def _received_next(result, iterator, *_, **__):
    from _provio.python.pool_calls import key_of, received

    received(key_of(iterator) and f"{key_of(iterator)}/{iterator._items.latest}")


def _watch(pool, follow):
    def calls(queue, results, *arguments, **keywords):
        return (_Calls(queue, results, pool), results, *arguments), keywords

    follow(pool, "worker", arguments=calls)
    follow(pool.ApplyResult, "__init__", after=_submitted)
    follow(pool.ApplyResult, "get", after=_received)
    follow(pool.IMapIterator, "__init__", after=_submitted)
    for name in ("next", "__next__"):
        follow(pool.IMapIterator, name, after=_received_next)
    for kind in (pool.ApplyResult, pool.MapResult):
        follow(kind, "_set", arguments=_arrived)
    follow(pool.IMapUnorderedIterator, "_set", arguments=_arrived_in_any_order)


WATCHED = {"multiprocessing.pool": _watch}
