"""joblib: what `dump` writes is a checkpoint, and what `load` reads was used."""


def _dumped(said, result, value, filename, *_, **__):
    from _provio.recognise import path_of, step_of

    path = path_of(filename)
    if path is not None:
        said.checkpoint(path, step=step_of(value))


def _loaded(said, result, filename, *_, **__):
    from _provio.recognise import path_of

    path = path_of(filename)
    if path is not None:
        said.used(path)


def _watch(numpy_pickle, follow):
    follow(numpy_pickle, "dump", _dumped)
    follow(numpy_pickle, "load", _loaded)


WATCHED = {"joblib.numpy_pickle": _watch}
