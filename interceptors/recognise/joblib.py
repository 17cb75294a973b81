"""joblib: `dump` writes a checkpoint; a file that `load` reads is used."""


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


WATCHED = {"joblib.numpy_pickle": _watch}
