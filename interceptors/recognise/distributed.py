"""Dask: each task that a worker runs is a Task; the logs of scheduler, workers and clients become events.

Scheduler and workers append each transition and transfer to a log in memory, a deque. `Log` is such a deque that also
adds the entry to the process's event file (`python/events.py`). This holds for all versions since 2024, and it states
exactly the statements of Dask.
"""

import gc
import sys
from collections import deque
from time import time

MOST_LINES = 10_000  # log lines of a process; the others are counted
LONGEST_PAUSE = 0.01  # s; a longer garbage collection is an event
MOST_PLACES, LONGEST_NAME = 10, 80  # workers and hosts that a task may run on; characters of a name
# Annotations that Dask itself uses: restrictions, retries and the priority are recorded as it resolves them.
CONDITIONS = frozenset(
    "allow_other_workers loose_restrictions priority resources restrictions retries span workers".split()
)
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

    def __reduce__(self):
        """Return how to pickle the log: as an ordinary deque, for a process that may not have this module."""
        return deque, (list(self), self.maxlen)


def _log(before, file, note):
    """Return a log with the entries and the length of another one; `file` is the event file of its owner."""
    found = Log(before, before.maxlen)
    found.file, found.note = file, note
    return found


def _file_of(log):
    """Return the event file of a log's owner; None if it is an ordinary deque."""
    return getattr(log, "file", None)


def _on_loop():
    """Record that this thread sends and receives the messages of Dask."""
    from _provio.python import recorder

    messages = getattr(recorder.recorder(), "messages", None)
    if messages is not None:
        messages()


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
    known, tasks, loop = file.texts, state.tasks, []

    def note(entry):
        if not loop:
            loop.append(True)
            _on_loop()
        key, start, finish, _, stimulus, at = entry
        if key not in known or start == "released":
            task = tasks.get(key)
            if task is not None:
                file.dependencies(key, stimulus, [one.key for one in task.dependencies], _priority(task.priority))
                if task.annotations or task.worker_restrictions:
                    facts = _restrictions(task, file.off)
                    if facts:
                        file.restrictions(key, facts)
        file.transition(key, start, finish, finish, stimulus, at)
        if finish == "forgotten":
            file.forget(key)

    state.transition_log = _log(state.transition_log, file, note)


def _priority(found):
    """Return the priority of a task, if it has the form that is known: three numbers, the last one an integer."""
    known = type(found) is tuple and len(found) == 3 and type(found[2]) is int and -(1 << 31) <= found[2] < 1 << 31
    return found if known and all(type(one) in (int, float) for one in found) else None


def _restrictions(task, off):
    """Return where a task may run, the retries that it may have, and its other annotations; empty for most tasks."""
    from _provio.python.arguments import described
    from _provio.python.secret_words import masked

    facts = {}
    for name, found in (("workers", task.worker_restrictions), ("hosts", task.host_restrictions)):
        if found:
            facts[name] = sorted(masked(str(one)[:LONGEST_NAME]) for one in found)[:MOST_PLACES]
            if len(found) > MOST_PLACES:
                facts["other_" + name] = len(found) - MOST_PLACES
    if task.resource_restrictions:
        found = list(task.resource_restrictions.items())[:MOST_PLACES]
        facts["resources"] = {masked(str(name)[:LONGEST_NAME]): _plain(amount) for name, amount in found}
    if facts and task.loose_restrictions:
        facts["allow_other_workers"] = True
    if task.retries:
        facts["retries"] = int(task.retries)
    others = {name: value for name, value in (task.annotations or {}).items() if name not in CONDITIONS}
    return {**facts, "annotations": described(others)} if others and "argument" not in off else facts


def _scheduler(scheduler):
    import dask
    import distributed

    file = _file_of(scheduler.transition_log)
    if file is not None:
        versions = {"dask": dask.__version__, "distributed": distributed.__version__}
        versions["python"] = sys.version.split()[0]
        file.object("scheduler", id=str(scheduler.id), versions=versions)
        _configuration(file, dask.config.config)
        _watch_process(file)


def _configuration(file, values):
    """Add the configuration of Dask as it is resolved: dotted names and short values, without secrets."""
    from _provio.python.secret_words import REDACTED, hides, masked

    def items(value, name):
        if isinstance(value, dict):
            for key, one in value.items():
                yield from items(one, f"{name}.{key}" if name else str(key))
        else:
            text = value if type(value) in (int, float, bool) or value is None else masked(str(value)[:200])
            yield name, REDACTED if hides(name, str(value)) else text

    found = sorted(items(values, ""))
    for first in range(0, len(found), 20):
        file.object("configuration", values=dict(found[first : first + 20]))


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
        elif (topic == "all" or "all" in topic) and type(message) is dict and type(message.get("action")) is str:
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
                _on_loop()
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


def _spilled(action):
    def around(declare, original):
        def add(key, start):
            for file in _watched[:1]:
                file.object("spill", action=action, key=_plain(key), seconds=time() - start)

        add_guarded = _guarded(add)

        def spill(self, key, *arguments):
            start = time()
            result = original(self, key, *arguments)
            add_guarded(key, start)
            return result

        return spill

    return around


# ---- nannies


def _nanny(nanny):
    nanny._provio = file = _events().begin()
    if file is not None:
        file.object("nanny", worker=_plain(getattr(nanny, "name", None)))


def _worker_exit(declare, original):
    def add(nanny, code):
        file = getattr(nanny, "_provio", None)
        if file is not None:
            file.object("worker-exit", worker=str(getattr(nanny, "worker_address", "")), code=_plain(code))

    add_guarded = _guarded(add)

    def exited(self, exitcode):
        add_guarded(self, exitcode)
        return original(self, exitcode)

    return exited


# ---- log lines, stalls and garbage collections of a process

_watched = []  # event files of this process; the first one has the events of the process as a whole


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


def _watch_worker(worker, follow):
    follow(worker.Worker, "__init__", around=_after(_worker))
    from _provio.python import dask_tasks

    follow(worker.Worker, "actor_execute", around=dask_tasks.actor_on_loop)
    hooks = [(name, around) for hook, around in dask_tasks.HOOKS for name in dask_tasks.names_of(hook)]
    known = [(name, around) for name, around in hooks if hasattr(worker, name)]
    for name, around in known if len(known) == len(dask_tasks.HOOKS) else ():
        follow(worker, name, around=around)
    if len(known) < len(dask_tasks.HOOKS):
        from _provio.python.warn import warn

        follow(worker.Worker, "execute", around=dask_tasks.unknown)
        version = sys.modules["dask"].__version__  # that of distributed is not loaded yet
        warn("dask", f"Dask {version} is not known: its tasks have the worker's times, and no files")


def _watch_nanny(nanny, follow):
    follow(nanny.Nanny, "__init__", around=_after(_nanny))
    follow(nanny.Nanny, "_on_worker_exit_sync", around=_worker_exit)


def _watch_client(client, follow):
    from _provio.python import dask_clients

    follow(client.Client, "__init__", around=_after(dask_clients.begin))
    follow(client.Client, "_gather", around=dask_clients.moved(1))
    follow(client.Client, "_scatter", around=dask_clients.moved(2))
    follow(client.Client, "_graph_to_futures", around=dask_clients.submitting)


def _watch_received(owner):
    def watch(module, follow):
        from _provio.python import dask_clients

        follow(getattr(module, owner), "_get", around=dask_clients.received(owner))

    return watch


def _watch_spill(spill, follow):
    follow(spill.Slow, "__setitem__", around=_spilled("write"))
    follow(spill.Slow, "__getitem__", around=_spilled("read"))


WATCHED = {
    "distributed.scheduler": _watch_scheduler,
    "distributed.worker_state_machine": _watch_states,
    "distributed.worker": _watch_worker,
    "distributed.client": _watch_client,
    "distributed.queues": _watch_received("Queue"),
    "distributed.variable": _watch_received("Variable"),
    "distributed.pubsub": _watch_received("Sub"),
    "distributed.nanny": _watch_nanny,
    "distributed.spill": _watch_spill,
}
