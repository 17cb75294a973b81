"""NumPy: `savez` writes a checkpoint."""


def _saved(declare, result, /, file, *_, **__):  # other keywords are names of arrays
    from _provio.recognise import path_of

    path = path_of(file)
    if path is not None and path is file and not str(path).endswith(".npz"):
        path = str(path) + ".npz"
    if path is not None:
        declare.checkpoint(path)


def _watch(numpy, follow):
    follow(numpy, "savez", _saved)
    follow(numpy, "savez_compressed", _saved)


WATCHED = {"numpy": _watch}
