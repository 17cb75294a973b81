"""Dask: each task that a worker runs is a Task; the logs of scheduler, workers and clients become events.

Scheduler and workers append each transition and transfer to a log in memory, a deque. `Log` is such a deque that also
adds the entry to the process's event file (`python/events.py`). This holds for all versions since 2024, and it states
exactly the statements of Dask.
"""

import gc
import sys
from collections import deque
from time import time

KIND = b"dask"
MOST_LINES = 10_000  # log lines of a process; the others are counted
LONGEST_PAUSE = 0.01  # s; a longer garbage collection is an event
STALLED = "Event loop was unresponsive"


def _events():
    from _provio.python import events

    return events


def _guarded(function):
    """Return the function, without its exceptions: an error of provio must not reach the program."""

    def guarded(*arguments):
        try:
            return function(*arguments)
        except Exception as error:
            from _provio.python.guard import reraise_from_program

            reraise_from_program(error)
            return None

    return guarded


# ---- logs


class Log(deque):
    """A log of Dask, whose entries are passed on to `note`."""

    def append(self, entry):
        """Append an entry, and pass it on."""
        deque.append(self, entry)
        try:
            self.note(entry)
        except Exception as error:
            from _provio.python.guard import reraise_from_program

            reraise_from_program(error)


def _log(before, file, note):
    """Return a log with the entries and the length of another one; `file` is the event file of its owner."""
    found = Log(before, before.maxlen)
    found.file, found.note = file, note
    return found


def _file_of(log):
    """Return the event file of a log's owner; None if it is an ordinary deque."""
    return getattr(log, "file", None)


def _after(then):
    """Return the `around` of an initialisation after which `then` is called with the object."""

    def around(declare, original):
        then_guarded = _guarded(then)

        def initialise(self, *arguments, **keywords):
            original(self, *arguments, **keywords)
            then_guarded(self)

        return initialise

    return around


# ---- the scheduler


def _scheduler_state(state):
    file = _events().begin()
    if file is None:
        return
    known, tasks = file.texts, state.tasks

    def note(entry):
        key, start, finish, _, stimulus, at = entry
        if key not in known or start == "released":
            task = tasks.get(key)
            if task is not None and (start == "released" or key not in known):
                file.dependencies(key, stimulus, [one.key for one in task.dependencies])
        file.transition(key, start, finish, finish, stimulus, at)
        if finish == "forgotten":
            file.forget(key)

    state.transition_log = _log(state.transition_log, file, note)


def _scheduler(scheduler):
    import dask
    import distributed

    file = _file_of(scheduler.transition_log)
    if file is not None:
        versions = {"dask": dask.__version__, "distributed": distributed.__version__}
        versions["python"] = sys.version.split()[0]
        file.object("scheduler", id=str(scheduler.id), versions=versions)
        _watch_process(file)


STATED = ("worker", "name", "client", "reason", "status", "prev-status", "nanny", "expected", "stimulus_id")


def _logged(declare, original):
    """Add the starts and ends of workers and clients, and steals, that the scheduler logs."""

    def add(scheduler, topic, message):
        file = _file_of(scheduler.transition_log)
        if file is None:
            return
        if topic == "stealing" and type(message) is tuple and message:
            rows = message[1] if message[0] == "request" and isinstance(message[1], list) else [message[1:]]
            for row in rows:
                file.object("steal", event=str(message[0]), row=[_plain(one) for one in row])
        elif topic == "all" and type(message) is dict and type(message.get("action")) is str:
            facts = {name.replace("-", "_"): _plain(message[name]) for name in STATED if name in message}
            file.object(message["action"], **facts)

    add_guarded = _guarded(add)

    def log_event(self, topic, msg, *arguments, **keywords):
        add_guarded(self, topic, msg)
        return original(self, topic, msg, *arguments, **keywords)

    return log_event


def _plain(value):
    """Return a value of a log entry: numbers and texts as they are, keys as text."""
    return value if value is None or type(value) in (int, float, bool, str) else _events().key_text(value)


def _graph(declare, original):
    """Add each graph that a client submits."""

    def add(scheduler, given):
        file = _file_of(scheduler.transition_log)
        if file is not None:
            facts = {
                name: _plain(given[name]) for name in ("client", "submitting_task", "stimulus_id") if name in given
            }
            file.object("graph", keys=len(given.get("keys", ())), address=str(scheduler.address), **facts)

    add_guarded = _guarded(add)

    async def update_graph(self, *arguments, **keywords):
        if not keywords.get("stimulus_id"):
            keywords["stimulus_id"] = f"update-graph-{time()}"
        add_guarded(self, keywords)
        return await original(self, *arguments, **keywords)

    return update_graph


# ---- workers


def _worker_state(state):
    file = _events().begin()
    if file is None:
        return
    started = []

    def note(entry):
        if len(entry) == 7:
            if not started:
                started.append(True)
                file.object("worker", address=str(state.address), threads=state.nthreads)
            key, start, recommended, finish, _, stimulus, at = entry
            file.transition(key, start, recommended, finish, stimulus, at)
            if finish == "forgotten":
                file.forget(key)

    state.log = _log(state.log, file, note)


def _worker(worker):
    file = _file_of(worker.state.log)
    if file is None:
        return

    def note(entry):
        file.transfer(entry["who"], entry["start"], entry["stop"], entry["total"], entry["keys"].items())

    worker.transfer_incoming_log = _log(worker.transfer_incoming_log, file, note)
    _watch_process(file)


def _file_of_worker(worker):
    return None if worker is None else _file_of(worker.state.log)


class _Running:
    """A Task from the start of a worker's call to its end."""

    def __init__(self, declare, key, worker=None):
        from _provio.python import tasks
        from _provio.python.propagation import propagate_loaded

        propagate_loaded()
        self.tasks, self.found = tasks, declare.recorder.recorder()
        self.key, self.worker, self.number = key, worker, 0
        if self.found is not None:
            self.before = self.found.task_now()
            self.number = self.found.task_in(declare.encode(_events().key_text(key)), KIND)
        if self.number:
            self.scope = tasks.SCOPE.set(self.number)

    def arguments(self, function, arguments, keywords):
        file = _file_of_worker(self.worker)
        if self.number and file is not None:
            from _provio.python.arguments import describe

            file.arguments(self.number, describe(function, arguments, keywords, self.results()))

    def results(self):
        """Return the keys of the task's dependencies by the identity of their results, which a worker before 2024.12
        has put in the place of references."""
        task, data = self.worker.state.tasks.get(self.key), self.worker.data
        data = getattr(data, "fast", data)
        keys = [one.key for one in task.dependencies] if task is not None and OLD_VERSION else ()
        return {id(data[key]): key for key in keys if key in data and type(data[key]) not in (int, str, bool)}

    def end(self, message):
        """End the Task with the message that a worker gets from the call; None: an exception ended the call."""
        if not self.number:
            return
        failed = type(message) is not dict or message.get("op") == "task-erred"
        self.tasks.SCOPE.reset(self.scope)
        self.found.task_out(self.number, self.before, b"error" if failed else b"ok")
        file = _file_of_worker(self.worker)
        if file is None:
            return
        task = self.worker.state.tasks.get(self.key)
        attempt = getattr(task, "run_id", -1)
        if failed:
            facts = message if type(message) is dict else {}
            from _provio.python.secret_words import masked

            texts = {name: masked(str(facts.get(f"{name}_text", ""))[:1500]) for name in ("exception", "traceback")}
            file.object("error", task=self.number, attempt=attempt, **texts)
        else:
            file.result(self.number, attempt, message.get("nbytes", -1), message.get("type") or type(None))


def _begun(declare, key, worker, call):
    """Begin the Task of a call: (function, arguments, keywords) or None if these are not known."""
    try:
        running = _Running(declare, key, worker)
        if call is not None:
            running.arguments(*call)
        return running
    except Exception as error:
        declare.reraise_from_program(error)
        return None


def _ended(declare, running, message):
    if running is not None:
        try:
            running.end(message)
        except Exception as error:
            declare.reraise_from_program(error)


def _call_of(node):
    """Return (function, arguments, keywords) of a node of a graph of Dask since 2024.12."""
    function = getattr(node, "func", None)
    if function is not None:
        return function, node.args, node.kwargs
    return (type(node), (node.value,), {}) if hasattr(type(node), "value") or hasattr(node, "value") else None


INSIDE = []  # a thread-local object with `call`, in a thread that is inside of `_threaded`


def _threaded(declare, original):
    """Around `_run_task(node, data, state, key, …)` and `apply_function(function, args, kwargs, state, key, …)`."""
    from _thread import _local

    INSIDE[:] = [INSIDE[0] if INSIDE else _local()]
    old = original.__name__ == "apply_function"

    def run(*arguments):
        state, key = arguments[3:5] if old else arguments[2:4]
        call = arguments[:3] if old else _call_of(arguments[0])
        running = _begun(declare, key, state.get("worker"), call)
        INSIDE[0].call = message = None
        try:
            message = original(*arguments)
            return message
        finally:
            del INSIDE[0].call
            _ended(declare, running, message)

    return run


def _simple(declare, original):
    """Around `_run_task_simple` and `apply_function_simple`, in the processes of a pool."""
    from _thread import _local

    INSIDE[:] = [INSIDE[0] if INSIDE else _local()]
    old = original.__name__ == "apply_function_simple"

    def run(*arguments):
        if hasattr(INSIDE[0], "call"):
            return original(*arguments)
        from _provio.python.arguments import function_name

        key = function_name(arguments[0]) if old else getattr(arguments[0], "key", "task")
        running, message = _begun(declare, key, None, None), None
        try:
            message = original(*arguments)
            return message
        finally:
            _ended(declare, running, message)

    return run


def _coroutine(declare, original):
    """Around `_run_task_async` and `apply_function_async`, which run on the thread of the event loop."""
    old = original.__name__ == "apply_function_async"

    async def run(*arguments):
        from distributed.worker import get_worker

        worker = get_worker()
        key = _key_of_coroutine(worker, arguments) if old else arguments[0].key
        call = arguments[:3] if old else _call_of(arguments[0])
        running, message = _begun(declare, key, worker, call), None
        try:
            message = await original(*arguments)
            return message
        finally:
            _ended(declare, running, message)

    return run


def _key_of_coroutine(worker, arguments):
    """Return the key of a coroutine, which a worker before 2024.12 does not pass on: that of its own call."""
    try:
        return sys._getframe(2).f_locals["key"]
    except (KeyError, ValueError):
        from _provio.python.arguments import function_name

        return function_name(arguments[0])


def _actor(declare, original):
    """Around `_run_actor(function, args, kwargs, state, key, …)` and `apply_function_actor`, in a thread."""

    def run(*arguments):
        function, args, keywords, state = arguments[:4]
        worker, ended = state.get("worker"), None
        running = _begun(declare, _actor_call(worker, function), worker, (function, args, keywords))
        try:
            result = original(*arguments)
            ended = {"op": "task-finished", "type": type(result)}
            return result
        finally:
            _ended(declare, running, ended)

    return run


def _actor_call(worker, function):
    """Return the name of a call of an actor: its key, a dot, and the method."""
    actor, name = getattr(function, "__self__", None), getattr(function, "__name__", "?")
    key = next((key for key, one in list(worker.state.actors.items()) if one is actor), "actor")
    return f"{_events().key_text(key)}.{name}"


def _actor_on_loop(declare, original):
    """Around `Worker.actor_execute(actor, function, args, kwargs)`, for calls that run on the thread of the loop."""

    def is_on_loop(worker, key, name, keywords):
        from inspect import iscoroutinefunction

        return not keywords.get("separate_thread", True) or iscoroutinefunction(getattr(worker.state.actors[key], name))

    async def actor_execute(self, actor=None, function=None, args=(), kwargs=None):
        running = None
        if _guarded(is_on_loop)(self, actor, function, kwargs or {}):
            call = (getattr(self.state.actors[actor], function), args, kwargs or {})
            running = _begun(declare, f"{_events().key_text(actor)}.{function}", self, call)
        failed = True
        try:
            result = await original(self, actor=actor, function=function, args=args, kwargs=kwargs)
            failed = result.get("status") != "OK"
            return result
        finally:
            _ended(declare, running, None if failed else {"op": "task-finished"})

    return actor_execute


def _spilled(action):
    def around(declare, original):
        def add(slow, key, start):
            for file in _files():
                file.object("spill", action=action, key=_plain(key), seconds=time() - start)

        add_guarded = _guarded(add)

        def spill(self, key, *arguments):
            start = time()
            result = original(self, key, *arguments)
            add_guarded(self, key, start)
            return result

        return spill

    return around


# ---- clients


def _client(client):
    file = _events().begin()
    if file is not None:
        client._provio = file
        file.object("client", id=str(client.id))


def _moved(role):
    """Around `Client._gather(futures)` and `Client._scatter(data)`, which return results or futures."""

    def around(declare, original):
        def keys_of(client, given, result):
            from distributed.client import unpack_remotedata

            _, futures = unpack_remotedata(given if role == 1 else result, byte_keys=True)
            return [future.key for future in futures]

        def add(client, given, result, at):
            from _provio.python.tasks import SCOPE

            file = getattr(client, "_provio", None)
            if file is not None:
                file.keys(role, SCOPE.get(), keys_of(client, given, result), at)

        add_guarded = _guarded(add)

        async def move(self, given, *arguments, **keywords):
            at = time()
            result = await original(self, given, *arguments, **keywords)
            add_guarded(self, given, result, time() if role == 1 else at)
            return result

        return move

    return around


# ---- log lines, stalls and garbage collections of a process

_watched = []  # event files of this process, for events of the process as a whole


def _files():
    """Return the event file for events of the process as a whole: one of those of its parts."""
    return _watched[:1]


def _watch_process(file):
    _watched.append(file)
    if len(_watched) > 1:
        return
    import logging

    lines = [0]

    class Lines(logging.Handler):
        """Adds the lines of Dask's loggers from WARNING up, and stalls of the event loop."""

        def emit(self, record):
            try:
                stalled = record.msg.startswith(STALLED) if type(record.msg) is str else False
                if record.levelno < logging.WARNING and not stalled:
                    return
                lines[0] += 1
                if lines[0] <= MOST_LINES:
                    from _provio.python.secret_words import masked

                    text = masked(record.getMessage()[:2000])
                    what = "stall" if stalled else "line"
                    file.object(what, level=record.levelname, logger=record.name, text=text)
                elif lines[0] == MOST_LINES + 1:
                    file.object("line", level="WARNING", logger="provio", text="more lines are not recorded")
            except Exception as error:
                from _provio.python.guard import reraise_from_program

                reraise_from_program(error)

    logging.getLogger("distributed").addHandler(Lines(logging.INFO))
    begun = []

    def collected(phase, info):
        if phase == "start":
            begun[:] = [time()]
        elif begun and time() - begun[0] >= LONGEST_PAUSE:
            file.later("gc", generation=info.get("generation"), seconds=time() - begun[0])

    gc.callbacks.append(collected)


# ---- the modules


def _watch_scheduler(scheduler, follow):
    follow(scheduler.SchedulerState, "__init__", around=_after(_scheduler_state))
    follow(scheduler.Scheduler, "__init__", around=_after(_scheduler))
    follow(scheduler.Scheduler, "log_event", around=_logged)
    follow(scheduler.Scheduler, "update_graph", around=_graph)


def _watch_states(machine, follow):
    follow(machine.WorkerState, "__init__", around=_after(_worker_state))


HOOKS = (
    ("_run_task", _threaded),
    ("_run_task_simple", _simple),
    ("_run_task_async", _coroutine),
    ("_run_actor", _actor),
)
OLD_VERSION = []
OLD = "apply_function"  # in the names of the same functions before 2024.12


def _watch_worker(worker, follow):
    follow(worker.Worker, "__init__", around=_after(_worker))
    follow(worker.Worker, "actor_execute", around=_actor_on_loop)
    OLD_VERSION[:] = [True] * hasattr(worker, OLD)
    found = 0
    for name, around in HOOKS:
        old = OLD + name.removeprefix("_run_task").replace("_run_actor", "_actor")
        for one in (name, old):
            if hasattr(worker, one):
                follow(worker, one, around=around)
                found += 1
    if found < len(HOOKS):
        _warn()


def _warn():
    """Warn of a version of Dask whose workers run tasks by other functions."""
    import distributed
    from _provio.python.warn import warn

    warn("dask", f"Dask {distributed.__version__} is not known: its tasks are not recorded, only its transitions")


def _watch_client(client, follow):
    follow(client.Client, "__init__", around=_after(_client))
    follow(client.Client, "_gather", around=_moved(1))
    follow(client.Client, "_scatter", around=_moved(2))


def _watch_spill(spill, follow):
    follow(spill.Slow, "__setitem__", around=_spilled("write"))
    follow(spill.Slow, "__getitem__", around=_spilled("read"))


WATCHED = {
    "distributed.scheduler": _watch_scheduler,
    "distributed.worker_state_machine": _watch_states,
    "distributed.worker": _watch_worker,
    "distributed.client": _watch_client,
    "distributed.spill": _watch_spill,
}
