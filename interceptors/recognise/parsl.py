"""Parsl: each app that a worker runs is a Task, named by the app's function; also an app of bash."""


def _as_app(function):
    from _provio.recognise import item

    return item(function, "app", _is_error)


def _is_error(result):
    """Whether an app raised an exception, which Parsl passes on as a result."""
    return type(result).__module__ == "parsl.app.errors" and type(result).__name__ == "RemoteExceptionWrapper"


def _unpacked(message):
    """Return the function and the arguments of a message to a worker."""
    function, arguments, keywords = message
    return _as_app(function), arguments, keywords


def _submitted(executor, function, /, *arguments, **keywords):
    """Return the arguments of `ThreadPoolExecutor.submit`."""
    return (executor, _as_app(function), *arguments), keywords


def _watch_worker(module, follow):
    follow(module, "unpack_apply_message", result=_unpacked)


def _watch_threads(threads, follow):
    follow(threads.ThreadPoolExecutor, "submit", arguments=_submitted)


WATCHED = {
    "parsl.executors.execute_task": _watch_worker,
    "parsl.executors.threads": _watch_threads,
}
