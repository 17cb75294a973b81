"""joblib: each call of a parallel loop is a Task; `dump` writes a checkpoint; a file that `load` reads is used."""

from _thread import _local

INSIDE = _local()  # set during a call of a parallel loop: a sequential loop inside it has no Tasks


def _dumped(declare, result, value, filename, *_, **__):
    from _provio.recognise import path_of, step_of

    path = path_of(filename)
    if path is not None:
        declare.checkpoint(path, step=step_of(value))


def _loaded(declare, result, filename, *_, **__):
    from _provio.recognise import path_of

    path = path_of(filename)
    if path is not None:
        declare.used(path)


def _watch(numpy_pickle, follow):
    follow(numpy_pickle, "dump", _dumped)
    follow(numpy_pickle, "load", _loaded)


def _batch(batch):
    """Return the arguments of a call of a batch: a copy of it with Tasks. A worker may run the batch a second time."""
    copy = object.__new__(type(batch))
    copy.__dict__.update(batch.__dict__)
    copy.items = [_task(call) for call in batch.items]
    return (copy,), {}


def _sequence(parallel, iterable):
    """Return the arguments of a loop without workers."""
    return (parallel, iterable if hasattr(INSIDE, "call") else map(_task, iterable)), {}


def _task(call):
    """Return a function with its arguments, to be called as a Task."""
    from _provio.recognise import item

    if type(call) is not tuple or len(call) != 3:
        return call
    function = item(call[0], "joblib")

    def within(*arguments, **keywords):
        outermost = not hasattr(INSIDE, "call")
        INSIDE.call = True
        try:
            return function(*arguments, **keywords)
        except BaseException as error:
            error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next  # without this line
            raise
        finally:
            if outermost:
                del INSIDE.call

    return within, *call[1:]


def _watch_parallel(parallel, follow):
    follow(parallel.BatchedCalls, "__call__", arguments=_batch)
    follow(parallel.Parallel, "_get_sequential_output", arguments=_sequence)


WATCHED = {"joblib.numpy_pickle": _watch, "joblib.parallel": _watch_parallel}
