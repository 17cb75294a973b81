"""Tasks of Dask: wrappers of the functions by which a worker runs a task, each with a Task of provio around the call.

In: the functions of `distributed.worker`. Out: functions with the same results; a Task begins and ends on the thread of
the task, and the worker's event file has its arguments, and its result or error. No error of provio reaches the worker.
"""

from __future__ import annotations

import sys
from _thread import _local

from . import recorder, tasks
from .arguments import NOTHING, describe, function_name
from .encoding import encode
from .events import key_text
from .guard import reraise_from_program
from .propagation import propagate_loaded
from .secret_words import masked

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Call = tuple[Any, Any, Mapping[str, Any]]  # a function, its arguments, its keywords

KIND = b"dask"
OLD = "apply_function"  # in the names of the functions before 2024.12
LONGEST = 1500  # characters of an exception, and of a traceback
_inside = _local()  # has `call` within `threaded`, which calls the function of `simple`


def file_of(owner: Any) -> Any:
    """Return the event file of a worker, scheduler or client; None if it has none."""
    log = getattr(getattr(owner, "state", owner), "log", None)
    return getattr(log, "file", None)


class Running:
    """A Task from the start of a worker's call to its end."""

    def __init__(self, key: Any, worker: Any) -> None:
        propagate_loaded()
        self.found = recorder.recorder()
        self.key, self.worker, self.number = key, worker, 0
        if self.found is not None:
            self.before = self.found.task_enter(0)  # that in which the thread of the pool was made, if any
            self.number = self.found.task_in(encode(key_text(key)), KIND)
        if self.number:
            self.scope = tasks.SCOPE.set(self.number)

    def arguments(self, call: Call, replaced: bool) -> None:
        """Record the arguments of the call; `replaced`: results of other tasks are there instead of references."""
        file = file_of(self.worker)
        if self.number and file is not None:
            file.arguments(self.number, describe(*call, self._results() if replaced else NOTHING))

    def _results(self) -> dict[int, Any]:
        """Return the keys of the task's dependencies by the identity of their results."""
        task, data = self.worker.state.tasks.get(self.key), self.worker.data
        data = getattr(data, "fast", data)
        keys = [one.key for one in task.dependencies] if task is not None else ()
        return {id(data[key]): key for key in keys if key in data and type(data[key]) not in (int, str, bool)}

    def end(self, message: Any) -> None:
        """End the Task with the message that a worker gets from the call; None: an exception ended the call."""
        if not self.number:
            return
        failed = type(message) is not dict or message.get("op") == "task-erred"
        tasks.SCOPE.reset(self.scope)
        self.found.task_out(self.number, self.before, b"error" if failed else b"ok")
        file = file_of(self.worker)
        if file is None:
            return
        attempt = getattr(self.worker.state.tasks.get(self.key), "run_id", -1)
        if not failed:
            file.result(self.number, attempt, message.get("nbytes", -1), message.get("type") or type(None))
            return
        facts = message if type(message) is dict else {}
        texts = {name: masked(str(facts.get(f"{name}_text", ""))[:LONGEST]) for name in ("exception", "traceback")}
        file.object("error", task=self.number, attempt=attempt, **texts)


def begun(key: Any, worker: Any, call: Call | None, old: bool = False) -> Running | None:
    """Begin the Task of a call; its function and arguments may be unknown. A worker before 2024.12 (`old`) has put
    results in the place of references."""
    try:
        running = Running(key, worker)
        if call is not None:
            running.arguments(call, old)
        return running
    except Exception as error:
        reraise_from_program(error)
        return None


def ended(running: Running | None, message: Any) -> None:
    """End the Task of a call."""
    if running is not None:
        try:
            running.end(message)
        except Exception as error:
            reraise_from_program(error)


def call_of(node: Any) -> Call | None:
    """Return the call of a node of a graph since 2024.12; data in a graph is a call without a function."""
    function = getattr(node, "func", None)
    if function is not None:
        return function, node.args, node.kwargs
    return (type(node), (node.value,), {}) if hasattr(node, "value") else None


def threaded(_: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `_run_task(node, data, state, key, …)` and `apply_function(function, args, kwargs, state, key, …)`."""
    old = original.__name__ == OLD

    def run(*arguments: Any) -> Any:
        state, key = arguments[3:5] if old else arguments[2:4]
        call = arguments[:3] if old else call_of(arguments[0])
        running, message = begun(key, state.get("worker"), call, old), None
        _inside.call = True
        try:
            message = original(*arguments)
            return message
        finally:
            del _inside.call
            ended(running, message)

    return run


def simple(_: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `_run_task_simple` and `apply_function_simple`, in the processes of a pool."""
    old = original.__name__.startswith(OLD)

    def run(*arguments: Any) -> Any:
        if hasattr(_inside, "call"):
            return original(*arguments)
        key = function_name(arguments[0]) if old else getattr(arguments[0], "key", "task")
        running, message = begun(key, None, None), None
        try:
            message = original(*arguments)
            return message
        finally:
            ended(running, message)

    return run


def coroutine(_: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `_run_task_async` and `apply_function_async`, which run on the thread of the event loop."""
    old = original.__name__.startswith(OLD)

    async def run(*arguments: Any) -> Any:
        worker = sys.modules["distributed.worker"].get_worker()
        key = _key_of_coroutine(arguments[0]) if old else arguments[0].key
        running, message = begun(key, worker, arguments[:3] if old else call_of(arguments[0]), old), None
        try:
            message = await original(*arguments)
            return message
        finally:
            ended(running, message)

    return run


def _key_of_coroutine(function: Any) -> Any:
    """Return the key of a coroutine, which a worker before 2024.12 does not pass on: that of its own call."""
    try:
        return sys._getframe(2).f_locals["key"]
    except (KeyError, ValueError):
        return function_name(function)


def actor(_: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `_run_actor(function, args, kwargs, state, key, …)` and `apply_function_actor`, in a thread."""

    def run(*arguments: Any) -> Any:
        function, args, keywords, state = arguments[:4]
        worker, message = state.get("worker"), None
        running = begun(_actor_call(worker, function), worker, (function, args, keywords))
        try:
            result = original(*arguments)
            message = {"op": "task-finished", "type": type(result)}
            return result
        finally:
            ended(running, message)

    return run


def _actor_call(worker: Any, function: Any) -> str:
    """Return the name of a call of an actor: its key, a dot, and the method."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "?")
    key = next((key for key, one in list(worker.state.actors.items()) if one is owner), "actor")
    return f"{key_text(key)}.{name}"


def actor_on_loop(_: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `Worker.actor_execute(actor, function, args, kwargs)`, for calls that run on the thread of the loop."""

    def is_on_loop(worker: Any, key: Any, name: str, keywords: Mapping[str, Any]) -> bool:
        from inspect import iscoroutinefunction

        return not keywords.get("separate_thread", True) or iscoroutinefunction(getattr(worker.state.actors[key], name))

    async def actor_execute(
        self: Any, actor: Any = None, function: Any = None, args: Any = (), kwargs: Any = None
    ) -> Any:
        running, message = None, None
        try:
            if is_on_loop(self, actor, function, kwargs or {}):
                call = getattr(self.state.actors[actor], function), args, kwargs or {}
                running = begun(f"{key_text(actor)}.{function}", self, call)
        except Exception as error:
            reraise_from_program(error)
        try:
            result = await original(self, actor=actor, function=function, args=args, kwargs=kwargs)
            if result.get("status") == "OK":
                message = {"op": "task-finished", "type": type(result.get("result"))}
            return result
        finally:
            ended(running, message)

    return actor_execute


def unknown(_: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `Worker.execute(key, …)` of a version whose functions for tasks are unknown: a Task has the times of the
    worker, and no files."""

    async def execute(self: Any, key: Any, *arguments: Any, **keywords: Any) -> Any:
        number, status = 0, "error"
        try:
            number = tasks.begin(key_text(key), KIND.decode())
        except Exception as error:
            reraise_from_program(error)
        try:
            event = await original(self, key, *arguments, **keywords)
            status = "ok" if type(event).__name__ == "ExecuteSuccessEvent" else "error"
            return event
        finally:
            tasks.end(number, status)

    return execute


HOOKS = (("_run_task", threaded), ("_run_task_simple", simple), ("_run_task_async", coroutine), ("_run_actor", actor))


def names_of(hook: str) -> tuple[str, str]:
    """Return the names of a function of HOOKS, now and before 2024.12."""
    return hook, OLD + hook.removeprefix("_run_task").replace("_run_actor", "_actor")
