"""concurrent.futures: each call that a pool of threads or processes runs is a Task, named by its function.

A call that is submitted in a Task is a part of it, if it runs in the same process (`python/propagation.py`).
"""


def _submitted(executor, function, /, *arguments, **keywords):
    """Return the arguments of `ThreadPoolExecutor.submit`."""
    from _provio.python.propagation import handed
    from _provio.recognise import FRAMEWORKS, item

    if _is_of_interpreters(executor):
        return (executor, function, *arguments), keywords
    # The threads of asyncio run steps of its tasks.
    of_framework = type(executor).__module__.partition(".")[0] in FRAMEWORKS
    if not of_framework and executor._thread_name_prefix != "asyncio":
        function = item(function, "future")
    return (executor, handed(function), *arguments), keywords


def _is_of_interpreters(executor):
    """Whether a pool pickles its calls, for other interpreters."""
    import sys

    module = sys.modules.get("concurrent.futures.interpreter")
    return module is not None and isinstance(executor, module.InterpreterPoolExecutor)


class _Calls:
    """The queue of a worker process; each call that it returns is a Task."""

    def __init__(self, queue, process_chunk):
        self._queue, self._process_chunk = queue, process_chunk

    def get(self, *arguments, **keywords):
        call = self._queue.get(*arguments, **keywords)
        try:
            if call is not None:
                call.fn = self._task(call.fn)
        except Exception as error:
            _reraise_from_program(error)
        return call

    def _task(self, function):
        from functools import partial

        from _provio.recognise import item

        if type(function) is partial and function.func is self._process_chunk:
            return partial(function.func, item(function.args[0], "future"))
        return item(function, "future")

    def __getattr__(self, name):
        return getattr(self._queue, name)


def _reraise_from_program(error):
    from _provio.python.guard import reraise_from_program

    reraise_from_program(error)


def _watch_threads(thread, follow):
    follow(thread.ThreadPoolExecutor, "submit", arguments=_submitted)


def _watch_processes(process, follow):
    def calls(queue, *arguments, **keywords):
        return (_Calls(queue, process._process_chunk), *arguments), keywords

    follow(process, "_process_worker", arguments=calls)


WATCHED = {"concurrent.futures.thread": _watch_threads, "concurrent.futures.process": _watch_processes}
