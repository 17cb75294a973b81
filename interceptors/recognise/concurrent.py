"""concurrent.futures: each call that a pool of threads or processes runs is a Task, named by its function.

A call that is submitted in a Task is a part of it, if it runs in the same process (`python/propagation.py`). Of a pool
of processes, the key of a call is its queue and its number there: the pool's process and its workers know both.
"""

from functools import partial
from time import time


def _submitted(executor, function, /, *arguments, **keywords):
    """Return the arguments of `ThreadPoolExecutor.submit`."""
    from _provio.python.pool_calls import here, new_key
    from _provio.python.propagation import handed
    from _provio.recognise import FRAMEWORKS, item

    if _is_of_interpreters(executor):
        return (executor, function, *arguments), keywords
    # The threads of asyncio run steps of its tasks.
    of_framework = type(executor).__module__.partition(".")[0] in FRAMEWORKS
    if not of_framework and executor._thread_name_prefix != "asyncio":
        handed_over = new_key(), time()
        before, function = function, item(function, "future", handed=handed_over)
        if function is not before:
            here.handed = handed_over
    return (executor, handed(function), *arguments), keywords


def _handed(future, *_, **__):
    """Give the future of a call that was handed to a thread its key."""
    from _provio.python.pool_calls import KEY, here

    key, _ = here.__dict__.pop("handed", (None, 0.0))
    if key is not None:
        setattr(future, KEY, key)


def _is_of_interpreters(executor):
    """Whether a pool pickles its calls, for other interpreters."""
    import sys

    module = sys.modules.get("concurrent.futures.interpreter")
    return module is not None and isinstance(executor, module.InterpreterPoolExecutor)


class _Calls:
    """The queue of a worker process; each call that it returns is a Task."""

    def __init__(self, queue, results, process_chunk):
        from _provio.python.pool_calls import place_of

        self._queue, self._process_chunk, self._results = queue, process_chunk, results
        self._place = place_of(queue)

    def get(self, *arguments, **keywords):
        call = self._queue.get(*arguments, **keywords)
        try:
            if call is not None:
                call.fn = self._task(call.fn, call.work_id)
        except Exception as error:
            _reraise_from_program(error)
        return call

    def _task(self, function, number):
        from _provio.python.pool_calls import got, note_own
        from _provio.recognise import item

        if self._results is not None:
            note_own(self._queue._reader.fileno(), self._results._reader.fileno())
            self._results = None
        got(f"{self._place}/{number}")
        if type(function) is partial and function.func is self._process_chunk:
            return partial(function.func, item(function.args[0], "future"))
        return item(function, "future")

    def __getattr__(self, name):
        return getattr(self._queue, name)


def _reraise_from_program(error):
    from _provio.python.guard import reraise_from_program

    reraise_from_program(error)


def calls_of(process, queue, results, *arguments, **keywords):
    """Return the arguments of `_process_worker` of a module, that of the standard library or of loky."""
    return (_Calls(queue, results, process._process_chunk), results, *arguments), keywords


def submitting(executor, *arguments, **keywords):
    """Note the pool of processes to which this thread submits a call."""
    from _provio.python import pool_calls

    pool_calls.here.executor = executor
    return (executor, *arguments), keywords


def submitted(_, __, future, *___, **____):
    """Give the future of a call that is being submitted its key. Its pool is locked, and counts its calls."""
    from _provio.python import pool_calls

    executor = pool_calls.here.executor
    place = pool_calls.place_in(executor, executor._call_queue, executor._executor_manager_thread_wakeup)
    key = f"{place}/{executor._queue_count}"
    setattr(future, pool_calls.KEY, key)
    pool_calls.submitted(key, time())


def _received(result, thing, *_, **__):
    """Record that a call's result is received: that of a future, or of another object with a key."""
    from _provio.python import pool_calls

    pool_calls.received(pool_calls.key_of(thing))


def _watch_futures(base, follow):
    follow(base.Future, "result", after=_received)


def _watch_threads(thread, follow):
    follow(thread.ThreadPoolExecutor, "submit", arguments=_submitted, after=_handed)


def _watch_processes(process, follow):
    follow(process, "_process_worker", arguments=partial(calls_of, process))
    follow(process.ProcessPoolExecutor, "submit", arguments=submitting)
    follow(process._WorkItem, "__init__", after=submitted)


WATCHED = {
    "concurrent.futures._base": _watch_futures,
    "concurrent.futures.thread": _watch_threads,
    "concurrent.futures.process": _watch_processes,
}
