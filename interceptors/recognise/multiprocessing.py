"""multiprocessing: each call of a function by a worker of a Pool or ThreadPool is a Task, also within a chunk."""


class _Calls:
    """The queue of a worker; each call that it returns is a Task."""

    def __init__(self, queue, pool):
        self._queue, self._pool = queue, pool

    def get(self):
        call = self._queue.get()
        try:
            return call if call is None else self._task(*call)
        except Exception as error:
            from _provio.python.guard import reraise_from_program

            reraise_from_program(error)
            return call

    def _task(self, job, number, function, arguments, keywords):
        from _provio.recognise import item

        if function in (self._pool.mapstar, self._pool.starmapstar):
            ((mapped, chunk),) = arguments
            arguments = ((item(mapped, "pool"), chunk),)
        elif function is not self._pool._helper_reraises_exception:
            function = item(function, "pool")
        return job, number, function, arguments, keywords

    def __getattr__(self, name):
        return getattr(self._queue, name)


def _watch(pool, follow):
    def calls(queue, *arguments, **keywords):
        return (_Calls(queue, pool), *arguments), keywords

    follow(pool, "worker", arguments=calls)


WATCHED = {"multiprocessing.pool": _watch}
