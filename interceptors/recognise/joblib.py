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


def _started(_, parallel):
    """Note the Task of a loop: threads of its backend submit some of its batches."""
    from _provio.python.tasks import now

    parallel._provio_task = now()


def _for_loop(declare, original):
    """Around the callback at the end of a batch, which submits the next one."""
    from _provio.python.pool_calls import acting

    def call(self, *arguments, **keywords):
        with acting(getattr(self.parallel, "_provio_task", None)):
            return original(self, *arguments, **keywords)

    return call


def _registered(_, batch, job):
    """Give a batch the key of its job."""
    from _provio.python.pool_calls import KEY, key_of

    setattr(batch, KEY, key_of(job))


def _received(result, batch, *_, **__):
    from _provio.python.pool_calls import key_of, received

    received(key_of(batch))


def _watch_parallel(parallel, follow):
    follow(parallel.BatchedCalls, "__call__", arguments=_batch)
    follow(parallel.Parallel, "_reset_run_tracking", after=_started)
    batch = parallel.BatchCompletionCallBack
    follow(batch, "__call__", around=_for_loop)
    follow(batch, "register_job", after=_registered)
    follow(batch, "get_result", after=_received)
    follow(parallel.Parallel, "_get_sequential_output", arguments=_sequence)


def _watch_loky(process, follow):
    def later(name, *before):
        def call(*arguments, **keywords):
            from _provio.recognise import concurrent

            return getattr(concurrent, name)(*before, *arguments, **keywords)

        return call

    follow(process, "_process_worker", arguments=later("calls_of", process))
    follow(process.ProcessPoolExecutor, "submit", arguments=later("submitting"))
    follow(process._WorkItem, "__init__", after=later("submitted"))


WATCHED = {
    "joblib.numpy_pickle": _watch,
    "joblib.parallel": _watch_parallel,
    "joblib.externals.loky.process_executor": _watch_loky,
}
