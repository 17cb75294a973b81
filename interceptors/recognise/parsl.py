"""Parsl: each app that a worker runs is a Task, named by the app's function; also an app of bash.

The key of an app is the identifier of its `DataFlowKernel` and its number there. A kernel passes it to the threads of a
`ThreadPoolExecutor`, and a `HighThroughputExecutor` to its workers, in the context that it sends with each app.
"""

import sys
from time import time

CONTEXT = "provio"  # in the context of an app: its key
HIGHEST = 12  # frames from a worker's loop to the function that unpacks an app


def _as_app(function, key):
    from _provio.recognise import item

    return item(function, "app", _is_error, (key, 0.0) if key else ())


def _is_error(result):
    """Whether an app raised an exception, which Parsl passes on as a result."""
    return type(result).__module__ == "parsl.app.errors" and type(result).__name__ == "RemoteExceptionWrapper"


# ---- the kernel


def _key(record):
    return f"parsl/{record['dfk'].run_id}/{record['id']}"


def _submitted(future, *_, **__):
    """Give an app's future the key of the app, and record on which apps it depends."""
    from _provio.python import pool_calls

    key = _key(future.task_record)
    setattr(future, pool_calls.KEY, key)
    pool_calls.submitted(key, time())
    needed = [one for one in map(_key_of, future.task_record["depends"]) if one]
    if needed:
        pool_calls.depends(key, needed)


def _key_of(future):
    """Return the key of an app by its future, or by that of one of its files; None if it has none."""
    from _provio.python.pool_calls import key_of

    found = future
    while found is not None and key_of(found) is None:
        found = found.__dict__.get("parent")  # to ask an app's future for an unknown attribute would start an app
    return key_of(found)


def _launching(kernel, record):
    """Note the app that this thread passes to an executor."""
    from _provio.python.pool_calls import here

    here.app = _key(record)
    return (kernel, record), {}


def _internal(declare, original):
    """Around a method in which the kernel itself takes the results of apps."""
    from _provio.python.pool_calls import acting

    def call(*arguments, **keywords):
        with acting(None):
            return original(*arguments, **keywords)

    return call


# ---- executors and workers


def _to_thread(executor, function, /, *arguments, **keywords):
    """Return the arguments of `ThreadPoolExecutor.submit`."""
    from _provio.python.pool_calls import here

    return (executor, _as_app(function, getattr(here, "app", "")), *arguments), keywords


def _to_worker(executor, context, *arguments, **keywords):
    """Return the arguments of `HighThroughputExecutor.submit_payload`."""
    from _provio.python.pool_calls import here

    return (executor, {**context, CONTEXT: getattr(here, "app", "")}, *arguments), keywords


def _unpacked(message):
    """Return the function and the arguments of a message to a worker."""
    function, arguments, keywords = message
    names = _worker_names()
    if names and not hasattr(_unpacked, "noted"):
        from _provio.python.pool_calls import note_own

        _unpacked.noted = True
        note_own(names["task_queue"]._reader.fileno(), names["result_queue"]._reader.fileno(), *_counters(names))
    return _as_app(function, names.get("ctxt", {}).get(CONTEXT, "")), arguments, keywords


def _worker_names():
    """Return the variables of the loop of a worker process that unpacks an app; empty in another process."""
    frame = sys._getframe(1)
    for _ in range(HIGHEST):
        if frame is None or (frame.f_code.co_name == "worker" and "ctxt" in frame.f_code.co_varnames):
            break
        frame = frame.f_back
    else:
        return {}
    return frame.f_locals if frame else {}


def _counters(names):
    """Return the memory in which workers count how many of them wait."""
    try:
        return [names["ready_worker_count"].get_obj()._wrapper._state[0][0].fd]
    except (AttributeError, LookupError, TypeError):
        return []


def _connected(*_, **__):
    """Note that this process is an executor's interchange, or the manager of a node's workers."""
    program = sys.modules["__main__"]
    if hasattr(program, "curvezmq") and (hasattr(program, "Interchange") or hasattr(program, "Manager")):
        from _provio.python.pool_calls import note_helper

        note_helper()


def _watch_connections(curvezmq, follow):
    follow(curvezmq.ServerContext, "__init__", after=_connected)
    follow(curvezmq.ClientContext, "__init__", after=_connected)


def _watch_kernel(dflow, follow):
    kernel = dflow.DataFlowKernel
    follow(kernel, "submit", after=_submitted)
    follow(kernel, "launch_task", arguments=_launching)
    for name in ("_launch_if_ready_async", "handle_exec_update", "handle_join_update"):
        follow(kernel, name, around=_internal)


def _watch_worker(module, follow):
    follow(module, "unpack_apply_message", result=_unpacked)


def _watch_threads(threads, follow):
    follow(threads.ThreadPoolExecutor, "submit", arguments=_to_thread)


def _watch_executor(executor, follow):
    follow(executor.HighThroughputExecutor, "submit_payload", arguments=_to_worker)


WATCHED = {
    "parsl.curvezmq": _watch_connections,
    "parsl.dataflow.dflow": _watch_kernel,
    "parsl.executors.execute_task": _watch_worker,
    "parsl.executors.threads": _watch_threads,
    "parsl.executors.high_throughput.executor": _watch_executor,
}
